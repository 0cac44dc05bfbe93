"""Each client alone, then each against what the others wrote."""

from .data import BASE_TIME, compare, record, standard
from .report import Failed, expect

# Codecs that every client here can read, and those that some cannot.
COMMON = ("none", "gzip", "snappy")
RARE = ("lz4", "zstd")
LARGE = 900_000


class Written:
    """What one client wrote to one topic: the records of each partition in order."""

    def __init__(self, topic):
        self.topic = topic
        self.partitions = {0: [], 1: []}


def produce(client, written, partition, codec, acks, records, idempotent=True):
    """Writes records and checks the offsets that the client was told."""
    log = written.partitions[partition]
    told = client.ask("produce", topic=written.topic, codec=codec, acks=acks, idempotent=idempotent, records=records)["offsets"]
    if acks != "0":
        expect("offsets", told, list(range(len(log), len(log) + len(records))))
    log.extend(records)


def write_all(report, client, topic):
    """Creates the client's topic and writes to it in every way. Partition 0 holds what every client can read."""
    written = Written(topic)
    report.check(f"{client.name} create topic",
                 lambda: expect("partitions", client.ask("create", topic=topic, partitions=2,
                                                         configs={"retention.ms": "-1"})["partitions"], 2))
    for codec in client.features["codecs"]:
        partition = 0 if codec in COMMON else 1
        report.check(f"{client.name} produce {codec} acks=all",
                     lambda c=codec, p=partition: produce(client, written, p, c, "all", standard(c, client.features, p)))
    report.check(f"{client.name} produce acks=1",
                 lambda: produce(client, written, 0, "none", "1", standard("acks=1", client.features)))
    report.check(f"{client.name} produce acks=all, not idempotent",
                 lambda: produce(client, written, 0, "none", "all", standard("plain", client.features), idempotent=False))
    # Last in its partition: the client does not learn whether and where these came.
    report.check(f"{client.name} produce acks=0",
                 lambda: produce(client, written, 0, "none", "0", standard("acks=0", client.features)))
    return written


def read_all(report, writer, reader, written):
    """Reads what a client wrote, from the start of each partition."""
    grouped = bool(writer.features.get("groupsHeaders") or reader.features.get("groupsHeaders"))
    for partition, records in written.partitions.items():
        if not records or partition == 1 and not set(RARE) <= set(reader.features["codecs"]):
            continue

        def check(p=partition, want=records):
            compare(reader.consume(written.topic, p, {"at": "start"}, len(want))["records"], want, grouped=grouped)

        report.check(f"{writer.name} -> {reader.name}, partition {partition}", check)


def positions(report, client, writer, topic):
    """Start, end, offset and timestamp, on ten records whose timestamps are 100 ms apart."""
    want = [record(b"p", b"position %d" % i, timestamp=BASE_TIME + 100 * i) for i in range(10)]
    grouped = bool(client.features.get("groupsHeaders"))

    def prepare():
        client.ask("create", topic=topic, partitions=1)
        client.ask("produce", topic=topic, codec="none", acks="all", records=want)
        return True

    if not report.check(f"{client.name} positions: prepare", prepare):
        return

    def consume(start, first):
        compare(client.consume(topic, 0, start, 10 - first)["records"], want[first:], first, grouped)

    report.check(f"{client.name} consume from the start", lambda: consume({"at": "start"}, 0))
    report.check(f"{client.name} consume from an offset", lambda: consume({"offset": 4}, 4))
    report.check(f"{client.name} consume from a timestamp", lambda: consume({"timestamp": BASE_TIME + 650}, 7))
    report.check(f"{client.name} consume from a record's own timestamp", lambda: consume({"timestamp": BASE_TIME + 600}, 6))
    report.check(f"{client.name} nothing behind the end",
                 lambda: expect("records", client.consume(topic, 0, {"at": "end"}, 1, 600)["records"], []))
    for spec, offset in (("earliest", 0), ("latest", 10), (BASE_TIME + 250, 3)):
        report.check(f"{client.name} list offsets {'timestamp' if isinstance(spec, int) else spec}",
                     lambda s=spec, o=offset: expect("offset", client.ask("offsets", topic=topic, partition=0, spec=s)["offset"], o))
    if client.features.get("maxTimestamp"):
        report.check(f"{client.name} list offsets of the greatest timestamp", lambda: expect(
            "answer", client.ask("offsets", topic=topic, partition=0, spec="max"), {"offset": 9, "timestamp": BASE_TIME + 900}))
    report.check(f"{client.name} consume from the end what comes later", lambda: tail(client, writer, topic))


def tail(client, writer, topic):
    """Waits at the end while another client writes."""
    client.start("consume", topic=topic, partition=0, **{"from": {"at": "end"}}, count=1, timeoutMs=10000)
    expect("position", client.answer()["ready"], 10)
    later = [record(b"later", b"came later")]
    try:
        writer.ask("produce", topic=topic, codec="none", acks="all", records=later)
    finally:
        answer = client.answer()
    compare(answer["records"], later, 10, bool(client.features.get("groupsHeaders")))
    expect("position", answer["position"], 11)


def large(report, client, topic):
    """A record of 900 KB, alone and between small ones."""
    value = bytes(range(256)) * (LARGE // 256)
    want = [record(b"before", b"small"), record(b"large", value), record(b"after", b"small")]

    def check():
        client.ask("produce", topic=topic, codec="none", acks="all", records=want)
        compare(client.consume(topic, 0, {"at": "start"}, 3)["records"], want)

    report.check(f"{client.name} auto-created topic and a record of 900 KB", check)


def partitions(report, client, topic):
    """The client's choice of partition is kept."""
    def check():
        client.ask("create", topic=topic, partitions=5)
        want = {p: [record(b"same key", b"partition %d, %d" % (p, i), partition=p) for i in range(3)] for p in range(5)}
        client.ask("produce", topic=topic, codec="none", acks="all", records=[r for i in range(3) for p in (3, 0, 4, 2, 1) for r in [want[p][i]]])
        for p, records in want.items():
            compare(client.consume(topic, p, {"at": "start"}, 3)["records"], records)

    report.check(f"{client.name} explicit partitions", check)


def admin(report, client, topic):
    """List, describe, create twice, delete."""
    def check():
        client.ask("create", topic=topic, partitions=3)
        expect("listed", topic in client.ask("topics")["topics"], True)
        expect("partitions", client.ask("describe", topic=topic)["partitions"], 3)
        try:
            client.ask("create", topic=topic, partitions=3)
        except Failed:
            pass
        else:
            raise Failed("created twice")
        client.ask("delete", topic=topic)
        for _ in range(50):
            if topic not in client.ask("topics")["topics"]:
                return
        raise Failed("still listed after it was deleted")

    report.check(f"{client.name} create, list, describe, delete topics", check)


def java_only(report, client, topic):
    """What only the Java client asks for."""
    def special():
        client.ask("create", topic=topic, partitions=1)
        expect("max timestamp of an empty log", client.ask("offsets", topic=topic, partition=0, spec="max")["offset"], -1)
        expect("local log start", client.ask("offsets", topic=topic, partition=0, spec="local")["offset"], 0)
        expect("last tiered offset", client.ask("offsets", topic=topic, partition=0, spec="tiered")["offset"], -1)
        expect("timestamp in an empty log", client.ask("offsets", topic=topic, partition=0, spec=5)["offset"], -1)

    report.check("java special offsets of an empty log", special)

    def append_time():
        client.ask("create", topic=topic + "-lat", partitions=1, configs={"message.timestamp.type": "LogAppendTime"})
        client.ask("produce", topic=topic + "-lat", codec="gzip", acks="all", records=[record(b"k", b"v", timestamp=BASE_TIME)])
        got = client.consume(topic + "-lat", 0, {"at": "start"}, 1)["records"]
        if len(got) != 1 or got[0]["timestamp"] < BASE_TIME + 10_000_000:
            raise Failed(f"not the append time: {got}")

    report.check("java log append time", append_time)

    def refused():
        client.ask("create", topic=topic + "-compact", partitions=1, configs={"cleanup.policy": "compact"})
        try:
            client.ask("produce", topic=topic + "-compact", codec="none", acks="all", records=[record(None, b"no key")])
        except Failed as e:
            expect("error", str(e).split(":")[0], "InvalidRecordException")
        else:
            raise Failed("a record without a key went into a compacted topic")

    report.check("java keyless record to a compacted topic", refused)
