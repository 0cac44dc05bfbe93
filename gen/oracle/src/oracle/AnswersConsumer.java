package oracle;

import static oracle.Commits.row;
import static oracle.Commits.topic;
import static oracle.Subscriber.partitions;

import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** ConsumerGroupHeartbeat (KIP-848): who is a member, at what epoch, and owns what. */
final class AnswersConsumer {
    private static final String MADE_UP = "AbCdEfGhIjKlMnOpQrStUw";

    private final Traces t;

    AnswersConsumer(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("group-consumer");
        t.attempt(() -> alone(0));
        t.attempt(() -> alone(1));
        t.attempt(this::validation);
        t.attempt(this::handover);
        t.attempt(this::threeMembers);
        t.attempt(this::epochs);
        t.attempt(this::reassignment);
        t.attempt(this::rebalanceTimeout);
        t.attempt(this::sessionTimeout);
        t.attempt(this::size);
        new AnswersSubscriptions(t).record();
    }

    private void alone(int v) throws IOException {
        String group = "consumer-alone-v" + v;
        t.begin(group, "one member's life, version " + v);
        t.topic("ans-" + group, 4);
        Subscriber a = new Subscriber(t, "a", group, "ans-" + group);
        a.version = v;
        if (v == 0) {
            a.id = "";
        }
        a.join("joins");
        a.beat("has not taken it yet");
        a.ack("has taken it");
        a.beat("nothing is new");
        a.full("tells everything again, nothing is new", a.assigned);
        a.leave("leaves");
        a.beat("has left");
        a.epoch = 1;
        a.beat("has left, with its epoch of before");
        a.join("comes back");
        a.leave("leaves");
    }

    private void validation() throws IOException {
        String group = "consumer-invalid";
        t.begin(group, "what a heartbeat may not look like");
        String id = t.topic("ans-invalid", 2);
        for (int v = 0; v <= 1; v++) {
            Subscriber x = new Subscriber(t, "x", group, "ans-invalid");
            x.version = v;
            String good = x.id;
            x.group = "";
            x.join("no group id, version " + v);
            x.group = "   ";
            x.join("blanks as group id, version " + v);
            x.group = group;
            for (String bad : v == 0 ? new String[] {} : new String[] {"", " ", "m".repeat(37)}) {
                x.id = bad;
                x.join("member id '" + bad + "', version " + v);
                x.leave("and leaves");
            }
            x.id = "";
            x.epoch = 1;
            x.beat("no member id at epoch 1, version " + v);
            x.epoch = -1;
            x.beat("no member id at epoch -1, version " + v);
            x.id = good;
            x.epoch = 0;
            x.full("no partitions told when joining, version " + v, null);
            x.full("partitions told when joining, version " + v, List.of(partitions(id, 0)));
            x.rebalanceMs = -1;
            x.join("no rebalance timeout when joining, version " + v);
            x.rebalanceMs = 0;
            x.join("rebalance timeout 0 when joining, version " + v);
            x.rebalanceMs = 30_000;
            x.leave("leaves if it joined");
            x.topics = null;
            x.join("no subscription when joining, version " + v);
            x.topics = List.of();
            x.join("an empty subscription when joining, version " + v);
            x.leave("leaves if it joined");
            x.topics = List.of("ans-invalid");
            x.epoch = -3;
            x.beat("epoch -3, version " + v);
            x.epoch = -2;
            x.beat("epoch -2 without an instance, version " + v);
            x.instance = "";
            x.join("an empty instance id, version " + v);
            x.instance = " ";
            x.join("a blank instance id, version " + v);
            x.instance = null;
            x.leave("leaves if it joined");
            x.rack = "";
            x.join("an empty rack, version " + v);
            x.rack = null;
            x.assignor = "nosuch";
            x.join("an unknown assignor, version " + v);
            x.assignor = "";
            x.join("an empty assignor, version " + v);
            x.assignor = null;
            x.epoch = 1;
            x.beat("epoch 1 in an unknown group, version " + v);
            x.epoch = -1;
            x.beat("leaves an unknown group, version " + v);
            x.instance = "i";
            x.epoch = -2;
            x.beat("leaves an unknown group for now, version " + v);
        }
        Subscriber x = new Subscriber(t, "y", group);
        x.regex = "";
        x.join("an empty regular expression alone");
        x.regex = "(";
        x.join("a regular expression that is none");
        x.regex = "(?<!a)b";
        x.join("a regular expression that RE2 has not");
        x.leave("leaves if it joined");
    }

    private void handover() throws IOException {
        String group = "consumer-two";
        t.begin(group, "a second member: revocation before assignment");
        String id = t.topic("ans-two", 4);
        Subscriber a = new Subscriber(t, "a", group, "ans-two");
        Subscriber b = new Subscriber(t, "b", group, "ans-two");
        a.join("the first takes all");
        a.ack("has all");
        b.join("the second has to wait");
        b.beat("still");
        a.beat("the first is told what it keeps");
        b.beat("still, nothing is revoked yet");
        a.beat("the first again, without acknowledging");
        a.ack("the first has given up the rest");
        b.beat("the second gets it");
        b.ack("has it");
        a.beat("nothing is new");
        b.leave("the second leaves");
        a.beat("the first gets all again");
        a.ack("has all");
        a.send("says it owns what it does not", "topicPartitions", List.of(partitions(id, 0, 1, 2, 3, 7)));
        a.send("says it owns an unknown topic", "topicPartitions", List.of(partitions(MADE_UP, 0)));
        a.send("says it owns nothing", "topicPartitions", List.of());
        a.beat("a heartbeat after that");
        a.leave("leaves");
    }

    private void threeMembers() throws IOException {
        String group = "consumer-three";
        t.begin(group, "three members join at once, leave one by one");
        t.topic("ans-three", 6);
        Subscriber[] m = new Subscriber[3];
        for (int i = 0; i < 3; i++) {
            m[i] = new Subscriber(t, "abc".substring(i, i + 1), group, "ans-three");
            m[i].join("joins");
        }
        for (int round = 0; round < 4; round++) {
            for (Subscriber s : m) {
                s.ack("round " + round);
            }
        }
        m[0].leave("the first leaves");
        for (int round = 0; round < 3; round++) {
            m[1].ack("round " + round);
            m[2].ack("round " + round);
        }
        m[1].leave("the second leaves");
        m[2].ack("the last one");
        m[2].ack("has all");
    }

    private void epochs() throws IOException {
        String group = "consumer-epochs";
        t.begin(group, "old, new and wrong epochs, unknown members");
        String id = t.topic("ans-epochs", 4);
        Subscriber a = new Subscriber(t, "a", group, "ans-epochs");
        Subscriber b = new Subscriber(t, "b", group, "ans-epochs");
        a.join("joins");
        a.ack("has all");
        Subscriber x = a.on("x");
        x.id = "another";
        x.beat("unknown member");
        x.epoch = -1;
        x.beat("an unknown member leaves");
        x = a.on("x");
        x.epoch = a.epoch + 1;
        x.beat("an epoch to come");
        x.epoch = a.epoch + 1;
        x.send("an epoch to come, with partitions", "topicPartitions", a.assigned);
        b.join("another makes a new epoch");
        Subscriber old = a.on("a");
        a.beat("is told of it");
        a.ack("has given up");
        old.beat("the epoch before without partitions");
        old.epoch = 1;
        old.send("the epoch before with what was owned then", "topicPartitions", List.of(partitions(id, 0, 1, 2, 3)));
        old.epoch = 1;
        old.send("the epoch before with what is owned now", "topicPartitions", a.assigned);
        old.epoch = 1;
        old.send("the epoch before with a part of it", "topicPartitions", List.of());
        b.beat("gets its part");
        b.ack("has it");
        b.epoch = 0;
        b.beat("epoch 0 of a member that is there, nothing told");
        b.epoch = 0;
        b.join("epoch 0 of a member that is there: it joins again");
        b.ack("has it");
        a.beat("nothing is new");
    }

    private void reassignment() throws IOException {
        String group = "consumer-revoking";
        t.begin(group, "a target that changes while members still revoke");
        t.topic("ans-revoking", 4);
        Subscriber a = new Subscriber(t, "a", group, "ans-revoking");
        Subscriber b = new Subscriber(t, "b", group, "ans-revoking");
        Subscriber c = new Subscriber(t, "c", group, "ans-revoking");
        a.join("joins");
        a.ack("has all");
        b.join("wants half");
        a.beat("is told to revoke");
        c.join("wants a part, too");
        a.beat("is still to revoke, the old target or the new");
        a.ack("has revoked");
        b.beat("gets its part");
        c.beat("gets its part");
        a.beat("what is new");
        b.leave("leaves before it has acknowledged");
        a.beat("what is new");
        a.ack("has it");
        c.ack("has it");
        a.beat("what is new");
    }

    private void rebalanceTimeout() throws IOException {
        String group = "consumer-slow";
        t.begin(group, "a member that does not revoke within its rebalance timeout");
        t.topic("ans-slow", 2);
        Subscriber a = new Subscriber(t, "a", group, "ans-slow");
        a.rebalanceMs = 800;
        Subscriber b = new Subscriber(t, "b", group, "ans-slow");
        a.join("joins");
        a.ack("has all");
        b.join("wants half");
        a.beat("is told to revoke");
        t.pause("longer than its rebalance timeout", 1_200);
        a.beat("is fenced");
        b.beat("gets all");
        a.join("comes back");
    }

    private void sessionTimeout() throws IOException {
        String group = "consumer-expiry";
        t.begin(group, "a member falls silent: the session timeout is 5 s here");
        t.topic("ans-expiry", 2);
        Subscriber a = new Subscriber(t, "a", group, "ans-expiry");
        Subscriber b = new Subscriber(t, "b", group, "ans-expiry");
        a.join("joins");
        b.join("joins");
        a.ack("has its half");
        t.pause("some time", 3_000);
        b.beat("alive");
        t.pause("more of it", 2_500);
        a.beat("is fenced");
        b.beat("gets all");
    }

    private void size() throws IOException {
        String group = "consumer-size";
        t.begin(group, "group.consumer.max.size is 4");
        t.topic("ans-size", 2);
        for (int i = 0; i < 5; i++) {
            new Subscriber(t, "m" + i, group, "ans-size").join("member " + i);
        }
    }
}
