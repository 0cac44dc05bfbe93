import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Members of consumer groups behind the harness's line protocol, by the names that the harness gives them. */
final class Members {
    private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";
    private static final Map<String, String> CLASSES = Map.of("range", "RangeAssignor", "cooperative-sticky", "CooperativeStickyAssignor");

    private final Map<String, KafkaConsumer<byte[], byte[]>> members = new HashMap<>();

    /** Lists what the client can do in groups. */
    static void hello(ObjectNode answer) {
        ArrayNode protocols = answer.putArray("protocols");
        CLASSES.keySet().stream().sorted().forEach(a -> protocols.addArray().add("classic").add(a));
        List.of("uniform", "range").forEach(a -> protocols.addArray().add("consumer").add(a));
        answer.put("static", true).put("pattern", true);
    }

    /** Serves one question; false if it is none of a member. */
    boolean serve(JsonNode q, Map<String, Object> config, ObjectNode answer) {
        switch (q.get("op").textValue()) {
            case "join" -> join(q, config);
            case "poll" -> poll(q, answer);
            case "commit" -> commit(q);
            case "committed" -> {
                OffsetAndMetadata found = member(q).committed(Set.of(partition(q))).get(partition(q));
                answer.put("offset", found == null ? -1 : found.offset()).put("metadata", found == null ? "" : found.metadata());
            }
            case "seek" -> member(q).seek(partition(q), q.get("offset").longValue());
            case "pause" -> member(q).pause(List.of(partition(q)));
            case "resume" -> member(q).resume(List.of(partition(q)));
            case "leave" -> {
                member(q).close();
                members.remove(q.get("member").textValue());
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private KafkaConsumer<byte[], byte[]> member(JsonNode q) {
        return members.get(q.get("member").textValue());
    }

    private static TopicPartition partition(JsonNode q) {
        return new TopicPartition(q.get("topic").textValue(), q.get("partition").intValue());
    }

    private void join(JsonNode q, Map<String, Object> c) {
        String protocol = q.get("protocol").textValue();
        String assignor = q.get("assignor").textValue();
        c.put("group.id", q.get("group").textValue());
        c.put("group.protocol", protocol);
        if (protocol.equals("classic")) {
            c.put("partition.assignment.strategy", ASSIGNORS + CLASSES.get(assignor));
            c.put("heartbeat.interval.ms", 200);
            c.put("session.timeout.ms", 6000);
        } else {
            c.put("group.remote.assignor", assignor);
        }
        if (q.path("instance").isTextual()) {
            c.put("group.instance.id", q.get("instance").textValue());
        }
        c.put("enable.auto.commit", false);
        c.put("auto.offset.reset", "earliest");
        c.put("fetch.max.wait.ms", 200);
        c.put("metadata.max.age.ms", 1000);
        c.put("client.id", q.get("member").textValue());
        KafkaConsumer<byte[], byte[]> k = new KafkaConsumer<>(c, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        members.put(q.get("member").textValue(), k);
        if (!q.path("pattern").isTextual()) {
            k.subscribe(List.of(q.get("topic").textValue()));
        } else if (protocol.equals("classic")) {
            k.subscribe(Pattern.compile(q.get("pattern").textValue()));
        } else {
            k.subscribe(new SubscriptionPattern(q.get("pattern").textValue()));
        }
    }

    private void poll(JsonNode q, ObjectNode answer) {
        KafkaConsumer<byte[], byte[]> k = member(q);
        ArrayNode records = answer.putArray("records");
        for (ConsumerRecord<byte[], byte[]> r : k.poll(Duration.ofMillis(q.get("timeoutMs").longValue()))) {
            records.addArray().add(r.topic()).add(r.partition()).add(r.offset());
        }
        ArrayNode assigned = answer.putArray("assigned");
        k.assignment().forEach(tp -> assigned.addArray().add(tp.topic()).add(tp.partition()));
        answer.put("generation", k.groupMetadata().generationId());
    }

    private void commit(JsonNode q) {
        KafkaConsumer<byte[], byte[]> k = member(q);
        Map<TopicPartition, OffsetAndMetadata> all = new HashMap<>();
        for (TopicPartition tp : k.assignment()) {
            all.put(tp, new OffsetAndMetadata(k.position(tp), q.path("metadata").asText("")));
        }
        k.commitSync(all);
    }
}
