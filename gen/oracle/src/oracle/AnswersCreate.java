package oracle;

import static org.apache.kafka.common.protocol.ApiKeys.CREATE_TOPICS;

import java.io.IOException;
import java.util.List;

/** CreateTopics: defaults, refusals with their texts, configurations. */
final class AnswersCreate {
    private final Recorder r;
    private final Topics topics;
    private int made;

    AnswersCreate(Recorder r) {
        this.r = r;
        this.topics = new Topics(r);
    }

    void record() throws IOException {
        r.file("create-topics");
        versions();
        counts();
        names();
        assignments();
        r.file("create-topics-configs");
        configs();
    }

    /** Asks for topics that are gone again afterwards, by version 7 and without effect unless `real`. */
    private void ask(String why, int version, String topic) throws IOException {
        r.ask(why, CREATE_TOPICS, version, "{topics:[" + topic + "],timeoutMs:10000}");
    }

    private void check(String why, String topic) throws IOException {
        r.ask(why + ", validate only", CREATE_TOPICS, 7, "{topics:[" + topic + "],timeoutMs:10000,validateOnly:true}");
    }

    private static String topic(String name, int partitions, int replicas, String more) {
        return "{name:'" + name + "',numPartitions:" + partitions + ",replicationFactor:" + replicas + more + "}";
    }

    private void versions() throws IOException {
        topics.drop("ans-new");
        for (int v = 2; v <= 7; v++) {
            ask("sound, version " + v, v, topic("ans-new", 2, 1, ",configs:[{name:'retention.ms',value:'3600000'}]"));
            topics.await("ans-new", true);
            ask("already there, version " + v, v, topic("ans-new", 2, 1, ""));
            topics.drop("ans-new");
            r.ask("validate only, version " + v, CREATE_TOPICS, v,
                "{topics:[" + topic("ans-new", 2, 1, "") + "],timeoutMs:10000,validateOnly:true}");
        }
        ask("defaults", 7, topic("ans-new", -1, -1, ""));
        topics.await("ans-new", true);
        check("already there", topic("ans-new", 1, 1, ""));
        ask("already there, and with bad counts", 7, topic("ans-new", 0, 9, ""));
        topics.drop("ans-new");
        check("defaults", topic("ans-new", -1, -1, ""));
        ask("defaults before version 4", 3, topic("ans-new", -1, -1, ""));
        topics.drop("ans-new");
        r.ask("no topics", CREATE_TOPICS, 7, "{topics:[],timeoutMs:10000}");
        r.ask("timeout 0", CREATE_TOPICS, 7, "{topics:[" + topic("ans-new", 1, 1, "") + "],timeoutMs:0}");
        topics.drop("ans-new");
        r.ask("timeout -1", CREATE_TOPICS, 7, "{topics:[" + topic("ans-new", 1, 1, "") + "],timeoutMs:-1}");
        topics.drop("ans-new");
    }

    private void counts() throws IOException {
        for (int p : new int[] {0, -2, Integer.MIN_VALUE}) {
            ask(p + " partitions", 7, topic("ans-new", p, 1, ""));
        }
        ask("0 partitions, version 4 without messages for each", 4, topic("ans-new", 0, 1, ""));
        check("100,001 partitions", topic("ans-new", 100_001, 1, ""));
        check("10,001 partitions", topic("ans-new", 10_001, 1, ""));
        check("2^31-1 partitions", topic("ans-new", Integer.MAX_VALUE, 1, ""));
        for (int f : new int[] {0, -2, 2, 5, 32767}) {
            ask("replication factor " + f, 7, topic("ans-new", 1, f, ""));
        }
        check("both counts wrong", topic("ans-new", 0, 0, ""));
        ask("one bad, one sound", 7, topic("ans-new", 1, 1, "") + "," + topic("ans-new-2", 0, 1, ""));
        topics.drop("ans-new");
        ask("one name twice", 7, topic("ans-new", 1, 1, "") + "," + topic("ans-new", 2, 1, ""));
        ask("one name twice and another topic", 7,
            topic("ans-new", 1, 1, "") + "," + topic("ans-new-2", 1, 1, "") + "," + topic("ans-new", 1, 1, ""));
        topics.drop("ans-new-2");
        topics.drop("ans-new");
    }

    private void names() throws IOException {
        for (String bad : List.of("", ".", "..", "a b", "é", "a/b", "a:b", "n".repeat(250))) {
            ask("name '" + bad + "'", 7, topic(bad, 1, 1, ""));
        }
        check("name of 249 characters", topic("n".repeat(249), 1, 1, ""));
        check("__cluster_metadata", topic("__cluster_metadata", 1, 1, ""));
        check("__consumer_offsets", topic("__consumer_offsets", 1, 1, ""));
        check("name with __ in front", topic("__ans", 1, 1, ""));
        topics.make("ans.col", 1, "");
        ask("differs from ans.col by . and _ alone", 7, topic("ans_col", 1, 1, ""));
        check("differs from ans.col by . and _ alone", topic("ans_col", 1, 1, ""));
        check("two new names that differ by . and _ alone", topic("ans.n", 1, 1, "") + "," + topic("ans_n", 1, 1, ""));
        topics.drop("ans.col");
    }

    private void assignments() throws IOException {
        String one = ",assignments:[{partitionIndex:0,brokerIds:[1]},{partitionIndex:1,brokerIds:[1]}]";
        for (int v : new int[] {2, 4, 7}) {
            ask("assignments, version " + v, v, topic("ans-new", -1, -1, one));
            topics.drop("ans-new");
        }
        ask("assignments and a partition count", 7, topic("ans-new", 2, -1, one));
        topics.drop("ans-new");
        ask("assignments and a replication factor", 7, topic("ans-new", -1, 1, one));
        topics.drop("ans-new");
        check("assignments and both counts", topic("ans-new", 2, 1, one));
        check("assignment to an unknown broker", topic("ans-new", -1, -1, ",assignments:[{partitionIndex:0,brokerIds:[9]}]"));
        check("assignment to no broker", topic("ans-new", -1, -1, ",assignments:[{partitionIndex:0,brokerIds:[]}]"));
        check("assignment to one broker twice", topic("ans-new", -1, -1, ",assignments:[{partitionIndex:0,brokerIds:[1,1]}]"));
        check("assignments that begin at 1", topic("ans-new", -1, -1, ",assignments:[{partitionIndex:1,brokerIds:[1]}]"));
        check("assignments with a gap", topic("ans-new", -1, -1,
            ",assignments:[{partitionIndex:0,brokerIds:[1]},{partitionIndex:2,brokerIds:[1]}]"));
        check("one partition assigned twice", topic("ans-new", -1, -1,
            ",assignments:[{partitionIndex:0,brokerIds:[1]},{partitionIndex:0,brokerIds:[1]}]"));
        check("assignments of unequal length", topic("ans-new", -1, -1,
            ",assignments:[{partitionIndex:0,brokerIds:[1]},{partitionIndex:1,brokerIds:[1,2]}]"));
        check("assignment to partition -1", topic("ans-new", -1, -1, ",assignments:[{partitionIndex:-1,brokerIds:[1]}]"));
    }

    private void configs() throws IOException {
        config("prefix", "'x'");
        config("", "'x'");
        config("retention.ms", "null");
        config("cleanup.policy", "null");
        for (String[] c : new String[][] {
            {"cleanup.policy", "compact", "delete", "compact,delete", "delete,compact", "delete,delete", "", "none", "Compact", " compact"},
            {"compression.type", "producer", "uncompressed", "none", "gzip", "snappy", "lz4", "zstd", "lzma", "GZIP", ""},
            {"compression.gzip.level", "-1", "0", "1", "9", "10"},
            {"compression.lz4.level", "0", "1", "17", "18"},
            {"compression.zstd.level", "-131072", "-131073", "22", "23"},
            {"delete.retention.ms", "0", "-1"},
            {"file.delete.delay.ms", "0", "-1"},
            {"flush.messages", "1", "0", "9223372036854775807"},
            {"flush.ms", "0", "-1"},
            {"index.interval.bytes", "0", "-1"},
            {"local.retention.bytes", "-2", "-1", "1"},
            {"local.retention.ms", "-2", "-1", "1"},
            {"max.compaction.lag.ms", "1", "0"},
            {"max.message.bytes", "0", "1", "-1", "1048588", "2147483647", "2147483648"},
            {"message.timestamp.after.max.ms", "0", "-1"},
            {"message.timestamp.before.max.ms", "0", "-1"},
            {"message.timestamp.difference.max.ms", "1"},
            {"message.timestamp.type", "CreateTime", "LogAppendTime", "createtime", "x"},
            {"message.format.version", "3.0"},
            {"message.downconversion.enable", "true"},
            {"min.cleanable.dirty.ratio", "0", "0.5", "1", "1.1", "-0.1", "x"},
            {"min.compaction.lag.ms", "0", "-1"},
            {"min.insync.replicas", "1", "2", "0"},
            {"preallocate", "true", "false", "yes", "TRUE"},
            {"remote.storage.enable", "true", "false"},
            {"remote.log.copy.disable", "true", "false"},
            {"remote.log.delete.on.disable", "true", "false"},
            {"remote.copy.lag.ms", "0", "-1", "-2"},
            {"remote.copy.lag.bytes", "0", "-1", "-2"},
            {"max.decompressed.message.bytes", "0", "1", "-1", "1000000"},
            {"errors.deadletterqueue.group.enable", "true", "false"},
            {"retention.bytes", "-1", "-2", "0", "1", "9223372036854775807"},
            {"retention.ms", "-1", "-2", "0", "1", "315446400000", "abc", "1.5", "", " 1 ", "9223372036854775808"},
            {"segment.bytes", "1", "13", "14", "1000", "1048575", "1048576", "2147483647", "2147483648"},
            {"segment.index.bytes", "0", "4", "3", "-1"},
            {"segment.jitter.ms", "0", "-1"},
            {"segment.ms", "1", "0"},
            {"unclean.leader.election.enable", "true", "false", "x"},
            {"follower.replication.throttled.replicas", "*", "0:1", "x"},
            {"leader.replication.throttled.replicas", "*", "", "0:1,1:2"},
        }) {
            for (int i = 1; i < c.length; i++) {
                config(c[0], "'" + c[i] + "'");
            }
        }
        r.ask("one configuration twice", CREATE_TOPICS, 7, "{topics:["
            + topic("ans-conf", 1, 1, ",configs:[{name:'retention.ms',value:'1'},{name:'retention.ms',value:'2'}]")
            + "],timeoutMs:10000,validateOnly:true}");
        r.ask("several, all sound", CREATE_TOPICS, 7, "{topics:[" + topic("ans-conf", 1, 1,
            ",configs:[{name:'retention.ms',value:'1000'},{name:'cleanup.policy',value:'compact'},{name:'max.message.bytes',value:'2000'},"
            + "{name:'message.timestamp.type',value:'LogAppendTime'},{name:'retention.bytes',value:'-1'}]")
            + "],timeoutMs:10000}");
        topics.drop("ans-conf");
        r.ask("two bad ones", CREATE_TOPICS, 7, "{topics:["
            + topic("ans-conf", 1, 1, ",configs:[{name:'retention.ms',value:'x'},{name:'segment.ms',value:'y'}]")
            + "],timeoutMs:10000,validateOnly:true}");
        r.ask("bad value, version 4", CREATE_TOPICS, 4, "{topics:["
            + topic("ans-conf", 1, 1, ",configs:[{name:'retention.ms',value:'x'}]") + "],timeoutMs:10000,validateOnly:true}");
    }

    private void config(String name, String value) throws IOException {
        // A connection serves any number of them; the count only keeps the lines apart.
        made++;
        r.ask(name + "=" + value, CREATE_TOPICS, 7, "{topics:[" + topic("ans-conf-" + made, 1, 1,
            ",configs:[{name:'" + name + "',value:" + value + "}]") + "],timeoutMs:10000,validateOnly:true}");
    }
}
