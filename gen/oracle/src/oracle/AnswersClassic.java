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
        t.attempt(this::votes);
        t.attempt(this::rebalances);
        t.attempt(this::completing);
        t.attempt(this::lateness);
        t.attempt(this::expiry);
        t.attempt(this::size);
        t.attempt(this::leaderGone);
        t.attempt(this::otherTypes);
        new AnswersClassicErrors(t).record();
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
