package oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.Message;

/** Bytes that are odd or wrong, each with what Kafka's reader makes of it. They don't depend on a seed. */
final class Malformed {
    private static final int MOST_TAGS = 10_000;
    private static final int LONGEST_STRING = 32_767;

    /** FetchRequest v12 without topics, up to its tags. */
    private static final String FETCH = "ffffffff00000000000000007fffffff0000000000ffffffff010101";
    /** ConsumerGroupHeartbeatResponse v0 up to its nullable struct. */
    private static final String HEARTBEAT = "00000000000000000000000000000000";
    /** AlterClientQuotasRequest v0 up to the double of its one operation. */
    private static final String QUOTA = "000000010000000000000001000141";
    /** ProduceRequest v9, one topic, one partition, up to the records. */
    private static final String PRODUCE = "00ffff000000010202410200000000";

    private final Vectors.Sink sink;

    private Malformed(Vectors.Sink sink) {
        this.sink = sink;
    }

    static void writeTo(Vectors.Sink sink) throws IOException {
        Malformed m = new Malformed(sink);
        m.strings();
        m.unknownTags();
        m.knownTags();
        m.structs();
        m.arrays();
        m.headers();
        m.doubles();
        m.records();
    }

    private void strings() throws IOException {
        principal("sound", "024102420100");
        principal("bool of 2", "024102420200");
        principal("bool of ff", "02410242ff00");
        principal("null for a compact string that has no null", "0002420100");
        principal("string that is not UTF-8", "02ff02420100");
        principal("surrogate half in UTF-8", "04eda08002420100");
        principal("length in more varint bytes than it needs", "82004102420100");
        principal("varint of 6 bytes", "8280808080004102420100");
        principal("varint of 5 bytes, above 32 bits", "ffffffff7f4102420100");
        principal("varint of 5 bytes, 2^32-1", "ffffffff0f4102420100");
        principal("string longer than the rest", "2241");
        principal("compact string of 32768 bytes", varint(LONGEST_STRING + 2) + "41".repeat(LONGEST_STRING + 1) + "02420100");
        principal("compact string of 32767 bytes", varint(LONGEST_STRING + 1) + "41".repeat(LONGEST_STRING) + "02420100");
    }

    private void unknownTags() throws IOException {
        principal("unknown tag, empty", "0241024201010500");
        principal("unknown tag given twice", "02410242010205000500");
        principal("unknown tags that descend", "02410242010206000500");
        principal("unknown tag longer than the rest", "024102420101050900");
        principal("10000 unknown tags announced, none there", "0241024201" + varint(MOST_TAGS));
        principal("10001 unknown tags, all there", "0241024201" + tags(MOST_TAGS + 1));
        principal("10000 unknown tags, all there", "0241024201" + tags(MOST_TAGS));
        principal("spare bytes behind it", "024102420100ffff");
    }

    private void knownTags() throws IOException {
        add("FetchRequest", 12, "tag 0 set", FETCH + "0100020241");
        add("FetchRequest", 12, "tag 0 at its default, null", FETCH + "01000100");
        add("FetchRequest", 12, "tag 0 given twice", FETCH + "02000202410002" + "0242");
        add("FetchRequest", 12, "tag 0 behind an unknown tag", FETCH + "023200" + "00020241");
        add("FetchRequest", 12, "tag 0, its size above what it holds", FETCH + "010004" + "02410000");
        add("FetchRequest", 12, "tag 0, its size below what it holds", FETCH + "010001" + "0241");
        add("FetchRequest", 12, "tag 1, which only versions 15 and later define", FETCH + "01010d" + "00000001" + "0000000000000002" + "00");
        add("ApiVersionsResponse", 3, "tag 1 at its default, -1", "00000100000000" + "010108" + "ffffffffffffffff");
    }

    private void structs() throws IOException {
        for (String marker : new String[] {"ff", "01", "00", "02", "80"}) {
            boolean there = (Integer.parseInt(marker, 16) & 0x80) == 0;
            add("ConsumerGroupHeartbeatResponse", 0, "nullable struct, marker " + marker, HEARTBEAT + marker + (there ? "0100" : "") + "00");
        }
    }

    private void arrays() throws IOException {
        add("MetadataRequest", 0, "null for an array that has no null yet", "ffffffff");
        add("MetadataRequest", 1, "null for a nullable array", "ffffffff");
        add("MetadataRequest", 1, "array length of -2", "fffffffe");
        add("MetadataRequest", 1, "array longer than the rest", "00000005" + "000141");
        add("MetadataRequest", 1, "array length of 2^31-1", "7fffffff");
        add("MetadataRequest", 1, "the same topic twice", "00000002" + "000141" + "000141");
        add("MetadataRequest", 9, "compact array length of 2^31", "8180808008" + "00");
        add("MetadataRequest", 9, "null for a nullable compact array", "00" + "01000000");
        add("MetadataResponse", 0, "one map key twice", "00000002" + "00000007" + "000141" + "00002384" + "00000007" + "000142" + "00002384" + "00000000");
        add("OffsetCommitRequest", 2, "string length of -1 where there is no null", "ffff" + "00000000" + "000141" + "ffffffffffffffff" + "00000000");
        add("OffsetCommitRequest", 7, "nullable string, length of -2", "000141" + "00000000" + "000141" + "fffe" + "00000000");
        add("ConsumerProtocolSubscription", 0, "nullable bytes, length of -2", "00000000" + "fffffffe");
        add("ConsumerProtocolSubscription", 0, "nullable bytes, longer than the rest", "00000000" + "00000009" + "00");
    }

    private void headers() throws IOException {
        add("RequestHeader", 2, "null client ID", "0012000300000007" + "ffff" + "00");
        add("RequestHeader", 2, "unknown tag in the header", "0012000300000007" + "000141" + "010501ff");
    }

    private void doubles() throws IOException {
        add("AlterClientQuotasRequest", 0, "NaN with other bits", QUOTA + "7ff8000000000123" + "0000");
        add("AlterClientQuotasRequest", 0, "signalling NaN", QUOTA + "7ff0000000000001" + "0000");
        add("AlterClientQuotasRequest", 0, "-0.0", QUOTA + "8000000000000000" + "0000");
    }

    private void records() throws IOException {
        add("ProduceRequest", 9, "null records", PRODUCE + "00" + "000000");
        add("ProduceRequest", 9, "empty records", PRODUCE + "01" + "000000");
        add("ProduceRequest", 9, "records that are no batch", PRODUCE + "04010203" + "000000");
        add("FetchSnapshotResponse", 0, "null for records that have no null", "00000000" + "0000" + "02" + "0241" + "02" + "00".repeat(39));
    }

    private void principal(String why, String hex) throws IOException {
        add("DefaultPrincipalData", 0, why, hex);
    }

    private void add(String message, int version, String why, String hex) throws IOException {
        ObjectNode line = Vectors.head(message, apiKey(message), type(message), version).put("why", why);
        ByteBuffer in = ByteBuffer.wrap(Messages.unhex(hex));
        Message m = null;
        try {
            m = Messages.decode(message, in, (short) version);
            line.put("read", "ok").put("left", in.remaining());
        } catch (RuntimeException e) {
            line.put("read", said(e));
        }
        if (m != null) {
            try {
                line.put("rewritten", Messages.hex(Messages.encode(m, (short) version)));
            } catch (RuntimeException e) {
                line.put("write", said(e));
            }
        }
        sink.add(line.put("hex", hex));
    }

    private static Integer apiKey(String message) {
        int key = ((org.apache.kafka.common.protocol.ApiMessage) Messages.fresh(message)).apiKey();
        return key < 0 ? null : (Integer) key;
    }

    private static String type(String message) {
        if (message.endsWith("Header")) {
            return "header";
        }
        if (apiKey(message) == null) {
            return "data";
        }
        return message.endsWith("Request") ? "request" : "response";
    }

    private static String said(RuntimeException e) {
        return e.getClass().getSimpleName() + ": " + e.getMessage();
    }

    /** That many empty tags, numbered from 0, with their count in front. */
    private static String tags(int n) {
        StringBuilder b = new StringBuilder(varint(n));
        for (int i = 0; i < n; i++) {
            b.append(varint(i)).append("00");
        }
        return b.toString();
    }

    private static String varint(int v) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int rest = v;
        while ((rest & ~0x7f) != 0) {
            out.write(rest & 0x7f | 0x80);
            rest >>>= 7;
        }
        out.write(rest);
        return Messages.hex(out.toByteArray());
    }
}
