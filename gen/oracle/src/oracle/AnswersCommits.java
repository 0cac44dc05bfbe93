package oracle;

import static oracle.Commits.row;
import static oracle.Commits.topic;
import static oracle.Commits.topicId;
import static oracle.Commits.wanted;
import static oracle.Commits.wantedId;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** OffsetCommit, OffsetFetch and OffsetDelete of classic groups and from outside. */
final class AnswersCommits {
    private static final String NO_ID = "AAAAAAAAAAAAAAAAAAAAAA";
    private static final String MADE_UP = "AbCdEfGhIjKlMnOpQrStUw";

    private final Traces t;

    AnswersCommits(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("group-offsets");
        for (int i = 2; i <= 10; i++) {
            int v = i;
            t.attempt(() -> everyVersion(v));
        }
        t.attempt(this::metadata);
        t.attempt(this::values);
        t.attempt(this::unknownTopics);
        t.attempt(this::members);
        t.attempt(this::fetching);
        t.attempt(this::byTopicId);
        t.attempt(this::gone);
        t.attempt(this::deleting);
    }

    private void everyVersion(int v) throws IOException {
        String group = "offsets-v" + v;
        t.begin(group, "commits from outside and by a member, read back, OffsetCommit " + v);
        String name = "ans-" + group;
        String id = t.topic(name, 3);
        ObjectNode where = v >= 10 ? topicId(id, row(0, 5, "five"), row(1, 0)) : topic(name, row(0, 5, "five"), row(1, 0));
        Commits.simple(t, "a commit to a group that was not there", v, group, where);
        for (int f = v == 10 ? 1 : v; f <= v; f++) {
            ObjectNode wanted = f >= 10 ? wantedId(id, 0, 1, 2, 9) : wanted(name, 0, 1, 2, 9);
            Commits.fetch(t, "some with an offset, some without", f, group, List.of(wanted));
            if (f >= 2) {
                Commits.fetch(t, "all", f, group, null);
            }
            Commits.fetch(t, "none", f, group, List.of());
        }
        Commits.simple(t, "no topics", v, group);
        Commits.simple(t, "no partitions", v, group, v >= 10 ? topicId(id) : topic(name));
        Commits.simple(t, "no group id", v, "", where);
        Member a = new Member(t, "a", group);
        a.version = v < 5 ? 3 : 9;
        a.enter("a member of the same group");
        a.sync("syncs", a);
        ObjectNode one = v >= 10 ? topicId(id, row(1, 6)) : topic(name, row(1, 6));
        a.commit("by the member, version " + v, v, one);
        int good = a.generation;
        a.generation = good - 1;
        a.commit("an old generation, version " + v, v, one);
        a.generation = good + 1;
        a.commit("a later generation, version " + v, v, one);
        a.generation = -1;
        a.commit("the member without a generation, version " + v, v, one);
        a.generation = good;
        Member x = a.on("x");
        x.id = "made-up";
        x.commit("an unknown member, version " + v, v, one);
        x.id = "";
        x.commit("no member id, version " + v, v, one);
        Commits.simple(t, "from outside while there are members", v, group, one);
        x.group = group + ".nosuch";
        x.id = "made-up";
        x.commit("a member of an unknown group, version " + v, v, one);
        a.leave("leaves");
        a.commit("a member that has left, version " + v, v, one);
        Commits.simple(t, "from outside once nobody is left", v, group, one);
        Commits.fetch(t, "what it all came to", 7, group, null);
    }

    private void metadata() throws IOException {
        t.begin("metadata", "the metadata of a commit");
        t.topic("ans-metadata", 6);
        Commits.simple(t, "null, empty, 4096 and 4097 bytes", 7, "metadata.v7", topic("ans-metadata", row(0, 1, null), row(1, 1, ""),
            row(2, 1, "m".repeat(4096)), row(3, 1, "m".repeat(4097)), row(4, 1, "x")));
        Commits.fetch(t, "as they come back", 7, "metadata.v7", null);
        for (int v : new int[] {2, 9}) {
            Commits.simple(t, "null, empty, 4097 bytes and short", v, "metadata.v" + v, topic("ans-metadata", row(0, 1, null), row(1, 1, ""),
                row(3, 1, "m".repeat(4097)), row(4, 1, "x")));
            Commits.fetch(t, "as they come back", v, "metadata.v" + v, null);
        }
        for (int v = 1; v <= 9; v++) {
            Commits.fetch(t, "null, empty and none", v, "metadata.v7", List.of(wanted("ans-metadata", 0, 1, 3)));
        }
        Commits.simple(t, "2049 characters of two bytes", 7, "metadata", topic("ans-metadata", row(0, 1, "é".repeat(2049))));
        Commits.simple(t, "only one, too long", 7, "metadata.one", topic("ans-metadata", row(0, 1, "m".repeat(4097))));
        Commits.fetch(t, "nothing remains", 7, "metadata.one", null);
        t.ask("s", "is there a group by that?", ApiKeys.DESCRIBE_GROUPS, 6, Member.json("groups", List.of("metadata.one")).toString());
    }

    private void values() throws IOException {
        t.begin("values", "offsets, leader epochs and retention times of all sorts");
        t.topic("ans-values", 3);
        int n = 0;
        for (long offset : new long[] {0, 1, Integer.MAX_VALUE, Long.MAX_VALUE, -1, -2, Long.MIN_VALUE}) {
            String group = "values.offset" + n++;
            Commits.simple(t, "offset " + offset, 7, group, topic("ans-values", row(0, offset)));
            Commits.fetch(t, "offset " + offset, 7, group, null);
            Commits.fetch(t, "offset " + offset, 7, group, List.of(wanted("ans-values", 0)));
        }
        for (int epoch : new int[] {-1, 0, 5, -2, Integer.MAX_VALUE}) {
            String group = "values.epoch" + n++;
            ObjectNode row = row(0, 1);
            row.put("committedLeaderEpoch", epoch);
            Commits.simple(t, "leader epoch " + epoch, 6, group, topic("ans-values", row));
            Commits.fetch(t, "leader epoch " + epoch, 5, group, null);
            Commits.fetch(t, "leader epoch " + epoch, 9, group, null);
        }
        for (int v = 2; v <= 4; v++) {
            for (long ms : new long[] {-1, 0, 1, 86_400_000}) {
                String group = "values.retention" + n++;
                t.ask("s", "retention time " + ms + ", version " + v, ApiKeys.OFFSET_COMMIT, v, Member.json("groupId", group, "retentionTimeMs", ms,
                    "topics", List.of(topic("ans-values", row(0, 1)))).toString());
            }
        }
        Commits.simple(t, "one partition twice", 7, "values.twice", topic("ans-values", row(0, 1), row(0, 2)));
        Commits.simple(t, "one topic twice", 7, "values.twice", topic("ans-values", row(1, 1)), topic("ans-values", row(2, 2)));
        Commits.fetch(t, "the later one of each", 7, "values.twice", null);
        t.ask("s", "an instance id from outside", ApiKeys.OFFSET_COMMIT, 7, Member.json("groupId", "values.instance", "groupInstanceId", "i",
            "topics", List.of(topic("ans-values", row(0, 1)))).toString());
        t.ask("s", "generation -2", ApiKeys.OFFSET_COMMIT, 7, Member.json("groupId", "values.generation", "generationIdOrMemberEpoch", -2,
            "topics", List.of(topic("ans-values", row(0, 1)))).toString());
        t.ask("s", "a generation in an unknown group", ApiKeys.OFFSET_COMMIT, 7, Member.json("groupId", "values.generation",
            "generationIdOrMemberEpoch", 0, "topics", List.of(topic("ans-values", row(0, 1)))).toString());
        t.ask("s", "a member without generation in an unknown group", ApiKeys.OFFSET_COMMIT, 7, Member.json("groupId", "values.member",
            "memberId", "m", "topics", List.of(topic("ans-values", row(0, 1)))).toString());
    }

    private void unknownTopics() throws IOException {
        t.begin("unknown", "commits to topics and partitions that do not exist");
        String id = t.topic("ans-unknown", 2);
        for (int v : new int[] {2, 7, 9}) {
            String group = "unknown.v" + v;
            Commits.simple(t, "good and bad ones", v, group, topic("ans-unknown", row(0, 1), row(2, 1), row(-1, 1)),
                topic("ans-nosuch", row(0, 1)), topic("", row(0, 1)), topic("bad/name", row(0, 1)));
            Commits.simple(t, "only bad ones", v, group + "-bad", topic("ans-nosuch", row(0, 1)));
            Commits.fetch(t, "unknown topics and partitions", 7, group,
                List.of(wanted("ans-unknown", 0, 2, -1), wanted("ans-nosuch", 0), wanted("", 0)));
        }
        Commits.simple(t, "good and bad ids", 10, "unknown.v10", topicId(id, row(0, 1), row(2, 1)), topicId(MADE_UP, row(0, 1)),
            topicId(NO_ID, row(0, 1)));
        Commits.simple(t, "only bad ids", 10, "unknown.v10-bad", topicId(MADE_UP, row(0, 1)));
        Commits.fetch(t, "good and bad ids", 10, "unknown.v10", List.of(wantedId(id, 0, 1, 9), wantedId(MADE_UP, 0), wantedId(NO_ID, 0, 1)));
        Commits.simple(t, "bad ids by nobody's group id", 10, "", topicId(MADE_UP, row(0, 1)));
        Commits.simple(t, "the internal topic", 9, "unknown.internal", topic("__consumer_offsets", row(0, 1)));
    }

    private void members() throws IOException {
        String group = "offsets-states";
        t.begin(group, "commits in each state of a classic group");
        t.topic("ans-states", 3);
        Member a = new Member(t, "a", group);
        Member b = new Member(t, "b", group);
        a.enter("joins");
        a.commit("before the assignment", 8, topic("ans-states", row(0, 1)));
        a.sync("syncs", a);
        a.commit("stable", 8, topic("ans-states", row(0, 2)));
        b.introduce();
        b.commit("a pending member", 8, topic("ans-states", row(0, 3)));
        b.generation = a.generation;
        b.commit("a pending member with a generation", 8, topic("ans-states", row(0, 3)));
        Traces.Call jb = b.parkJoin("a rebalance");
        a.commit("during the rebalance", 8, topic("ans-states", row(0, 4)));
        b.on("b2").commit("during the rebalance by who is not in the generation", 8, topic("ans-states", row(0, 5)));
        a.join("joins");
        b.joined(jb);
        a.commit("while the assignment is awaited", 8, topic("ans-states", row(0, 6)));
        b.commit("while the assignment is awaited", 8, topic("ans-states", row(0, 7)));
        a.generation--;
        a.commit("while the assignment is awaited, the old generation", 8, topic("ans-states", row(0, 8)));
        a.generation++;
        Commits.fetch(t, "what it all came to", 7, group, null);
    }

    private void fetching() throws IOException {
        t.begin("fetch", "reading offsets of groups that are and are not, one and several");
        t.topic("ans-fetch-a", 2);
        t.topic("ans-fetch-b", 2);
        Commits.simple(t, "a group with offsets in two topics", 9, "fetch.one", topic("ans-fetch-a", row(0, 1), row(1, 2)), topic("ans-fetch-b", row(0, 3)));
        Commits.simple(t, "another group", 9, "fetch.two", topic("ans-fetch-b", row(0, 4)));
        for (int v = 1; v <= 9; v++) {
            Commits.fetch(t, "unknown group", v, "fetch.nosuch", List.of(wanted("ans-fetch-a", 0, 1)));
            Commits.fetch(t, "no group id", v, "", List.of(wanted("ans-fetch-a", 0)));
            if (v >= 2) {
                Commits.fetch(t, "all of an unknown group", v, "fetch.nosuch", null);
            }
            Commits.fetch(t, "one partition twice, a topic without partitions", v, "fetch.one",
                List.of(wanted("ans-fetch-a", 0, 0), wanted("ans-fetch-b")));
            Commits.fetch(t, "a topic twice", v, "fetch.one", List.of(wanted("ans-fetch-a", 0), wanted("ans-fetch-a", 1)));
        }
        for (int v = 8; v <= 9; v++) {
            Commits.fetchGroups(t, "several groups", v, Member.json("groupId", "fetch.one", "topics", null),
                Member.json("groupId", "fetch.two", "topics", List.of(wanted("ans-fetch-b", 0, 1))), Member.json("groupId", "fetch.nosuch", "topics", null),
                Member.json("groupId", "fetch.one", "topics", List.of(wanted("ans-fetch-a", 1))));
            Commits.fetchGroups(t, "no groups", v);
            t.ask("s", "stable offsets, version " + v, ApiKeys.OFFSET_FETCH, v, Member.json("requireStable", true,
                "groups", List.of(Member.json("groupId", "fetch.one", "topics", null))).toString());
        }
        t.ask("s", "stable offsets, version 7", ApiKeys.OFFSET_FETCH, 7, Member.json("requireStable", true, "groupId", "fetch.one", "topics", null).toString());
        for (int epoch : new int[] {-1, 0, 5}) {
            Commits.fetchGroups(t, "member and epoch " + epoch + " of a group without members", 9, Member.json("groupId", "fetch.one",
                "memberId", "m", "memberEpoch", epoch, "topics", null));
            Commits.fetchGroups(t, "member and epoch " + epoch + " of an unknown group", 9, Member.json("groupId", "fetch.nosuch",
                "memberId", "m", "memberEpoch", epoch, "topics", null));
            Commits.fetchGroups(t, "epoch " + epoch + " and no member", 9, Member.json("groupId", "fetch.one", "memberEpoch", epoch, "topics", null));
        }
        Member a = new Member(t, "a", "fetch.one");
        a.enter("a classic member");
        a.sync("syncs", a);
        for (int epoch : new int[] {-1, 0, 1, 5}) {
            Commits.fetchGroups(t, "a classic member with epoch " + epoch, 9, Member.json("groupId", "fetch.one",
                "memberId", a.id, "memberEpoch", epoch, "topics", null));
        }
        Commits.fetchGroups(t, "an unknown classic member", 9, Member.json("groupId", "fetch.one", "memberId", "made-up", "memberEpoch", 1, "topics", null));
    }

    private void byTopicId() throws IOException {
        t.begin("ids", "reading and committing by topic id: a topic that is made anew");
        String old = t.topic("ans-ids", 2);
        Commits.simple(t, "by id", 10, "ids", topicId(old, row(0, 1, "by id")));
        Commits.simple(t, "by name", 9, "ids", topic("ans-ids", row(1, 2, "by name")));
        Commits.fetch(t, "by id", 10, "ids", List.of(wantedId(old, 0, 1)));
        Commits.fetch(t, "by name", 9, "ids", List.of(wanted("ans-ids", 0, 1)));
        Commits.fetch(t, "all", 10, "ids", null);
        t.dropTopic("ans-ids");
        sleep();
        Commits.fetch(t, "all, the topic is deleted", 10, "ids", null);
        Commits.fetch(t, "by id, the topic is deleted", 10, "ids", List.of(wantedId(old, 0, 1)));
        Commits.fetch(t, "by name, the topic is deleted", 9, "ids", List.of(wanted("ans-ids", 0, 1)));
        String id = t.topic("ans-ids", 2);
        Commits.fetch(t, "by the new id", 10, "ids", List.of(wantedId(id, 0, 1)));
        Commits.fetch(t, "all, after it was made anew", 10, "ids", null);
        Commits.simple(t, "by the new id", 10, "ids", topicId(id, row(0, 7)));
        Commits.simple(t, "by the old id", 10, "ids", topicId(old, row(0, 8)));
        Commits.fetch(t, "by both ids", 10, "ids", List.of(wantedId(id, 0), wantedId(old, 0)));
    }

    private void sleep() throws IOException {
        t.pause("the coordinator learns of it", 300);
    }

    private void gone() throws IOException {
        t.begin("topic-gone", "a topic is deleted: its offsets go, too");
        t.topic("ans-gone", 1);
        t.topic("ans-stays", 1);
        Commits.simple(t, "two topics", 9, "topic-gone", topic("ans-gone", row(0, 1)), topic("ans-stays", row(0, 2)));
        t.dropTopic("ans-gone");
        t.pause("the coordinator learns of it", 500);
        Commits.fetch(t, "the other one", 9, "topic-gone", null);
    }

    private void deleting() throws IOException {
        t.begin("offset-delete", "OffsetDelete");
        t.topic("ans-delete-a", 3);
        t.topic("ans-delete-b", 1);
        Commits.delete(t, "no group id", "", "ans-delete-a", 0);
        Commits.delete(t, "unknown group", "offset-delete.nosuch", "ans-delete-a", 0);
        Commits.simple(t, "a group without members", 9, "offset-delete.simple", topic("ans-delete-a", row(0, 1), row(1, 2)));
        Commits.delete(t, "one that is there, one without offset, one without partition", "offset-delete.simple", "ans-delete-a", 0, 2, 9);
        Commits.delete(t, "unknown topic", "offset-delete.simple", "ans-nosuch", 0);
        Commits.delete(t, "no partitions", "offset-delete.simple", "ans-delete-a");
        t.ask("s", "no topics", ApiKeys.OFFSET_DELETE, 0, "{groupId:'offset-delete.simple',topics:[]}");
        t.ask("s", "no topics of an unknown group", ApiKeys.OFFSET_DELETE, 0, "{groupId:'offset-delete.nosuch',topics:[]}");
        t.ask("s", "no topics, no group id", ApiKeys.OFFSET_DELETE, 0, "{groupId:'',topics:[]}");
        Commits.fetch(t, "what is left", 9, "offset-delete.simple", null);
        Commits.delete(t, "the last one", "offset-delete.simple", "ans-delete-a", 1);
        Commits.fetch(t, "nothing is left", 9, "offset-delete.simple", null);
        t.ask("s", "nor is the group, or is it?", ApiKeys.DESCRIBE_GROUPS, 6, "{groups:['offset-delete.simple']}");
        Member a = new Member(t, "a", "offset-delete.used");
        a.topics = List.of("ans-delete-a");
        a.enter("a member that is subscribed to one topic");
        a.sync("syncs", a);
        a.commit("commits to both", 9, topic("ans-delete-a", row(0, 1)), topic("ans-delete-b", row(0, 1)));
        Commits.delete(t, "the topic that is subscribed", "offset-delete.used", "ans-delete-a", 0, 1);
        Commits.delete(t, "the topic that is not", "offset-delete.used", "ans-delete-b", 0);
        Commits.fetch(t, "what is left", 9, "offset-delete.used", null);
        a.leave("leaves");
        Commits.delete(t, "an empty group", "offset-delete.used", "ans-delete-a", 0);
        Member w = new Member(t, "w", "offset-delete.worker");
        w.protocolType = "connect";
        w.enter("a group that is not of consumers");
        w.sync("syncs", w);
        w.commit("commits", 9, topic("ans-delete-a", row(0, 1)));
        Commits.delete(t, "while it has members", "offset-delete.worker", "ans-delete-a", 0);
        w.leave("leaves");
        Commits.delete(t, "once it is empty", "offset-delete.worker", "ans-delete-a", 0);
    }
}
