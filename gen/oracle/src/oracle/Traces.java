package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.common.protocol.ApiKeys;

/**
 * Records traces: steps on several named connections, where a request may be answered only by a later
 * step or by the passing of time, with the records that each step left behind in the coordinator's
 * internal topic. All groups, or transactional ids, of a trace are named like the trace, with a suffix behind
 * a dot if there are several.
 */
final class Traces implements Closeable {
    /** How long a request has to stay without answer to count as parked. */
    private static final int PARKED_MS = 150;
    private static final int SETTLE_MS = 25;
    /** How long a parked request may stay so once its answer is due. */
    private static final int TIMEOUT_MS = 5_000;

    private final String host;
    private final int port;
    private final Path dir;
    private final Recorder setUp;
    private final Topics topics;
    private final InternalLog log;
    private BufferedWriter out;
    private boolean hexOnly;

    private final List<String> failures = new ArrayList<>();
    private String trace;
    private final Map<String, Peer> peers = new LinkedHashMap<>();
    private final Map<String, String> topicIds = new LinkedHashMap<>();
    private final List<ObjectNode> lines = new ArrayList<>();

    Traces(String host, int port, Path dir, Function<Recorder, InternalLog> log) throws IOException {
        this.host = host;
        this.port = port;
        this.dir = dir;
        this.setUp = new Recorder(host, port, dir);
        this.topics = new Topics(setUp);
        this.log = log.apply(setUp);
        this.log.awaitCoordinator();
    }

    /** Leaves out from now on what follows from the rest: Show adds the JSON for who wants to read. */
    void hexOnly() {
        hexOnly = true;
    }

    /** Starts a file. */
    void file(String name) throws IOException {
        end();
        if (out != null) {
            out.close();
        }
        out = Files.newBufferedWriter(dir.resolve(name + ".jsonl"));
    }

    /** Records one or more traces; if they do not go as expected the others are recorded all the same. */
    void attempt(Recorder.Step traces) throws IOException {
        try {
            traces.run();
        } catch (IOException | RuntimeException e) {
            failures.add(trace);
            System.err.println("FAILED " + trace + ": " + e.getMessage());
        }
        end();
    }

    /** Starts a trace, which ends the one before. */
    void begin(String name, String why) throws IOException {
        end();
        System.err.println("trace " + name);
        trace = name;
        log.skip();
        lines.add(Messages.JSON.createObjectNode().put("trace", name).put("why", why));
    }

    /** Makes a topic, as a step of the trace. */
    String topic(String name, int partitions) throws IOException {
        topicIds.put(name, topics.make(name, partitions, ""));
        line("topic").put("topic", name).put("partitions", partitions).put("topicId", topicIds.get(name));
        sleep(PARKED_MS); // the coordinator learns of it after the brokers
        return topicIds.get(name);
    }

    /** Adds partitions to a topic, as a step of the trace. */
    void grow(String name, int partitions) throws IOException {
        topics.grow(name, partitions);
        line("topic").put("topic", name).put("partitions", partitions).put("topicId", topicIds.get(name));
    }

    /** Deletes a topic, as a step of the trace: 0 partitions. */
    void dropTopic(String name) throws IOException {
        topics.drop(name);
        line("topic").put("topic", name).put("partitions", 0).put("topicId", topicIds.get(name));
    }

    /** Sets a configuration of a group; not recorded. */
    void configureGroup(String group, String name, String value) throws IOException {
        setUp.quietly(() -> {
            JsonNode answer = setUp.ask("", ApiKeys.INCREMENTAL_ALTER_CONFIGS, 1, "{resources:[{resourceType:32,resourceName:'" + group
                + "',configs:[{name:'" + name + "',configOperation:0,value:'" + value + "'}]}]}");
            if (answer.at("/responses/0/errorCode").intValue() != 0) {
                throw new IOException("cannot configure " + group + ": " + answer);
            }
        });
        sleep(PARKED_MS);
    }

    /** Lets time pass, as a step of the trace. */
    void pause(String why, int ms) throws IOException {
        ObjectNode line = line(why).put("pauseMs", ms);
        sleep(ms);
        collect(line);
    }

    /** Sends a request and waits for its answer; null where the broker closed the connection instead. */
    JsonNode ask(String connection, String why, ApiKeys api, int version, String json) throws IOException {
        Call c = send(connection, why, api, version, json);
        return c.await();
    }

    /** Sends a request that has to stay without answer for now. */
    Call park(String connection, String why, ApiKeys api, int version, String json) throws IOException {
        Call c = send(connection, why, api, version, json);
        byte[] early = c.peer.poll(PARKED_MS);
        if (early != null) {
            throw new IOException(trace + ", step " + c.step + " (" + why + ") was answered at once: " + c.read(early));
        }
        collect(c.line);
        return c;
    }

    private Call send(String connection, String why, ApiKeys api, int version, String json) throws IOException {
        Peer peer = peers.get(connection);
        if (peer == null) {
            peer = new Peer(host, port);
            peers.put(connection, peer);
        }
        ObjectNode line = line(why).put("connection", connection);
        byte[] frame = Recorder.frame(api, version, lines.size() - 1, "rec", setUp.body(api, version, json));
        line.put("api", api.name).put("apiKey", api.id).put("version", version).put("request", Messages.hex(frame));
        line.set("requestJson", brief(Recorder.requestJson(api, (short) version, frame)));
        peer.send(frame);
        return new Call(peer, connection, api, version, line, lines.size() - 1);
    }

    private ObjectNode line(String why) {
        ObjectNode line = Messages.JSON.createObjectNode().put("trace", trace).put("step", lines.size()).put("why", why);
        lines.add(line);
        return line;
    }

    /** Puts the records that have been written since the last look into a step's line. */
    private void collect(ObjectNode line) throws IOException {
        // Some records are written behind the answer, a few milliseconds later.
        sleep(SETTLE_MS);
        List<ObjectNode> found = log.read(trace);
        if (!found.isEmpty()) {
            ArrayNode all = line.has("records") ? (ArrayNode) line.get("records") : line.putArray("records");
            found.forEach(all::add);
        }
    }

    private void end() throws IOException {
        if (trace == null) {
            return;
        }
        for (ObjectNode line : lines) {
            if (line.has("request") && !line.has("response")) {
                line.put("response", "never");
            }
            if (hexOnly) {
                strip(line);
            }
            out.write(Messages.JSON.writeValueAsString(line));
            out.newLine();
        }
        out.flush();
        for (Peer p : peers.values()) {
            p.close();
        }
        for (String name : topicIds.keySet()) {
            topics.drop(name);
        }
        peers.clear();
        topicIds.clear();
        lines.clear();
        trace = null;
    }

    private static void strip(ObjectNode line) {
        line.remove(List.of("api", "requestJson", "responseJson"));
        if (line.has("step")) {
            line.remove("trace");
        }
        line.path("records").forEach(r -> ((ObjectNode) r).remove(List.of("keyJson", "valueJson", "valueVersion")));
    }

    /** Leaves out what is null. */
    static JsonNode brief(JsonNode node) {
        if (node instanceof ObjectNode object) {
            object.properties().removeIf(e -> e.getValue().isNull());
        }
        node.forEach(Traces::brief);
        return node;
    }

    static void sleep(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() throws IOException {
        end();
        setUp.close();
        if (out != null) {
            out.close();
        }
        if (!failures.isEmpty()) {
            throw new IOException(failures.size() + " failed: " + failures);
        }
    }

    /** A request that has been sent. */
    final class Call {
        private final Peer peer;
        private final String connection;
        private final ApiKeys api;
        private final int version;
        private final ObjectNode line;
        private final int step;

        private Call(Peer peer, String connection, ApiKeys api, int version, ObjectNode line, int step) {
            this.peer = peer;
            this.connection = connection;
            this.api = api;
            this.version = version;
            this.line = line;
            this.step = step;
        }

        /** Waits for the answer, which is taken for the work of the trace's last step. */
        JsonNode await() throws IOException {
            byte[] answer = peer.poll(TIMEOUT_MS);
            ObjectNode last = lines.get(lines.size() - 1);
            if (last != line) {
                line.put("answeredBy", last.get("step").intValue());
            }
            if (answer == null) {
                throw new IOException(trace + ", step " + step + " has no answer: " + line);
            }
            JsonNode body = null;
            if (answer.length == 0) {
                line.put("response", "closed");
                peers.remove(connection);
            } else {
                line.put("response", Messages.hex(answer));
                body = read(answer);
                line.set("responseJson", brief(body.deepCopy()));
            }
            collect(last);
            return body;
        }

        private JsonNode read(byte[] answer) {
            return Recorder.responseJson(api, (short) version, answer);
        }
    }
}
