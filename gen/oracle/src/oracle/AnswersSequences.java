package oracle;

import static org.apache.kafka.common.protocol.ApiKeys.INIT_PRODUCER_ID;
import static org.apache.kafka.common.protocol.ApiKeys.PRODUCE;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;

/** Produce with producer ids: epochs and sequences (KIP-98). */
final class AnswersSequences {
    private final Recorder r;
    private final Topics topics;
    private final long now = System.currentTimeMillis();

    AnswersSequences(Recorder r) {
        this.r = r;
        this.topics = new Topics(r);
    }

    void record() throws IOException {
        r.file("produce-idempotent");
        idempotent();
        r.file("produce-sequences");
        sequences();
    }

    /** What needs no memory of earlier batches. */
    private void idempotent() throws IOException {
        topics.make("ans-idem", 1, "");
        long pid = producerId();
        sequence("first batch, sequence 0", pid, 0, 0, 3);
        sequence("sequence 3", pid, 0, 3, 1);
        sequence("next epoch, sequence 0", pid, 1, 0, 1);
        sequence("negative sequence", pid, 1, -1, 1);
        long other = producerId();
        sequence("another producer id, sequence 0", other, 0, 0, 2);
        sequence("another producer id, sequence 2", other, 0, 2, 1);
        sequence("unknown producer id, sequence 0", pid + 1_000_000, 0, 0, 1);
        sequence("unknown producer id, sequence 7", pid + 1_000_001, 0, 7, 1);
        sequence("sequence without a producer id", -1, -1, 0, 1);
        sequence("producer id -2", -2, 0, 0, 1);
    }

    /** Batches that come again, out of order, or with an epoch that is over. */
    private void sequences() throws IOException {
        topics.make("ans-idem", 1, "");
        long pid = producerId();
        sequence("first batch, sequence 0", pid, 0, 0, 3);
        sequence("sequence 3", pid, 0, 3, 1);
        sequence("sequence 3 again", pid, 0, 3, 1);
        sequence("sequence 0 again, the same three", pid, 0, 0, 3);
        sequence("sequence 0 again, two records", pid, 0, 0, 2);
        sequence("a gap", pid, 0, 9, 1);
        for (int i = 4; i < 9; i++) {
            sequence("sequence " + i, pid, 0, i, 1);
        }
        sequence("the fifth last batch again", pid, 0, 4, 1);
        sequence("the sixth last batch again", pid, 0, 3, 1);
        sequence("next epoch, sequence 5", pid, 1, 5, 1);
        sequence("next epoch, sequence 0", pid, 1, 0, 1);
        sequence("the old epoch", pid, 0, 9, 1);
        sequence("negative epoch", pid, -1, 0, 1);
        long wrap = producerId();
        sequence("two records from sequence 2^31-2", wrap, 0, Integer.MAX_VALUE - 1, 2);
        sequence("then sequence 0", wrap, 0, 0, 1);
        wrap = producerId();
        sequence("four records from sequence 2^31-2", wrap, 0, Integer.MAX_VALUE - 1, 4);
        sequence("then sequence 2", wrap, 0, 2, 1);
        sequence("sequence -2^31", wrap, 0, Integer.MIN_VALUE, 1);
        topics.drop("ans-idem");
    }

    private long producerId() throws IOException {
        // A broker that just started has no ids yet and says so.
        long[] pid = {-1};
        for (int i = 0; i < 200 && pid[0] < 0; i++) {
            r.quietly(() -> {
                JsonNode a = r.ask("", INIT_PRODUCER_ID, 4, "{transactionalId:null,transactionTimeoutMs:1000}");
                pid[0] = a.get("producerId").longValue();
            });
            if (pid[0] < 0) {
                Topics.pause();
            }
        }
        if (pid[0] < 0) {
            throw new IOException("no producer id");
        }
        r.fresh();
        return pid[0];
    }

    private void sequence(String why, long pid, int epoch, int sequence, int count) throws IOException {
        Batches b = new Batches(now);
        b.producerId = pid;
        b.producerEpoch = (short) epoch;
        b.baseSequence = sequence;
        for (int i = 0; i < count; i++) {
            b.add(now, null, "s" + i);
        }
        r.ask(why, PRODUCE, 9, Topics.produce(9, "ans-idem", null, 0, b.build()));
    }
}
