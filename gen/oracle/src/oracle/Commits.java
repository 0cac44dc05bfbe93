package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** Rows and requests of OffsetCommit, OffsetFetch and OffsetDelete. */
final class Commits {
    private Commits() {
    }

    static ObjectNode topic(String name, ObjectNode... rows) {
        return Member.json("name", name, "partitions", List.of(rows));
    }

    static ObjectNode topicId(String id, ObjectNode... rows) {
        return Member.json("topicId", id, "partitions", List.of(rows));
    }

    static ObjectNode row(int partition, long offset) {
        return row(partition, offset, "");
    }

    static ObjectNode row(int partition, long offset, String metadata) {
        return Member.json("partitionIndex", partition, "committedOffset", offset, "committedMetadata", metadata);
    }

    /** Commits from outside the group. */
    static JsonNode simple(Traces t, String why, int version, String group, ObjectNode... topics) throws IOException {
        return t.ask("s", why + ", version " + version, ApiKeys.OFFSET_COMMIT, version,
            Member.json("groupId", group, "topics", List.of(topics)).toString());
    }

    static ObjectNode wanted(String name, int... partitions) {
        return Member.json("name", name, "partitionIndexes", partitions);
    }

    static ObjectNode wantedId(String id, int... partitions) {
        return Member.json("topicId", id, "partitionIndexes", partitions);
    }

    /** Fetches a group's offsets; all of them if `topics` is null. */
    static JsonNode fetch(Traces t, String why, int version, String group, List<ObjectNode> topics) throws IOException {
        ObjectNode json = Member.json("groupId", group, "topics", topics);
        if (version >= 8) {
            json = Member.json("groups", List.of(json));
        }
        return t.ask("s", why + ", version " + version, ApiKeys.OFFSET_FETCH, version, json.toString());
    }

    static JsonNode fetchGroups(Traces t, String why, int version, ObjectNode... groups) throws IOException {
        return t.ask("s", why + ", version " + version, ApiKeys.OFFSET_FETCH, version, Member.json("groups", List.of(groups)).toString());
    }

    static JsonNode delete(Traces t, String why, String group, String topic, int... partitions) throws IOException {
        List<ObjectNode> rows = java.util.Arrays.stream(partitions).mapToObj(p -> Member.json("partitionIndex", p)).toList();
        return t.ask("s", why, ApiKeys.OFFSET_DELETE, 0,
            Member.json("groupId", group, "topics", List.of(Member.json("name", topic, "partitions", rows))).toString());
    }
}
