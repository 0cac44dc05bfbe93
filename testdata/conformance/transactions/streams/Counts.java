import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KeyValueMapper;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts words with Kafka Streams, exactly once: over a repartition topic, with the counts in memory and in a changelog topic.
 * Arguments: bootstrap address, application id, topic of words, topic of counts, directory for state. Says what happens, and
 * ends in good order when its standard input does.
 */
public final class Counts {
    private Counts() {}

    public static void main(String[] args) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        KeyValueMapper<String, String, String> word = (key, value) -> value;
        builder.stream(args[2], Consumed.with(Serdes.String(), Serdes.String()))
            .groupBy(word, Grouped.<String, String>with(Serdes.String(), Serdes.String()).withName("words"))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .map((key, count) -> new KeyValue<>(key, key + "=" + count))
            .to(args[3], Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), config(args));
        streams.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            say("failed " + e);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((state, old) -> say("state " + state));
        streams.setGlobalStateRestoreListener(new StateRestoreListener() {
            @Override
            public void onRestoreStart(TopicPartition tp, String store, long from, long to) {}

            @Override
            public void onBatchRestored(TopicPartition tp, String store, long to, long count) {}

            @Override
            public void onRestoreEnd(TopicPartition tp, String store, long total) {
                say("restored " + total);
            }
        });
        streams.start();
        while (System.in.read() >= 0) {
            continue;
        }
        streams.close(Duration.ofSeconds(20));
        Runtime.getRuntime().halt(0);
    }

    private static Properties config(String[] args) {
        Properties c = new Properties();
        c.put("bootstrap.servers", args[0]);
        c.put("application.id", args[1]);
        c.put("state.dir", args[4]);
        c.put("processing.guarantee", "exactly_once_v2");
        c.put("commit.interval.ms", 100);
        c.put("statestore.cache.max.bytes", 0);
        c.put("repartition.purge.interval.ms", 1000);
        c.put("main.consumer.session.timeout.ms", 6000);
        c.put("main.consumer.heartbeat.interval.ms", 500);
        c.put("consumer.auto.offset.reset", "earliest");
        c.put("producer.transaction.timeout.ms", 5000);
        return c;
    }

    private static synchronized void say(String what) {
        System.out.println(what);
        System.out.flush();
    }
}
