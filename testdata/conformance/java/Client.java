import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Kafka's Java client behind the harness's line protocol; ../README.md describes it. */
public final class Client {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = System.out;

    private final String bootstrap;
    private final Admin admin;
    private final Members members = new Members();

    private Client(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(config());
    }

    public static void main(String[] args) throws IOException {
        Client client = new Client(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                client.serve(JSON.readTree(line), answer);
            } catch (Exception e) {
                Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
                answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
            say(answer);
        }
        client.admin.close(Duration.ofSeconds(5));
    }

    private static void say(ObjectNode answer) throws IOException {
        OUT.println(JSON.writeValueAsString(answer));
        OUT.flush();
    }

    private void serve(JsonNode q, ObjectNode answer) throws Exception {
        if (members.serve(q, config(), answer)) {
            return;
        }
        switch (q.get("op").textValue()) {
            case "hello" -> hello(answer);
            case "produce" -> produce(q, answer);
            case "consume" -> consume(q, answer);
            case "offsets" -> offsets(q, answer);
            case "create" -> create(q, answer);
            case "delete" -> admin.deleteTopics(List.of(topic(q))).all().get(20, TimeUnit.SECONDS);
            case "topics" -> {
                ArrayNode names = answer.putArray("topics");
                admin.listTopics().names().get(20, TimeUnit.SECONDS).forEach(names::add);
            }
            case "describe" -> answer.put("partitions",
                admin.describeTopics(List.of(topic(q))).allTopicNames().get(20, TimeUnit.SECONDS).get(topic(q)).partitions().size());
            default -> throw new IllegalArgumentException("op");
        }
    }

    private static void hello(ObjectNode answer) {
        ArrayNode codecs = answer.putArray("codecs");
        List.of("none", "gzip", "snappy", "lz4", "zstd").forEach(codecs::add);
        answer.put("nullHeaders", true).put("repeatedHeaders", true).put("idempotent", true).put("maxTimestamp", true);
        Members.hello(answer);
    }

    private static String topic(JsonNode q) {
        return q.get("topic").textValue();
    }

    private Map<String, Object> config() {
        Map<String, Object> c = new HashMap<>();
        c.put("bootstrap.servers", bootstrap);
        c.put("default.api.timeout.ms", 20000);
        c.put("request.timeout.ms", 10000);
        return c;
    }

    private void produce(JsonNode q, ObjectNode answer) throws Exception {
        Map<String, Object> c = config();
        c.remove("default.api.timeout.ms");
        String acks = q.get("acks").asText();
        c.put("compression.type", q.get("codec").textValue());
        c.put("acks", acks);
        c.put("enable.idempotence", acks.equals("all") && q.path("idempotent").asBoolean(true));
        c.put("linger.ms", 20);
        c.put("max.request.size", 2_000_000);
        c.put("delivery.timeout.ms", 20000);
        ArrayNode offsets = answer.putArray("offsets");
        try (KafkaProducer<byte[], byte[]> p = new KafkaProducer<>(c, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode r : q.get("records")) {
                List<Header> headers = new ArrayList<>();
                r.get("headers").forEach(h -> headers.add(new RecordHeader(h.get(0).textValue(), bytes(h.get(1)))));
                Long timestamp = r.path("timestamp").isNumber() ? (Long) r.get("timestamp").longValue() : null;
                sent.add(p.send(new ProducerRecord<>(topic(q), r.get("partition").intValue(), timestamp,
                    bytes(r.get("key")), bytes(r.get("value")), headers)));
            }
            p.flush();
            for (Future<RecordMetadata> f : sent) {
                offsets.add(f.get(20, TimeUnit.SECONDS).offset());
            }
        }
    }

    private void consume(JsonNode q, ObjectNode answer) throws IOException {
        Map<String, Object> c = config();
        c.put("enable.auto.commit", false);
        c.put("auto.offset.reset", "none");
        c.put("fetch.max.wait.ms", 200);
        TopicPartition tp = new TopicPartition(topic(q), q.get("partition").intValue());
        ArrayNode records = answer.putArray("records");
        try (KafkaConsumer<byte[], byte[]> k = new KafkaConsumer<>(c, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            k.assign(List.of(tp));
            seek(k, tp, q.get("from"));
            say(JSON.createObjectNode().put("ready", k.position(tp)));
            long until = System.nanoTime() + q.get("timeoutMs").longValue() * 1_000_000;
            int count = q.get("count").intValue();
            while (records.size() < count && System.nanoTime() < until) {
                for (ConsumerRecord<byte[], byte[]> r : k.poll(Duration.ofMillis(100))) {
                    records.add(json(r));
                }
            }
            answer.put("position", k.position(tp));
        }
    }

    private static void seek(KafkaConsumer<byte[], byte[]> k, TopicPartition tp, JsonNode from) {
        if (from.has("offset")) {
            k.seek(tp, from.get("offset").longValue());
        } else if (from.has("timestamp")) {
            OffsetAndTimestamp found = k.offsetsForTimes(Map.of(tp, from.get("timestamp").longValue())).get(tp);
            k.seek(tp, found == null ? k.endOffsets(List.of(tp)).get(tp) : (Long) found.offset());
        } else if (from.get("at").textValue().equals("start")) {
            k.seekToBeginning(List.of(tp));
        } else {
            k.seekToEnd(List.of(tp));
        }
    }

    private static ObjectNode json(ConsumerRecord<byte[], byte[]> r) {
        ObjectNode out = JSON.createObjectNode().put("offset", r.offset()).put("timestamp", r.timestamp());
        out.put("key", text(r.key())).put("value", text(r.value()));
        ArrayNode headers = out.putArray("headers");
        for (Header h : r.headers()) {
            headers.addArray().add(h.key()).add(text(h.value()));
        }
        return out;
    }

    private void offsets(JsonNode q, ObjectNode answer) throws Exception {
        TopicPartition tp = new TopicPartition(topic(q), q.get("partition").intValue());
        JsonNode spec = q.get("spec");
        OffsetSpec s = spec.isNumber() ? OffsetSpec.forTimestamp(spec.longValue()) : switch (spec.textValue()) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "max" -> OffsetSpec.maxTimestamp();
            case "local" -> OffsetSpec.earliestLocal();
            default -> OffsetSpec.latestTiered();
        };
        ListOffsetsResultInfo info = admin.listOffsets(Map.of(tp, s)).partitionResult(tp).get(20, TimeUnit.SECONDS);
        answer.put("offset", info.offset()).put("timestamp", info.timestamp());
    }

    private void create(JsonNode q, ObjectNode answer) throws Exception {
        Map<String, String> configs = new HashMap<>();
        q.path("configs").properties().forEach(e -> configs.put(e.getKey(), e.getValue().textValue()));
        NewTopic t = new NewTopic(topic(q), Optional.of(q.get("partitions").intValue()), Optional.empty()).configs(configs);
        answer.put("partitions", admin.createTopics(List.of(t)).numPartitions(topic(q)).get(20, TimeUnit.SECONDS));
    }

    private static byte[] bytes(JsonNode n) {
        return n == null || n.isNull() ? null : Base64.getDecoder().decode(n.textValue());
    }

    private static String text(byte[] b) {
        return b == null ? null : Base64.getEncoder().encodeToString(b);
    }
}
