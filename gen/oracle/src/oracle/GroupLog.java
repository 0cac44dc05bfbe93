package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.protocol.ApiKeys;

/** Reads __consumer_offsets as it grows. */
final class GroupLog extends InternalLog {
    /** Names of the specs of keys and values, without the ending, by the type at the key's beginning. */
    private static final Map<Integer, String> TYPES = Map.of(
        1, "OffsetCommit",
        2, "GroupMetadata",
        3, "ConsumerGroupMetadata",
        4, "ConsumerGroupPartitionMetadata",
        5, "ConsumerGroupMemberMetadata",
        6, "ConsumerGroupTargetAssignmentMetadata",
        7, "ConsumerGroupTargetAssignmentMember",
        8, "ConsumerGroupCurrentMemberAssignment",
        16, "ConsumerGroupRegularExpression");

    GroupLog(Recorder r) {
        super(r, "__consumer_offsets");
    }

    /** The first question for a coordinator makes the broker create the internal topic. */
    @Override
    void awaitCoordinator() throws IOException {
        for (int i = 0; i < 400; i++) {
            JsonNode[] answer = new JsonNode[1];
            r.quietly(() -> answer[0] = r.ask("", ApiKeys.OFFSET_FETCH, 7, "{groupId:'ans',topics:[]}"));
            if (answer[0].get("errorCode").intValue() == 0 && allLoaded()) {
                return;
            }
            r.quietly(() -> r.ask("", ApiKeys.FIND_COORDINATOR, 3, "{key:'ans',keyType:0}"));
            Topics.pause();
        }
        throw new IOException("no coordinator of groups");
    }

    private boolean allLoaded() throws IOException {
        JsonNode[] answer = new JsonNode[1];
        r.quietly(() -> answer[0] = r.ask("", ApiKeys.LIST_GROUPS, 4, "{}"));
        return answer[0].get("errorCode").intValue() == 0;
    }

    @Override
    ObjectNode describe(String trace, byte[] key, byte[] value) {
        int type = ByteBuffer.wrap(key).getShort();
        String name = TYPES.get(type);
        if (name == null) {
            throw new IllegalStateException("type " + type);
        }
        JsonNode keyJson = keyJson(name, key);
        String group = keyJson.path("group").asText(keyJson.path("groupId").asText());
        return belongs(trace, group) ? describe(name, keyJson, key, value) : null;
    }
}
