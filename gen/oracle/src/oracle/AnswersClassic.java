package oracle;

import static org.apache.kafka.common.protocol.ApiKeys.JOIN_GROUP;

import java.io.IOException;
import java.util.List;

/** The classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup of dynamic members. */
final class AnswersClassic {
    private final Traces t;

    AnswersClassic(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("group-classic");
        for (int i = 0; i <= 9; i++) {
            int v = i;
            t.attempt(() -> everyVersion(v));
        }
        t.attempt(this::joinErrors);
        t.attempt(this::protocols);
        t.attempt(this::votes);
        t.attempt(this::rebalances);
        t.attempt(this::completing);
        t.attempt(this::lateness);
        t.attempt(this::syncErrors);
        t.attempt(this::heartbeats);
        t.attempt(this::leaving);
        t.attempt(this::pendingMembers);
        t.attempt(this::expiry);
        t.attempt(this::size);
        t.attempt(this::leaderGone);
        t.attempt(this::otherTypes);
    }

    private void everyVersion(int v) throws IOException {
        String group = "classic-v" + v;
        t.begin(group, "a group's life with JoinGroup " + v + " and the versions that go with it");
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        a.version = v;
        b.version = v;
        Member.stable(a, b);
        a.heartbeat("in a stable group");
        b.sync("again in a stable group: the same assignment");
        b.leave("the follower leaves");
        a.heartbeat("the leader is told");
        a.join("and is alone");
        a.sync("with an assignment that leaves it out");
        a.leave("the last one leaves");
        a.heartbeat("after leaving");
        a.leave("again");
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

    private void votes() throws IOException {
        String group = "classic-votes";
        t.begin(group, "the protocol is chosen by votes among those that all have: the rolling upgrade to another assignor");
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        Member c = new Member(t, "c", group);
        a.protocols = List.of("range", "cooperative-sticky");
        a.enter("prefers range");
        b.protocols = List.of("cooperative-sticky", "range");
        c.protocols = List.of("cooperative-sticky", "range");
        b.introduce();
        c.introduce();
        Traces.Call jb = b.parkJoin("prefers cooperative-sticky");
        Traces.Call jc = c.parkJoin("prefers cooperative-sticky, too");
        a.join("two votes to one");
        b.joined(jb);
        c.joined(jc);
        b.protocols = List.of("range");
        jb = b.parkJoin("a follower without the chosen protocol: range is left to all");
        c.protocols = List.of("x", "range");
        jc = c.parkJoin("and another");
        a.protocols = List.of("cooperative-sticky");
        a.join("the leader has no protocol of the others");
        a.protocols = List.of("range");
        a.join("range it is");
        b.joined(jb);
        c.joined(jc);
    }

    private void rebalances() throws IOException {
        String group = "classic-rebalance";
        t.begin(group, "three members: what a rejoin does in each state");
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        Member c = new Member(t, "c", group);
        Member.stable(a, b, c);
        b.join("a follower rejoins a stable group unchanged: the present generation");
        b.topics = List.of("ans-other");
        Traces.Call jb = b.parkJoin("a follower rejoins changed: a rebalance");
        a.heartbeat("during the rebalance");
        c.heartbeat("during the rebalance");
        c.sync("during the rebalance");
        a.commit("a commit during the rebalance", 8, Commits.topic("ans-none", Commits.row(0, 7)));
        a.parkJoin("the leader follows; this one is never answered");
        a = a.on("a2");
        Traces.Call ja2 = a.parkJoin("the leader once more on another connection");
        c.join("the last one");
        b.joined(jb);
        a.joined(ja2);
        Traces.Call sb = b.parkSync("a follower syncs");
        a.heartbeat("between join and sync");
        b.on("b2").heartbeat("while its sync waits");
        a.commit("a commit between join and sync", 8, Commits.topic("ans-none", Commits.row(0, 8)));
        a.sync("the leader syncs", b, c);
        sb.await();
        a.parkJoin("the leader rejoins a stable group unchanged: a rebalance all the same");
    }

    private void completing() throws IOException {
        String group = "classic-completing";
        t.begin(group, "joins while the leader's assignment is awaited");
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        Member.stable(a, b);
        Traces.Call jb = null;
        b.topics = List.of("ans-other");
        jb = b.parkJoin("a change");
        a.join("the generation ends");
        b.joined(jb);
        b.join("unchanged while the assignment is awaited: the same generation");
        a.join("the leader, unchanged: the same generation with its members");
        Traces.Call sb = b.parkSync("waits");
        a.topics = List.of("ans-third");
        Traces.Call ja = a.parkJoin("changed: a rebalance, and who waits in sync is told");
        sb.await();
        b.join("follows");
        a.joined(ja);
        Member c = new Member(t, "c", group);
        c.introduce();
        Traces.Call sb2 = b.parkSync("waits again");
        Traces.Call jc = c.parkJoin("a newcomer meanwhile");
        sb2.await();
        Traces.Call ja2 = a.parkJoin("follows");
        b.join("follows");
        a.joined(ja2);
        c.joined(jc);
    }

    private void lateness() throws IOException {
        String group = "classic-late";
        t.begin(group, "members that do not rejoin within the rebalance timeout, or do not sync");
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        a.rebalanceMs = 900;
        b.rebalanceMs = 900;
        Member.stable(a, b);
        Traces.Call ja = a.parkJoin("a rebalance to which the follower does not come");
        t.pause("it is removed after the rebalance timeout", 1_200);
        a.joined(ja);
        b.heartbeat("the removed one");
        t.pause("the leader does not sync within the rebalance timeout: it is removed, too", 1_200);
        a.heartbeat("the leader");
        a.sync("the leader, too late", a);
        a.join("with its old id");
        b.id = "";
        b.enter("a newcomer finds an empty group, generations go on");
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

    private void expiry() throws IOException {
        String group = "classic-expiry";
        t.begin(group, "a member falls silent");
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        b.sessionMs = 700;
        Member.stable(a, b);
        t.pause("longer than the follower's session", 1_000);
        a.heartbeat("the leader is told");
        b.heartbeat("the follower is unknown");
        a.join("goes on alone");
        a.sync("goes on alone", a);
    }

    private void size() throws IOException {
        String group = "classic-size";
        t.begin(group, "group.max.size is 4");
        Member[] m = new Member[5];
        for (int i = 0; i < 5; i++) {
            m[i] = new Member(t, "m" + i, group);
            m[i].rebalanceMs = 900;
        }
        m[0].enter("the first");
        Traces.Call[] calls = new Traces.Call[5];
        for (int i = 1; i < 5; i++) {
            m[i].introduce();
        }
        for (int i = 1; i < 4; i++) {
            calls[i] = m[i].parkJoin("one more");
        }
        calls[4] = m[4].parkJoin("the fifth: one of the old members is not there yet");
        m[0].join("the first comes back too late");
        t.pause("it is waited for all the same, for its rebalance timeout", 1_200);
        for (int i = 1; i < 5; i++) {
            m[i].joined(calls[i]);
        }
        m[0].heartbeat("the first is out");
        m[0].id = "";
        m[0].join("a newcomer to a full group");
        m[0].version = 3;
        m[0].join("a newcomer to a full group, version 3");
        m[0].instance = "i";
        m[0].version = 9;
        m[0].join("a static newcomer to a full group");
    }

    private void leaderGone() throws IOException {
        String group = "classic-leader";
        t.begin(group, "the leader leaves: another is chosen");
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        Member.stable(a, b);
        a.leave("the leader leaves");
        b.join("is the leader now");
        b.sync("syncs", b);
        a.id = "";
        a.introduce();
        Traces.Call ja = a.parkJoin("the old leader comes back");
        b.join("and does not lead");
        a.joined(ja);
    }

    private void otherTypes() throws IOException {
        String group = "classic-connect";
        t.begin(group, "a group that is not of consumers; an empty group takes any type");
        Member a = new Member(t, "a", group);
        a.protocolType = "connect";
        a.protocols = List.of("sessioned", "compatible");
        a.enter("a worker");
        a.sync("syncs", a);
        a.commit("workers may commit", 8, Commits.topic("ans-none", Commits.row(0, 1)));
        a.leave("leaves");
        Member b = new Member(t, "b", group);
        b.enter("a consumer");
        b.sync("syncs", b);
        t.ask("b", "metadata that is none", JOIN_GROUP, 9, Member.json("groupId", group, "sessionTimeoutMs", 30_000, "rebalanceTimeoutMs", 30_000,
            "memberId", b.id, "protocolType", "consumer", "protocols", List.of(Member.json("name", "range", "metadata", new byte[] {1}))).toString());
        b.leave("leaves");
    }
}
