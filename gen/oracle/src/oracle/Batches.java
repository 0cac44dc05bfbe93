package oracle;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Writes record batches of format v2 byte by byte, sound ones and, by setting the fields, wrong ones.
 * The CRC is computed last, so it is right whatever else is not.
 */
final class Batches {
    static final int CONTROL = 0x20;
    static final int TRANSACTIONAL = 0x10;
    static final int LOG_APPEND_TIME = 0x08;

    /** Offsets of header fields inside a batch. */
    static final int AT_LENGTH = 8;
    static final int AT_MAGIC = 16;
    static final int AT_CRC = 17;
    static final int AT_ATTRIBUTES = 21;
    static final int HEADER_SIZE = 61;

    long baseOffset = 0;
    int leaderEpoch = -1;
    byte magic = 2;
    int attributes = 0;
    Integer lastOffsetDelta;
    long baseTimestamp;
    Long maxTimestamp;
    long producerId = -1;
    short producerEpoch = -1;
    int baseSequence = -1;
    Integer count;
    /** What stands behind the header in place of the records, such as compressed ones. */
    byte[] payload;

    private final List<byte[]> records = new ArrayList<>();
    private long greatest = Long.MIN_VALUE;

    Batches(long baseTimestamp) {
        this.baseTimestamp = baseTimestamp;
    }

    /** Adds a record; null key and null value are Kafka's nulls. */
    Batches add(long timestamp, String key, String value, String... headers) {
        return add(timestamp, records.size(), bytes(key), bytes(value), headers);
    }

    /** Adds a record with an offset delta of the caller's choice. */
    Batches add(long timestamp, int offsetDelta, byte[] key, byte[] value, String... headers) {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.write(0);
        varlong(body, timestamp - baseTimestamp);
        varlong(body, offsetDelta);
        nullable(body, key);
        nullable(body, value);
        varlong(body, headers.length / 2);
        for (int i = 0; i < headers.length; i += 2) {
            nullable(body, bytes(headers[i]));
            nullable(body, bytes(headers[i + 1]));
        }
        return raw(body.toByteArray(), timestamp);
    }

    /** Adds a record's body as it is; its length goes before it. */
    Batches raw(byte[] body, long timestamp) {
        ByteArrayOutputStream framed = new ByteArrayOutputStream();
        varlong(framed, body.length);
        framed.writeBytes(body);
        records.add(framed.toByteArray());
        greatest = Math.max(greatest, timestamp);
        return this;
    }

    /** The records alone, as they would be compressed. */
    byte[] body() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        records.forEach(out::writeBytes);
        return out.toByteArray();
    }

    byte[] build() {
        byte[] body = payload == null ? body() : payload;
        ByteBuffer b = ByteBuffer.allocate(HEADER_SIZE + body.length);
        b.putLong(baseOffset).putInt(HEADER_SIZE - 12 + body.length).putInt(leaderEpoch).put(magic).putInt(0);
        b.putShort((short) attributes);
        b.putInt(lastOffsetDelta == null ? records.size() - 1 : lastOffsetDelta);
        b.putLong(baseTimestamp);
        b.putLong(maxTimestamp == null ? greatest : maxTimestamp);
        b.putLong(producerId).putShort(producerEpoch).putInt(baseSequence);
        b.putInt(count == null ? records.size() : count);
        b.put(body);
        return sealed(b.array());
    }

    /** The same batch with its CRC computed again. */
    static byte[] sealed(byte[] batch) {
        CRC32C crc = new CRC32C();
        crc.update(batch, AT_ATTRIBUTES, batch.length - AT_ATTRIBUTES);
        ByteBuffer.wrap(batch).putInt(AT_CRC, (int) crc.getValue());
        return batch;
    }

    /** Zigzag varint of 64 bits; for values of 32 bits it is the same as that of 32. */
    static void varlong(ByteArrayOutputStream out, long v) {
        long z = (v << 1) ^ (v >> 63);
        while ((z & ~0x7fL) != 0) {
            out.write((int) (z & 0x7f | 0x80));
            z >>>= 7;
        }
        out.write((int) z);
    }

    private static void nullable(ByteArrayOutputStream out, byte[] b) {
        if (b == null) {
            varlong(out, -1);
            return;
        }
        varlong(out, b.length);
        out.writeBytes(b);
    }

    private static byte[] bytes(String s) {
        return s == null ? null : s.getBytes(StandardCharsets.UTF_8);
    }
}
