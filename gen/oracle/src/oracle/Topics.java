package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Base64;
import org.apache.kafka.common.protocol.ApiKeys;

/** What the recordings need to set up, none of it recorded: topics, their ids, their contents. */
final class Topics {
    private static final int TRIES = 200;

    private final Recorder r;

    Topics(Recorder r) {
        this.r = r;
    }

    /** Makes a topic anew and gives its id, once it has leaders. `configs` is a JSON array's inside. */
    String make(String name, int partitions, String configs) throws IOException {
        drop(name);
        r.quietly(() -> {
            r.fresh();
            JsonNode answer = r.ask("", ApiKeys.CREATE_TOPICS, 7, "{topics:[{name:'" + name + "',numPartitions:" + partitions
                + ",replicationFactor:1,configs:[" + configs + "]}],timeoutMs:30000}");
            int code = answer.at("/topics/0/errorCode").intValue();
            if (code != 0) {
                throw new IOException("cannot make " + name + ": " + answer);
            }
        });
        String id = await(name, true).at("/topics/0/topicId").textValue();
        for (int p = 0; p < partitions; p++) {
            awaitLeader(name, p);
        }
        return id;
    }

    /** Metadata knows of a leader before the broker leads: waits until it serves the partition. */
    private void awaitLeader(String name, int partition) throws IOException {
        JsonNode[] last = new JsonNode[1];
        for (int i = 0; i < TRIES; i++) {
            r.quietly(() -> last[0] = r.ask("", ApiKeys.LIST_OFFSETS, 7, "{replicaId:-1,topics:[{name:'" + name
                + "',partitions:[{partitionIndex:" + partition + ",timestamp:-1}]}]}"));
            if (last[0].at("/topics/0/partitions/0/errorCode").intValue() == 0) {
                r.fresh();
                return;
            }
            pause();
        }
        throw new IOException("no leader of " + name + ": " + last[0]);
    }

    void drop(String name) throws IOException {
        r.quietly(() -> {
            r.fresh();
            r.ask("", ApiKeys.DELETE_TOPICS, 6, "{topics:[{name:'" + name + "'}],timeoutMs:30000}");
        });
        await(name, false);
    }

    /** Adds partitions, up to that number. */
    void grow(String name, int partitions) throws IOException {
        r.quietly(() -> {
            r.fresh();
            JsonNode answer = r.ask("", ApiKeys.CREATE_PARTITIONS, 2, "{topics:[{name:'" + name + "',count:" + partitions
                + ",assignments:null}],timeoutMs:30000}");
            if (answer.at("/results/0/errorCode").intValue() != 0) {
                throw new IOException("cannot grow " + name + ": " + answer);
            }
        });
        for (int p = 0; p < partitions; p++) {
            awaitLeader(name, p);
        }
    }

    /** Waits until the topic is there, with leaders, or is gone. */
    JsonNode await(String name, boolean there) throws IOException {
        JsonNode[] last = new JsonNode[1];
        for (int i = 0; i < TRIES; i++) {
            r.quietly(() -> last[0] = r.ask("", ApiKeys.METADATA, 12,
                "{topics:[{name:'" + name + "'}],allowAutoTopicCreation:false}"));
            boolean ok = last[0].at("/topics/0/errorCode").intValue() == 0;
            for (JsonNode p : last[0].at("/topics/0/partitions")) {
                ok &= p.get("errorCode").intValue() == 0 && p.get("leaderId").intValue() >= 0;
            }
            if (ok == there) {
                r.fresh();
                return last[0];
            }
            pause();
        }
        throw new IOException("no change of " + name + ": " + last[0]);
    }

    /** Writes one batch and checks that it was taken. */
    void write(String name, int partition, byte[] batch) throws IOException {
        r.quietly(() -> {
            JsonNode a = r.ask("", ApiKeys.PRODUCE, 9, produce(9, name, null, partition, batch));
            if (a.at("/responses/0/partitionResponses/0/errorCode").intValue() != 0) {
                throw new IOException("not taken: " + a);
            }
        });
        r.fresh();
    }

    /** The JSON of a Produce request with one batch; by id from version 13 on. */
    static String produce(int version, String name, String id, int partition, byte[] records) {
        String what = version >= 13 ? "topicId:'" + id + "'" : "name:'" + name + "'";
        String bytes = records == null ? "null" : "'" + Base64.getEncoder().encodeToString(records) + "'";
        return "{acks:-1,timeoutMs:5000,topicData:[{" + what + ",partitionData:[{index:" + partition
            + ",records:" + bytes + "}]}]}";
    }

    /** Waits for a moment between two looks at something that is about to change. */
    static void pause() {
        try {
            Thread.sleep(25);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
