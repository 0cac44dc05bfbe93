package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/**
 * A member of a consumer group (KIP-848), on a connection of its own. Fields may be changed between any
 * two steps. Its id is not random: who gets what partitions depends on the ids.
 */
final class Subscriber {
    final Traces t;
    final String connection;
    String group;
    int version = 1;
    String id;
    int epoch;
    String instance;
    String rack;
    int rebalanceMs = 30_000;
    List<String> topics;
    String regex;
    String assignor;
    /** What the broker assigned last. */
    JsonNode assigned = Messages.JSON.createArrayNode();

    Subscriber(Traces t, String connection, String group, String... topics) {
        this.t = t;
        this.connection = connection;
        this.group = group;
        this.id = "member-" + connection;
        this.topics = topics.length == 0 ? null : List.of(topics);
    }

    /** A heartbeat with the given fields besides who sends it. */
    JsonNode send(String why, Object... more) throws IOException {
        ObjectNode json = Member.json("groupId", group, "memberId", id, "memberEpoch", epoch, "instanceId", instance);
        json.setAll(Member.json(more));
        JsonNode answer = t.ask(connection, why, ApiKeys.CONSUMER_GROUP_HEARTBEAT, version, json.toString());
        if (answer.path("errorCode").intValue() == 0) {
            id = answer.get("memberId").asText(id);
            epoch = answer.get("memberEpoch").intValue();
            if (answer.path("assignment").isObject()) {
                assigned = answer.at("/assignment/topicPartitions");
            }
        }
        return answer;
    }

    /** A heartbeat that tells everything, as when joining. */
    JsonNode full(String why, Object owned) throws IOException {
        ObjectNode json = Member.json("rackId", rack, "rebalanceTimeoutMs", rebalanceMs, "subscribedTopicNames", topics, "serverAssignor", assignor,
            "topicPartitions", owned);
        if (version >= 1) {
            json.put("subscribedTopicRegex", regex);
        }
        Object[] pairs = json.properties().stream().flatMap(e -> java.util.stream.Stream.of(e.getKey(), e.getValue())).toArray();
        return send(why, pairs);
    }

    JsonNode join(String why) throws IOException {
        epoch = 0;
        return full(why, List.of());
    }

    /** A heartbeat that tells nothing. */
    JsonNode beat(String why) throws IOException {
        return send(why);
    }

    /** Says that it owns what it was assigned. */
    JsonNode ack(String why) throws IOException {
        return send(why, "topicPartitions", assigned);
    }

    JsonNode leave(String why) throws IOException {
        epoch = -1;
        return send(why);
    }

    JsonNode leaveForNow(String why) throws IOException {
        epoch = -2;
        return send(why);
    }

    static ObjectNode partitions(String topicId, int... partitions) {
        return Member.json("topicId", topicId, "partitions", partitions);
    }

    /** Commits as this member. */
    JsonNode commit(String why, int v, ObjectNode... topics) throws IOException {
        ObjectNode json = Member.json("groupId", group, "generationIdOrMemberEpoch", epoch, "memberId", id, "topics", List.of(topics));
        if (v >= 7) {
            json.put("groupInstanceId", instance);
        }
        return t.ask(connection, why, ApiKeys.OFFSET_COMMIT, v, json.toString());
    }

    /** The same member on another connection. */
    Subscriber on(String other) {
        Subscriber s = new Subscriber(t, other, group);
        s.version = version;
        s.id = id;
        s.epoch = epoch;
        s.instance = instance;
        s.rack = rack;
        s.rebalanceMs = rebalanceMs;
        s.topics = topics;
        s.regex = regex;
        s.assignor = assignor;
        s.assigned = assigned;
        return s;
    }
}
