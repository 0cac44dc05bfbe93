package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** A member of a classic group, on a connection of its own. Fields may be changed between any two steps. */
final class Member {
    final Traces t;
    final String connection;
    String group;
    /** JoinGroup's version; the other APIs get theirs from it. */
    int version = 9;
    String id = "";
    String instance;
    int generation = -1;
    String protocolType = "consumer";
    List<String> protocols = List.of("range");
    List<String> topics = List.of("ans-none");
    int sessionMs = 30_000;
    int rebalanceMs = 30_000;

    Member(Traces t, String connection, String group) {
        this.t = t;
        this.connection = connection;
        this.group = group;
    }

    /** A JSON object of names and values in turn. */
    static ObjectNode json(Object... pairs) {
        ObjectNode out = Messages.JSON.createObjectNode();
        for (int i = 0; i < pairs.length; i += 2) {
            out.set((String) pairs[i], Messages.JSON.valueToTree(pairs[i + 1]));
        }
        return out;
    }

    /** A consumer's subscription as its protocol's metadata. */
    static byte[] subscription(int version, List<String> topics) {
        byte[] body = Messages.encode(Messages.fromJson("ConsumerProtocolSubscription", json("topics", topics)), (short) version);
        return Recorder.concat(ByteBuffer.allocate(2).putShort((short) version).array(), body);
    }

    /** The same member on another connection. */
    Member on(String other) {
        Member m = new Member(t, other, group);
        m.version = version;
        m.id = id;
        m.instance = instance;
        m.generation = generation;
        m.protocolType = protocolType;
        m.protocols = protocols;
        m.topics = topics;
        m.sessionMs = sessionMs;
        m.rebalanceMs = rebalanceMs;
        return m;
    }

    JsonNode join(String why) throws IOException {
        return joined(t.ask(connection, why, ApiKeys.JOIN_GROUP, version, joinJson()));
    }

    Traces.Call parkJoin(String why) throws IOException {
        return t.park(connection, why, ApiKeys.JOIN_GROUP, version, joinJson());
    }

    private String joinJson() {
        ObjectNode json = json("groupId", group, "sessionTimeoutMs", sessionMs, "rebalanceTimeoutMs", rebalanceMs, "memberId", id,
            "protocolType", protocolType);
        if (version >= 5) {
            json.put("groupInstanceId", instance);
        }
        ArrayNode list = json.putArray("protocols");
        for (String p : protocols) {
            list.add(json("name", p, "metadata", subscription(1, topics)));
        }
        return json.toString();
    }

    /** Takes over what an answer to JoinGroup says. */
    JsonNode joined(JsonNode answer) {
        int code = answer.path("errorCode").intValue();
        if (code == 0 || code == 79) {
            id = answer.get("memberId").textValue();
            generation = answer.get("generationId").intValue();
        }
        return answer;
    }

    void joined(Traces.Call call) throws IOException {
        joined(call.await());
    }

    /** Joins in one go whatever the version: without an id first where that is how it goes. */
    void enter(String why) throws IOException {
        if (join(why).path("errorCode").intValue() == 79) {
            join(why + ": with the id");
        }
    }

    /** Gets an id where the version asks for one. */
    void introduce() throws IOException {
        if (version >= 4 && instance == null) {
            join("a new member is given an id");
        }
    }

    private int atMost(int v) {
        return Math.min(version, v);
    }

    JsonNode sync(String why, Member... assigned) throws IOException {
        return t.ask(connection, why, ApiKeys.SYNC_GROUP, atMost(5), syncJson(protocolType, protocols.get(0), assigned));
    }

    Traces.Call parkSync(String why, Member... assigned) throws IOException {
        return t.park(connection, why, ApiKeys.SYNC_GROUP, atMost(5), syncJson(protocolType, protocols.get(0), assigned));
    }

    Traces.Call parkSyncAs(String why, String name) throws IOException {
        return t.park(connection, why, ApiKeys.SYNC_GROUP, atMost(5), syncJson(protocolType, name));
    }

    JsonNode syncAs(String why, String type, String name) throws IOException {
        return t.ask(connection, why, ApiKeys.SYNC_GROUP, 5, syncJson(type, name));
    }

    private String syncJson(String type, String name, Member... assigned) {
        ObjectNode json = json("groupId", group, "generationId", generation, "memberId", id, "protocolType", type, "protocolName", name);
        if (atMost(5) >= 3) {
            json.put("groupInstanceId", instance);
        }
        ArrayNode list = json.putArray("assignments");
        for (Member m : assigned) {
            list.add(json("memberId", m.id, "assignment", ("for " + m.connection).getBytes(StandardCharsets.UTF_8)));
        }
        return json.toString();
    }

    JsonNode heartbeat(String why) throws IOException {
        return heartbeat(why, atMost(4));
    }

    JsonNode heartbeat(String why, int v) throws IOException {
        ObjectNode json = json("groupId", group, "generationId", generation, "memberId", id);
        if (v >= 3) {
            json.put("groupInstanceId", instance);
        }
        return t.ask(connection, why, ApiKeys.HEARTBEAT, v, json.toString());
    }

    JsonNode leave(String why) throws IOException {
        return leave(why, atMost(5));
    }

    JsonNode leave(String why, int v) throws IOException {
        if (v < 3) {
            return t.ask(connection, why, ApiKeys.LEAVE_GROUP, v, json("groupId", group, "memberId", id).toString());
        }
        return leaveAll(t, connection, why, v, group, leaving(id, instance));
    }

    static ObjectNode leaving(String id, String instance) {
        return json("memberId", id, "groupInstanceId", instance, "reason", "the recording is over");
    }

    static JsonNode leaveAll(Traces t, String connection, String why, int v, String group, ObjectNode... members) throws IOException {
        return t.ask(connection, why, ApiKeys.LEAVE_GROUP, v, json("groupId", group, "members", List.of(members)).toString());
    }

    /** Commits as this member; rows as Commits makes them. */
    JsonNode commit(String why, int v, ObjectNode... topics) throws IOException {
        ObjectNode json = json("groupId", group, "generationIdOrMemberEpoch", generation, "memberId", id, "topics", List.of(topics));
        if (v >= 7) {
            json.put("groupInstanceId", instance);
        }
        return t.ask(connection, why, ApiKeys.OFFSET_COMMIT, v, json.toString());
    }

    /** Brings members into a stable group of one generation; the first leads. */
    static void stable(Member... members) throws IOException {
        Member leader = members[0];
        leader.enter("the first member joins");
        leader.sync("and syncs", leader);
        for (int i = 1; i < members.length; i++) {
            members[i].introduce();
            Traces.Call joining = members[i].parkJoin("another joins: the answer waits for the present members");
            List<Traces.Call> others = new ArrayList<>();
            for (int j = i - 1; j > 0; j--) {
                others.add(members[j].parkJoin("a present member rejoins"));
            }
            leader.join("the leader rejoins, the last one: all are answered");
            members[i].joined(joining);
            for (int j = i - 1; j > 0; j--) {
                members[j].joined(others.get(i - 1 - j));
            }
            List<Traces.Call> waiting = new ArrayList<>();
            for (int j = 1; j <= i; j++) {
                waiting.add(members[j].parkSync("a follower syncs before the leader"));
            }
            Member[] all = java.util.Arrays.copyOf(members, i + 1);
            leader.sync("the leader syncs: all are answered", all);
            for (Traces.Call c : waiting) {
                c.await();
            }
        }
    }
}
