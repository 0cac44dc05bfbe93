package oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Locale;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiKeys;

/** What Kafka's tables say of each API key. */
final class Headers {
    /** The first request header whose own fields are flexible. */
    private static final int FLEXIBLE_HEADER = 2;

    private Headers() {
    }

    static void writeTo(Vectors.Sink sink) throws IOException {
        for (ApiKeys api : ApiKeys.values()) {
            sink.add(line(api));
        }
    }

    private static ObjectNode line(ApiKeys api) {
        ApiMessageType type = api.messageType;
        ObjectNode line = Messages.JSON.createObjectNode().put("api", api.name).put("apiKey", api.id);
        line.put("valid", api.hasValidVersion());
        line.put("lowest", type.lowestSupportedVersion());
        line.put("highest", type.highestSupportedVersion(true));
        line.put("highestStable", type.highestSupportedVersion(false));
        line.put("latestVersionUnstable", type.latestVersionUnstable());
        line.put("lowestDeprecated", type.lowestDeprecatedVersion());
        line.put("highestDeprecated", type.highestDeprecatedVersion());
        line.put("forwardable", api.forwardable);
        line.put("clusterAction", api.clusterAction);
        ArrayNode listeners = line.putArray("listeners");
        type.listeners().forEach(l -> listeners.add(l.name().toLowerCase(Locale.ROOT)));
        ArrayNode versions = line.putArray("versions");
        for (short v = type.lowestSupportedVersion(); v <= type.highestSupportedVersion(true); v++) {
            versions.addObject()
                .put("version", v)
                .put("requestHeaderVersion", type.requestHeaderVersion(v))
                .put("responseHeaderVersion", type.responseHeaderVersion(v))
                .put("flexible", type.requestHeaderVersion(v) >= FLEXIBLE_HEADER)
                .put("stable", api.isVersionEnabled(v, false));
        }
        return line;
    }
}
