package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.zip.GZIPOutputStream;
import org.apache.kafka.common.protocol.Message;

/**
 * Makes vectors: oracle.Vectors SEED OUTDIR. What is written is what Kafka's generated classes made of
 * messages that were made up by walking the specs; README.md of testdata/codec says what the lines hold.
 */
public final class Vectors {
    private static final List<String> CLIENTS = List.of("kafka-clients");
    private static final List<String> COORDINATORS = List.of("kafka-group-coordinator", "kafka-transaction-coordinator");

    private final long seed;
    private final Path dir;

    private Vectors(long seed, Path dir) {
        this.seed = seed;
        this.dir = dir;
    }

    /** Writes all files. */
    public static void main(String[] args) throws IOException {
        if (args.length != 2) {
            System.err.println("usage: oracle.Vectors SEED OUTDIR");
            System.exit(2);
        }
        Vectors v = new Vectors(Long.parseLong(args[0]), Files.createDirectories(Path.of(args[1])));
        List<Spec> clients = Spec.load(CLIENTS);
        v.vectors("vectors.jsonl.gz", clients);
        v.vectors("coordinator-vectors.jsonl.gz", Spec.load(COORDINATORS));
        v.failures(clients);
        v.malformed();
        v.headers();
        // Once more from the next seed, so that no code fits one set of values by accident.
        new Vectors(v.seed + 1, v.dir).vectors("seed2-vectors.jsonl.gz", clients);
    }

    private interface Lines {
        void writeTo(Sink sink) throws IOException;
    }

    /** Takes lines and counts them. */
    static final class Sink {
        private final BufferedWriter out;
        private int count;

        private Sink(BufferedWriter out) {
            this.out = out;
        }

        void add(JsonNode line) throws IOException {
            out.write(Messages.JSON.writeValueAsString(line));
            out.write('\n');
            count++;
        }
    }

    private void write(String file, Lines lines) throws IOException {
        try (OutputStream raw = Files.newOutputStream(dir.resolve(file));
             OutputStream bytes = file.endsWith(".gz") ? new GZIPOutputStream(raw) : raw;
             BufferedWriter out = new BufferedWriter(new OutputStreamWriter(bytes, StandardCharsets.UTF_8))) {
            Sink sink = new Sink(out);
            lines.writeTo(sink);
            System.out.println(file + ": " + sink.count + " lines");
        }
    }

    private void vectors(String file, List<Spec> specs) throws IOException {
        write(file, sink -> {
            for (Spec s : specs) {
                for (int v = s.valid.from(); v <= s.valid.to(); v++) {
                    sink.add(vector(s, v, "default", null));
                    sink.add(vector(s, v, "dense", Values.Case.DENSE));
                    sink.add(vector(s, v, "sparse", Values.Case.SPARSE));
                    sink.add(vector(s, v, "nulls", Values.Case.NULLS));
                    sink.add(vector(s, v, "mixed1", Values.Case.MIXED));
                }
            }
        });
    }

    /** Randomness that depends on the seed and on what it is for, so that a new message leaves the others' vectors alone. */
    static Random random(long seed, Spec s, int version, String what) {
        long h = 1125899906842597L;
        for (char c : (s.name + " " + version + " " + what).toCharArray()) {
            h = 31 * h + c;
        }
        return new Random(seed * 0x9E3779B97F4A7C15L ^ h);
    }

    /** The first members of each line. */
    static ObjectNode head(String message, Integer apiKey, String type, int version) {
        return Messages.JSON.createObjectNode().put("message", message).put("apiKey", apiKey).put("type", type).put("version", version);
    }

    private ObjectNode vector(Spec s, int version, String name, Values.Case how) {
        Random random = random(seed, s, version, name);
        boolean flexible = s.flexible.has(version);
        Message m = Messages.fresh(s.name);
        Values values = new Values(random, how, version);
        if (how != null) {
            m = Messages.fromJson(s.name, values.struct(s.fields));
        }
        JsonNode json = Messages.toJson(m, (short) version);
        ObjectNode line = head(s.name, s.apiKey, s.type, version).put("flexible", flexible).put("case", name);
        line.set("json", json);
        ObjectNode records = Values.records(s.fields, json);
        if (!records.isEmpty()) {
            line.set("records", records);
        }
        if (flexible && (how == Values.Case.DENSE || how == Values.Case.MIXED)) {
            ObjectNode tags = values.unknownTags(s.fields, json);
            Messages.addTags(m, tags);
            line.set("unknownTags", tags);
        }
        byte[] bytes = Messages.encode(m, (short) version);
        check(s, version, json, bytes);
        return line.put("hex", Messages.hex(bytes));
    }

    /** Kafka's own classes must bring the bytes back. */
    private static void check(Spec s, int version, JsonNode json, byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        Message again = Messages.decode(s.name, in, (short) version);
        if (in.hasRemaining() || !java.util.Arrays.equals(bytes, Messages.encode(again, (short) version))
            || !json.equals(Messages.toJson(again, (short) version))) {
            throw new IllegalStateException(s.name + " v" + version + " does not come back: " + json);
        }
    }

    private void failures(List<Spec> specs) throws IOException {
        write("failures.jsonl.gz", sink -> {
            for (Spec s : specs) {
                for (int v = s.valid.from(); v <= s.valid.to(); v++) {
                    new Failures(s, v, seed).writeTo(sink);
                }
            }
        });
    }

    private void malformed() throws IOException {
        write("malformed.jsonl.gz", Malformed::writeTo);
    }

    private void headers() throws IOException {
        write("headers.jsonl", Headers::writeTo);
    }
}
