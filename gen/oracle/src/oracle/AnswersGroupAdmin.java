package oracle;

import static oracle.Commits.row;
import static oracle.Commits.topic;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** FindCoordinator, ListGroups, DescribeGroups and DeleteGroups. The first of the recordings: it lists all groups there are. */
final class AnswersGroupAdmin {
    private final Traces t;

    AnswersGroupAdmin(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("group-list");
        t.attempt(this::list);
        t.file("group-admin");
        t.attempt(this::find);
        t.attempt(this::describe);
        t.attempt(this::delete);
        t.attempt(this::life);
    }

    private void ask(String why, ApiKeys api, int version, String json) throws IOException {
        t.ask("s", why + ", version " + version, api, version, json);
    }

    private static String groups(String... ids) {
        return Member.json("groups", List.of(ids)).toString();
    }

    private void list() throws IOException {
        t.begin("list", "all groups there are, of each kind and state");
        t.topic("ans-list", 1);
        for (int v = 0; v <= 5; v++) {
            ask("no groups at all", ApiKeys.LIST_GROUPS, v, "{}");
        }
        Commits.simple(t, "from outside", 7, "list.simple", topic("ans-list", row(0, 1)));
        Member stable = new Member(t, "a", "list.stable");
        stable.enter("stable");
        stable.sync("stable", stable);
        Member completing = new Member(t, "b", "list.completing");
        completing.enter("completing a rebalance");
        Member connect = new Member(t, "c", "list.connect");
        connect.protocolType = "connect";
        connect.enter("of another type");
        connect.sync("of another type", connect);
        Member empty = new Member(t, "d", "list.empty");
        empty.enter("empty");
        empty.sync("empty", empty);
        empty.leave("empty");
        Member preparing = new Member(t, "e", "list.preparing");
        Member late = new Member(t, "f", "list.preparing");
        preparing.enter("preparing a rebalance");
        preparing.sync("preparing a rebalance", preparing);
        late.introduce();
        late.parkJoin("never answered here");
        Member pending = new Member(t, "g", "list.pending");
        pending.introduce();
        Subscriber s = new Subscriber(t, "h", "list.consumer");
        s.topics = List.of("ans-list");
        s.join("a consumer group");
        for (int v = 0; v <= 5; v++) {
            ask("all", ApiKeys.LIST_GROUPS, v, "{}");
        }
        String[] states = {"Empty", "Stable", "PreparingRebalance", "CompletingRebalance", "Dead", "Assigning", "Reconciling", "stable", "EMPTY",
            "NoSuch", "", "Unknown", "NotReady"};
        for (int v = 4; v <= 5; v++) {
            for (String state : states) {
                ask("state '" + state + "'", ApiKeys.LIST_GROUPS, v, Member.json("statesFilter", List.of(state)).toString());
            }
            ask("two states", ApiKeys.LIST_GROUPS, v, "{statesFilter:['Empty','Stable']}");
            ask("a state twice and an unknown one", ApiKeys.LIST_GROUPS, v, "{statesFilter:['Empty','Empty','NoSuch']}");
        }
        for (String type : new String[] {"classic", "consumer", "Classic", "CONSUMER", "share", "streams", "nosuch", "", "unknown"}) {
            ask("type '" + type + "'", ApiKeys.LIST_GROUPS, 5, Member.json("typesFilter", List.of(type)).toString());
        }
        ask("two types", ApiKeys.LIST_GROUPS, 5, "{typesFilter:['classic','consumer']}");
        ask("type and state", ApiKeys.LIST_GROUPS, 5, "{typesFilter:['classic'],statesFilter:['Stable']}");
        ask("type and state that do not meet", ApiKeys.LIST_GROUPS, 5, "{typesFilter:['consumer'],statesFilter:['Empty']}");
    }

    private void find() throws IOException {
        t.begin("find", "FindCoordinator");
        for (int v = 0; v <= 3; v++) {
            ask("a group", ApiKeys.FIND_COORDINATOR, v, "{key:'find'}");
            ask("no group id", ApiKeys.FIND_COORDINATOR, v, "{key:''}");
            if (v == 0) {
                continue;
            }
            for (int type : new int[] {2, 3, -1, 127}) {
                ask("key type " + type, ApiKeys.FIND_COORDINATOR, v, "{key:'find',keyType:" + type + "}");
            }
        }
        for (int v = 4; v <= 6; v++) {
            ask("one group", ApiKeys.FIND_COORDINATOR, v, "{coordinatorKeys:['find']}");
            ask("several, one twice", ApiKeys.FIND_COORDINATOR, v, "{coordinatorKeys:['find','find.b','find']}");
            ask("none", ApiKeys.FIND_COORDINATOR, v, "{coordinatorKeys:[]}");
            ask("an empty one among others", ApiKeys.FIND_COORDINATOR, v, "{coordinatorKeys:['','find']}");
            for (int type : new int[] {3, -1, 127}) {
                ask("key type " + type, ApiKeys.FIND_COORDINATOR, v, "{coordinatorKeys:['find','b'],keyType:" + type + "}");
            }
            ask("key type 2", ApiKeys.FIND_COORDINATOR, v, "{coordinatorKeys:['find','g:AbCdEfGhIjKlMnOpQrStUw:x'],keyType:2}");
        }
    }

    private void describe() throws IOException {
        t.begin("describe", "DescribeGroups in each state");
        t.topic("ans-describe", 1);
        for (int v = 0; v <= 6; v++) {
            ask("unknown group", ApiKeys.DESCRIBE_GROUPS, v, groups("describe.nosuch"));
            ask("no group id", ApiKeys.DESCRIBE_GROUPS, v, groups(""));
            ask("no groups", ApiKeys.DESCRIBE_GROUPS, v, groups());
        }
        Commits.simple(t, "from outside", 7, "describe.simple", topic("ans-describe", row(0, 1)));
        Member a = new Member(t, "a", "describe.dynamic");
        Member b = new Member(t, "b", "describe.dynamic");
        a.introduce();
        ask("a pending member", ApiKeys.DESCRIBE_GROUPS, 6, groups("describe.dynamic"));
        Member.stable(a, b);
        Member c = new Member(t, "c", "describe.static");
        c.instance = "ic";
        c.protocols = List.of("range", "roundrobin");
        c.enter("a static member");
        for (int v = 0; v <= 6; v++) {
            ask("stable, completing, simple, unknown, one twice", ApiKeys.DESCRIBE_GROUPS, v,
                groups("describe.dynamic", "describe.static", "describe.simple", "describe.nosuch", "describe.simple"));
        }
        for (int v = 3; v <= 6; v++) {
            ask("with authorized operations", ApiKeys.DESCRIBE_GROUPS, v,
                "{groups:['describe.dynamic','describe.nosuch'],includeAuthorizedOperations:true}");
        }
        Traces.Call ja = a.parkJoin("a rebalance");
        for (int v = 0; v <= 6; v += 3) {
            ask("preparing", ApiKeys.DESCRIBE_GROUPS, v, groups("describe.dynamic"));
        }
        b.join("follows");
        a.joined(ja);
        for (int v = 0; v <= 6; v += 3) {
            ask("completing", ApiKeys.DESCRIBE_GROUPS, v, groups("describe.dynamic"));
        }
        Member.leaveAll(t, "x", "all leave", 5, "describe.dynamic", Member.leaving(a.id, null), Member.leaving(b.id, null));
        for (int v = 0; v <= 6; v += 3) {
            ask("empty", ApiKeys.DESCRIBE_GROUPS, v, groups("describe.dynamic"));
        }
        for (int v = 0; v <= 1; v++) {
            ask("as consumer groups", ApiKeys.CONSUMER_GROUP_DESCRIBE, v,
                "{groupIds:['describe.dynamic','describe.static','describe.simple','describe.nosuch','','describe.nosuch']}");
            ask("no groups", ApiKeys.CONSUMER_GROUP_DESCRIBE, v, "{groupIds:[]}");
        }
    }

    private void delete() throws IOException {
        t.begin("delete", "DeleteGroups");
        t.topic("ans-delete", 1);
        for (int v = 0; v <= 3; v++) {
            String[] ids = {"delete.simple" + v, "delete.stable" + v, "delete.empty" + v, "delete.completing" + v, "delete.pending" + v};
            Commits.simple(t, "from outside", 7, ids[0], topic("ans-delete", row(0, 1)));
            Member stable = new Member(t, "a" + v, ids[1]);
            stable.enter("stable");
            stable.sync("stable", stable);
            stable.commit("stable", 7, topic("ans-delete", row(0, 2)));
            Member empty = new Member(t, "b" + v, ids[2]);
            empty.enter("empty");
            empty.sync("empty", empty);
            empty.commit("empty", 7, topic("ans-delete", row(0, 3)));
            empty.leave("empty");
            Member completing = new Member(t, "c" + v, ids[3]);
            completing.enter("completing");
            Member pending = new Member(t, "d" + v, ids[4]);
            pending.introduce();
            ask("of each kind", ApiKeys.DELETE_GROUPS, v,
                Member.json("groupsNames", List.of(ids[0], ids[1], ids[2], ids[3], ids[4], "delete.nosuch", "")).toString());
            ask("again", ApiKeys.DELETE_GROUPS, v, Member.json("groupsNames", List.of(ids[0], ids[2], ids[0])).toString());
            ask("no groups", ApiKeys.DELETE_GROUPS, v, "{groupsNames:[]}");
            for (String id : v == 0 ? ids : new String[] {}) {
                Commits.fetch(t, "what is left of " + id, 7, id, null);
            }
            ask("what is left", ApiKeys.DESCRIBE_GROUPS, 6, groups(ids));
            empty.join("a member of the deleted group");
            pending.join("a pending member of a group that was to be deleted");
        }
    }

    private void life() throws IOException {
        t.begin("life", "a group is deleted and used again");
        t.topic("ans-life", 1);
        for (int i = 0; i < 2; i++) {
            Member a = new Member(t, "a", "life");
            a.enter("a member");
            a.sync("syncs", a);
            a.commit("commits", 9, topic("ans-life", row(0, 5)));
            a.leave("leaves");
            ask("deleted", ApiKeys.DELETE_GROUPS, 2, "{groupsNames:['life']}");
            Commits.fetch(t, "nothing is left", 9, "life", null);
        }
        ObjectNode two = topic("ans-life", row(0, 6));
        Commits.simple(t, "from outside", 9, "life", two);
        Member a = new Member(t, "a", "life");
        a.enter("a member of a group that had offsets only");
        a.sync("syncs", a);
        Commits.fetch(t, "the offsets stay", 9, "life", null);
        a.leave("leaves");
        ask("the group", ApiKeys.DESCRIBE_GROUPS, 6, groups("life"));
    }
}
