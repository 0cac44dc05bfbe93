package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import org.apache.kafka.common.protocol.Message;

/** Checks vectors against Kafka's classes, both ways: oracle.Verify FILE... */
public final class Verify {
    private int passed;
    private int failed;

    private Verify() {
    }

    /** Ends with the counts, and with exit code 1 if any line failed. */
    public static void main(String[] args) throws IOException {
        Verify v = new Verify();
        for (String file : args) {
            v.file(Path.of(file));
        }
        System.out.println(v.passed + " passed, " + v.failed + " failed");
        System.exit(v.failed == 0 ? 0 : 1);
    }

    private void file(Path path) throws IOException {
        try (InputStream raw = Files.newInputStream(path);
             InputStream in = path.toString().endsWith(".gz") ? new GZIPInputStream(raw) : raw;
             BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            for (String l = lines.readLine(); l != null; l = lines.readLine()) {
                JsonNode line = Messages.JSON.readTree(l);
                String wrong = wrong(line);
                if (wrong == null) {
                    passed++;
                } else {
                    failed++;
                    System.out.println("FAIL " + line.get("message").textValue() + " v" + line.get("version") + " "
                        + line.get("case").textValue() + ": " + wrong);
                }
            }
        }
    }

    private static String wrong(JsonNode line) {
        String name = line.get("message").textValue();
        short version = line.get("version").shortValue();
        String hex = line.get("hex").textValue();
        try {
            ByteBuffer in = ByteBuffer.wrap(Messages.unhex(hex));
            Message read = Messages.decode(name, in, version);
            if (in.hasRemaining()) {
                return in.remaining() + " bytes left";
            }
            if (!Messages.hex(Messages.encode(read, version)).equals(hex)) {
                return "decoded, it encodes to other bytes";
            }
            if (!Messages.toJson(read, version).equals(line.get("json"))) {
                return "decoded, its JSON is another";
            }
            Message made = Messages.fromJson(name, line.get("json"));
            if (line.has("unknownTags")) {
                Messages.addTags(made, line.get("unknownTags"));
            }
            return Messages.hex(Messages.encode(made, version)).equals(hex) ? null : "its JSON encodes to other bytes";
        } catch (RuntimeException e) {
            return e.toString();
        }
    }
}
