import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Transactions with Kafka's Java client, of this release or an older one, behind the line protocol of ../README.md. */
public final class Transactions {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int SECONDS = 40;

    private final String bootstrap;
    private final Admin admin;
    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();

    private Transactions(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(config());
    }

    public static void main(String[] args) throws IOException {
        Transactions client = new Transactions(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                client.serve(JSON.readTree(line), answer);
            } catch (Exception e) {
                Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
                answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        // Whatever is left open is to be ended by the broker.
        Runtime.getRuntime().halt(0);
    }

    private void serve(JsonNode q, ObjectNode answer) throws Exception {
        switch (q.get("op").textValue()) {
            case "hello" -> answer.putArray("protocols").add("classic").add("consumer");
            case "create" -> admin.createTopics(List.of(new NewTopic(text(q, "topic"), q.get("partitions").intValue(), (short) 1)))
                .all().get(SECONDS, TimeUnit.SECONDS);
            case "open" -> {
                KafkaProducer<String, String> p = producer(q);
                producers.put(text(q, "producer"), p);
                if (q.has("transactionalId")) {
                    p.initTransactions();
                }
            }
            case "begin" -> producer(text(q, "producer")).beginTransaction();
            case "send" -> send(q);
            case "commit" -> producer(text(q, "producer")).commitTransaction();
            case "abort" -> producer(text(q, "producer")).abortTransaction();
            case "close" -> producers.remove(text(q, "producer")).close(Duration.ofSeconds(5));
            case "read" -> read(q, answer);
            case "committed" -> committed(q, answer);
            case "copy" -> copy(q);
            default -> throw new IllegalArgumentException("op");
        }
    }

    private static String text(JsonNode q, String name) {
        return q.get(name).textValue();
    }

    private KafkaProducer<String, String> producer(String name) {
        return producers.get(name);
    }

    private Map<String, Object> config() {
        Map<String, Object> c = new HashMap<>();
        c.put("bootstrap.servers", bootstrap);
        c.put("request.timeout.ms", 10000);
        return c;
    }

    private KafkaProducer<String, String> producer(JsonNode q) {
        Map<String, Object> c = config();
        c.put("delivery.timeout.ms", 20000);
        if (q.has("transactionalId")) {
            c.put("transactional.id", text(q, "transactionalId"));
            c.put("transaction.timeout.ms", q.path("timeoutMs").asInt(60000));
        }
        return new KafkaProducer<>(c, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer(String isolation, Map<String, Object> more) {
        Map<String, Object> c = config();
        c.put("enable.auto.commit", false);
        c.put("auto.offset.reset", "earliest");
        c.put("fetch.max.wait.ms", 200);
        c.put("isolation.level", isolation);
        c.putAll(more);
        return new KafkaConsumer<>(c, new StringDeserializer(), new StringDeserializer());
    }

    private void send(JsonNode q) throws Exception {
        KafkaProducer<String, String> p = producer(text(q, "producer"));
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode v : q.get("values")) {
            sent.add(p.send(new ProducerRecord<>(text(q, "topic"), q.get("partition").intValue(), "k", v.textValue())));
        }
        p.flush();
        for (Future<RecordMetadata> f : sent) {
            f.get(SECONDS, TimeUnit.SECONDS);
        }
    }

    private void read(JsonNode q, ObjectNode answer) {
        ArrayNode values = answer.putArray("values");
        try (KafkaConsumer<String, String> k = consumer(text(q, "isolation"), Map.of())) {
            TopicPartition tp = new TopicPartition(text(q, "topic"), q.get("partition").intValue());
            k.assign(List.of(tp));
            k.seekToBeginning(List.of(tp));
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
            while (values.size() < q.get("count").intValue() && System.nanoTime() < until) {
                k.poll(Duration.ofMillis(100)).forEach(r -> values.add(r.value()));
            }
            ConsumerRecords<String, String> more;
            do {
                more = k.poll(Duration.ofMillis(q.get("graceMs").longValue()));
                more.forEach(r -> values.add(r.value()));
            } while (!more.isEmpty());
        }
    }

    private static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void committed(JsonNode q, ObjectNode answer) throws Exception {
        OffsetAndMetadata at = admin.listConsumerGroupOffsets(text(q, "group")).partitionsToOffsetAndMetadata()
            .get(SECONDS, TimeUnit.SECONDS).get(new TopicPartition(text(q, "topic"), q.get("partition").intValue()));
        answer.put("offset", at == null ? -1 : at.offset());
    }

    /** Copies records in transactions; some of them are aborted, and at the last one, if it is told so, the process ends in the middle. */
    private void copy(JsonNode q) {
        Map<String, Object> group = new HashMap<>();
        group.put("group.id", text(q, "group"));
        group.put("group.protocol", text(q, "protocol"));
        group.put("max.poll.records", q.get("size").intValue());
        if (text(q, "protocol").equals("classic")) {
            group.put("session.timeout.ms", 6000);
            group.put("heartbeat.interval.ms", 500);
        }
        try (KafkaConsumer<String, String> in = consumer("read_committed", group); KafkaProducer<String, String> out = producer(q)) {
            out.initTransactions();
            in.subscribe(List.of(text(q, "from")));
            int left = q.get("count").intValue();
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
            for (int n = 1; left > 0; ) {
                ConsumerRecords<String, String> records = in.poll(Duration.ofMillis(200));
                if (System.nanoTime() > until) {
                    throw new IllegalStateException(left + " records left when the time was over");
                }
                if (records.isEmpty()) {
                    continue;
                }
                out.beginTransaction();
                Map<TopicPartition, Long> first = new HashMap<>();
                Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                for (ConsumerRecord<String, String> r : records) {
                    TopicPartition tp = new TopicPartition(r.topic(), r.partition());
                    first.putIfAbsent(tp, r.offset());
                    next.put(tp, new OffsetAndMetadata(r.offset() + 1));
                    out.send(new ProducerRecord<>(text(q, "to"), r.partition(), r.key(), r.value()));
                }
                out.sendOffsetsToTransaction(next, in.groupMetadata());
                if (n == q.path("crashAt").asInt(-1)) {
                    out.flush();
                    in.close();
                    Runtime.getRuntime().halt(9);
                }
                pause(q.path("paceMs").asInt(0));
                if (n++ % q.get("abortEvery").intValue() == 0) {
                    out.abortTransaction();
                    first.forEach(in::seek);
                    continue;
                }
                out.commitTransaction();
                left -= records.count();
            }
        }
    }
}
