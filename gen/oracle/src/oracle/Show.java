package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.protocol.ApiKeys;

/** Shows recorded traces: oracle.Show FILE... writes their lines with JSON in the place of the hex. */
public final class Show {
    private Show() {
    }

    /** Writes to standard output. */
    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String file : args) {
            for (String text : Files.readAllLines(Path.of(file))) {
                ObjectNode line = (ObjectNode) Messages.JSON.readTree(text);
                show(line);
                out.println(Messages.JSON.writeValueAsString(line));
            }
        }
        out.flush();
    }

    private static void show(ObjectNode line) {
        if (line.has("request")) {
            ApiKeys api = ApiKeys.forId(line.get("apiKey").intValue());
            line.put("api", api.name);
            short version = line.get("version").shortValue();
            line.set("request", Traces.brief(Recorder.requestJson(api, version, Messages.unhex(line.get("request").textValue()))));
            String response = line.get("response").textValue();
            if (!response.equals("closed") && !response.equals("never")) {
                line.set("response", Traces.brief(Recorder.responseJson(api, version, Messages.unhex(response))));
            }
        }
        for (JsonNode r : line.path("records")) {
            ObjectNode record = (ObjectNode) r;
            String name = record.get("type").textValue();
            byte[] key = Messages.unhex(record.get("key").textValue());
            byte[] value = record.get("value").isNull() ? null : Messages.unhex(record.get("value").textValue());
            ObjectNode shown = InternalLog.describe(name, InternalLog.keyJson(name, key), key, value);
            record.set("key", shown.get("keyJson"));
            record.set("value", value == null ? record.get("value") : shown.get("valueJson"));
        }
    }
}
