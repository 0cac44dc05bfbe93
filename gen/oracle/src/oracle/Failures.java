package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.protocol.Message;

/** What a version cannot say: fields set that it lacks, nulls where it has none. */
final class Failures {
    private final Spec spec;
    private final int version;
    private final long seed;

    Failures(Spec spec, int version, long seed) {
        this.spec = spec;
        this.version = version;
        this.seed = seed;
    }

    void writeTo(Vectors.Sink sink) throws IOException {
        walk(sink, "", spec.fields);
    }

    private void walk(Vectors.Sink sink, String pointer, List<Spec.Field> fields) throws IOException {
        for (Spec.Field f : fields) {
            String here = pointer + "/" + f.name;
            if (f.versions.isNone()) {
                continue;
            }
            if (!f.versions.has(version)) {
                absent(sink, pointer, here, f);
                continue;
            }
            if (!f.nullable.isNone() && !f.takesNull(version)) {
                line(sink, pointer, here, f, "null", NullNode.instance);
            }
            if (f.isStruct()) {
                walk(sink, f.array ? here + "/0" : here, f.fields);
            }
        }
    }

    private void absent(Vectors.Sink sink, String pointer, String here, Spec.Field f) throws IOException {
        // Of the versions that have the field, the last one says what a value looks like.
        int has = Math.min(f.versions.to(), spec.valid.to());
        Values values = new Values(Vectors.random(seed, spec, version, "value" + here), Values.Case.SMALL, has);
        JsonNode value = values.field(f);
        while (isDefault(f, value)) {
            value = values.field(f);
        }
        line(sink, pointer, here, f, "absent", value);
    }

    /** Whether a made-up number is the field's default by accident: then it would not count as set. */
    private static boolean isDefault(Spec.Field f, JsonNode value) {
        return value.isIntegralNumber() && value.longValue() == Long.decode(f.spelledDefault.isEmpty() ? "0" : f.spelledDefault);
    }

    private void line(Vectors.Sink sink, String pointer, String here, Spec.Field f, String kind, JsonNode value) throws IOException {
        JsonNode made = new Values(Vectors.random(seed, spec, version, "base" + here), Values.Case.SMALL, version).struct(spec.fields);
        Message m = Messages.fromJson(spec.name, made);
        JsonNode base = Messages.toJson(m, (short) version);
        byte[] sound = Messages.encode(m, (short) version);
        Messages.set(Messages.at(m, pointer), f.name, value);
        ObjectNode line = Vectors.head(spec.name, spec.apiKey, spec.type, version);
        line.put("field", here).put("kind", kind).put("ignorable", f.ignorable);
        try {
            if (!Arrays.equals(sound, Messages.encode(m, (short) version))) {
                throw new IllegalStateException(spec.name + " v" + version + " writes " + here + ", which it should not have");
            }
            line.put("expect", "ignored");
        } catch (IllegalStateException e) {
            throw e;
        } catch (RuntimeException e) {
            line.put("expect", "fail").put("error", e.getClass().getSimpleName());
        }
        if (!value.isNull()) {
            line.set("value", value);
        }
        line.set("base", base);
        sink.add(line);
    }
}
