package oracle;

import static org.apache.kafka.common.protocol.ApiKeys.DELETE_RECORDS;
import static org.apache.kafka.common.protocol.ApiKeys.FETCH;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;

/** Fetch: bounds, sizes, waiting, epochs, ids and sessions. */
final class AnswersFetch {
    private static final String RANDOM_ID = "AbCdEfGhIjKlMnOpQrStUw";
    private static final String ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA";
    private static final int WAIT_MS = 400;

    private final Recorder r;
    private final Topics topics;
    private String log;
    private String empty;

    AnswersFetch(Recorder r) {
        this.r = r;
        this.topics = new Topics(r);
    }

    void record() throws IOException {
        r.file("fetch");
        setUp();
        bounds();
        versions();
        sizes();
        unknown();
        r.file("fetch-epochs");
        epochs();
        r.file("fetch-sessions");
        sessions();
    }

    /** ans-log: offsets 10 to 19 in ten batches of one, 0 to 9 deleted; partition 1 holds three batches of 3 records. */
    private void setUp() throws IOException {
        log = topics.make("ans-log", 3, "");
        empty = topics.make("ans-empty", 1, "");
        for (int i = 0; i < 20; i++) {
            topics.write("ans-log", 0, new Batches(1_700_000_000_000L + i).add(1_700_000_000_000L + i, "k" + i, "v" + i).build());
        }
        for (int i = 0; i < 3; i++) {
            long t = 1_700_000_000_000L + 10 * i;
            topics.write("ans-log", 1, new Batches(t).add(t, "a" + i, "1").add(t + 1, "b" + i, "2").add(t + 2, "c" + i, "3").build());
        }
        r.quietly(() -> {
            JsonNode a = r.ask("", DELETE_RECORDS, 2,
                "{topics:[{name:'ans-log',partitions:[{partitionIndex:0,offset:10}]}],timeoutMs:10000}");
            if (a.at("/topics/0/partitions/0/errorCode").intValue() != 0) {
                throw new IOException("records not deleted: " + a);
            }
        });
        r.fresh();
    }

    private static String partition(int p, long offset, String more) {
        return "{partition:" + p + ",fetchOffset:" + offset + ",partitionMaxBytes:1000000" + more + "}";
    }

    private String topic(int version, String name, String id, String partitions) {
        return "{" + (version >= 13 ? "topicId:'" + id + "'" : "topic:'" + name + "'") + ",partitions:[" + partitions + "]}";
    }

    private JsonNode fetch(String why, int version, String topics, String more) throws IOException {
        return r.ask(why, FETCH, version, "{maxWaitMs:" + WAIT_MS + ",minBytes:1,maxBytes:10000000" + more + ",topics:[" + topics + "]}");
    }

    private void bounds() throws IOException {
        for (int v : new int[] {4, 11, 12, 13, 18}) {
            for (long offset : new long[] {9, 10, 19, 20, 21, -1, -2, 0, Long.MAX_VALUE}) {
                fetch("log 10 to 20, offset " + offset + ", version " + v, v, topic(v, "ans-log", log, partition(0, offset, "")), "");
            }
            for (long offset : new long[] {0, 1}) {
                fetch("empty topic, offset " + offset + ", version " + v, v, topic(v, "ans-empty", empty, partition(0, offset, "")), "");
            }
        }
        fetch("an idle partition and one out of range", 12,
            topic(12, "ans-log", log, partition(2, 0, "") + "," + partition(0, 99, "")), "");
        fetch("an idle partition and one with data", 12,
            topic(12, "ans-log", log, partition(2, 0, "") + "," + partition(0, 18, "")), "");
        fetch("middle of a batch: the whole batch comes", 12, topic(12, "ans-log", log, partition(1, 4, "")), "");
        fetch("isolation level 1", 12, topic(12, "ans-log", log, partition(1, 6, "")), ",isolationLevel:1");
        fetch("isolation level 1, empty topic", 4, topic(4, "ans-empty", empty, partition(0, 0, "")), ",isolationLevel:1");
        fetch("isolation level 7", 12, topic(12, "ans-log", log, partition(1, 6, "")), ",isolationLevel:7");
        fetch("log start offset given", 12, topic(12, "ans-log", log, partition(0, 18, ",logStartOffset:3")), "");
    }

    private void versions() throws IOException {
        for (int v = 4; v <= 18; v++) {
            fetch("data, version " + v, v, topic(v, "ans-log", log, partition(0, 17, "")), "");
        }
    }

    private void sizes() throws IOException {
        String all = topic(12, "ans-log", log, "{partition:1,fetchOffset:0,partitionMaxBytes:1},{partition:0,fetchOffset:10,partitionMaxBytes:1}");
        fetch("partition limit 1: the first with data gives one batch, the other none", 12, all, "");
        for (int limit : new int[] {0, -1, 1, 100, 200}) {
            r.ask("request limit " + limit, FETCH, 12, "{maxWaitMs:" + WAIT_MS + ",minBytes:1,maxBytes:" + limit + ",topics:["
                + topic(12, "ans-log", log, partition(1, 0, "") + "," + partition(0, 10, "")) + "]}");
            r.ask("partition limit " + limit, FETCH, 12, "{maxWaitMs:" + WAIT_MS + ",minBytes:1,topics:["
                + topic(12, "ans-log", log, "{partition:0,fetchOffset:10,partitionMaxBytes:" + limit + "}") + "]}");
        }
        r.ask("an empty partition first, request limit 1", FETCH, 12, "{maxWaitMs:" + WAIT_MS + ",minBytes:1,maxBytes:1,topics:["
            + topic(12, "ans-log", log, partition(2, 0, "") + "," + partition(1, 0, "") + "," + partition(0, 10, "")) + "]}");
        r.ask("min bytes 0 on an idle partition", FETCH, 12, "{maxWaitMs:" + WAIT_MS + ",minBytes:0,topics:["
            + topic(12, "ans-log", log, partition(2, 0, "")) + "]}");
        r.ask("min bytes above what is there", FETCH, 12, "{maxWaitMs:" + WAIT_MS + ",minBytes:100000,topics:["
            + topic(12, "ans-log", log, partition(1, 0, "")) + "]}");
        r.ask("max wait 0 on an idle partition", FETCH, 12, "{maxWaitMs:0,minBytes:1,topics:["
            + topic(12, "ans-log", log, partition(2, 0, "")) + "]}");
        r.ask("max wait -1 on an idle partition", FETCH, 12, "{maxWaitMs:-1,minBytes:1,topics:["
            + topic(12, "ans-log", log, partition(2, 0, "")) + "]}");
        fetch("no topics", 12, "", "");
        fetch("no partitions", 12, topic(12, "ans-log", log, ""), "");
        fetch("one partition twice", 12, topic(12, "ans-log", log, partition(1, 0, "") + "," + partition(1, 6, "")), "");
        fetch("a rack", 12, topic(12, "ans-log", log, partition(1, 6, "")), ",rackId:'r1'");
    }

    private void unknown() throws IOException {
        for (int v : new int[] {4, 7, 12}) {
            fetch("unknown topic, version " + v, v, topic(v, "ans-nosuch", null, partition(0, 0, "")), "");
            fetch("unknown partition, version " + v, v, topic(v, "ans-log", log, partition(3, 0, "") + "," + partition(-1, 0, "")), "");
            fetch("bad name, version " + v, v, topic(v, "a b", log, partition(0, 0, "")), "");
        }
        for (int v : new int[] {13, 18}) {
            fetch("unknown id, version " + v, v, topic(v, null, RANDOM_ID, partition(0, 0, "") + "," + partition(5, 7, "")), "");
            fetch("zero id, version " + v, v, topic(v, null, ZERO_ID, partition(0, 0, "")), "");
            fetch("unknown partition by id, version " + v, v, topic(v, null, log, partition(3, 0, "")), "");
            fetch("unknown id and a known one, version " + v, v,
                topic(v, null, RANDOM_ID, partition(0, 0, "")) + "," + topic(v, null, log, partition(1, 6, "")), "");
        }
        fetch("replica id 5, as a follower", 12, topic(12, "ans-log", log, partition(1, 6, "")), ",replicaId:5");
        fetch("replica id -2, as a debugger", 12, topic(12, "ans-log", log, partition(1, 6, "")), ",replicaId:-2");
        fetch("replica state with an id, as a follower", 15, topic(15, null, log, partition(1, 6, "")), ",replicaState:{replicaId:5,replicaEpoch:1}");
        fetch("another cluster id", 12, topic(12, "ans-log", log, partition(1, 6, "")), ",clusterId:'other'");
    }

    private void epochs() throws IOException {
        r.fresh();
        for (int v : new int[] {9, 11, 12, 13, 16, 18}) {
            for (int e : new int[] {-1, 0, 1, 99, -2}) {
                fetch("current leader epoch " + e + ", version " + v, v,
                    topic(v, "ans-log", log, partition(1, 6, ",currentLeaderEpoch:" + e)), "");
            }
        }
        for (int v : new int[] {12, 13, 18}) {
            for (int e : new int[] {-1, 0, 1, -2}) {
                fetch("last fetched epoch " + e + ", version " + v, v,
                    topic(v, "ans-log", log, partition(1, 6, ",currentLeaderEpoch:0,lastFetchedEpoch:" + e)), "");
                fetch("last fetched epoch " + e + " above the end, version " + v, v,
                    topic(v, "ans-log", log, partition(1, 50, ",currentLeaderEpoch:0,lastFetchedEpoch:" + e)), "");
                fetch("last fetched epoch " + e + " below the start, version " + v, v,
                    topic(v, "ans-log", log, partition(0, 3, ",currentLeaderEpoch:0,lastFetchedEpoch:" + e)), "");
            }
        }
        fetch("wrong epoch and out of range", 12, topic(12, "ans-log", log, partition(1, 99, ",currentLeaderEpoch:1")), "");
        fetch("epoch for an unknown partition", 12, topic(12, "ans-log", log, partition(9, 0, ",currentLeaderEpoch:1")), "");
        fetch("wrong epoch on an idle partition", 12, topic(12, "ans-log", log, partition(2, 0, ",currentLeaderEpoch:1")), "");
    }

    private void sessions() throws IOException {
        r.fresh();
        for (int v : new int[] {7, 12, 13, 18}) {
            String data = topic(v, "ans-log", log, partition(1, 6, ""));
            String idle = topic(v, "ans-log", log, partition(2, 0, ""));
            fetch("no session: id 0, epoch -1, version " + v, v, data, ",sessionId:0,sessionEpoch:-1");
            fetch("close what is not there: id 12345, epoch -1, version " + v, v, data, ",sessionId:12345,sessionEpoch:-1");
            fetch("unknown session: id 12345, epoch 1, version " + v, v, "", ",sessionId:12345,sessionEpoch:1");
            fetch("id 0, epoch 1, version " + v, v, data, ",sessionId:0,sessionEpoch:1");
            fetch("id 12345, epoch 0: a new one, version " + v, v, data, ",sessionId:12345,sessionEpoch:0");
            fetch("id 0, epoch -2, version " + v, v, data, ",sessionId:0,sessionEpoch:-2");
            JsonNode a = fetch("a new session, version " + v, v, data + "," + topic(v, "ans-empty", empty, partition(0, 0, "")), ",sessionId:0,sessionEpoch:0");
            int id = a.get("sessionId").intValue();
            String session = ",sessionId:" + id + ",sessionEpoch:";
            fetch("second request, nothing named: the data again, version " + v, v, "", session + "1");
            fetch("wrong epoch, version " + v, v, "", session + "1");
            fetch("wrong epoch, version " + v, v, "", session + "7");
            fetch("right epoch after that, offset moved to the end: nothing, version " + v, v, topic(v, "ans-log", log, partition(1, 9, "")), session + "2");
            fetch("out of range: only that partition, version " + v, v, topic(v, "ans-log", log, partition(1, 99, "")), session + "3");
            fetch("out of range said again, version " + v, v, "", session + "4");
            fetch("a partition added, version " + v, v, topic(v, "ans-log", log, partition(0, 19, "")), session + "5");
            String forget = ",forgottenTopicsData:[{" + (v >= 13 ? "topicId:'" + log + "'" : "topic:'ans-log'") + ",partitions:[0,1]}]";
            fetch("partitions forgotten, version " + v, v, "", session + "6" + forget);
            fetch("what is not there forgotten, version " + v, v, idle, session + "7" + forget);
            fetch("an unknown topic added, version " + v, v, topic(v, "ans-nosuch", RANDOM_ID, partition(0, 0, "")), session + "8");
            fetch("and again, version " + v, v, "", session + "9");
            fetch("session closed, epoch -1 with data, version " + v, v, data, session + "-1");
            fetch("after its end, version " + v, v, "", session + "10");
        }
        versionsMixed();
    }

    /** A session belongs to names or to ids, not to both. */
    private void versionsMixed() throws IOException {
        JsonNode a = fetch("a new session by name", 12, topic(12, "ans-log", log, partition(2, 0, "")), ",sessionId:0,sessionEpoch:0");
        fetch("the same by id", 13, topic(13, null, log, partition(1, 6, "")), ",sessionId:" + a.get("sessionId").intValue() + ",sessionEpoch:1");
        a = fetch("a new session by id", 13, topic(13, null, log, partition(2, 0, "")), ",sessionId:0,sessionEpoch:0");
        fetch("the same by name", 12, topic(12, "ans-log", log, partition(1, 6, "")), ",sessionId:" + a.get("sessionId").intValue() + ",sessionEpoch:1");
        a = fetch("a new session", 12, topic(12, "ans-log", log, partition(1, 6, "")), ",sessionId:0,sessionEpoch:0");
        r.fresh();
        fetch("its second request on another connection", 12, "", ",sessionId:" + a.get("sessionId").intValue() + ",sessionEpoch:1");
        fetch("epoch 0 with that id: a new one in its place", 12, topic(12, "ans-log", log, partition(1, 6, "")),
            ",sessionId:" + a.get("sessionId").intValue() + ",sessionEpoch:0");
        fetch("the old one is gone", 12, "", ",sessionId:" + a.get("sessionId").intValue() + ",sessionEpoch:2");
    }
}
