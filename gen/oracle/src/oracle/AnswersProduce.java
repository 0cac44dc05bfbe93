package oracle;

import static org.apache.kafka.common.protocol.ApiKeys.PRODUCE;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;

/** Produce: what is checked, with which code, and what the answer holds. */
final class AnswersProduce {
    private static final String RANDOM_ID = "AbCdEfGhIjKlMnOpQrStUw";
    private static final String ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA";
    private static final long DAY = 86_400_000L;

    private final Recorder r;
    private final Topics topics;
    private final long now = System.currentTimeMillis();
    private String id;

    AnswersProduce(Recorder r) {
        this.r = r;
        this.topics = new Topics(r);
    }

    void record() throws IOException {
        r.file("produce");
        id = topics.make("ans-prod", 2, "");
        for (int v = 3; v <= 13; v++) {
            r.ask("sound, three records, version " + v, PRODUCE, v, Topics.produce(v, "ans-prod", id, 0, three().build()));
        }
        requests();
        unknown();
        acks();
        r.file("produce-batches");
        id = topics.make("ans-prod", 2, "");
        header();
        records();
        codecs();
        timestamps();
        r.file("produce-configs");
        compacted();
        logAppendTime();
        limits();
    }

    private Batches three() {
        return new Batches(now).add(now, "k0", "v0").add(now + 1, null, "v1", "h", "x", "h", null).add(now + 2, "k2", null);
    }

    /** Sends one batch by versions 7 (one code), 8 (record errors) and 13 (by id). */
    private void batch(String why, byte[] records) throws IOException {
        for (int v : new int[] {7, 8, 13}) {
            r.ask(why + ", version " + v, PRODUCE, v, Topics.produce(v, "ans-prod", id, 0, records));
        }
    }

    private void one(String why, String name, byte[] records) throws IOException {
        r.ask(why, PRODUCE, 9, Topics.produce(9, name, null, 0, records));
    }

    private static String b64(byte[] b) {
        return "'" + Base64.getEncoder().encodeToString(b) + "'";
    }

    private void requests() throws IOException {
        String sound = b64(three().build());
        r.ask("no topics", PRODUCE, 9, "{acks:-1,timeoutMs:5000,topicData:[]}");
        r.ask("no partitions", PRODUCE, 9, "{acks:-1,timeoutMs:5000,topicData:[{name:'ans-prod',partitionData:[]}]}");
        batch("null records", null);
        batch("empty records", new byte[0]);
        r.ask("one partition twice", PRODUCE, 9, "{acks:-1,timeoutMs:5000,topicData:[{name:'ans-prod',partitionData:[{index:0,records:"
            + sound + "},{index:0,records:" + sound + "}]}]}");
        r.ask("one topic twice, other partitions", PRODUCE, 9, "{acks:-1,timeoutMs:5000,topicData:[{name:'ans-prod',partitionData:[{index:0,records:"
            + sound + "}]},{name:'ans-prod',partitionData:[{index:1,records:" + sound + "}]}]}");
        r.ask("one topic and partition twice", PRODUCE, 9, "{acks:-1,timeoutMs:5000,topicData:[{name:'ans-prod',partitionData:[{index:0,records:"
            + sound + "}]},{name:'ans-prod',partitionData:[{index:0,records:" + sound + "}]}]}");
        r.ask("a sound and a broken partition", PRODUCE, 9, "{acks:-1,timeoutMs:5000,topicData:[{name:'ans-prod',partitionData:[{index:0,records:"
            + sound + "},{index:1,records:" + b64(broken()) + "},{index:7,records:" + sound + "}]}]}");
        r.ask("transactional id, batch without a transaction", PRODUCE, 9, "{transactionalId:'ans-tx',acks:-1,timeoutMs:5000,"
            + "topicData:[{name:'ans-prod',partitionData:[{index:0,records:" + sound + "}]}]}");
        r.ask("timeout 0", PRODUCE, 9, "{acks:-1,timeoutMs:0,topicData:[{name:'ans-prod',partitionData:[{index:0,records:" + sound + "}]}]}");
    }

    private byte[] broken() {
        byte[] b = three().build();
        b[b.length - 1] ^= 1;
        return b;
    }

    private void unknown() throws IOException {
        byte[] sound = three().build();
        for (int v : new int[] {3, 9, 12}) {
            r.ask("unknown topic, version " + v, PRODUCE, v, Topics.produce(v, "ans-nosuch", null, 0, sound));
        }
        for (int p : new int[] {2, -1, Integer.MAX_VALUE}) {
            r.ask("unknown partition " + p, PRODUCE, 9, Topics.produce(9, "ans-prod", null, p, sound));
            r.ask("unknown partition " + p + ", by id", PRODUCE, 13, Topics.produce(13, null, id, p, sound));
        }
        for (String bad : new String[] {"", ".", "a b", "n".repeat(250)}) {
            one("bad topic name '" + bad + "'", bad, sound);
        }
        r.ask("unknown id", PRODUCE, 13, Topics.produce(13, null, RANDOM_ID, 0, sound));
        r.ask("zero id", PRODUCE, 13, Topics.produce(13, null, ZERO_ID, 0, sound));
        r.ask("unknown id twice with other partitions, and a known one", PRODUCE, 13, "{acks:-1,timeoutMs:5000,topicData:["
            + "{topicId:'" + RANDOM_ID + "',partitionData:[{index:0,records:" + b64(sound) + "},{index:3,records:" + b64(sound) + "}]},"
            + "{topicId:'" + id + "',partitionData:[{index:0,records:" + b64(sound) + "}]}]}");
        one("an internal topic", "__consumer_offsets", sound);
        one("an unknown topic with a broken batch", "ans-nosuch", broken());
    }

    private void acks() throws IOException {
        String data = ",timeoutMs:5000,topicData:[{name:'ans-prod',partitionData:[{index:0,records:" + b64(three().build()) + "}]}]}";
        r.ask("acks 1", PRODUCE, 9, "{acks:1" + data);
        for (int a : new int[] {2, -2, 32767}) {
            r.ask("acks " + a, PRODUCE, 9, "{acks:" + a + data);
            r.ask("acks " + a + ", version 3", PRODUCE, 3, "{acks:" + a + data);
        }
        r.ask("acks 2 with an unknown topic", PRODUCE, 9,
            "{acks:2,timeoutMs:5000,topicData:[{name:'ans-nosuch',partitionData:[{index:0,records:" + b64(three().build()) + "}]}]}");
        r.fresh();
        r.askSilent("acks 0", PRODUCE, 9, "{acks:0" + data);
        r.ask("the connection after acks 0", org.apache.kafka.common.protocol.ApiKeys.METADATA, 9, "{topics:[]}");
        r.askSilent("acks 0, broken batch", PRODUCE, 9,
            "{acks:0,timeoutMs:5000,topicData:[{name:'ans-prod',partitionData:[{index:0,records:" + b64(broken()) + "}]}]}");
        r.askSilent("acks 0, unknown topic", PRODUCE, 9,
            "{acks:0,timeoutMs:5000,topicData:[{name:'ans-nosuch',partitionData:[{index:0,records:" + b64(three().build()) + "}]}]}");
        r.askSilent("acks 0, no topics", PRODUCE, 9, "{acks:0,timeoutMs:5000,topicData:[]}");
        r.fresh();
    }

    private void header() throws IOException {
        batch("wrong CRC", broken());
        for (int m : new int[] {0, 1, 3, -1}) {
            byte[] b = three().build();
            b[Batches.AT_MAGIC] = (byte) m;
            batch("magic " + m, Batches.sealed(b));
        }
        r.ask("message set of magic 1, version 3", PRODUCE, 3, Topics.produce(3, "ans-prod", id, 0, magicOne()));
        batch("message set of magic 1", magicOne());
        batch("two batches", Recorder.concat(three().build(), three().build()));
        byte[] whole = three().build();
        batch("cut short by a byte", Arrays.copyOf(whole, whole.length - 1));
        batch("header alone", Arrays.copyOf(whole, Batches.HEADER_SIZE));
        batch("ten bytes", Arrays.copyOf(whole, 10));
        batch("spare bytes behind it", Recorder.concat(whole, new byte[5]));
        for (int length : new int[] {-1, 0, 48, 49, whole.length - 13, whole.length - 11, Integer.MAX_VALUE}) {
            byte[] b = whole.clone();
            ByteBuffer.wrap(b).putInt(Batches.AT_LENGTH, length);
            batch("length " + length + " in place of " + (whole.length - 12), b);
        }
        batch("base offset 77", with(b -> b.baseOffset = 77));
        batch("base offset -5", with(b -> b.baseOffset = -5));
        batch("leader epoch 9", with(b -> b.leaderEpoch = 9));
        batch("last offset delta 1 for three records", with(b -> b.lastOffsetDelta = 1));
        batch("last offset delta 3 for three records", with(b -> b.lastOffsetDelta = 3));
        batch("last offset delta -1", with(b -> b.lastOffsetDelta = -1));
        batch("count 2 for three records", with(b -> b.count = 2));
        batch("count 4 for three records", with(b -> b.count = 4));
        batch("count 2 and last offset delta 1 for three records", with(b -> {
            b.count = 2;
            b.lastOffsetDelta = 1;
        }));
        batch("count 4 and last offset delta 3 for three records", with(b -> {
            b.count = 4;
            b.lastOffsetDelta = 3;
        }));
        batch("count -1", with(b -> b.count = -1));
        batch("count 0, no records", new Batches(now).build());
        batch("count 0, last offset delta 0", withNone());
        batch("control batch", with(b -> b.attributes = Batches.CONTROL));
        batch("transactional without a transactional id", with(b -> b.attributes = Batches.TRANSACTIONAL));
        batch("unused attribute bits", with(b -> b.attributes = 0x7f80));
        batch("log append time already set", with(b -> b.attributes = Batches.LOG_APPEND_TIME));
        batch("delete horizon bit", with(b -> b.attributes = 0x40));
        batch("maximum timestamp too high", with(b -> b.maxTimestamp = now + 1000));
        batch("maximum timestamp too low", with(b -> b.maxTimestamp = now - 1000));
        batch("maximum timestamp -1", with(b -> b.maxTimestamp = -1L));
    }

    private byte[] with(java.util.function.Consumer<Batches> change) {
        Batches b = three();
        change.accept(b);
        return b.build();
    }

    private byte[] withNone() {
        Batches b = new Batches(now);
        b.lastOffsetDelta = 0;
        return b.build();
    }

    /** One message of format v1: offset, size, CRC32, magic, attributes, timestamp, key, value. */
    private byte[] magicOne() {
        ByteBuffer m = ByteBuffer.allocate(4 + 1 + 1 + 8 + 4 + 1 + 4 + 1);
        m.putInt(0).put((byte) 1).put((byte) 0).putLong(now).putInt(1).put((byte) 'k').putInt(1).put((byte) 'v');
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        crc.update(m.array(), 4, m.capacity() - 4);
        m.putInt(0, (int) crc.getValue());
        return ByteBuffer.allocate(12 + m.capacity()).putLong(0).putInt(m.capacity()).put(m.array()).array();
    }

    private byte[] second(String body) {
        return new Batches(now).add(now, "k", "v").raw(Messages.unhex(body), now).add(now, "k", "v").build();
    }

    private void records() throws IOException {
        byte[] v = {'v'};
        batch("offset deltas 0, 2, 1", new Batches(now).add(now, 0, null, v).add(now, 2, null, v).add(now, 1, null, v).build());
        batch("offset deltas 1, 2, 3", new Batches(now).add(now, 1, null, v).add(now, 2, null, v).add(now, 3, null, v).build());
        batch("offset deltas 0, 0, 0", new Batches(now).add(now, 0, null, v).add(now, 0, null, v).add(now, 0, null, v).build());
        batch("sound record in the middle, by hand", second("000002026b02766600".substring(0, 14) + "00"));
        batch("record attributes set", second("ff0002026b027600"));
        batch("key length -2", second("000002030276" + "00"));
        batch("key longer than the record", second("0000027e6b027600"));
        batch("value length -2", second("000002026b0300"));
        batch("value longer than the record", second("000002026b7e7600"));
        batch("header count -1", second("000002026b027601"));
        batch("header count 2^31-1", second("000002026b0276feffffff0f"));
        batch("header count above what is there", second("000002026b027604026800"));
        batch("header key null", second("000002026b0276020100"));
        batch("header key empty", second("000002026b0276020000"));
        batch("header value null", second("000002026b027602026801"));
        batch("spare bytes in the record", second("000002026b027600ffff"));
        batch("record length 0", second(""));
        byte[] b = three().build();
        b[Batches.HEADER_SIZE] = 1;
        batch("record length -1", Batches.sealed(b));
        b = three().build();
        b[Batches.HEADER_SIZE] = 0x7e;
        batch("record longer than the batch", Batches.sealed(b));
    }

    private void codecs() throws IOException {
        for (int c : new int[] {Codecs.GZIP, Codecs.SNAPPY, Codecs.LZ4, Codecs.ZSTD}) {
            byte[] packed = Codecs.compress(c, three().body());
            batch("codec " + c, with(b -> {
                b.attributes = c;
                b.payload = packed;
            }));
            batch("codec " + c + ", offset deltas wrong", with(b -> {
                b.attributes = c;
                b.payload = packed;
                b.lastOffsetDelta = 9;
            }));
            batch("codec " + c + ", cut short", with(b -> {
                b.attributes = c;
                b.payload = Arrays.copyOf(packed, packed.length / 2);
            }));
            batch("codec " + c + " announced, plain records", with(b -> b.attributes = c));
            batch("codec " + c + ", one record fewer than counted", with(b -> {
                b.attributes = c;
                b.payload = packed;
                b.count = 4;
                b.lastOffsetDelta = 3;
            }));
            batch("codec " + c + ", one record more than counted", with(b -> {
                b.attributes = c;
                b.payload = packed;
                b.count = 2;
                b.lastOffsetDelta = 1;
            }));
        }
        byte[] raw = Codecs.rawSnappy(three().body());
        batch("snappy without frame", with(b -> {
            b.attributes = Codecs.SNAPPY;
            b.payload = raw;
        }));
        byte[] zstd = Codecs.compress(Codecs.ZSTD, three().body());
        for (int v : new int[] {3, 6, 7}) {
            r.ask("zstd, version " + v, PRODUCE, v, Topics.produce(v, "ans-prod", id, 0, with(b -> {
                b.attributes = Codecs.ZSTD;
                b.payload = zstd;
            })));
        }
        for (int c : new int[] {5, 6, 7}) {
            batch("unknown codec " + c, with(b -> b.attributes = c));
        }
    }

    private void timestamps() throws IOException {
        for (long t : new long[] {0, 1, -1, -2, now - 3650 * DAY, now + 3_000_000L, now + 3_700_000L, now + 3650 * DAY}) {
            String when = t == 0 || t == 1 || t < 0 ? Long.toString(t) : "now " + (t - now > 0 ? "+" : "") + (t - now);
            batch("record timestamp " + when, new Batches(t).add(t, "k", "v").build());
        }
        batch("second of three in the far future", new Batches(now).add(now, "k", "v").add(now + DAY, "k", "v").add(now, "k", "v").build());
        batch("timestamps out of order", new Batches(now).add(now, "k", "v").add(now - 500, "k", "v").add(now - 100, "k", "v").build());
    }

    private void compacted() throws IOException {
        for (String policy : new String[] {"compact", "compact,delete"}) {
            topics.make("ans-compact", 1, "{name:'cleanup.policy',value:'" + policy + "'}");
            byte[] b = new Batches(now).add(now, "a", "1").add(now, null, "2").add(now, "c", null).add(now, null, null).build();
            for (int v : new int[] {7, 8, 9}) {
                r.ask(policy + ": keyless records in the middle, version " + v, PRODUCE, v, Topics.produce(v, "ans-compact", null, 0, b));
            }
            one(policy + ": with keys", "ans-compact", new Batches(now).add(now, "a", "1").add(now, "", "2").build());
            byte[] gz = Codecs.compress(Codecs.GZIP, new Batches(now).add(now, "a", "1").add(now, null, "2").body());
            Batches packed = new Batches(now).add(now, "a", "1").add(now, null, "2");
            packed.attributes = Codecs.GZIP;
            packed.payload = gz;
            one(policy + ": keyless record, gzip", "ans-compact", packed.build());
        }
        topics.drop("ans-compact");
    }

    private void logAppendTime() throws IOException {
        String lat = topics.make("ans-lat", 1, "{name:'message.timestamp.type',value:'LogAppendTime'}");
        for (int v : new int[] {3, 9, 13}) {
            for (long t : new long[] {1000, -1, now + 365 * DAY}) {
                r.ask("log append time, record timestamp " + (t > now ? "in a year" : t) + ", version " + v, PRODUCE, v,
                    Topics.produce(v, "ans-lat", lat, 0, new Batches(t).add(t, "k", "v").add(t, "k", "w").build()));
            }
        }
        r.ask("and what is fetched", org.apache.kafka.common.protocol.ApiKeys.FETCH, 12,
            "{maxWaitMs:0,minBytes:0,topics:[{topic:'ans-lat',partitions:[{partition:0,fetchOffset:0,partitionMaxBytes:1000000}]}]}");
        topics.drop("ans-lat");
    }

    private void limits() throws IOException {
        topics.make("ans-small", 1, "{name:'max.message.bytes',value:'200'}");
        // The limit holds for a batch's whole size, with the 12 bytes in front of what its length counts.
        int fixed = new Batches(now).add(now, null, "x".repeat(100)).build().length - 100;
        one("exactly max.message.bytes=200", "ans-small", new Batches(now).add(now, null, "x".repeat(200 - fixed)).build());
        one("one byte above max.message.bytes=200", "ans-small", new Batches(now).add(now, null, "x".repeat(201 - fixed)).build());
        topics.make("ans-small", 1, "{name:'max.message.bytes',value:'100'},{name:'compression.type',value:'gzip'}");
        Batches packed = new Batches(now).add(now, null, "x".repeat(5000));
        packed.attributes = Codecs.GZIP;
        packed.payload = Codecs.compress(Codecs.GZIP, packed.body());
        one("gzip within max.message.bytes=100, greater once unpacked", "ans-small", packed.build());
        one("plain above the limit, compression.type=gzip", "ans-small", new Batches(now).add(now, null, "x".repeat(5000)).build());
        topics.make("ans-small", 1, "{name:'message.timestamp.before.max.ms',value:'1000'},{name:'message.timestamp.after.max.ms',value:'5000'}");
        for (long d : new long[] {-60_000, 60_000, 0}) {
            long t = System.currentTimeMillis() + d;
            one("before.max.ms=1000, after.max.ms=5000: now " + d, "ans-small", new Batches(t).add(t, "k", "v").build());
        }
        topics.make("ans-small", 1, "{name:'min.insync.replicas',value:'2'}");
        one("min.insync.replicas=2 on one broker", "ans-small", three().build());
        topics.drop("ans-small");
    }
}
