package oracle;

import static oracle.Commits.row;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** Offsets that are committed in transactions: TxnOffsetCommit, and what OffsetFetch says of them. */
final class AnswersTransactionOffsets {
    private final Traces t;

    AnswersTransactionOffsets(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("transactions-offsets");
        for (int i = 0; i <= 6; i++) {
            int v = i;
            t.attempt(() -> everyVersion(v));
        }
        for (int v : new int[] {3, 5, 6}) {
            t.attempt(() -> members(v));
        }
    }

    private void everyVersion(int v) throws IOException {
        String name = "txn-offsets-v" + v;
        t.begin(name, "offsets of a group in a transaction, with TxnOffsetCommit " + v);
        String id = t.topic(name, 3);
        Transactor p = new Transactor(t, name);
        p.init("first", 4);
        p.init("again", 4);
        p.commit("a group that is not added", v, name, "", -1, rows(v, name, id, row(0, 5)));
        int adds = Math.min(v, 4);
        int ends = v >= 5 ? 5 : 3;
        for (boolean commit : v == 1 || v == 4 ? new boolean[] {false} : new boolean[] {false, true}) {
            p.addOffsets("adds the group", adds, name);
            p.commit("two partitions", v, name, "", -1, rows(v, name, id, row(0, commit ? 20 : 10, "first"), row(1, 11)));
            p.commit("one again, and one that is not there", v, name, "", -1, rows(v, name, id, row(0, commit ? 22 : 12, "then"), row(9, 1)));
            p.commit("only ones that are not there", v, name, "", -1, rows(v, "ans-none", "AbCdEfGhIjKlMnOpQrStUw", row(0, 1)));
            p.commit("another", v, name, "", -1, rows(v, name, id, row(2, 14, null)));
            if (!commit && v % 3 == 0) {
                p.commit("metadata too large beside one that is not", v, name, "", -1, rows(v, name, id, row(1, 13, "m".repeat(4097)), row(2, 15, null)));
            }
            look("pending", name, id);
            if (!commit) {
                refused(v, p, name, id);
            }
            Commits.simple(t, "besides, without a transaction", 8, name, Commits.topic(name, row(2, commit ? 8 : 7)));
            p.end("ends", ends, commit);
            look("ended", name, id);
        }
        p.commit("after the end, with the epoch that holds", v, name, "", -1, rows(v, name, id, row(0, 30)));
        p.older().commit("after the end, with the epoch before", v, name, "", -1, rows(v, name, id, row(1, 31)));
        look("after the end", name, id);
    }

    private void refused(int v, Transactor p, String name, String id) throws IOException {
        p.older().commit("an epoch that is over", v, name, "", -1, rows(v, name, id, row(0, 1)));
        p.with(p.pid, p.epoch + 1).commit("an epoch that is not there yet", v, name, "", -1, rows(v, name, id, row(0, 1)));
        p.with(p.pid + 1_000_000, 0).commit("another's producer id", v, name, "", -1, rows(v, name, id, row(0, 1)));
        p.as(name + ".none", p.pid, p.epoch).commit("an unknown transactional id", v, name, "", -1, rows(v, name, id, row(0, 1)));
        p.as("", p.pid, p.epoch).commit("an empty transactional id", v, name, "", -1, rows(v, name, id, row(0, 1)));
        p.commit("an empty group id", v, "", "", -1, rows(v, name, id, row(0, 1)));
        if (v >= 3) {
            p.commit("a member that nobody knows", v, name, "nobody", 1, rows(v, name, id, row(0, 1)));
            p.commit("a generation without a member", v, name, "", 3, rows(v, name, id, row(0, 1)));
            p.commit("a member without a generation", v, name, "nobody", -1, rows(v, name, id, row(0, 1)));
        }
    }

    private static ObjectNode rows(int v, String name, String id, ObjectNode... rows) {
        return v >= 6 ? Commits.topicId(id, rows) : Commits.topic(name, rows);
    }

    private void look(String why, String name, String id) throws IOException {
        for (boolean stable : new boolean[] {false, true}) {
            ObjectNode old = Member.json("groupId", name, "topics", List.of(Commits.wanted(name, 0, 1, 2)), "requireStable", stable);
            t.ask("o", why + (stable ? ": only stable ones" : ": whatever holds") + ", version 7", ApiKeys.OFFSET_FETCH, 7, old.toString());
        }
        ObjectNode all = Member.json("groups", List.of(Member.json("groupId", name, "topics", null)), "requireStable", true);
        t.ask("o", why + ": only stable ones, all, version 9", ApiKeys.OFFSET_FETCH, 9, all.toString());
    }

    private void members(int v) throws IOException {
        String name = "txn-members-v" + v;
        t.begin(name, "offsets that a member of a group commits in a transaction, with TxnOffsetCommit " + v);
        String id = t.topic(name, 1);
        Transactor p = new Transactor(t, name);
        p.init("first", 4);
        Member a = new Member(t, "a", name);
        a.enter("a member");
        a.sync("syncs", a);
        p.addOffsets("adds the group", Math.min(v, 4), name);
        p.commit("as the member", v, name, a.id, a.generation, rows(v, name, id, row(0, 5)));
        p.commit("an old generation", v, name, a.id, a.generation - 1, rows(v, name, id, row(0, 6)));
        p.commit("a later generation", v, name, a.id, a.generation + 1, rows(v, name, id, row(0, 6)));
        p.commit("an unknown member", v, name, "nobody", a.generation, rows(v, name, id, row(0, 6)));
        p.commit("the member without a generation", v, name, a.id, -1, rows(v, name, id, row(0, 6)));
        p.commit("nobody, without a generation", v, name, "", -1, rows(v, name, id, row(0, 7)));
        look("pending", name, id);
        p.end("ends", v >= 5 ? 5 : 3, true);
        look("ended", name, id);
        a.leave("leaves");
        t.ask("o", "the group's offsets are deleted with it", ApiKeys.DELETE_GROUPS, 2, Member.json("groupsNames", List.of(name)).toString());
        look("deleted", name, id);
    }
}
