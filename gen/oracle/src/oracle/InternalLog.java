package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** Reads an internal topic as it grows. */
abstract class InternalLog {
    private static final int PARTITIONS = 5;

    final Recorder r;
    private final String topic;
    private final long[] next = new long[PARTITIONS];

    InternalLog(Recorder r, String topic) {
        this.r = r;
        this.topic = topic;
    }

    /** Waits, at a broker that has just begun, until the coordinator behind the topic is at work. */
    abstract void awaitCoordinator() throws IOException;

    /** A record's description, null if it does not belong to the trace. */
    abstract ObjectNode describe(String trace, byte[] key, byte[] value);

    /** Passes over what is there. */
    void skip() throws IOException {
        read("");
    }

    /** The records written since the last look that belong to a trace. */
    List<ObjectNode> read(String trace) throws IOException {
        List<ObjectNode> found = new ArrayList<>();
        while (readOnce(trace, found)) {
            continue;
        }
        return found;
    }

    private boolean readOnce(String trace, List<ObjectNode> found) throws IOException {
        StringBuilder partitions = new StringBuilder();
        for (int p = 0; p < PARTITIONS; p++) {
            partitions.append(p == 0 ? "" : ",").append("{partition:").append(p).append(",fetchOffset:").append(next[p])
                .append(",partitionMaxBytes:1048576}");
        }
        JsonNode[] answer = new JsonNode[1];
        r.quietly(() -> answer[0] = r.ask("", ApiKeys.FETCH, 12, "{replicaId:-1,maxWaitMs:0,minBytes:0,topics:[{topic:'"
            + topic + "',partitions:[" + partitions + "]}]}"));
        boolean any = false;
        for (JsonNode row : answer[0].at("/responses/0/partitions")) {
            if (row.get("errorCode").intValue() != 0) {
                throw new IOException("cannot read the log: " + row);
            }
            if (row.path("records").isTextual()) {
                any |= batches(row.get("partitionIndex").intValue(), ByteBuffer.wrap(Base64.getDecoder().decode(row.get("records").textValue())),
                    trace, found);
            }
        }
        return any;
    }

    /** Reads the batches of a partition; true if there was any. */
    private boolean batches(int partition, ByteBuffer in, String trace, List<ObjectNode> found) {
        boolean any = false;
        while (in.remaining() >= 61) {
            int start = in.position();
            long base = in.getLong(start);
            int end = start + 12 + in.getInt(start + 8);
            if ((in.getShort(start + 21) & 7) != 0 || end > in.limit()) {
                throw new IllegalStateException("a batch that is compressed or cut");
            }
            int count = in.getInt(start + 57);
            in.position(start + 61);
            for (int i = 0; i < count; i++) {
                record(base, next[partition], in, trace, found);
            }
            next[partition] = base + in.getInt(start + 23) + 1;
            in.position(end);
            any = true;
        }
        return any;
    }

    private void record(long base, long first, ByteBuffer in, String trace, List<ObjectNode> found) {
        varint(in);
        in.get();
        varint(in);
        long offset = base + varint(in);
        byte[] key = bytes(in);
        byte[] value = bytes(in);
        if (varint(in) != 0) {
            throw new IllegalStateException("a record with headers");
        }
        if (offset < first) {
            return;
        }
        ObjectNode line = trace.isEmpty() ? null : describe(trace, key, value);
        if (line != null) {
            found.add(line);
        }
    }

    /** Whether a group or a transactional id belongs to a trace: it is named like it, or has a suffix behind a dot. */
    static boolean belongs(String trace, String name) {
        return name.equals(trace) || name.startsWith(trace + ".");
    }

    /** Describes a record whose key and value are of the specs with that name. */
    static ObjectNode describe(String name, JsonNode keyJson, byte[] key, byte[] value) {
        ObjectNode line = Messages.JSON.createObjectNode().put("type", name);
        line.put("key", Messages.hex(key)).put("value", value == null ? null : Messages.hex(value));
        line.set("keyJson", Traces.brief(keyJson));
        if (value != null) {
            short version = ByteBuffer.wrap(value).getShort();
            line.put("valueVersion", version);
            JsonNode json = Messages.toJson(Messages.decode(name + "Value", ByteBuffer.wrap(value, 2, value.length - 2), version), version);
            line.set("valueJson", Traces.brief(json));
        }
        return line;
    }

    /** A key in JSON. */
    static JsonNode keyJson(String name, byte[] key) {
        return Messages.toJson(Messages.decode(name + "Key", ByteBuffer.wrap(key, 2, key.length - 2), (short) 0), (short) 0);
    }

    private static byte[] bytes(ByteBuffer in) {
        int n = (int) varint(in);
        if (n < 0) {
            return null;
        }
        byte[] out = Arrays.copyOfRange(in.array(), in.arrayOffset() + in.position(), in.arrayOffset() + in.position() + n);
        in.position(in.position() + n);
        return out;
    }

    private static long varint(ByteBuffer in) {
        long raw = 0;
        for (int shift = 0; ; shift += 7) {
            byte b = in.get();
            raw |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                return raw >>> 1 ^ -(raw & 1);
            }
        }
    }
}
