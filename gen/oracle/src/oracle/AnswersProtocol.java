package oracle;

import static org.apache.kafka.common.protocol.ApiKeys.API_VERSIONS;
import static org.apache.kafka.common.protocol.ApiKeys.METADATA;
import static org.apache.kafka.common.protocol.ApiKeys.PRODUCE;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.protocol.ApiKeys;

/** ApiVersions, versions that a broker does not take, and frames that are none. */
final class AnswersProtocol {
    private static final String SOFTWARE = "{clientSoftwareName:'rec',clientSoftwareVersion:'1.0'}";

    private final Recorder r;

    AnswersProtocol(Recorder r) {
        this.r = r;
    }

    void record() throws IOException {
        apiVersions();
        versions();
        frames();
    }

    private void apiVersions() throws IOException {
        r.file("api-versions");
        for (int v = 0; v <= 5; v++) {
            r.ask("sound, version " + v, API_VERSIONS, v, v < 3 ? "{}" : SOFTWARE);
        }
        r.ask("null client id", API_VERSIONS, 3, SOFTWARE, null);
        r.ask("empty client id", API_VERSIONS, 3, SOFTWARE, "");
        for (int v : new int[] {3, 4, 5}) {
            r.ask("empty software name", API_VERSIONS, v, "{clientSoftwareName:'',clientSoftwareVersion:'1'}");
            r.ask("empty software version", API_VERSIONS, v, "{clientSoftwareName:'rec',clientSoftwareVersion:''}");
        }
        for (String name : List.of("a b", "-a", "a-", ".a", "a.", "a_b", "é", "a/b", "a.b-c", "1", "a".repeat(300))) {
            r.ask("software name " + name, API_VERSIONS, 3, "{clientSoftwareName:'" + name + "',clientSoftwareVersion:'1'}");
            r.ask("software version " + name, API_VERSIONS, 3, "{clientSoftwareName:'rec',clientSoftwareVersion:'" + name + "'}");
        }
        r.ask("v5 with another cluster id", API_VERSIONS, 5,
            "{clientSoftwareName:'rec',clientSoftwareVersion:'1',clusterId:'AAAAAAAAAAAAAAAAAAAAAA',nodeId:-1}");
        r.ask("v5 with another node id", API_VERSIONS, 5,
            "{clientSoftwareName:'rec',clientSoftwareVersion:'1',nodeId:77}");
        r.ask("v5 with the node's own id", API_VERSIONS, 5,
            "{clientSoftwareName:'rec',clientSoftwareVersion:'1',nodeId:1}");
        r.fresh();
        byte[] sound = r.body(API_VERSIONS, 3, SOFTWARE);
        for (int v : new int[] {6, 7, 99, 32767, -1, -32768}) {
            unknownVersion("version " + v + ", no body", v, 2, new byte[0]);
            unknownVersion("version " + v + ", body of version 3", v, 2, sound);
            unknownVersion("version " + v + ", rubbish for a body", v, 2, new byte[] {-1, 7, 7, -1, -1});
            r.ask("the same connection still serves", API_VERSIONS, 3, SOFTWARE);
        }
        for (int v : new int[] {6, 99, -1}) {
            unknownVersion("version " + v + ", header without tags", v, 1, new byte[0]);
        }
        r.askBody("body cut short", API_VERSIONS, 3, Arrays.copyOf(sound, sound.length - 3));
        r.askBody("body without its tags", API_VERSIONS, 3, Arrays.copyOf(sound, sound.length - 1));
        r.askBody("spare bytes behind the body", API_VERSIONS, 3, Recorder.concat(sound, new byte[] {1, 2, 3}));
        r.askBody("v0 with a body", API_VERSIONS, 0, new byte[] {1, 2, 3});
        r.askBody("unknown tag in the body", API_VERSIONS, 3,
            Recorder.concat(Arrays.copyOf(sound, sound.length - 1), new byte[] {1, 9, 2, 1, 2}));
        r.ask("the same connection still serves", API_VERSIONS, 3, SOFTWARE);
    }

    private void unknownVersion(String why, int version, int headerVersion, byte[] body) throws IOException {
        byte[] header = Recorder.header(API_VERSIONS.id, version, 4711, "rec", headerVersion);
        r.send(why, API_VERSIONS, version, Recorder.concat(header, body));
    }

    private void versions() throws IOException {
        r.file("versions");
        byte[] rubbish = new byte[64];
        for (ApiKeys api : ApiKeys.values()) {
            if (api == API_VERSIONS) {
                continue;
            }
            if (!api.hasValidVersion()) {
                raw(api.name + ", a key without any version", api.id, 0, rubbish);
                continue;
            }
            int top = api.messageType.highestSupportedVersion(true);
            raw(api.name + " above its versions", api.id, top + 1, rubbish);
            if (api.oldestVersion() > 0) {
                raw(api.name + " below its versions", api.id, api.oldestVersion() - 1, rubbish);
            }
            raw(api.name + ", version -1", api.id, -1, rubbish);
            if (api.messageType.latestVersionUnstable()) {
                raw(api.name + ", its unstable version", api.id, top, rubbish);
            }
        }
        for (int v = 0; v < 3; v++) {
            raw("Produce " + v + ", listed but gone", PRODUCE.id, v, rubbish);
        }
        for (int key : new int[] {95, 96, 1000, 32767, -1, -32768}) {
            raw("unknown key " + key, key, 0, rubbish);
        }
        for (ApiKeys api : ApiKeys.values()) {
            if (api.hasValidVersion() && !api.inScope(org.apache.kafka.common.message.ApiMessageType.ListenerType.BROKER)) {
                raw(api.name + ", a key for controllers", api.id, api.oldestVersion(), rubbish);
            }
        }
    }

    private void raw(String why, int key, int version, byte[] body) throws IOException {
        byte[] frame = Recorder.concat(Recorder.header(key, version, 5, "rec", 2), body);
        r.sendRaw(why, Recorder.concat(new byte[] {0, 0, 0, (byte) frame.length}, frame));
    }

    private void frames() throws IOException {
        r.file("frames");
        alone("TLS hello", Messages.unhex("160301020001fc0303"));
        alone("HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        alone("size 2^31-1", Messages.unhex("7fffffff00"));
        alone("size -1", Messages.unhex("ffffffff00"));
        alone("size -2^31", Messages.unhex("8000000000"));
        alone("size 0", Messages.unhex("00000000"));
        alone("size 3", Messages.unhex("00000003000300"));
        alone("size 8, no client id", Messages.unhex("000000080003000100000007"));
        alone("size 100 MiB, the first byte alone", Messages.unhex("0640000000"));
        alone("size 100 MiB and 1", Messages.unhex("0640000100"));
        header();
        body();
    }

    private void alone(String why, byte[] bytes) throws IOException {
        r.fresh();
        r.sendRaw(why, bytes);
    }

    private void header() throws IOException {
        r.fresh();
        byte[] none = r.body(METADATA, 12, "{topics:[],allowAutoTopicCreation:false}");
        for (int id : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, 0, 7, 7}) {
            r.send("correlation id " + id, METADATA, 12, Recorder.frame(METADATA, 12, id, "rec", none));
        }
        r.send("null client id", METADATA, 12, Recorder.frame(METADATA, 12, 1, null, none));
        byte[] tagged = Recorder.header(METADATA.id, 12, 1, null, 2);
        tagged = Recorder.concat(Arrays.copyOf(tagged, tagged.length - 1), Messages.unhex("010703aabbcc"), none);
        r.send("null client id and an unknown tag in the header", METADATA, 12, tagged);
        byte[] plain = r.body(METADATA, 4, "{topics:[],allowAutoTopicCreation:false}");
        r.send("null client id, header v1", METADATA, 4, Recorder.frame(METADATA, 4, 1, null, plain));
        r.send("client id of -2", METADATA, 4, Recorder.concat(Messages.unhex("0003000400000001fffe"), plain));
        r.send("client id longer than the frame", METADATA, 4, Recorder.concat(Messages.unhex("00030004000000010fff"), plain));
        r.send("client id that is not UTF-8", METADATA, 4, Recorder.concat(Messages.unhex("00030004000000010002fffe"), plain));
        r.send("header alone", METADATA, 4, Messages.unhex("0003000400000001ffff"));
        r.send("header v2 cut before its tags", METADATA, 12, Messages.unhex("0003000c00000001ffff"));
    }

    private void body() throws IOException {
        r.askBody("spare bytes behind the body", METADATA, 4, Messages.unhex("000000000000ffff"));
        r.askBody("array count 2^31-2", METADATA, 1, Messages.unhex("7ffffffe"));
        r.askBody("array count -2", METADATA, 1, Messages.unhex("fffffffe"));
        r.askBody("array count -1 in version 0", METADATA, 0, Messages.unhex("ffffffff"));
        r.askBody("array count above what is left", METADATA, 1, Messages.unhex("00000005000141"));
        r.askBody("string length -2", METADATA, 1, Messages.unhex("00000001fffe"));
        r.askBody("string length -1 where no null is allowed", METADATA, 1, Messages.unhex("00000001ffff"));
        r.askBody("string longer than the rest", METADATA, 1, Messages.unhex("0000000100ff41"));
        r.askBody("compact array count 2^32-1", METADATA, 9, Messages.unhex("ffffffff0f00000000"));
        r.askBody("varint of 6 bytes", METADATA, 9, Messages.unhex("81808080800000000000"));
        r.askBody("varint longer than it needs to be", METADATA, 9, Messages.unhex("810000000000"));
        r.askBody("bool of 2", METADATA, 9, Messages.unhex("010200000000"));
        r.askBody("unknown tag", METADATA, 9, Messages.unhex("010000000163020102"));
        r.askBody("unknown tag longer than the rest", METADATA, 9, Messages.unhex("0100000001630901"));
        r.askBody("cut short", METADATA, 9, Messages.unhex("010000"));
        r.askBody("empty", METADATA, 9, new byte[0]);
        r.askBody("records longer than the rest", PRODUCE, 3, Messages.unhex("ffff0001000003e80000000100014100000001000000007fffffff00"));
        r.askBody("records length -2", PRODUCE, 3, Messages.unhex("ffff0001000003e8000000010001410000000100000000fffffffe"));
    }
}
