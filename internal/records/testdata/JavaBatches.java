// Writes the batches java-*.bin with Kafka's own classes. The records are those
// of javaRecords in interop_test.go. To run it again, with Kafka's jars on CP:
//
//	java -cp "$CP" testdata/JavaBatches.java testdata

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

public class JavaBatches {
    public static void main(String[] args) throws Exception {
        Map<String, Compression> codecs = new LinkedHashMap<>();
        codecs.put("none", Compression.NONE);
        codecs.put("gzip", Compression.gzip().build());
        codecs.put("snappy", Compression.snappy().build());
        codecs.put("lz4", Compression.lz4().build());
        codecs.put("zstd", Compression.zstd().build());
        codecs.put("zstd22", Compression.zstd().level(22).build());
        for (Map.Entry<String, Compression> codec : codecs.entrySet()) {
            int count = codec.getKey().equals("none") ? 4 : 100;
            ByteBuffer batch = MemoryRecords.withRecords(codec.getValue(), records(count)).buffer().duplicate();
            byte[] bytes = new byte[batch.remaining()];
            batch.get(bytes);
            Files.write(Path.of(args[0], "java-" + codec.getKey() + ".bin"), bytes);
        }
    }

    private static SimpleRecord[] records(int count) {
        SimpleRecord[] out = new SimpleRecord[count];
        for (int i = 0; i < count; i++) {
            long timestamp = 1_700_000_000_000L + (i % 2 == 0 ? i : -i);
            byte[] key = i % 3 == 0 ? null : ("key-" + i).getBytes();
            byte[] value = ("value " + i + " of a record. ").repeat(1 + i).getBytes();
            if (i == 1) {
                value = null;
            } else if (i == 2) {
                value = new byte[0];
            }
            Header[] headers = {};
            if (i % 4 == 3) {
                headers = new Header[] {
                    new RecordHeader("h", "1".getBytes()),
                    new RecordHeader("h", null),
                    new RecordHeader("", new byte[0]),
                };
            }
            out[i] = new SimpleRecord(timestamp, key, value, headers);
        }
        return out;
    }
}
