package oracle;

import static oracle.Commits.row;
import static oracle.Commits.topic;
import static oracle.Subscriber.partitions;

import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** ConsumerGroupHeartbeat and what the other APIs make of consumer groups (KIP-848). */
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
        t.attempt(this::assignors);
        t.attempt(this::subscriptions);
        t.attempt(this::topicChanges);
        t.attempt(this::regex);
        t.attempt(this::regexAlone);
        t.attempt(this::statics);
        t.attempt(this::staticLeaves);
        t.attempt(this::offsets);
        t.attempt(this::describe);
        t.file("group-assignment-interval");
        t.attempt(this::interval);
    }

    private void interval() throws IOException {
        String group = "interval";
        t.begin(group, "an assignment is kept for a second, as group.consumer.assignment.interval.ms says by default");
        t.configureGroup(group, "consumer.assignment.interval.ms", "1000");
        t.topic("ans-interval", 4);
        Subscriber a = new Subscriber(t, "a", group, "ans-interval");
        Subscriber b = new Subscriber(t, "b", group, "ans-interval");
        a.join("the first takes all");
        a.ack("has all");
        b.join("the second comes too early for a new assignment");
        a.beat("keeps all");
        t.ask("d", "the assignment lags behind", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
        t.pause("until the interval is over", 1_300);
        b.beat("any heartbeat brings the new assignment");
        a.beat("is to revoke");
        b.leave("the second leaves");
        a.beat("is still to revoke");
        a.ack("has revoked");
        t.pause("until the interval is over", 1_300);
        a.beat("gets all again");
        a.leave("leaves");
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
        t.topic("ans-three", 9);
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

    private void assignors() throws IOException {
        String group = "consumer-assignors";
        t.begin(group, "the assignor that most want, uniform if nobody says");
        t.topic("ans-assignors-a", 3);
        t.topic("ans-assignors-b", 3);
        Subscriber a = new Subscriber(t, "a", group, "ans-assignors-a", "ans-assignors-b");
        Subscriber b = new Subscriber(t, "b", group, "ans-assignors-a", "ans-assignors-b");
        a.assignor = "range";
        a.join("wants range");
        b.join("wants nothing: range");
        a.ack("revokes");
        a.ack("has its part");
        b.ack("gets its part");
        b.ack("has its part");
        a.send("wants uniform", "serverAssignor", "uniform");
        a.ack("has its part");
        b.ack("has its part");
        a.ack("has its part");
        b.ack("has its part");
        b.send("wants range", "serverAssignor", "range");
        b.send("wants what is not", "serverAssignor", "nosuch");
        t.ask("d", "the assignor shown", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
    }

    private void subscriptions() throws IOException {
        String group = "consumer-subscriptions";
        t.begin(group, "subscriptions change, also to topics that are not there");
        t.topic("ans-subs-a", 2);
        t.topic("ans-subs-b", 2);
        Subscriber a = new Subscriber(t, "a", group, "ans-subs-a");
        Subscriber b = new Subscriber(t, "b", group, "ans-subs-a", "ans-subs-b");
        a.join("one topic");
        a.ack("has it");
        b.join("two topics");
        a.ack("goes on");
        b.ack("goes on");
        a.ack("goes on");
        b.ack("goes on");
        a.send("the same topic, no change", "subscribedTopicNames", List.of("ans-subs-a"));
        a.send("two topics", "subscribedTopicNames", List.of("ans-subs-b", "ans-subs-a"));
        a.ack("goes on");
        b.ack("goes on");
        a.ack("goes on");
        a.send("the same in another order, no change", "subscribedTopicNames", List.of("ans-subs-a", "ans-subs-b"));
        a.send("a topic that is not there", "subscribedTopicNames", List.of("ans-subs-nosuch"));
        a.ack("goes on");
        b.ack("goes on");
        a.send("nothing", "subscribedTopicNames", List.of());
        a.send("another rebalance timeout", "rebalanceTimeoutMs", 20_000);
        a.send("another rack", "rackId", "r1");
        b.beat("what is new");
    }

    private void topicChanges() throws IOException {
        String group = "consumer-topics";
        t.begin(group, "topics are made, grow and go");
        t.topic("ans-topics-a", 2);
        Subscriber a = new Subscriber(t, "a", group, "ans-topics-a", "ans-topics-b");
        a.join("joins");
        a.ack("has what there is");
        t.topic("ans-topics-b", 1);
        t.pause("the coordinator learns of it", 500);
        a.beat("the new topic");
        a.ack("has it");
        t.grow("ans-topics-a", 4);
        t.pause("the coordinator learns of it", 500);
        a.beat("the new partitions");
        a.ack("has them");
        t.dropTopic("ans-topics-a");
        t.pause("the coordinator learns of it", 500);
        a.beat("the topic is gone");
        a.ack("has the other");
        t.ask("d", "as it is shown", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
    }

    private void regex() throws IOException {
        String group = "consumer-regex";
        t.begin(group, "regular expressions and names together");
        t.topic("ans-regex-a", 1);
        t.topic("ans-regex-b", 1);
        t.topic("ans-other", 1);
        Subscriber a = new Subscriber(t, "a", group, "ans-other");
        a.regex = "ans-regex-.*";
        a.join("a name and an expression");
        t.pause("the expression is worked out", 500);
        a.beat("the topics that match");
        a.ack("has them");
        Subscriber b = new Subscriber(t, "b", group);
        b.regex = "ans-regex-.*";
        b.join("the same expression, already known");
        t.pause("a moment", 300);
        a.ack("revokes");
        b.ack("gets its part");
        a.ack("has it");
        b.ack("has it");
        b.send("another expression", "subscribedTopicRegex", "ans-regex-b");
        t.pause("the expression is worked out", 500);
        b.ack("goes on");
        a.ack("goes on");
        b.ack("goes on");
        a.ack("goes on");
        b.send("the expression without a part of the name: it has to match all of it", "subscribedTopicRegex", "regex");
        t.pause("the expression is worked out", 500);
        b.ack("goes on");
        b.send("not an expression", "subscribedTopicRegex", "[");
        a.send("no expression any more", "subscribedTopicRegex", "");
        a.ack("goes on");
        t.ask("d", "as it is shown", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
        a.leave("leaves");
        b.leave("leaves");
    }

    private void regexAlone() throws IOException {
        String group = "consumer-regex-alone";
        t.begin(group, "an expression that nothing matches, then a topic that does; other ways to write one");
        Subscriber a = new Subscriber(t, "a", group);
        a.regex = "ans-later-(a|b)";
        a.join("nothing matches");
        t.pause("the expression is worked out", 500);
        a.beat("nothing");
        t.topic("ans-later-a", 1);
        t.topic("ans-later-ab", 1);
        t.pause("the coordinator learns of it; it looks again after 10 s at the earliest", 300);
        a.beat("still nothing, or not?");
        a.send("another expression", "subscribedTopicRegex", "^ans-later-[a-z]$");
        t.pause("the expression is worked out", 500);
        a.beat("the topic that matches");
        a.ack("has it");
        a.send("another expression", "subscribedTopicRegex", "(?i)ANS-LATER-A.*");
        t.pause("the expression is worked out", 500);
        a.beat("the topics that match");
        a.ack("has them");
        a.leave("leaves");
    }

    private void statics() throws IOException {
        String group = "consumer-static";
        t.begin(group, "a static member leaves for now and comes back; others are refused meanwhile");
        t.topic("ans-static", 4);
        Subscriber a = new Subscriber(t, "a", group, "ans-static");
        a.instance = "ia";
        Subscriber b = new Subscriber(t, "b", group, "ans-static");
        a.join("joins");
        a.ack("has all");
        b.join("joins");
        a.ack("revokes");
        a.ack("has its part");
        b.ack("has its part");
        b.ack("has its part");
        Subscriber a2 = a.on("a2");
        a2.id = "another";
        a2.join("the same instance while the old one is there");
        Subscriber x = a.on("x");
        x.instance = "nosuch";
        x.beat("the member with an instance that it has not");
        x.instance = null;
        x.beat("the member without its instance");
        x = b.on("x");
        x.instance = "ia";
        x.beat("a dynamic member with that instance");
        a.leaveForNow("leaves for now");
        a.epoch = 2;
        a.beat("a heartbeat all the same");
        a.epoch = 2;
        a.instance = "ia";
        b.beat("nobody notices");
        t.ask("d", "as it is shown", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
        a2.join("comes back with another id");
        a2.ack("has its part");
        b.beat("nobody notices");
        a.epoch = 2;
        a.beat("the old id");
        a.epoch = -1;
        a.beat("the old id leaves");
        a2.topics = List.of("ans-static", "ans-static-b");
        a2.leaveForNow("leaves for now");
        Subscriber a3 = a2.on("a3");
        a3.id = "third";
        a3.join("comes back with another subscription");
        a3.ack("has its part");
        a3.leaveForNow("leaves for now");
        a3.join("comes back with the same id");
        a3.ack("has its part");
    }

    private void staticLeaves() throws IOException {
        String group = "consumer-static-leaves";
        t.begin(group, "a static member leaves for good, or does not come back");
        t.topic("ans-leaves", 2);
        Subscriber a = new Subscriber(t, "a", group, "ans-leaves");
        Subscriber b = new Subscriber(t, "b", group, "ans-leaves");
        a.instance = "ia";
        b.instance = "ib";
        a.join("joins");
        b.join("joins");
        a.ack("has its part");
        b.ack("has its part");
        a.ack("has its part");
        b.ack("has its part");
        a.leave("leaves for good");
        b.beat("gets all");
        b.ack("has all");
        b.leaveForNow("leaves for now");
        t.pause("longer than the session timeout", 5_500);
        t.ask("d", "it is gone", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
        a.join("the first comes back");
    }

    private void offsets() throws IOException {
        String group = "consumer-offsets";
        t.begin(group, "commits and fetches with member epochs");
        String id = t.topic("ans-offsets", 3);
        t.topic("ans-offsets-b", 1);
        Subscriber a = new Subscriber(t, "a", group, "ans-offsets");
        a.join("joins");
        a.ack("has all");
        for (int v : new int[] {2, 8, 9, 10}) {
            var where = v >= 10 ? Commits.topicId(id, row(0, v)) : topic("ans-offsets", row(0, v));
            a.commit("with its epoch, version " + v, v, where);
            Subscriber x = a.on("x");
            x.epoch = a.epoch - 1;
            x.commit("an old epoch, version " + v, v, where);
            x.epoch = a.epoch + 1;
            x.commit("a later epoch, version " + v, v, where);
            x.epoch = -1;
            x.commit("epoch -1, version " + v, v, where);
            x.epoch = a.epoch;
            x.id = "made-up";
            x.commit("an unknown member, version " + v, v, where);
            Commits.simple(t, "from outside", v, group, where);
        }
        for (int v = 8; v <= 9; v++) {
            for (int epoch : new int[] {-1, 0, a.epoch - 1, a.epoch, a.epoch + 1}) {
                for (String member : new String[] {a.id, "made-up", "", null}) {
                    if (v == 8 && member != null) {
                        continue;
                    }
                    Commits.fetchGroups(t, "epoch " + epoch + ", member " + (a.id.equals(member) ? "of the group" : member), v, Member.json("groupId", group,
                        "memberId", member, "memberEpoch", epoch, "topics", List.of(Commits.wanted("ans-offsets", 0))));
                }
            }
        }
        Commits.fetch(t, "an old version", 5, group, List.of(Commits.wanted("ans-offsets", 0)));
        a.commit("a topic that is not subscribed", 9, topic("ans-offsets-b", row(0, 1)));
        Commits.delete(t, "a subscribed topic", group, "ans-offsets", 0);
        Commits.delete(t, "a topic that is not subscribed", group, "ans-offsets-b", 0);
        t.ask("s", "a group with members", ApiKeys.DELETE_GROUPS, 2, Member.json("groupsNames", List.of(group)).toString());
        a.leave("leaves");
        a.epoch = 1;
        a.commit("has left", 9, topic("ans-offsets", row(0, 1)));
        Commits.simple(t, "from outside", 9, group, topic("ans-offsets", row(1, 4)));
        t.ask("s", "as it is shown", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
        t.ask("s", "as a classic one", ApiKeys.DESCRIBE_GROUPS, 6, Member.json("groups", List.of(group)).toString());
        Commits.delete(t, "no member is subscribed any more", group, "ans-offsets", 1);
        t.ask("s", "an empty group", ApiKeys.DELETE_GROUPS, 2, Member.json("groupsNames", List.of(group)).toString());
        Commits.fetch(t, "nothing is left", 9, group, null);
        t.ask("s", "as it is shown", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
    }

    private void describe() throws IOException {
        String group = "consumer-describe";
        t.begin(group, "ConsumerGroupDescribe");
        t.topic("ans-describe-a", 2);
        t.topic("ans-describe-b", 2);
        Subscriber a = new Subscriber(t, "a", group, "ans-describe-a");
        a.instance = "ia";
        a.rack = "r1";
        Subscriber b = new Subscriber(t, "b", group, "ans-describe-b");
        b.regex = "ans-describe-a";
        String[] when = {"assigning or stable", "one member", "two members", "later"};
        for (int step = 0; step < 4; step++) {
            switch (step) {
                case 0 -> a.join("joins");
                case 1 -> a.ack("has its part");
                case 2 -> {
                    b.join("joins");
                    t.pause("the expression is worked out", 500);
                }
                default -> {
                    a.ack("goes on");
                    b.ack("goes on");
                    b.ack("goes on");
                }
            }
            for (int v = 0; v <= 1; v++) {
                t.ask("s", when[step] + ", version " + v, ApiKeys.CONSUMER_GROUP_DESCRIBE, v, Member.json("groupIds", List.of(group)).toString());
            }
            t.ask("s", when[step] + ", as a classic group", ApiKeys.DESCRIBE_GROUPS, 5, Member.json("groups", List.of(group)).toString());
        }
        for (int v = 0; v <= 1; v++) {
            t.ask("s", "with authorized operations, twice, an unknown one, version " + v, ApiKeys.CONSUMER_GROUP_DESCRIBE, v,
                Member.json("groupIds", List.of(group, group, group + ".nosuch", ""), "includeAuthorizedOperations", true).toString());
        }
        for (int v = 0; v <= 6; v++) {
            t.ask("s", "as a classic group, version " + v, ApiKeys.DESCRIBE_GROUPS, v, Member.json("groups", List.of(group)).toString());
        }
    }
}
