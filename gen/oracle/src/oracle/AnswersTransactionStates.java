package oracle;

import static oracle.Transactor.topic;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;

/** What a transaction goes through: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn. */
final class AnswersTransactionStates {
    private final Traces t;

    AnswersTransactionStates(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("transactions-states");
        for (int i = 0; i <= 5; i++) {
            int v = i;
            t.attempt(() -> init(v));
            if (v == 0 || v >= 3) {
                t.attempt(() -> initWhileOpen(v));
            }
            t.attempt(() -> add(v));
            t.attempt(() -> end(v));
        }
        for (int i = 0; i <= 4; i++) {
            int v = i;
            t.attempt(() -> addOffsets(v));
        }
        t.attempt(this::mixed);
        t.attempt(this::timeout);
    }

    private void init(int v) throws IOException {
        String name = "txn-init-v" + v;
        t.begin(name, "producer ids and epochs of transactional ids, with InitProducerId " + v);
        Transactor p = new Transactor(t, name);
        p.init("first", v);
        p.init("again", v);
        if (v >= 3) {
            long pid = p.pid;
            p.init("with what it has", v, pid, 1);
            p.init("with what it had: the same answer", v, pid, 1);
            p.init("with what it had before that", v, pid, 0);
            p.init("with what it has once more", v, pid, 2);
            p.init("with an epoch that is not there yet", v, pid, 9);
            p.init("another's producer id", v, pid + 1_000_000, 3);
            p.init("an id without an epoch", v, pid, -1);
            p.init("an epoch without an id", v, -1, 3);
            p.init("without", v);
            p.init("with what it had before it came without", v, pid, 3);
            new Transactor(t, name + ".new").init("a new transactional id with what another has", v, pid, 3);
        }
        for (int timeout : v == 0 || v == 5 ? new int[] {0, -1, 1, 900_000, 900_001, Integer.MAX_VALUE} : new int[] {0, 1, 900_001}) {
            Transactor q = new Transactor(t, name + ".timeout");
            q.timeoutMs = timeout;
            q.init("timeout " + timeout, v);
        }
        new Transactor(t, "").init("an empty transactional id", v);
    }

    private void initWhileOpen(int v) throws IOException {
        String name = "txn-init-open-v" + v;
        t.begin(name, "InitProducerId " + v + " while a transaction is open");
        t.topic(name, 1);
        Transactor p = new Transactor(t, name);
        p.init("first", v);
        p.add("begins", 3, topic(name, 0));
        p.init("by another producer", v);
        p.add("the producer before, meanwhile fenced", 3, topic(name, 0));
        p.init("again", v);
        p.add("begins", 3, topic(name, 0));
        if (v >= 3) {
            p.init("with an epoch that is over", v, p.pid, p.epoch - 1);
            p.init("with what it has", v, p.pid, p.epoch);
            p.init("with what it has, again", v, p.pid, p.epoch);
            p.init("with the epoch that the abort has brought", v, p.pid, p.epoch + 1);
            p.init("without", v);
        }
    }

    private void add(int v) throws IOException {
        String name = "txn-add-v" + v;
        t.begin(name, "partitions of a transaction, with AddPartitionsToTxn " + v);
        t.topic(name, 3);
        Transactor p = new Transactor(t, name);
        p.init("first", 4);
        p.init("again", 4);
        p.add("without topics", v);
        p.add("begins", v, topic(name, 0));
        p.add("again", v, topic(name, 0));
        p.add("that one and another", v, topic(name, 0, 1));
        p.add("a topic that is not there, beside one", v, topic(name, 2), topic("ans-none", 0, 1));
        p.add("a partition that is not there, beside one", v, topic(name, 2, 7));
        p.add("a negative partition", v, topic(name, -1));
        p.add("an internal topic", v, topic("__consumer_offsets", 0));
        p.with(p.pid + 1_000_000, p.epoch).add("another's producer id", v, topic(name, 2));
        p.older().add("an epoch that is over", v, topic(name, 2));
        p.with(p.pid, p.epoch + 1).add("an epoch that is not there yet", v, topic(name, 2));
        p.as(name + ".none", p.pid, p.epoch).add("an unknown transactional id", v, topic(name, 2));
        p.as("", p.pid, p.epoch).add("an empty transactional id", v, topic(name, 2));
        if (v >= 4) {
            p.addAll("verified: one that is in it", v, p.adding(true, topic(name, 0)));
            p.addAll("verified: one that is not in it, beside one that is", v, p.adding(true, topic(name, 1, 2)));
            p.addAll("verified: by another", v, p.with(p.pid + 1_000_000, p.epoch).adding(true, topic(name, 0)));
            p.addAll("verified: an epoch that is over", v, p.older().adding(true, topic(name, 0)));
            p.addAll("verified: a partition that is not there", v, p.adding(true, topic(name, 9)));
            Transactor q = new Transactor(t, name + ".q");
            q.init("another producer", 4);
            p.addAll("two transactions", v, p.adding(false, topic(name, 2)), q.adding(false, topic(name, 2)));
            p.addAll("two transactions, one with an epoch that is over", v, p.older().adding(false, topic(name, 2)), q.adding(false, topic(name, 1)));
        }
        p.end("ends", v >= 5 ? 5 : 3, true);
        p.add("the next transaction", v, topic(name, 1));
    }

    private void addOffsets(int v) throws IOException {
        String name = "txn-add-offsets-v" + v;
        t.begin(name, "groups of a transaction, with AddOffsetsToTxn " + v);
        Transactor p = new Transactor(t, name);
        p.init("first", 4);
        p.init("again", 4);
        p.addOffsets("begins", v, "group-of-one");
        p.addOffsets("again", v, "group-of-one");
        p.addOffsets("an empty group id", v, "");
        p.with(p.pid + 1_000_000, p.epoch).addOffsets("another's producer id", v, "group-of-one");
        p.older().addOffsets("an epoch that is over", v, "group-of-one");
        p.as(name + ".none", p.pid, p.epoch).addOffsets("an unknown transactional id", v, "group-of-one");
        p.as("", p.pid, p.epoch).addOffsets("an empty transactional id", v, "group-of-one");
        p.end("ends", 3, true);
    }

    private void end(int v) throws IOException {
        String name = "txn-end-v" + v;
        t.begin(name, "the ends of transactions, with EndTxn " + v);
        t.topic(name, 2);
        ObjectNode both = topic(name, 0, 1);
        int adds = v >= 5 ? 5 : 3;
        Transactor p = new Transactor(t, name);
        p.init("first", 4);
        p.init("again", 4);
        p.end("with nothing open", v, true);
        p.end("with nothing open", v, false);
        p.end("with nothing open, again", v, false);
        for (boolean commit : v == 0 || v == 3 ? new boolean[] {true} : new boolean[] {true, false}) {
            p.add("begins", adds, both);
            if (commit) {
                p.older().end("an epoch that is over", v, commit);
                p.with(p.pid, p.epoch + 1).end("an epoch that is not there yet", v, commit);
                p.with(p.pid + 1_000_000, p.epoch).end("another's producer id", v, commit);
                p.as(name + ".none", p.pid, p.epoch).end("an unknown transactional id", v, commit);
                p.as("", p.pid, p.epoch).end("an empty transactional id", v, commit);
            }
            long pid = p.pid;
            int epoch = p.epoch;
            p.end("ends", v, commit);
            p.with(pid, epoch).end("again, with the numbers before", v, commit);
            p.with(pid, epoch - 1).end("again, with an older epoch", v, commit);
            p.with(pid, epoch).end("the other way round, with the numbers before", v, !commit);
            p.end("again, with the present numbers", v, commit);
            p.end("the other way round, with the present numbers", v, !commit);
        }
    }

    /** Clients of both kinds for one id. */
    private void mixed() throws IOException {
        t.begin("txn-mixed", "a transactional id that is used by clients with and without transaction version 2");
        String id = t.topic("txn-mixed", 2);
        Transactor p = new Transactor(t, "txn-mixed");
        p.init("first", 5);
        p.add("begins as old clients do", 3, topic("txn-mixed", 0));
        p.end("ends as new clients do", 5, true);
        p.produce("begins as new clients do", 12, "txn-mixed", id, 0, "a");
        p.add("goes on as old clients do", 3, topic("txn-mixed", 1));
        p.end("ends as old clients do", 3, true);
        p.end("again, as new clients do", 5, true);
        p.end("the other way round, as new clients do", 5, false);
        p.produce("begins as new clients do", 13, "txn-mixed", id, 1, "b");
        p.end("ends as old clients do", 4, false);
        p.init("the next epoch", 2);
    }

    /** Transactions that are not ended in time. */
    private void timeout() throws IOException {
        t.begin("txn-timeout", "transactions that take too long");
        String id = t.topic("txn-timeout", 2);
        Transactor p = new Transactor(t, "txn-timeout.new");
        p.timeoutMs = 1000;
        p.init("a new client", 5);
        p.produce("begins", 12, "txn-timeout", id, 0, "a");
        t.pause("longer than the time-out", 2500);
        p.produce("goes on", 12, "txn-timeout", id, 0, "b");
        p.add("adds", 5, topic("txn-timeout", 1));
        p.end("ends", 5, true);
        p.end("ends", 5, false);
        p.init("with what it has", 5, p.pid, p.epoch);
        p.init("without", 5);
        Transactor q = new Transactor(t, "txn-timeout.old");
        q.timeoutMs = 1000;
        q.init("an old client", 1);
        q.add("begins", 1, topic("txn-timeout", 0, 1));
        t.pause("longer than the time-out", 2500);
        q.produce("goes on", 7, "txn-timeout", id, 0, "b");
        q.add("adds", 1, topic("txn-timeout", 1));
        q.end("ends", 1, true);
        q.end("ends", 1, false);
        q.init("without", 1);
    }
}
