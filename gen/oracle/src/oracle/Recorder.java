package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Message;

/**
 * Talks to a broker frame by frame and writes each exchange as one JSON line. One connection stays
 * open until the broker closes it or `fresh` is called; the lines say on which connection they went.
 */
final class Recorder implements Closeable {
    /** How long a broker may take to answer or to close. */
    private static final int TIMEOUT_MS = 8_000;
    /** How long the absence of an answer has to last before it counts as none. */
    private static final int SILENCE_MS = 700;
    /** An answer that takes this long was held back by the broker: the fetches here wait 400 ms. */
    private static final int PARKED_MS = 390;

    private final String host;
    private final int port;
    private final Path dir;
    private BufferedWriter out;
    private Socket socket;
    private DataInputStream in;
    private int connection;
    private int correlation;
    private boolean quiet;

    Recorder(String host, int port, Path dir) {
        this.host = host;
        this.port = port;
        this.dir = dir;
    }

    /** Starts a file, on a new connection. */
    void file(String name) throws IOException {
        if (out != null) {
            out.close();
        }
        out = Files.newBufferedWriter(dir.resolve(name + ".jsonl"));
        connection = 0;
        correlation = 0;
        fresh();
    }

    /** Leaves the present connection; the next request opens another. */
    void fresh() throws IOException {
        if (socket != null) {
            socket.close();
            socket = null;
        }
    }

    /** Does what is given without recording it. */
    void quietly(Step step) throws IOException {
        quiet = true;
        try {
            step.run();
        } finally {
            quiet = false;
        }
    }

    /** Sends a request whose fields not named in `json` are at their defaults; the answer's JSON, or null if there was none. */
    JsonNode ask(String why, ApiKeys api, int version, String json) throws IOException {
        return ask(why, api, version, json, "rec");
    }

    JsonNode ask(String why, ApiKeys api, int version, String json, String clientId) throws IOException {
        int id = ++correlation;
        return send(why, api, version, frame(api, version, id, clientId, body(api, version, json)));
    }

    /** The request's body alone. */
    byte[] body(ApiKeys api, int version, String json) throws IOException {
        JsonNode node = Messages.JSON.readTree(json);
        return Messages.encode(Messages.fromJson(api.messageType.name + "Request", node), (short) version);
    }

    /** Sends bytes as a request's body behind a sound header. */
    JsonNode askBody(String why, ApiKeys api, int version, byte[] body) throws IOException {
        return send(why, api, version, frame(api, version, ++correlation, "rec", body));
    }

    /** A frame without its size: header as that version has it, then the body. */
    static byte[] frame(ApiKeys api, int version, int correlation, String clientId, byte[] body) {
        short headerVersion = api.hasValidVersion() && version >= 0 ? api.requestHeaderVersion((short) version) : 1;
        return concat(header(api.id, version, correlation, clientId, headerVersion), body);
    }

    static byte[] header(int key, int version, int correlation, String clientId, int headerVersion) {
        Message h = Messages.fresh("RequestHeader");
        ObjectNode json = Messages.JSON.createObjectNode();
        json.put("requestApiKey", key).put("requestApiVersion", version).put("correlationId", correlation);
        json.put("clientId", clientId);
        json.properties().forEach(e -> Messages.set(h, e.getKey(), e.getValue()));
        return Messages.encode(h, (short) headerVersion);
    }

    /** Sends a whole frame, its size put before it; `api` and `version` say how to read the answer. */
    JsonNode send(String why, ApiKeys api, int version, byte[] frame) throws IOException {
        byte[] sized = concat(ByteBuffer.allocate(4).putInt(frame.length).array(), frame);
        return exchange(why, api, version, frame, sized, false);
    }

    /** Sends bytes that are no sound frame; the line holds them with the size. */
    void sendRaw(String why, byte[] bytes) throws IOException {
        exchange(why, null, 0, null, bytes, false);
    }

    /** Sends a request that has no answer, such as Produce with acks 0. */
    void askSilent(String why, ApiKeys api, int version, String json) throws IOException {
        byte[] frame = frame(api, version, ++correlation, "rec", body(api, version, json));
        byte[] sized = concat(ByteBuffer.allocate(4).putInt(frame.length).array(), frame);
        exchange(why, api, version, frame, sized, true);
    }

    private JsonNode exchange(String why, ApiKeys api, int version, byte[] frame, byte[] wire, boolean silent)
            throws IOException {
        connect();
        long start = System.nanoTime();
        byte[] answer = null;
        String outcome = null;
        try {
            socket.setSoTimeout(silent || frame == null ? SILENCE_MS : TIMEOUT_MS);
            socket.getOutputStream().write(wire);
            answer = new byte[in.readInt()];
            in.readFully(answer);
        } catch (EOFException | SocketException e) {
            outcome = "closed";
            fresh();
        } catch (SocketTimeoutException e) {
            outcome = "none";
            if (!silent) {
                // A broker that owes an answer takes no further request from this connection.
                fresh();
            }
        }
        ObjectNode line = Messages.JSON.createObjectNode().put("why", why).put("connection", connection);
        if (api != null) {
            line.put("api", api.name).put("apiKey", api.id).put("version", version);
        }
        line.put(frame == null ? "wire" : "request", Messages.hex(frame == null ? wire : frame));
        JsonNode body = null;
        if (outcome != null) {
            line.put("response", outcome);
        } else {
            line.put("response", Messages.hex(answer));
            body = decoded(line, api, version, frame, answer);
        }
        if (outcome == null && api == ApiKeys.FETCH && since(start) >= PARKED_MS && parksAgain(line, wire)) {
            line.put("parked", true);
        }
        if (!quiet) {
            out.write(Messages.JSON.writeValueAsString(line));
            out.newLine();
            out.flush();
        }
        return body;
    }

    /** A loaded machine makes any answer late: a fetch without a session is asked once more. */
    private boolean parksAgain(ObjectNode line, byte[] wire) throws IOException {
        if (line.path("requestJson").path("sessionEpoch").asInt(-1) != -1) {
            return true;
        }
        long start = System.nanoTime();
        socket.getOutputStream().write(wire);
        in.readFully(new byte[in.readInt()]);
        return since(start) >= PARKED_MS;
    }

    private static long since(long nanos) {
        return (System.nanoTime() - nanos) / 1_000_000;
    }

    /** Adds both sides' JSON to the line, where they can be read. */
    private JsonNode decoded(ObjectNode line, ApiKeys api, int version, byte[] frame, byte[] answer) {
        if (api == null) {
            return null;
        }
        boolean unknown = api == ApiKeys.API_VERSIONS && !api.isVersionSupported((short) version);
        short v = unknown ? 0 : (short) version;
        if (!unknown) {
            line.set("requestJson", requestJson(api, v, frame));
        }
        JsonNode body = responseJson(api, v, answer);
        line.set("responseJson", body);
        return body;
    }

    /** An answer's body. */
    static JsonNode responseJson(ApiKeys api, short version, byte[] answer) {
        ByteBuffer b = ByteBuffer.wrap(answer);
        Messages.decode("ResponseHeader", b, api.responseHeaderVersion(version));
        JsonNode body = Messages.toJson(Messages.decode(api.messageType.name + "Response", b, version), version);
        if (b.hasRemaining()) {
            throw new IllegalStateException("answer has " + b.remaining() + " bytes more: " + body);
        }
        return body;
    }

    /** A request's body, null if it cannot be read. */
    static JsonNode requestJson(ApiKeys api, short version, byte[] frame) {
        ByteBuffer b = ByteBuffer.wrap(frame);
        try {
            Messages.decode("RequestHeader", b, api.requestHeaderVersion(version));
            return Messages.toJson(Messages.decode(api.messageType.name + "Request", b, version), version);
        } catch (RuntimeException e) {
            return null;
        }
    }

    private void connect() throws IOException {
        if (socket != null) {
            return;
        }
        socket = new Socket();
        socket.setTcpNoDelay(true);
        socket.connect(new InetSocketAddress(host, port), TIMEOUT_MS);
        in = new DataInputStream(socket.getInputStream());
        if (!quiet) {
            connection++;
        }
    }

    static byte[] concat(byte[]... parts) {
        int n = 0;
        for (byte[] p : parts) {
            n += p.length;
        }
        ByteBuffer b = ByteBuffer.allocate(n);
        for (byte[] p : parts) {
            b.put(p);
        }
        return b.array();
    }

    @Override
    public void close() throws IOException {
        fresh();
        if (out != null) {
            out.close();
        }
    }

    /** Something that talks to the broker. */
    interface Step {
        void run() throws IOException;
    }
}
