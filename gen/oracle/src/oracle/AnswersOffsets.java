package oracle;

import static org.apache.kafka.common.protocol.ApiKeys.INIT_PRODUCER_ID;
import static org.apache.kafka.common.protocol.ApiKeys.LIST_OFFSETS;
import static org.apache.kafka.common.protocol.ApiKeys.OFFSET_FOR_LEADER_EPOCH;

import java.io.IOException;

/** ListOffsets, OffsetForLeaderEpoch and InitProducerId; ans-log and ans-empty are those of the fetches. */
final class AnswersOffsets {
    private final Recorder r;
    private final Topics topics;

    AnswersOffsets(Recorder r) {
        this.r = r;
        this.topics = new Topics(r);
    }

    void record() throws IOException {
        r.file("list-offsets");
        listOffsets();
        r.file("offset-for-leader-epoch");
        leaderEpoch();
        r.file("init-producer-id");
        producerId();
        for (String gone : new String[] {"ans-log", "ans-empty", "ans-times", "ans-prod", "ans-meta"}) {
            topics.drop(gone);
        }
    }

    private void list(String why, int version, String name, String partitions, String more) throws IOException {
        r.ask(why + ", version " + version, LIST_OFFSETS, version,
            "{replicaId:-1" + more + ",topics:[{name:'" + name + "',partitions:[" + partitions + "]}]}");
    }

    private static String at(int partition, long timestamp) {
        return "{partitionIndex:" + partition + ",timestamp:" + timestamp + "}";
    }

    private void listOffsets() throws IOException {
        // Offsets 0 to 7; the greatest timestamp, 900, stands at 2 and again at 5.
        topics.make("ans-times", 2, "");
        topics.write("ans-times", 0, new Batches(100).add(100, "0", "").add(500, "1", "").add(900, "2", "").build());
        topics.write("ans-times", 0, new Batches(300).add(300, "3", "").add(200, "4", "").build());
        topics.write("ans-times", 0, new Batches(900).add(900, "5", "").build());
        topics.write("ans-times", 0, new Batches(-1).add(-1, "6", "").build());
        topics.write("ans-times", 0, new Batches(50).add(50, "7", "").build());
        topics.write("ans-times", 1, new Batches(-1).add(-1, "0", "").build());
        for (int v = 1; v <= 11; v++) {
            for (long t : new long[] {-1, -2, -3, -4, -5, -6, -7, Long.MIN_VALUE, 400}) {
                list("timestamp " + t, v, "ans-times", at(0, t), "");
            }
        }
        for (long t : new long[] {0, 50, 100, 101, 250, 300, 500, 501, 900, 901, Long.MAX_VALUE}) {
            list("timestamp " + t, 7, "ans-times", at(0, t), "");
        }
        for (long t : new long[] {-1, -2, -3, 0, 5}) {
            list("a log whose records have no timestamp, " + t, 7, "ans-times", at(1, t), "");
            list("empty log, " + t, 7, "ans-empty", at(0, t), "");
            list("log 10 to 20, " + t, 7, "ans-log", at(0, t), "");
        }
        for (int v : new int[] {1, 5, 7, 11}) {
            list("one partition twice", v, "ans-times", at(0, -1) + "," + at(0, -2) + "," + at(1, -1), "");
            list("unknown partition", v, "ans-times", at(2, -1) + "," + at(-1, -1), "");
            list("unknown topic", v, "ans-nosuch", at(0, -1), "");
        }
        list("unknown partition and an unknown special timestamp", 7, "ans-times", at(9, -7), "");
        list("isolation level 1, -1", 7, "ans-times", at(0, -1), ",isolationLevel:1");
        list("isolation level 1, 400", 7, "ans-times", at(0, 400), ",isolationLevel:1");
        list("isolation level 1, -3", 7, "ans-times", at(0, -3), ",isolationLevel:1");
        list("isolation level 5", 7, "ans-times", at(0, -1), ",isolationLevel:5");
        list("no partitions", 7, "ans-times", "", "");
        r.ask("no topics", LIST_OFFSETS, 7, "{replicaId:-1,topics:[]}");
        for (int e : new int[] {-1, 0, 1, 99, -2}) {
            for (int v : new int[] {4, 7}) {
                list("current leader epoch " + e, v, "ans-times", "{partitionIndex:0,timestamp:-1,currentLeaderEpoch:" + e + "}", "");
            }
        }
        r.ask("replica id -2, as a debugger", LIST_OFFSETS, 7, "{replicaId:-2,topics:[{name:'ans-times',partitions:[" + at(0, -1) + "]}]}");
        r.ask("replica id 5, as a follower", LIST_OFFSETS, 7, "{replicaId:5,topics:[{name:'ans-times',partitions:[" + at(0, -1) + "]}]}");
        r.ask("one topic twice, other partitions", LIST_OFFSETS, 7, "{replicaId:-1,topics:[{name:'ans-times',partitions:[" + at(0, -1)
            + "]},{name:'ans-times',partitions:[" + at(1, -1) + "]}]}");
        r.ask("one topic and partition twice", LIST_OFFSETS, 7, "{replicaId:-1,topics:[{name:'ans-times',partitions:[" + at(0, -1)
            + "]},{name:'ans-times',partitions:[" + at(0, -2) + "]}]}");
    }

    private void epoch(String why, int version, String name, String partition) throws IOException {
        r.ask(why + ", version " + version, OFFSET_FOR_LEADER_EPOCH, version,
            "{replicaId:-1,topics:[{topic:'" + name + "',partitions:[" + partition + "]}]}");
    }

    private void leaderEpoch() throws IOException {
        for (int v = 2; v <= 4; v++) {
            for (int e : new int[] {-1, 0, 1, 99, -2}) {
                epoch("epoch " + e, v, "ans-log", "{partition:0,leaderEpoch:" + e + "}");
                epoch("epoch " + e + " of an empty log", v, "ans-empty", "{partition:0,leaderEpoch:" + e + "}");
            }
            for (int e : new int[] {0, 1, 99, -2}) {
                epoch("current leader epoch " + e, v, "ans-log", "{partition:0,currentLeaderEpoch:" + e + ",leaderEpoch:0}");
            }
            epoch("unknown partition", v, "ans-log", "{partition:9,leaderEpoch:0}");
            epoch("unknown topic", v, "ans-nosuch", "{partition:0,leaderEpoch:0}");
            epoch("one partition twice", v, "ans-log", "{partition:0,leaderEpoch:0},{partition:0,leaderEpoch:-1}");
            epoch("no partitions", v, "ans-log", "");
        }
        r.ask("replica id 5, as a follower", OFFSET_FOR_LEADER_EPOCH, 4,
            "{replicaId:5,topics:[{topic:'ans-log',partitions:[{partition:0,leaderEpoch:0}]}]}");
        r.ask("replica id -2", OFFSET_FOR_LEADER_EPOCH, 4,
            "{replicaId:-2,topics:[{topic:'ans-log',partitions:[{partition:0,leaderEpoch:0}]}]}");
        r.ask("no topics", OFFSET_FOR_LEADER_EPOCH, 4, "{replicaId:-1,topics:[]}");
    }

    private void producerId() throws IOException {
        for (int v = 0; v <= 5; v++) {
            r.ask("null transactional id, version " + v, INIT_PRODUCER_ID, v, "{transactionalId:null,transactionTimeoutMs:1000}");
            r.ask("and again: another id, version " + v, INIT_PRODUCER_ID, v, "{transactionalId:null,transactionTimeoutMs:1000}");
            for (int timeout : new int[] {0, -1, Integer.MAX_VALUE}) {
                r.ask("timeout " + timeout + " without transactional id, version " + v, INIT_PRODUCER_ID, v,
                    "{transactionalId:null,transactionTimeoutMs:" + timeout + "}");
            }
            r.ask("empty transactional id, version " + v, INIT_PRODUCER_ID, v, "{transactionalId:'',transactionTimeoutMs:1000}");
        }
        for (int v : new int[] {3, 4, 5}) {
            for (long[] c : new long[][] {{1, 0}, {1, -1}, {-1, 0}, {-2, 0}, {999_999, 5}, {1, 32767}, {0, 0}}) {
                r.ask("producer id " + c[0] + ", epoch " + c[1] + " without transactional id, version " + v, INIT_PRODUCER_ID, v,
                    "{transactionalId:null,transactionTimeoutMs:1000,producerId:" + c[0] + ",producerEpoch:" + c[1] + "}");
            }
        }
        r.askBody("version 6, unstable", INIT_PRODUCER_ID, 6,
            r.body(INIT_PRODUCER_ID, 6, "{transactionalId:null,transactionTimeoutMs:1000}"));
    }
}
