"""kcat (librdkafka) as a command."""

import json
import subprocess

from .data import BASE_TIME, b64, compare, record
from .report import Failed, expect

SECONDS = 30


class Kcat:
    """Runs kcat against one broker. Its name and features are those of a reader in roundtrip."""

    name = "kcat"

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def run(self, *args, stdin=b""):
        """Standard output, as bytes."""
        done = subprocess.run(["kcat", "-b", self.bootstrap, "-m", "10", *args], input=stdin, capture_output=True, timeout=SECONDS, check=False)
        if done.returncode != 0:
            raise Failed(f"kcat {' '.join(args)}: exit {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def read(self, topic, partition, offset="beginning", more=()):
        """Keys, values, timestamps and offsets to the end of the partition; lengths make it safe for any bytes."""
        out = self.run("-C", "-q", "-t", topic, "-p", str(partition), "-o", str(offset), "-e", "-f", "%o %T %K %S\n%k%s\n", *more)
        records, at = [], 0
        while at < len(out):
            line = out.index(b"\n", at)
            place, timestamp, key_size, size = (int(n) for n in out[at:line].split())
            key_end = line + 1 + max(key_size, 0)
            value_end = key_end + max(size, 0)
            records.append({"offset": place, "timestamp": timestamp,
                            "key": None if key_size < 0 else b64(out[line + 1:key_end]),
                            "value": None if size < 0 else b64(out[key_end:value_end])})
            at = value_end + 1
        return records

    def headers(self, topic, partition):
        """Headers of each record, as the JSON output has them: names and text in turn."""
        out = self.run("-C", "-q", "-t", topic, "-p", str(partition), "-o", "beginning", "-e", "-J")
        return [json.loads(line, strict=False).get("headers") or [] for line in out.decode().splitlines()]


def without_headers(records):
    """kcat's output of bytes has no headers."""
    return [dict(r, headers=[]) for r in records]


def reads(report, kcat, writer, written):
    """What a client wrote, as kcat sees it."""
    for partition, records in written.partitions.items():
        if not records:
            continue

        def check(p=partition, want=records):
            compare(without_headers(kcat.read(written.topic, p)), without_headers(want))

        report.check(f"{writer.name} -> kcat, partition {partition}", check)


def checks(report, kcat, clients, topic):
    """kcat on its own, then the others read what it wrote."""
    java = clients["java"]
    want = []
    if not report.check("kcat prepare", lambda: java.ask("create", topic=topic, partitions=2)):
        return

    def metadata():
        listing = json.loads(kcat.run("-L", "-J", "-t", topic))
        expect("brokers", len(listing["brokers"]) >= 1, True)
        expect("partitions", [p["partition"] for p in listing["topics"][0]["partitions"]], [0, 1])
        everything = json.loads(kcat.run("-L", "-J"))
        expect("listed", topic in [t["topic"] for t in everything["topics"]], True)

    report.check("kcat -L", metadata)

    def produce(codec, acks):
        lines = b"".join(b"k%d:%s %s %d\n" % (i, codec.encode(), acks.encode(), i) for i in range(20))
        kcat.run("-P", "-t", topic, "-p", "0", "-K", ":", "-z", codec, "-X", "acks=" + acks, "-H", "codec=" + codec, "-H", "n=1", "-H", "n=2", stdin=lines)
        want.extend(record(b"k%d" % i, b"%s %s %d" % (codec.encode(), acks.encode(), i), [("codec", codec.encode()), ("n", b"1"), ("n", b"2")])
                    for i in range(20))

    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        report.check(f"kcat -P -z {codec}", lambda c=codec: produce(c, "all"))
    report.check("kcat -P acks=1", lambda: produce("none", "1"))
    report.check("kcat -P acks=0", lambda: produce("none", "0"))

    def nulls():
        kcat.run("-P", "-t", topic, "-p", "0", "-K", ":", "-Z", stdin=b":\nkey:\n")
        want.append(record(None, None))
        want.append(record(b"key", None))

    report.check("kcat -P -Z: null key and value", nulls)
    report.check("kcat -C from the beginning", lambda: compare(without_headers(kcat.read(topic, 0)), without_headers(want)))

    def headers():
        text = [[part for name, value in r["headers"] for part in (name, value)] for r in want]
        got = [[part if i % 2 == 0 else b64(part.encode()) for i, part in enumerate(h)] for h in kcat.headers(topic, 0)]
        expect("headers", got, text)

    report.check("kcat -C -J: headers", headers)

    def after(offset, first):
        compare(without_headers(kcat.read(topic, 0, offset)), without_headers(want[first:]), first)

    report.check("kcat -C -o N", lambda: after(30, 30))
    report.check("kcat -C -o -N", lambda: after(-5, len(want) - 5))
    report.check("kcat -C -o end", lambda: expect("records", kcat.read(topic, 0, "end"), []))
    for name, client in clients.items():
        can = client.features["codecs"]
        if "zstd" in can:
            report.check(f"kcat -> {name}", lambda c=client: compare(
                c.consume(topic, 0, {"at": "start"}, len(want))["records"], want))
    times(report, kcat, java, topic)
    report.check("kcat -P to a topic that is not there yet", lambda: auto_create(kcat, topic + "-auto"))


def times(report, kcat, java, topic):
    """Offsets by time, on partition 1."""
    want = [record(b"t", b"time %d" % i, timestamp=BASE_TIME + 100 * i, partition=1) for i in range(10)]
    if not report.check("kcat times: prepare", lambda: java.ask("produce", topic=topic, codec="none", acks="all", records=want)):
        return

    def query(spec, offset):
        out = kcat.run("-Q", "-t", f"{topic}:1:{spec}").decode()
        expect("answer", out.split()[-1], str(offset))

    report.check("kcat -Q earliest", lambda: query(-2, 0))
    report.check("kcat -Q latest", lambda: query(-1, 10))
    report.check("kcat -Q timestamp", lambda: query(BASE_TIME + 450, 5))
    report.check("kcat -C -o s@timestamp", lambda: compare(
        without_headers(kcat.read(topic, 1, f"s@{BASE_TIME + 450}")), without_headers(want[5:]), 5))
    report.check("kcat -C -o s@timestamp -o e@timestamp", lambda: compare(
        without_headers(kcat.read(topic, 1, f"s@{BASE_TIME + 450}", ("-o", f"e@{BASE_TIME + 700}"))), without_headers(want[5:7]), 5))


def auto_create(kcat, topic):
    """Producing creates the topic."""
    kcat.run("-P", "-t", topic, stdin=b"first\n")
    got = kcat.read(topic, 0)
    expect("values", [r["value"] for r in got], [b64(b"first")])
