"""Kafka's command-line tools."""

import subprocess

from .clients import java
from .data import BASE_TIME, record
from .report import Failed, expect

SECONDS = 60
PACKAGE = "org.apache.kafka.tools."
SEPARATOR = "<|>"


class Tools:
    """Runs the tools against one broker."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def run(self, tool, *args, stdin="", ok=True):
        """Standard output. With ok False the tool has to fail, and its whole output is given."""
        done = subprocess.run(java(PACKAGE + tool, "--bootstrap-server", self.bootstrap, *args), input=stdin.encode(),
                              capture_output=True, timeout=SECONDS, check=False)
        out, err = done.stdout.decode(), done.stderr.decode()
        if (done.returncode == 0) != ok:
            raise Failed(f"{tool} {' '.join(args)}: exit {done.returncode}: {out} {err}")
        return out if ok else out + err

    def consume(self, topic, count, *args):
        """The console consumer's lines: offset, key, headers, value."""
        out = self.run("consumer.ConsoleConsumer", "--topic", topic, "--max-messages", str(count), "--timeout-ms", "20000",
                       "--formatter-property", "print.key=true", "--formatter-property", "print.headers=true",
                       "--formatter-property", "print.offset=true", "--formatter-property", "key.separator=" + SEPARATOR, *args)
        return [line.split(SEPARATOR) for line in out.splitlines()]


def checks(report, tools, clients, topic):
    """Topics, console producer and consumer, offsets."""
    report.check("kafka-topics --create", lambda: expect(
        "output", tools.run("TopicCommand", "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=3600000").strip(),
        f"Created topic {topic}."))
    report.check("kafka-topics --create again", lambda: expect(
        "says so", "already exists" in tools.run("TopicCommand", "--create", "--topic", topic, ok=False), True))
    report.check("kafka-topics --create --if-not-exists", lambda: tools.run("TopicCommand", "--create", "--if-not-exists", "--topic", topic))
    report.check("kafka-topics --list", lambda: expect("listed", topic in tools.run("TopicCommand", "--list").splitlines(), True))

    lines = [f"key{i}\tvalue {i} é" for i in range(5)]

    def produce():
        tools.run("ConsoleProducer", "--topic", topic + "-console", "--reader-property", "parse.key=true", stdin="\n".join(lines) + "\n")

    report.check("kafka-console-producer", produce)
    want = [[f"Offset:{i}", "NO_HEADERS", f"key{i}", f"value {i} é"] for i in range(5)]
    report.check("kafka-console-consumer --partition 0 --offset earliest", lambda: expect(
        "lines", tools.consume(topic + "-console", 5, "--partition", "0", "--offset", "earliest"), want))
    report.check("kafka-console-consumer --offset 3", lambda: expect(
        "lines", tools.consume(topic + "-console", 2, "--partition", "0", "--offset", "3"), want[3:]))
    for client in clients.values():
        def read(c=client):
            got = c.consume(topic + "-console", 0, {"at": "start"}, 5)["records"]
            expect("values", [r["value"] for r in got], [record(None, f"value {i} é".encode())["value"] for i in range(5)])

        report.check(f"kafka-console-producer -> {client.name}", read)
    headers_and_offsets(report, tools, clients["java"], topic)
    report.check("kafka-topics --delete", lambda: tools.run("TopicCommand", "--delete", "--topic", topic))
    report.check("kafka-topics --list after that", lambda: expect(
        "listed", topic in tools.run("TopicCommand", "--list").splitlines(), False))


def headers_and_offsets(report, tools, java_client, topic):
    """What another client wrote, with headers, and where the log begins and ends."""
    records = [record(b"k", b"with headers", [("a", b"1"), ("a", b"2"), ("b", None)], timestamp=BASE_TIME + 10 * i, partition=1) for i in (0, 5, 2)]
    if not report.check("console: prepare", lambda: java_client.ask("produce", topic=topic, codec="zstd", acks="all", records=records)):
        return
    report.check("kafka-console-consumer with headers", lambda: expect(
        "lines", tools.consume(topic, 3, "--partition", "1", "--offset", "earliest"),
        [[f"Offset:{i}", "a:1,a:2,b:null", "k", "with headers"] for i in range(3)]))
    # -1 the end, -2 the start, -3 the record with the greatest timestamp, then a timestamp. Partitions without an offset are left out.
    for time, ends in (("-1", {0: 0, 1: 3}), ("-2", {0: 0, 1: 0}), ("-3", {1: 1}), (str(BASE_TIME + 5), {1: 1})):
        report.check(f"kafka-get-offsets --time {time if time[0] == '-' else 'timestamp'}", lambda t=time, e=ends: expect(
            "lines", sorted(tools.run("GetOffsetShell", "--topic-partitions", topic + ":0-2", "--time", t).split()),
            [f"{topic}:{p}:{o}" for p, o in e.items()]))
