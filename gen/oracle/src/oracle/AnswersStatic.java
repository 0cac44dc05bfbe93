package oracle;

import java.io.IOException;
import java.util.List;

/** Static members of classic groups (KIP-345), in each state of the group. */
final class AnswersStatic {
    private final Traces t;

    AnswersStatic(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("group-static");
        for (int i = 5; i <= 9; i++) {
            int v = i;
            t.attempt(() -> restart(v));
        }
        t.attempt(this::changed);
        t.attempt(this::preparing);
        t.attempt(this::completing);
        t.attempt(this::parked);
        t.attempt(this::fenced);
        t.attempt(this::leaving);
        t.attempt(this::expiry);
        t.attempt(this::pairs);
    }

    private Member member(String connection, String group, String instance) {
        Member m = new Member(t, connection, group);
        m.instance = instance;
        return m;
    }

    /** The same instance, started anew on another connection. */
    private Member restarted(Member m, String connection) {
        Member n = m.on(connection);
        n.id = "";
        n.generation = -1;
        return n;
    }

    private void restart(int v) throws IOException {
        String group = "static-restart-v" + v;
        t.begin(group, "static members restart in a stable group: no rebalance, JoinGroup " + v);
        Member a = member("a", group, "ia");
        Member b = member("b", group, "ib");
        a.version = v;
        b.version = v;
        Member.stable(a, b);
        Member b2 = restarted(b, "b2");
        b2.join("the follower restarts");
        b2.sync("and gets its assignment");
        a.heartbeat("nobody notices");
        b.heartbeat("its old id");
        Member a2 = restarted(a, "a2");
        a2.join("the leader restarts");
        a2.sync("and gets its assignment, too", a2, b2);
        a.heartbeat("its old id");
        b2.heartbeat("nobody notices");
        Traces.Call ja = a2.parkJoin("the leader rejoins with its new id: a rebalance");
        b2.join("and the follower");
        a2.joined(ja);
    }

    private void changed() throws IOException {
        String group = "static-changed";
        t.begin(group, "static members restart with another subscription: a rebalance");
        Member a = member("a", group, "ia");
        Member b = member("b", group, "ib");
        Member.stable(a, b);
        Member b2 = restarted(b, "b2");
        b2.topics = List.of("ans-other");
        b2.join("another subscription: the choice of protocol stays the same, so does the generation");
        b2.sync("syncs");
        a.heartbeat("nobody notices");
        b.heartbeat("its old id");
        Member b3 = restarted(b2, "b3");
        b3.protocols = List.of("x", "range");
        b3.join("more protocols, with the same choice");
        Member b4 = restarted(b3, "b4");
        b4.protocols = List.of("x");
        b4.join("none of the group's protocols");
        Member a2 = restarted(a, "a2");
        a2.topics = List.of("ans-third");
        a2.join("the leader with another subscription");
        b3.heartbeat("nobody notices");
        Traces.Call ja = a2.parkJoin("the leader begins a rebalance");
        b3.protocols = List.of("x", "range");
        b3.join("the follower still offers two protocols");
        a2.joined(ja);
        Traces.Call sb = b3.parkSyncAs("syncs", "range");
        a2.sync("syncs", a2, b3);
        sb.await();
        Member a3 = restarted(a2, "a3");
        a3.protocols = List.of("x", "range");
        Traces.Call ja3 = a3.parkJoin("both prefer another protocol now: a rebalance");
        b3.join("the follower");
        a3.joined(ja3);
    }

    private void preparing() throws IOException {
        String group = "static-preparing";
        t.begin(group, "a static member restarts during a rebalance");
        Member a = member("a", group, "ia");
        Member b = member("b", group, "ib");
        Member.stable(a, b);
        Traces.Call ja = a.parkJoin("the leader rejoins: a rebalance");
        Member b2 = restarted(b, "b2");
        b2.join("the other restarts: it takes part in the rebalance");
        a.joined(ja);
        b.heartbeat("its old id");
        Traces.Call sb = b2.parkSync("syncs");
        a.sync("syncs", a, b2);
        sb.await();
    }

    private void completing() throws IOException {
        String group = "static-completing";
        t.begin(group, "static members restart while the assignment is awaited: another rebalance");
        Member a = member("a", group, "ia");
        Member b = member("b", group, "ib");
        Member.stable(a, b);
        Traces.Call ja = a.parkJoin("a rebalance");
        b.join("follows");
        a.joined(ja);
        Traces.Call sb = b.parkSync("waits for the leader");
        Member a2 = restarted(a, "a2");
        Traces.Call ja2 = a2.parkJoin("the leader restarts instead");
        sb.await();
        a.sync("the leader's old id", a, b);
        b.join("follows");
        a2.joined(ja2);
        Member b2 = restarted(b, "b2");
        Traces.Call jb2 = b2.parkJoin("the follower restarts");
        a2.sync("the leader is told", a2, b);
        a2.join("follows");
        b2.joined(jb2);
    }

    private void parked() throws IOException {
        String group = "static-parked";
        t.begin(group, "a static member restarts while its old self waits");
        Member a = member("a", group, "ia");
        Member b = member("b", group, "ib");
        Member.stable(a, b);
        Traces.Call jb = null;
        b.topics = List.of("ans-other");
        jb = b.parkJoin("waits for the leader in a join");
        Member b2 = restarted(b, "b2");
        Traces.Call jb2 = b2.parkJoin("restarts: the old one is fenced");
        jb.await();
        a.join("the leader joins");
        b2.joined(jb2);
        Traces.Call sb2 = b2.parkSync("waits for the leader in a sync");
        Member b3 = restarted(b2, "b3");
        Traces.Call jb3 = b3.parkJoin("restarts: the old one is fenced");
        sb2.await();
        a.join("the leader joins");
        b3.joined(jb3);
    }

    private void fenced() throws IOException {
        String group = "static-fenced";
        t.begin(group, "every API with the id of a static member that has been replaced, or with an instance that is not its own");
        Member a = member("a", group, "ia");
        a.enter("a member");
        a.sync("syncs", a);
        a.commit("commits", 7, Commits.topic("ans-none", Commits.row(0, 1)));
        Member a2 = restarted(a, "a2");
        a2.join("restarts");
        a2.sync("syncs", a2);
        a.heartbeat("the old id");
        a.join("the old id");
        a.sync("the old id", a);
        a.commit("the old id", 7, Commits.topic("ans-none", Commits.row(0, 2)));
        a.leave("the old id");
        Member x = member("x", group, "nosuch");
        x.id = a2.id;
        x.generation = a2.generation;
        x.heartbeat("the member's id with an unknown instance");
        x.join("the member's id with an unknown instance");
        x.sync("the member's id with an unknown instance", x);
        x.commit("the member's id with an unknown instance", 7, Commits.topic("ans-none", Commits.row(0, 2)));
        x.leave("the member's id with an unknown instance");
        x.instance = null;
        x.heartbeat("the member's id without an instance");
        x.commit("the member's id without an instance", 7, Commits.topic("ans-none", Commits.row(0, 3)));
        x.instance = "ia";
        x.id = "";
        x.heartbeat("the instance without a member id");
        x.sync("the instance without a member id", x);
        x.commit("the instance without a member id", 7, Commits.topic("ans-none", Commits.row(0, 3)));
        x.id = "made-up";
        x.heartbeat("the instance with an unknown member id");
        x.join("the instance with an unknown member id");
        x.generation = 99;
        x.heartbeat("the instance with an unknown member id and generation");
        a2.heartbeat("all is well");
        a2.generation = 99;
        a2.heartbeat("another generation");
    }

    private void leaving() throws IOException {
        String group = "static-leave";
        t.begin(group, "static members are removed by their instance ids");
        Member a = member("a", group, "ia");
        Member b = member("b", group, "ib");
        Member c = member("c", group, "ic");
        Member.stable(a, b, c);
        Member.leaveAll(t, "x", "by instance, an unknown one, one with another's id", 3, group, Member.leaving("", "ib").without(List.of("reason")),
            Member.leaving("", "nosuch").without(List.of("reason")), Member.leaving(a.id, "ic").without(List.of("reason")));
        a.heartbeat("the leader is told");
        b.heartbeat("the removed one");
        Traces.Call jc = c.parkJoin("joins");
        a.join("joins");
        c.joined(jc);
        Member.leaveAll(t, "x", "the rest, with reasons", 5, group, Member.leaving(a.id, "ia"), Member.leaving("", "ic"));
        Member a2 = restarted(a, "a2");
        a2.join("comes back: a new member");
    }

    private void expiry() throws IOException {
        String group = "static-expiry";
        t.begin(group, "a static member falls silent");
        Member a = member("a", group, "ia");
        Member b = member("b", group, "ib");
        b.sessionMs = 700;
        Member.stable(a, b);
        t.pause("longer than the follower's session", 1_000);
        a.heartbeat("the leader is told");
        b.heartbeat("the follower is unknown");
        Member b2 = restarted(b, "b2");
        Traces.Call jb2 = b2.parkJoin("it comes back as a new member");
        a.join("joins");
        b2.joined(jb2);
    }

    private void pairs() throws IOException {
        String group = "static-mixed";
        t.begin(group, "static and dynamic members together; the dynamic one restarts");
        Member a = member("a", group, "ia");
        Member b = member("b", group, null);
        Member.stable(a, b);
        Member b2 = restarted(b, "b2");
        b2.introduce();
        Traces.Call jb2 = b2.parkJoin("a dynamic member's restart is a new member");
        Traces.Call ja = a.parkJoin("joins");
        b.leave("the old one leaves: it was all that was waited for");
        a.joined(ja);
        b2.joined(jb2);
    }
}
