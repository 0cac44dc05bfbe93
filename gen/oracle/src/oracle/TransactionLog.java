package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** Reads __transaction_state as it grows. */
final class TransactionLog extends InternalLog {
    private static final String NAME = "TransactionLog";

    TransactionLog(Recorder r) {
        super(r, "__transaction_state");
    }

    /** The first question for a coordinator makes the broker create the internal topic; producer ids come a moment later. */
    @Override
    void awaitCoordinator() throws IOException {
        new GroupLog(r).awaitCoordinator();
        for (int i = 0; i < 400; i++) {
            JsonNode[] answer = new JsonNode[2];
            r.quietly(() -> {
                r.ask("", ApiKeys.FIND_COORDINATOR, 3, "{key:'ans',keyType:1}");
                answer[0] = r.ask("", ApiKeys.LIST_TRANSACTIONS, 0, "{}");
                answer[1] = r.ask("", ApiKeys.INIT_PRODUCER_ID, 4, "{transactionalId:null,transactionTimeoutMs:60000}");
            });
            if (answer[0].get("errorCode").intValue() == 0 && answer[1].get("errorCode").intValue() == 0) {
                return;
            }
            Topics.pause();
        }
        throw new IOException("no coordinator of transactions");
    }

    /** Waits until no transaction is about to end, so that a step's records and markers are all there. */
    @Override
    List<ObjectNode> read(String trace) throws IOException {
        for (int i = 0; i < 400; i++) {
            JsonNode[] answer = new JsonNode[1];
            r.quietly(() -> answer[0] = r.ask("", ApiKeys.LIST_TRANSACTIONS, 0, "{stateFilters:['PrepareCommit','PrepareAbort']}"));
            if (answer[0].get("transactionStates").isEmpty()) {
                return super.read(trace);
            }
            Topics.pause();
        }
        throw new IOException("a transaction does not end");
    }

    @Override
    ObjectNode describe(String trace, byte[] key, byte[] value) {
        JsonNode keyJson = keyJson(NAME, key);
        return belongs(trace, keyJson.get("transactionalId").asText()) ? describe(NAME, keyJson, key, value) : null;
    }
}
