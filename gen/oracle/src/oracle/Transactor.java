package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.protocol.ApiKeys;

/** A transactional producer that speaks raw requests, in the versions that its caller names. */
final class Transactor {
    final String id;
    long pid = -1;
    int epoch = -1;
    int timeoutMs = 60_000;
    /** The partition's next sequence numbers. */
    final Map<String, Integer> next = new HashMap<>();

    private final Traces t;
    private final String connection;
    private final long now = System.currentTimeMillis();

    Transactor(Traces t, String id) {
        this(t, "c", id);
    }

    Transactor(Traces t, String connection, String id) {
        this.t = t;
        this.connection = connection;
        this.id = id;
    }

    /** The same transactional id as a producer would use it that has other numbers. */
    Transactor with(long otherPid, int otherEpoch) {
        return as(id, otherPid, otherEpoch);
    }

    Transactor as(String otherId, long otherPid, int otherEpoch) {
        Transactor other = new Transactor(t, connection, otherId);
        other.pid = otherPid;
        other.epoch = otherEpoch;
        other.timeoutMs = timeoutMs;
        other.next.putAll(next);
        return other;
    }

    Transactor older() {
        return with(pid, epoch - 1);
    }

    /** Asks for an id and an epoch without saying what it has. */
    JsonNode init(String why, int v) throws IOException {
        return init(why, v, -1, -1);
    }

    JsonNode init(String why, int v, long expectedPid, int expectedEpoch) throws IOException {
        ObjectNode json = Member.json("transactionalId", id, "transactionTimeoutMs", timeoutMs);
        if (v >= 3) {
            json.put("producerId", expectedPid).put("producerEpoch", expectedEpoch);
        }
        JsonNode answer = t.ask(connection, why, ApiKeys.INIT_PRODUCER_ID, v, json.toString());
        take(answer);
        return answer;
    }

    private void take(JsonNode answer) {
        if (answer.get("errorCode").intValue() != 0) {
            return;
        }
        if (pid != answer.get("producerId").longValue() || epoch != answer.get("producerEpoch").intValue()) {
            next.clear();
        }
        pid = answer.get("producerId").longValue();
        epoch = answer.get("producerEpoch").intValue();
    }

    static ObjectNode topic(String name, int... partitions) {
        return Member.json("name", name, "partitions", partitions);
    }

    JsonNode add(String why, int v, ObjectNode... topics) throws IOException {
        ObjectNode json = v < 4
            ? Member.json("v3AndBelowTransactionalId", id, "v3AndBelowProducerId", pid, "v3AndBelowProducerEpoch", epoch, "v3AndBelowTopics", List.of(topics))
            : Member.json("transactions", List.of(adding(false, topics)));
        return t.ask(connection, why, ApiKeys.ADD_PARTITIONS_TO_TXN, v, json.toString());
    }

    /** A transaction of AddPartitionsToTxn 4 and above. */
    ObjectNode adding(boolean verify, ObjectNode... topics) {
        return Member.json("transactionalId", id, "producerId", pid, "producerEpoch", epoch, "verifyOnly", verify, "topics", List.of(topics));
    }

    JsonNode addAll(String why, int v, ObjectNode... transactions) throws IOException {
        return t.ask(connection, why, ApiKeys.ADD_PARTITIONS_TO_TXN, v, Member.json("transactions", List.of(transactions)).toString());
    }

    JsonNode addOffsets(String why, int v, String group) throws IOException {
        return t.ask(connection, why, ApiKeys.ADD_OFFSETS_TO_TXN, v,
            Member.json("transactionalId", id, "producerId", pid, "producerEpoch", epoch, "groupId", group).toString());
    }

    JsonNode end(String why, int v, boolean commit) throws IOException {
        JsonNode answer = t.ask(connection, why + ": " + (commit ? "commit" : "abort"), ApiKeys.END_TXN, v,
            Member.json("transactionalId", id, "producerId", pid, "producerEpoch", epoch, "committed", commit).toString());
        if (v >= 5) {
            take(answer);
        }
        return answer;
    }

    /** Commits offsets of a group, in rows as Commits makes them. */
    JsonNode commit(String why, int v, String group, String member, int generation, ObjectNode... topics) throws IOException {
        ObjectNode json = Member.json("transactionalId", id, "groupId", group, "producerId", pid, "producerEpoch", epoch, "topics", List.of(topics));
        if (v >= 3) {
            json.put("memberId", member).put("generationIdOrMemberEpoch", generation);
        }
        return t.ask(connection, why, ApiKeys.TXN_OFFSET_COMMIT, v, json.toString());
    }

    /** Records of this producer that follow those before, one for each value. */
    Batches batch(String topic, int partition, String... values) {
        Batches b = new Batches(now);
        b.producerId = pid;
        b.producerEpoch = (short) epoch;
        b.baseSequence = next.getOrDefault(topic + partition, 0);
        b.attributes = Batches.TRANSACTIONAL;
        for (String value : values) {
            b.add(now, "k", value);
        }
        return b;
    }

    /** Writes a batch as it is. */
    JsonNode send(String why, int v, String topic, String topicId, int partition, Batches b) throws IOException {
        ObjectNode json = (ObjectNode) Messages.JSON.readTree(Topics.produce(v, topic, topicId, partition, b.build()));
        json.put("transactionalId", id);
        return t.ask(connection, why, ApiKeys.PRODUCE, v, json.toString());
    }

    /** Writes records, and counts on if they are taken. */
    JsonNode produce(String why, int v, String topic, String topicId, int partition, String... values) throws IOException {
        Batches b = batch(topic, partition, values);
        JsonNode answer = send(why, v, topic, topicId, partition, b);
        if (answer.at("/responses/0/partitionResponses/0/errorCode").intValue() == 0) {
            next.put(topic + partition, b.baseSequence + values.length);
        }
        return answer;
    }
}
