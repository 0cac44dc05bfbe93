package oracle;

import java.io.IOException;
import java.util.List;

/** What JoinGroup, SyncGroup, Heartbeat and LeaveGroup refuse. */
final class AnswersClassicErrors {
    private final Traces t;

    AnswersClassicErrors(Traces t) {
        this.t = t;
    }

    /** Goes on in the file of AnswersClassic. */
    void record() throws IOException {
        t.attempt(this::joinErrors);
        t.attempt(this::protocols);
        t.attempt(this::syncErrors);
        t.attempt(this::heartbeats);
        t.attempt(this::leaving);
        t.attempt(this::pendingMembers);
    }

    private void joinErrors() throws IOException {
        String group = "classic-errors";
        t.begin(group, "what JoinGroup refuses");
        for (int v : new int[] {0, 4, 9}) {
            Member m = new Member(t, "a", "");
            m.version = v;
            m.join("no group id, version " + v);
            m.group = group;
            for (int ms : new int[] {499, 0, -1, 1_800_001}) {
                m.sessionMs = ms;
                m.join("session timeout of " + ms + " ms, version " + v);
            }
            m.sessionMs = 30_000;
            m.id = "made-up";
            m.join("unknown member of an unknown group, version " + v);
            m.id = "";
            m.protocolType = "";
            m.join("no protocol type in an unknown group, version " + v);
            m.protocolType = "consumer";
            m.protocols = List.of();
            m.join("no protocols in an unknown group, version " + v);
        }
        Member a = new Member(t, "a", group);
        a.enter("a member");
        a.sync("is stable", a);
        Member b = new Member(t, "b", group);
        b.id = "made-up";
        b.join("unknown member of a stable group");
        b.instance = "i";
        b.join("unknown member with an instance id of a stable group");
        a.heartbeat("which has disturbed nobody");
        b.version = 5;
        b.id = "";
        b.instance = "";
        Traces.Call jb = b.parkJoin("an empty instance id is one");
        a.join("and makes a rebalance");
        b.joined(jb);
    }

    private void protocols() throws IOException {
        for (int v : new int[] {0, 4, 9}) {
            String group = "classic-protocols-v" + v;
            t.begin(group, "protocols that do not go together, JoinGroup " + v);
            Member a = new Member(t, "a", group);
            a.version = v;
            a.enter("range only");
            a.sync("is stable", a);
            Member b = new Member(t, "b", group);
            b.version = v;
            b.protocols = List.of("RoundRobinAssigner");
            b.join("another protocol");
            b.protocols = List.of();
            b.join("no protocols");
            b.protocols = List.of("range");
            b.protocolType = "connect";
            b.join("another type");
            b.protocolType = "";
            b.join("no type");
            b.protocolType = "consumer";
            a.heartbeat("the generation is undisturbed");
            a.protocols = List.of("roundrobin");
            a.join("even the only member cannot go away from the group's protocol");
            a.protocols = List.of("roundrobin", "range");
            a.join("it may offer another");
            a.sync("and goes on", a);
            b.protocols = List.of("x", "range");
            b.introduce();
            Traces.Call c = b.parkJoin("one in common is enough");
            a.protocols = List.of("roundrobin");
            a.join("a member that goes away from the common protocol");
            a.protocols = List.of("range");
            a.join("and back");
            b.joined(c);
        }
    }

    private void syncErrors() throws IOException {
        String group = "classic-sync";
        t.begin(group, "what SyncGroup refuses");
        Member x = new Member(t, "x", "");
        x.id = "made-up";
        for (int v = 0; v <= 5; v++) {
            x.version = v;
            x.group = "";
            x.sync("no group id, version " + v);
            x.group = group + ".nosuch";
            x.sync("unknown group, version " + v);
        }
        Member a = new Member(t, "a", group);
        a.enter("a member");
        x.group = group;
        x.generation = a.generation;
        x.version = 9;
        x.sync("unknown member");
        x.instance = "i";
        x.sync("unknown member with an instance id");
        int good = a.generation;
        for (int g : new int[] {good - 1, good + 1, -1}) {
            a.generation = g;
            a.sync("generation " + (g - good) + " from the present one", a);
        }
        a.generation = good;
        a.syncAs("another protocol type", "connect", "range");
        a.syncAs("another protocol", "consumer", "roundrobin");
        a.syncAs("null protocol type", null, "range");
        a.syncAs("null protocol", "consumer", null);
        a.heartbeat("the assignment is still awaited or empty");
        a.sync("again, with an assignment that comes too late", a);
        a.leave("the last one leaves");
        a.sync("in an empty group");
    }

    private void heartbeats() throws IOException {
        String group = "classic-heartbeat";
        t.begin(group, "what Heartbeat refuses");
        Member x = new Member(t, "x", "");
        x.id = "made-up";
        for (int v = 0; v <= 4; v++) {
            x.group = "";
            x.heartbeat("no group id, version " + v, v);
            x.group = group + ".nosuch";
            x.heartbeat("unknown group, version " + v, v);
        }
        Member a = new Member(t, "a", group);
        a.enter("a member");
        a.heartbeat("before its sync");
        a.sync("syncs", a);
        x.group = group;
        x.generation = a.generation;
        for (int v = 0; v <= 4; v++) {
            x.heartbeat("unknown member, version " + v, v);
            x.generation = 99;
            x.heartbeat("unknown member and generation, version " + v, v);
            x.generation = a.generation;
            a.generation = 99;
            a.heartbeat("unknown generation, version " + v, v);
            a.generation = x.generation;
        }
        a.instance = "i";
        a.heartbeat("an instance id that the member has not", 4);
        a.instance = null;
        x.id = "";
        x.heartbeat("no member id", 4);
        a.leave("leaves");
        a.heartbeat("in an empty group");
    }

    private void leaving() throws IOException {
        String group = "classic-leave";
        t.begin(group, "leaving, also of several members in one request");
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        Member c = new Member(t, "c", group);
        for (int v = 0; v <= 5; v++) {
            Member x = new Member(t, "x", "");
            x.id = "made-up";
            x.leave("no group id, version " + v, v);
            x.group = group + ".nosuch";
            x.leave("unknown group, version " + v, v);
        }
        Member.stable(a, b, c);
        for (int v = 0; v <= 5; v++) {
            Member x = new Member(t, "x", group);
            x.id = "made-up";
            x.leave("unknown member, version " + v, v);
        }
        Member.leaveAll(t, "x", "nobody leaves", 5, group);
        Member.leaveAll(t, "x", "two members, one twice, and unknown ones", 5, group, Member.leaving(b.id, null), Member.leaving("made-up", null),
            Member.leaving(c.id, null), Member.leaving(b.id, null), Member.leaving("", "nosuch"), Member.leaving("", null),
            Member.leaving(a.id, "nosuch"));
        a.heartbeat("one is left, if it is");
        a.join("goes on alone");
        Member.leaveAll(t, "x", "nobody knows why", 5, group, Member.json("memberId", a.id, "groupInstanceId", null, "reason", null));
        Member.leaveAll(t, "x", "of an empty group", 5, group, Member.leaving(a.id, null));
    }

    private void pendingMembers() throws IOException {
        String group = "classic-pending";
        t.begin(group, "members that were given an id and have not joined");
        Member a = new Member(t, "a", group);
        a.introduce();
        a.heartbeat("a pending member");
        a.generation = 0;
        a.heartbeat("a pending member, generation 0");
        a.sync("a pending member");
        a.leave("a pending member leaves");
        a.join("and is unknown");
        Member b = new Member(t, "b", group);
        b.sessionMs = 700;
        b.enter("a member of a short session");
        b.sync("syncs", b);
        Member c = new Member(t, "c", group);
        c.sessionMs = 700;
        c.introduce();
        b.heartbeat("undisturbed by who is pending");
        t.pause("a pending member's id expires with its session timeout, and so does the member", 1_000);
        c.join("the expired id");
        b.heartbeat("the expired member");
    }
}
