package oracle;

import static oracle.Commits.row;
import static oracle.Commits.topic;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** Classic members in consumer groups, the other way round, and groups that change their protocol while in use. */
final class AnswersMigration {
    private final Traces t;

    AnswersMigration(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("group-migration");
        t.attempt(this::fromEmpty);
        t.attempt(this::toEmpty);
        t.attempt(this::upgrade);
        t.attempt(this::upgradeTwo);
        t.attempt(this::downgrade);
        t.attempt(this::downgradeByExpiry);
        t.attempt(this::refused);
        t.attempt(this::mixedApis);
        t.attempt(this::statics);
        t.attempt(this::duringRebalance);
    }

    private void shown(String group) throws IOException {
        t.ask("d", "as a consumer group", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
        t.ask("d", "as a classic group", ApiKeys.DESCRIBE_GROUPS, 6, Member.json("groups", List.of(group)).toString());
    }

    private Member classic(String connection, String group, String topic) {
        Member m = new Member(t, connection, group);
        m.topics = List.of(topic);
        return m;
    }

    /** The leader's assignment as a consumer's, by topic and partitions in turn for each member. */
    private static ObjectNode assignment(Member m, String topic, int... partitions) {
        byte[] body = Messages.encode(Messages.fromJson("ConsumerProtocolAssignment",
            Member.json("assignedPartitions", List.of(Member.json("topic", topic, "partitions", partitions)))), (short) 1);
        return Member.json("memberId", m.id, "assignment", Recorder.concat(new byte[] {0, 1}, body));
    }

    private static String syncJson(Member m, ObjectNode... assignments) {
        return Member.json("groupId", m.group, "generationId", m.generation, "memberId", m.id, "groupInstanceId", m.instance,
            "protocolType", "consumer", "protocolName", m.protocols.get(0), "assignments", List.of(assignments)).toString();
    }

    private void sync(Member m, String why, ObjectNode... assignments) throws IOException {
        t.ask(m.connection, why, ApiKeys.SYNC_GROUP, 5, syncJson(m, assignments));
    }

    private void fromEmpty() throws IOException {
        String group = "migration-empty-classic";
        t.begin(group, "an empty classic group becomes a consumer group; the offsets stay");
        t.topic("ans-m1", 2);
        Member a = classic("a", group, "ans-m1");
        a.enter("a classic member");
        sync(a, "syncs", assignment(a, "ans-m1", 0, 1));
        a.commit("commits", 9, topic("ans-m1", row(0, 3)));
        a.leave("leaves");
        Subscriber s = new Subscriber(t, "s", group, "ans-m1");
        s.join("a consumer joins");
        s.ack("has all");
        Commits.fetch(t, "the offsets", 9, group, null);
        shown(group);
        s.leave("leaves");
        shown(group);
        a.id = "";
        a.enter("a classic member joins the empty consumer group");
        sync(a, "syncs", assignment(a, "ans-m1", 0, 1));
        shown(group);
        Commits.fetch(t, "the offsets", 9, group, null);
        a.leave("leaves");
    }

    private void toEmpty() throws IOException {
        String group = "migration-offsets-only";
        t.begin(group, "a group of offsets only, and one with a member that has only been given an id, become consumer groups");
        t.topic("ans-m2", 1);
        Commits.simple(t, "from outside", 9, group, topic("ans-m2", row(0, 5)));
        Subscriber s = new Subscriber(t, "s", group, "ans-m2");
        s.join("a consumer joins");
        Commits.fetch(t, "the offsets", 9, group, null);
        Member p = classic("p", group + ".pending", "ans-m2");
        p.introduce();
        Subscriber q = new Subscriber(t, "q", group + ".pending", "ans-m2");
        q.join("a consumer joins");
        p.join("the classic member comes with its id");
    }

    private void upgrade() throws IOException {
        String group = "migration-upgrade";
        t.begin(group, "a consumer joins a stable classic group of one: online upgrade");
        t.topic("ans-m3", 4);
        Member a = classic("a", group, "ans-m3");
        a.enter("a classic member");
        sync(a, "syncs", assignment(a, "ans-m3", 0, 1, 2, 3));
        a.commit("commits", 9, topic("ans-m3", row(0, 3)));
        Subscriber s = new Subscriber(t, "s", group, "ans-m3");
        s.join("a consumer joins");
        shown(group);
        a.heartbeat("the classic member is told to rejoin");
        s.beat("waits");
        a.commit("the classic member commits", 9, topic("ans-m3", row(0, 4)));
        a.join("the classic member rejoins");
        sync(a, "syncs");
        a.heartbeat("in its new generation");
        s.beat("gets its part");
        s.ack("has it");
        a.heartbeat("nothing is new");
        a.commit("the classic member commits", 9, topic("ans-m3", row(0, 5)));
        s.commit("the consumer commits", 9, topic("ans-m3", row(3, 5)));
        shown(group);
        int good = a.generation;
        a.generation = good - 1;
        a.heartbeat("an old generation");
        a.commit("an old generation", 9, topic("ans-m3", row(0, 6)));
        sync(a, "an old generation");
        a.generation = good + 1;
        a.heartbeat("a later generation");
        a.generation = good;
        a.leave("the classic member leaves: a pure consumer group");
        s.beat("gets all");
        s.ack("has all");
        shown(group);
    }

    private void upgradeTwo() throws IOException {
        String group = "migration-upgrade-two";
        t.begin(group, "members of a classic group are replaced by consumers one by one");
        t.topic("ans-m4", 2);
        Member a = classic("a", group, "ans-m4");
        Member b = classic("b", group, "ans-m4");
        a.enter("a classic member");
        sync(a, "syncs", assignment(a, "ans-m4", 0, 1));
        b.introduce();
        Traces.Call jb = b.parkJoin("another one");
        a.join("rejoins");
        b.joined(jb);
        Traces.Call sb = t.park("b", "waits", ApiKeys.SYNC_GROUP, 5, syncJson(b));
        sync(a, "syncs", assignment(a, "ans-m4", 0), assignment(b, "ans-m4", 1));
        sb.await();
        a.leave("one of them leaves");
        b.heartbeat("a rebalance");
        Subscriber s = new Subscriber(t, "s", group, "ans-m4");
        s.join("and comes back as a consumer");
        shown(group);
        b.heartbeat("the other classic member");
        b.join("rejoins");
        sync(b, "syncs");
        s.beat("what is new");
        s.ack("goes on");
        b.heartbeat("what is new");
        Member c = classic("c", group, "ans-m4");
        c.introduce();
        c.join("a new classic member joins");
        sync(c, "syncs");
        s.beat("revokes");
        s.ack("has revoked");
        b.heartbeat("is to rejoin");
        b.join("rejoins");
        sync(b, "syncs");
        c.heartbeat("is to rejoin");
        c.join("rejoins");
        sync(c, "syncs");
        s.beat("what is new");
        shown(group);
    }

    private void downgrade() throws IOException {
        String group = "migration-downgrade";
        t.begin(group, "the last consumer leaves a group with classic members: online downgrade");
        t.topic("ans-m5", 4);
        Subscriber s = new Subscriber(t, "s", group, "ans-m5");
        s.join("a consumer");
        s.ack("has all");
        Member a = classic("a", group, "ans-m5");
        a.protocols = List.of("range", "roundrobin");
        a.introduce();
        a.join("a classic member");
        sync(a, "syncs");
        s.beat("revokes");
        s.ack("has revoked");
        a.heartbeat("is to rejoin");
        a.join("rejoins");
        sync(a, "syncs: its part");
        a.join("rejoins unchanged");
        sync(a, "syncs once more");
        a.commit("commits", 9, topic("ans-m5", row(0, 5)));
        s.leave("the consumer leaves");
        shown(group);
        a.heartbeat("a rebalance");
        a.join("rejoins and leads");
        sync(a, "syncs", assignment(a, "ans-m5", 0, 1, 2, 3));
        Member b = classic("b", group, "ans-m5");
        b.introduce();
        Traces.Call jb = b.parkJoin("another classic member");
        a.join("rejoins");
        b.joined(jb);
        Traces.Call sync = t.park("b", "waits", ApiKeys.SYNC_GROUP, 5, syncJson(b));
        sync(a, "syncs", assignment(a, "ans-m5", 0, 1), assignment(b, "ans-m5", 2, 3));
        sync.await();
        Commits.fetch(t, "the offsets", 9, group, null);
        s.beat("the consumer is unknown");
        shown(group);
    }

    private void downgradeByExpiry() throws IOException {
        String group = "migration-expiry";
        t.begin(group, "the last consumer falls silent, a classic member stays: downgrade");
        t.topic("ans-m6", 2);
        Subscriber s = new Subscriber(t, "s", group, "ans-m6");
        s.join("a consumer");
        s.ack("has all");
        Member a = classic("a", group, "ans-m6");
        a.introduce();
        a.join("a classic member");
        sync(a, "syncs");
        t.pause("longer than the consumer's session", 5_500);
        shown(group);
        a.heartbeat("what the classic member is told");
        a.join("rejoins");
    }

    private void refused() throws IOException {
        String group = "migration-refused";
        t.begin(group, "what may not come together");
        t.topic("ans-m7", 2);
        Subscriber s = new Subscriber(t, "s", group, "ans-m7");
        s.join("a consumer");
        Member a = classic("a", group, "ans-m7");
        a.id = "made-up";
        a.join("an unknown classic member");
        a.id = "";
        a.protocolType = "connect";
        a.join("another protocol type");
        a.protocolType = "";
        a.join("no protocol type");
        a.protocolType = "consumer";
        a.protocols = List.of();
        a.join("no protocols");
        a.protocols = List.of("range");
        a.sessionMs = 100;
        a.join("too short a session");
        a.sessionMs = 30_000;
        a.introduce();
        t.ask("a", "metadata that is no subscription", ApiKeys.JOIN_GROUP, 9, Member.json("groupId", group, "sessionTimeoutMs", 30_000,
            "rebalanceTimeoutMs", 30_000, "memberId", a.id, "protocolType", "consumer",
            "protocols", List.of(Member.json("name", "range", "metadata", new byte[] {1}))).toString());
        a.heartbeat("not a member yet");
        sync(a, "not a member yet");
        a.leave("not a member yet");
        a.commit("not a member yet", 9, topic("ans-m7", row(0, 1)));
        Member w = new Member(t, "w", group + ".connect");
        w.protocolType = "connect";
        w.protocols = List.of("sessioned");
        w.enter("a worker");
        w.sync("syncs", w);
        new Subscriber(t, "y", group + ".connect", "ans-m7").join("a consumer in a group of workers");
        w.leave("the worker leaves");
        new Subscriber(t, "y", group + ".connect", "ans-m7").join("a consumer in what was a group of workers");
        Member odd = new Member(t, "o", group + ".odd");
        t.ask("o", "a classic member whose metadata is no subscription", ApiKeys.JOIN_GROUP, 3, Member.json("groupId", odd.group,
            "sessionTimeoutMs", 30_000, "rebalanceTimeoutMs", 30_000, "memberId", "", "protocolType", "consumer",
            "protocols", List.of(Member.json("name", "range", "metadata", new byte[] {1}))).toString());
        new Subscriber(t, "z", odd.group, "ans-m7").join("a consumer in its group");
    }

    private void mixedApis() throws IOException {
        String group = "migration-apis";
        t.begin(group, "classic APIs in the name of consumers, and the other way round");
        t.topic("ans-m8", 2);
        Subscriber s = new Subscriber(t, "s", group, "ans-m8");
        s.join("a consumer");
        s.ack("has all");
        Member a = classic("a", group, "ans-m8");
        a.id = s.id;
        a.generation = s.epoch;
        a.heartbeat("Heartbeat with a consumer's id");
        sync(a, "SyncGroup with a consumer's id");
        a.join("JoinGroup with a consumer's id");
        a.leave("LeaveGroup with a consumer's id");
        s.beat("is it still there?");
        Member c = classic("c", group + ".classic", "ans-m8");
        c.enter("a classic member");
        sync(c, "syncs", assignment(c, "ans-m8", 0, 1));
        Subscriber y = new Subscriber(t, "y", c.group, "ans-m8");
        y.id = c.id;
        y.epoch = c.generation;
        y.beat("ConsumerGroupHeartbeat with a classic member's id");
        y.epoch = -1;
        y.beat("leaves with a classic member's id");
        c.heartbeat("is it still there?");
        y.join("a classic member turns into a consumer under the same id");
        y.beat("goes on");
        c.heartbeat("the classic one");
        shown(c.group);
    }

    private void statics() throws IOException {
        String group = "migration-static";
        t.begin(group, "a static classic member restarts as a consumer and back");
        t.topic("ans-m9", 2);
        Member a = classic("a", group, "ans-m9");
        a.instance = "ia";
        a.enter("a classic member");
        sync(a, "syncs", assignment(a, "ans-m9", 0, 1));
        Subscriber s = new Subscriber(t, "s", group, "ans-m9");
        s.instance = "ia";
        s.join("the same instance as a consumer");
        s.ack("goes on");
        a.heartbeat("the old one");
        shown(group);
        Member b = classic("b", group, "ans-m9");
        b.instance = "ia";
        b.join("the same instance as a classic member while the consumer is there");
        s.epoch = s.epoch == 0 ? 1 : s.epoch;
        s.leaveForNow("the consumer leaves for now");
        b.id = "";
        b.join("the same instance as a classic member");
        sync(b, "syncs");
        b.heartbeat("goes on");
        shown(group);
        Member.leaveAll(t, "x", "is removed by its instance", 5, group, Member.leaving("", "ia"), Member.leaving("", "nosuch"));
        shown(group);
    }

    private void duringRebalance() throws IOException {
        String group = "migration-rebalancing";
        t.begin(group, "a consumer joins a classic group that is in a rebalance");
        t.topic("ans-m10", 1);
        Member a = classic("a", group, "ans-m10");
        Member b = classic("b", group, "ans-m10");
        a.enter("a classic member");
        sync(a, "syncs", assignment(a, "ans-m10", 0));
        b.introduce();
        Traces.Call jb = b.parkJoin("another waits for the rebalance");
        Subscriber s = new Subscriber(t, "s", group, "ans-m10");
        s.join("a consumer joins");
        jb.await();
        a.heartbeat("the first member");
        a.join("rejoins");
        shown(group);
        String late = group + ".syncing";
        Member c = classic("c", late, "ans-m10");
        Member d = classic("d", late, "ans-m10");
        c.enter("a classic member");
        sync(c, "syncs", assignment(c, "ans-m10", 0));
        d.introduce();
        Traces.Call jd = d.parkJoin("another");
        c.join("rejoins");
        d.joined(jd);
        Traces.Call sd = t.park("d", "waits for the assignment", ApiKeys.SYNC_GROUP, 5, syncJson(d));
        Subscriber y = new Subscriber(t, "y", late, "ans-m10");
        y.join("a consumer joins");
        sd.await();
        sync(c, "the leader syncs", assignment(c, "ans-m10", 0), assignment(d, "ans-m10"));
    }
}
