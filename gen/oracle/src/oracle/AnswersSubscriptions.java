package oracle;

import static oracle.Commits.row;
import static oracle.Commits.topic;

import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** Subscriptions, assignors, static members and offsets of consumer groups, and how they are shown. */
final class AnswersSubscriptions {
    private final Traces t;

    AnswersSubscriptions(Traces t) {
        this.t = t;
    }

    /** Goes on in the file of AnswersConsumer. */
    void record() throws IOException {
        t.attempt(this::assignors);
        t.attempt(this::preferences);
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
        t.ask("d", "the assignor shown", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, Member.json("groupIds", List.of(group)).toString());
    }

    private void preferences() throws IOException {
        String group = "consumer-preferences";
        t.begin(group, "members change which assignor they want; one topic, so that all assign the same");
        t.topic("ans-preferences", 2);
        Subscriber a = new Subscriber(t, "a", group, "ans-preferences");
        Subscriber b = new Subscriber(t, "b", group, "ans-preferences");
        String shown = Member.json("groupIds", List.of(group)).toString();
        a.assignor = "range";
        a.join("wants range");
        b.join("wants nothing: range");
        a.ack("revokes");
        a.ack("has its part");
        b.ack("gets its part");
        b.ack("has its part");
        t.ask("d", "range", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, shown);
        a.send("wants uniform", "serverAssignor", "uniform");
        a.ack("goes on");
        b.ack("goes on");
        t.ask("d", "uniform", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, shown);
        b.send("wants range: one each", "serverAssignor", "range");
        b.ack("goes on");
        a.ack("goes on");
        t.ask("d", "one each", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, shown);
        b.send("wants what is not", "serverAssignor", "nosuch");
        a.send("wants range", "serverAssignor", "range");
        a.ack("goes on");
        t.ask("d", "both want range", ApiKeys.CONSUMER_GROUP_DESCRIBE, 1, shown);
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
        t.topic("ans-regex-a", 2);
        t.topic("ans-regexb", 1);
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
        b.send("another expression", "subscribedTopicRegex", "ans-regexb");
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
}
