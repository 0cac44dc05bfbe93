package oracle;

import static oracle.Transactor.topic;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** Transactions in the partitions' logs: Produce, Fetch, ListOffsets, WriteTxnMarkers and DescribeProducers. */
final class AnswersTransactionData {
    private final Traces t;

    AnswersTransactionData(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("transactions-produce");
        for (int v : new int[] {3, 7, 9, 11, 12, 13}) {
            t.attempt(() -> produce(v));
        }
        t.file("transactions-read");
        t.attempt(this::read);
        for (int v = 1; v <= 2; v++) {
            int version = v;
            t.attempt(() -> markers(version));
        }
    }

    private void produce(int v) throws IOException {
        String name = "txn-produce-v" + v;
        t.begin(name, "batches of transactions, with Produce " + v);
        String id = t.topic(name, 3);
        int adds = v >= 12 ? 5 : 3;
        int ends = v >= 12 ? 5 : 4;
        Transactor p = new Transactor(t, name);
        p.init("first", 4);
        p.init("again", 4);
        p.produce("into a partition that is not added", v, name, id, 0, "a");
        p.produce("into another that is not added", v, name, id, 1, "a", "b");
        p.add("adds two", adds, topic(name, 0, 1));
        Batches first = p.batch(name, 0, "b", "c");
        p.produce("into one that is added", v, name, id, 0, "b", "c");
        p.send("the same again", v, name, id, 0, first);
        p.produce("and into the other", v, name, id, 1, "d");
        if (v == 7) {
            p.end("ends", ends, true);
            return; // as version 3
        }
        Batches gap = p.batch(name, 0, "gap");
        gap.baseSequence += 5;
        p.send("a gap in the sequence", v, name, id, 0, gap);
        p.older().produce("an epoch that is over", v, name, id, 0, "old");
        p.older().produce("an epoch that is over, where nothing is", v, name, id, 2, "old");
        p.with(p.pid + 1_000_000, p.epoch).send("another's producer id", v, name, id, 0, restarted(p.with(p.pid + 1_000_000, p.epoch), name));
        Transactor none = p.as(null, p.pid, p.epoch);
        none.produce("without a transactional id", v, name, id, 0, "none");
        p.as("", p.pid, p.epoch).produce("with an empty transactional id", v, name, id, 0, "empty");
        p.as(name + ".none", p.pid, p.epoch).produce("with an unknown transactional id, while it is open", v, name, id, 0, "other");
        p.as(name + ".none", p.pid, p.epoch).produce("with an unknown transactional id, where nothing is", v, name, id, 2, "other");
        Batches plain = p.batch(name, 0, "plain");
        plain.attributes = 0;
        p.send("a batch that is not transactional", v, name, id, 0, plain);
        plain = p.batch(name, 2, "plain");
        plain.attributes = 0;
        p.send("a batch that is not transactional, where nothing is", v, name, id, 2, plain);
        Batches nobody = p.batch(name, 0, "nobody");
        nobody.attributes = 0;
        nobody.producerId = -1;
        nobody.producerEpoch = -1;
        nobody.baseSequence = -1;
        p.send("a batch without a producer", v, name, id, 0, nobody);
        Batches control = p.batch(name, 0, "control");
        control.attributes |= Batches.CONTROL;
        p.send("a control batch", v, name, id, 0, control);
        boolean looks = v == 3 || v == 11 || v == 13;
        if (looks) {
            look("open", name);
        }
        p.end("ends", ends, v % 2 == 1);
        p.produce("after the end, with the epoch that holds", v, name, id, 0, "after");
        p.older().produce("after the end, with the epoch before", v, name, id, 1, "late");
        if (looks) {
            look("ended", name);
        }
        // Last, since Kafka then expects sequence 0 of the present epoch as well.
        p.with(p.pid, p.epoch + 1).send("an epoch that is not there yet", v, name, id, 0, restarted(p.with(p.pid, p.epoch + 1), name));
    }

    /** A batch that begins anew with sequence 0. */
    private static Batches restarted(Transactor p, String name) {
        Batches b = p.batch(name, 0, "restarted");
        b.baseSequence = 0;
        return b;
    }

    /** What readers of both kinds see, and administrators. */
    private void look(String why, String name) throws IOException {
        for (int isolation = 0; isolation < 2; isolation++) {
            fetch(why, 12, name, null, isolation, 0, 0);
            latest(why, 7, name, isolation, -1);
        }
        fetch(why, 12, name, null, 1, 1, 0);
        describe(why, name, 0, 1, 2);
    }

    private void fetch(String why, int v, String name, String id, int isolation, int partition, long offset) throws IOException {
        ObjectNode row = Member.json("partition", partition, "fetchOffset", offset, "partitionMaxBytes", 1 << 20);
        ObjectNode topic = Member.json("partitions", List.of(row)).put(v >= 13 ? "topicId" : "topic", v >= 13 ? id : name);
        ObjectNode json = Member.json("maxWaitMs", 0, "minBytes", 0, "maxBytes", 1 << 20, "isolationLevel", isolation, "topics", List.of(topic));
        if (v < 15) {
            json.put("replicaId", -1);
        }
        t.ask("r", why + ": partition " + partition + " from " + offset + ", isolation " + isolation + ", version " + v, ApiKeys.FETCH, v, json.toString());
    }

    private void latest(String why, int v, String name, int isolation, long timestamp) throws IOException {
        ObjectNode[] rows = new ObjectNode[2];
        for (int p = 0; p < rows.length; p++) {
            rows[p] = Member.json("partitionIndex", p, "timestamp", timestamp);
        }
        t.ask("r", why + ": the offset at " + timestamp + ", isolation " + isolation + ", version " + v, ApiKeys.LIST_OFFSETS, v,
            Member.json("replicaId", -1, "isolationLevel", isolation, "topics", List.of(Member.json("name", name, "partitions", List.of(rows)))).toString());
    }

    private void describe(String why, String name, int... partitions) throws IOException {
        t.ask("r", why + ": the producers", ApiKeys.DESCRIBE_PRODUCERS, 0,
            Member.json("topics", List.of(Member.json("name", name, "partitionIndexes", partitions))).toString());
    }

    /** Two producers and one without transactions, side by side. */
    private void read() throws IOException {
        t.begin("txn-read", "what readers of both kinds see of two producers and a third without transactions");
        String id = t.topic("txn-read", 2);
        Transactor a = new Transactor(t, "txn-read.a");
        Transactor b = new Transactor(t, "txn-read.b");
        a.init("one", 5);
        b.init("another", 4);
        look("nothing there", "txn-read");
        a.produce("of a", 12, "txn-read", id, 0, "a1", "a2", "a3");
        b.add("b begins", 3, topic("txn-read", 0, 1));
        b.produce("of b", 9, "txn-read", id, 0, "b1", "b2");
        plain("of nobody", id, "p1");
        a.produce("of a", 12, "txn-read", id, 0, "a4");
        look("both open", "txn-read");
        a.end("a ends", 5, false);
        look("b open", "txn-read");
        a.produce("of a's next", 12, "txn-read", id, 0, "a5", "a6");
        b.end("b ends", 3, true);
        look("a's second open", "txn-read");
        a.end("a ends", 5, false);
        plain("of nobody", id, "p2");
        b.add("b begins", 3, topic("txn-read", 0));
        b.produce("of b", 9, "txn-read", id, 0, "b3");
        b.end("b ends", 3, false);
        fetch("all ended", 4, "txn-read", id, 0, 0, 0);
        fetch("all ended", 18, "txn-read", id, 0, 0, 0);
        for (int v : new int[] {4, 7, 12, 13, 18}) {
            fetch("all ended", v, "txn-read", id, 1, 0, 0);
        }
        for (int offset : new int[] {1, 4, 6, 7, 8, 10, 11, 13, 15, 16}) {
            fetch("all ended", 12, "txn-read", id, 1, 0, offset);
        }
        fetch("beyond the end", 12, "txn-read", id, 1, 0, 99);
        for (int v : new int[] {2, 5, 7, 10}) {
            latest("all ended", v, "txn-read", 0, -1);
            latest("all ended", v, "txn-read", 1, -1);
            latest("all ended", v, "txn-read", 1, -2);
        }
        b.add("b begins", 3, topic("txn-read", 0, 1));
        b.produce("of b", 9, "txn-read", id, 0, "b4");
        latest("b open", 7, "txn-read", 1, -3);
        latest("b open", 7, "txn-read", 0, -3);
        look("b open", "txn-read");
        fetch("at the last stable offset", 12, "txn-read", id, 1, 0, 17);
        fetch("at the last stable offset", 12, "txn-read", id, 0, 0, 17);
        fetch("behind the last stable offset", 12, "txn-read", id, 1, 0, 18);
    }

    private void plain(String why, String id, String value) throws IOException {
        Transactor nobody = new Transactor(t, null);
        Batches b = nobody.batch("txn-read", 0, value);
        b.attributes = 0;
        b.baseSequence = -1;
        nobody.send(why, 12, "txn-read", id, 0, b);
    }

    private void markers(int v) throws IOException {
        String name = "txn-markers-v" + v;
        t.begin(name, "ends that others write, with WriteTxnMarkers " + v);
        String id = t.topic(name, 3);
        Transactor p = new Transactor(t, name);
        p.init("first", 4);
        p.init("again", 4);
        p.produce("begins", 12, name, id, 0, "a");
        Transactor other = new Transactor(t, name + ".other");
        other.timeoutMs = 900_000;
        other.init("a producer whose coordinator will be over", 4);
        other.produce("begins", 12, name, id, 1, "b");
        write("an epoch that is over", v, p.pid, p.epoch - 1, false, 0, 0, name, 0);
        write("a negative epoch", v, p.pid, -1, false, 0, 0, name, 0);
        write("a negative producer id", v, -1, 0, false, 0, 0, name, 0);
        write("partitions that are not there, beside one that is", v, p.pid, p.epoch, false, 0, 0, name, 0, 9);
        write("a topic that is not there", v, p.pid, p.epoch, false, 0, 0, "ans-none", 0);
        look("one ended", name);
        write("a coordinator's later epoch", v, other.pid, other.epoch, true, 5, 0, name, 1);
        write("then an earlier one", v, other.pid, other.epoch, true, 4, 0, name, 1);
        write("a producer that never wrote there", v, p.pid, p.epoch, true, 0, 0, name, 2);
        write("an unknown producer", v, p.pid + 1_000_000, 0, false, 0, 0, name, 2);
        look("both ended", name);
        if (v >= 2) {
            Transactor q = new Transactor(t, name + ".q");
            q.init("another producer", 4);
            q.produce("begins", 12, name, id, 0, "c");
            write("transaction version 2 with the transaction's own epoch", v, q.pid, q.epoch, false, 0, 2, name, 0);
            write("transaction version 1 with the next epoch", v, q.pid, q.epoch + 1, false, 0, 1, name, 0);
            q.produce("goes on", 12, name, id, 1, "d");
            write("transaction version 2 with the next epoch", v, q.pid, q.epoch + 1, false, 0, 2, name, 1);
            look("of version 2", name);
        }
        p.end("the coordinator ends", 5, false);
        look("the coordinator's end", name);
        write("a marker that is there already", v, p.pid, p.epoch, false, 0, v >= 2 ? 2 : 0, name, 0);
    }

    private void write(String why, int v, long pid, int epoch, boolean commit, int coordinatorEpoch, int version, String topic, int... partitions) throws IOException {
        ObjectNode marker = Member.json("producerId", pid, "producerEpoch", epoch, "transactionResult", commit, "coordinatorEpoch", coordinatorEpoch,
            "topics", List.of(Member.json("name", topic, "partitionIndexes", partitions)));
        if (v >= 2) {
            marker.put("transactionVersion", version);
        }
        t.ask("m", why + ", version " + v, ApiKeys.WRITE_TXN_MARKERS, v, Member.json("markers", List.of(marker)).toString());
    }
}
