package oracle;

import static oracle.Transactor.topic;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** What shows transactions: FindCoordinator, DescribeTransactions, ListTransactions. */
final class AnswersTransactionAdmin {
    private final Traces t;

    AnswersTransactionAdmin(Traces t) {
        this.t = t;
    }

    void record() throws IOException {
        t.file("transactions-list");
        t.attempt(this::list);
    }

    private void list() throws IOException {
        String name = "txn-list";
        t.begin(name, "transactions as administrators see them; it comes first on its broker");
        t.topic(name, 2);
        for (int v = 1; v <= 6; v++) {
            String json = v < 4 ? "{keyType:1,key:'txn-list'}" : "{keyType:1,coordinatorKeys:['txn-list','','another']}";
            t.ask("c", "the coordinator, version " + v, ApiKeys.FIND_COORDINATOR, v, json);
        }
        describe("unknown, empty and twice the same", name, "", name);
        t.ask("c", "no ids", ApiKeys.DESCRIBE_TRANSACTIONS, 0, "{transactionalIds:[]}");
        Transactor empty = new Transactor(t, name + ".empty");
        empty.init("nothing open yet", 5);
        Transactor open = new Transactor(t, name + ".open");
        open.timeoutMs = 50_000;
        open.init("one that stays open", 5);
        open.add("begins", 5, topic(name, 0, 1));
        open.addOffsets("and offsets", 4, "a-group");
        Transactor done = new Transactor(t, name + ".done");
        done.init("one that commits", 5);
        done.add("begins", 5, topic(name, 1));
        done.end("ends", 5, true);
        Transactor not = new Transactor(t, name + ".not");
        not.init("one that aborts", 2);
        not.add("begins", 2, topic(name, 1));
        not.end("ends", 2, false);
        t.pause("so that times differ", 50);
        describe("one of each state", empty.id, open.id, done.id, not.id, name + ".none");
        for (int v = 0; v <= 2; v++) {
            ask("all", v, Member.json());
            ask("by state", v, Member.json("stateFilters", List.of("Ongoing", "CompleteAbort")));
            ask("by states that are unknown", v, Member.json("stateFilters", List.of("Rubbish", "ongoing", "Dead", "PrepareEpochFence")));
            ask("by states, one of them unknown", v, Member.json("stateFilters", List.of("Empty", "Rubbish")));
            ask("by producer", v, Member.json("producerIdFilters", List.of(open.pid, done.pid, 123456)));
            ask("by producer and state", v, Member.json("producerIdFilters", List.of(open.pid, done.pid), "stateFilters", List.of("CompleteCommit")));
            ask("by an unknown producer", v, Member.json("producerIdFilters", List.of(123456)));
        }
        for (int v = 1; v <= 2; v++) {
            for (long duration : new long[] {-1, -7, 0, 10, 3_600_000, Long.MAX_VALUE}) {
                ask("open for more than " + duration + " ms", v, Member.json("durationFilter", duration));
            }
        }
        for (String pattern : new String[] {"", ".*", "txn-list", "txn-list\\.[a-e].*", ".*n", "o", "(", "[", "TXN.*", "(?i)TXN.*", "txn(?=-).*", "\\p{Lower}.*"}) {
            ask("with names like \"" + pattern + "\"", 2, Member.json("transactionalIdPattern", pattern));
        }
        ask("with names like \"(\", of an unknown state", 2, Member.json("transactionalIdPattern", "(", "stateFilters", List.of("Rubbish")));
    }

    private void describe(String why, String... ids) throws IOException {
        t.ask("c", why, ApiKeys.DESCRIBE_TRANSACTIONS, 0, Member.json("transactionalIds", ids).toString());
    }

    private void ask(String why, int v, ObjectNode json) throws IOException {
        t.ask("c", why + ", version " + v, ApiKeys.LIST_TRANSACTIONS, v, json.toString());
    }
}
