"""Groups with Kafka's command-line tools and kcat."""

import json
import re
import signal
import subprocess
import threading

from .data import record
from .report import Failed, expect

COUNT = 10


def checks(report, tools, client, prefix):
    """kafka-consumer-groups, the console consumer and the offsets formatter."""
    topic = group = prefix

    def prepare():
        client.ask("create", topic=topic, partitions=2)
        client.ask("produce", topic=topic, codec="none", acks="all", records=[record(None, b"v%d" % i, partition=i % 2) for i in range(2 * COUNT)])
        return True

    if not report.check("group tools: prepare", prepare):
        return

    def console():
        out = tools.run("consumer.ConsoleConsumer", "--topic", topic, "--group", group, "--from-beginning", "--max-messages", str(2 * COUNT),
                        "--timeout-ms", "20000")
        expect("lines", sorted(out.split()), sorted(f"v{i}" for i in range(2 * COUNT)))

    report.check("group tools: kafka-console-consumer --group", console)

    def groups(*args, ok=True):
        return tools.run("consumer.group.ConsumerGroupCommand", *args, ok=ok)

    def table(*args):
        """Rows of a listing by column."""
        lines = [line.split() for line in groups(*args).splitlines() if line.strip()]
        start = next(i for i, line in enumerate(lines) if line[0] == "GROUP")
        return [dict(zip(lines[start], line)) for line in lines[start + 1:]]

    def offsets(name=group):
        return {r["PARTITION"]: (r["CURRENT-OFFSET"], r["LOG-END-OFFSET"], r["LAG"]) for r in table("--describe", "--group", name)}

    report.check("group tools: kafka-consumer-groups --list --state", lambda: expect(
        "state", [line.split()[-1] for line in groups("--list", "--state").splitlines() if line.split()[:1] == [group]], ["Empty"]))
    report.check("group tools: kafka-consumer-groups --describe", lambda: expect(
        "offsets", offsets(), {"0": ("10", "10", "0"), "1": ("10", "10", "0")}))
    resets(report, groups, offsets, topic, group)
    with_members(report, groups, table, client, topic, group)

    def delete_offsets():
        groups("--delete-offsets", "--group", group, "--topic", topic + ":0")
        expect("offset of partition 1", offsets().get("1"), ("7", "10", "3"))
        expect("offset of partition 0", offsets().get("0", "none") in ("none", ("-", "10", "-")), True)

    report.check("group tools: kafka-consumer-groups --delete-offsets", delete_offsets)

    def delete():
        groups("--delete", "--group", group)
        expect("listed", group in groups("--list").split(), False)

    report.check("group tools: kafka-consumer-groups --delete, --list", delete)


def resets(report, groups, offsets, topic, group):
    """Offsets of a group without members are moved, or only shown how they would be."""
    def reset(*args, name=group):
        return groups("--reset-offsets", "--group", name, "--topic", topic, *args)

    def check(name, args, want):
        def run():
            reset(*args, "--execute")
            expect("offsets", {p: o for p, (o, _, _) in offsets().items()}, want)

        report.check(f"group tools: kafka-consumer-groups --reset-offsets {name}", run)

    def dry():
        reset("--to-earliest", "--dry-run")
        expect("offsets", offsets()["0"][0], "10")

    report.check("group tools: kafka-consumer-groups --reset-offsets --dry-run", dry)
    check("--to-earliest", ("--to-earliest",), {"0": "0", "1": "0"})
    check("--to-offset", ("--to-offset", "4"), {"0": "4", "1": "4"})
    check("--shift-by", ("--shift-by", "3"), {"0": "7", "1": "7"})


def with_members(report, groups, table, client, topic, group):
    """What is shown of, and refused to, a group that has members."""
    name = group + "-live"

    def run():
        client.ask("join", member="live", group=name, topic=topic, protocol="classic", assignor="range")
        received = 0
        while received < 2 * COUNT:
            received += len(client.ask("poll", member="live", timeoutMs=200)["records"])
        client.ask("commit", member="live")
        try:
            members = table("--describe", "--group", name, "--members", "--verbose")
            expect("members", [(m["CLIENT-ID"], m["#PARTITIONS"]) for m in members], [("live", "2")])
            expect("owner", {r["CLIENT-ID"] for r in table("--describe", "--group", name)}, {"live"})
            state = groups("--describe", "--group", name, "--state").split()
            expect("state and members", ("Stable" in state, state[-1]), (True, "1"))
            for args in (("--reset-offsets", "--group", name, "--topic", topic, "--to-earliest", "--execute"), ("--delete", "--group", name)):
                refused = output(groups, args)
                expect(f"{args[0]} is refused", bool(re.search("inactive|not empty", refused)), True)
        finally:
            client.ask("leave", member="live")

    report.check("group tools: kafka-consumer-groups with members", run)


def formatter(report, tools, client, prefix):
    """Kafka's own console consumer reads __consumer_offsets."""
    topic = group = prefix

    def run():
        client.ask("create", topic=topic, partitions=1)
        client.ask("produce", topic=topic, codec="none", acks="all", records=[record(None, b"v")])
        client.ask("join", member="formatted", group=group, topic=topic, protocol="classic", assignor="range")
        while not client.ask("poll", member="formatted", timeoutMs=200)["records"]:
            pass
        for metadata in ("first", "second"):
            client.ask("commit", member="formatted", metadata=metadata)
        client.ask("leave", member="formatted")

        def read(name):
            out = tools.run("consumer.ConsoleConsumer", "--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "4000",
                            "--formatter", "org.apache.kafka.tools.consumer." + name)
            return [r["value"] and r["value"]["data"] for r in objects(out) if r["key"]["data"].get("group") == group]

        expect("commits", [(v["offset"], v["metadata"]) for v in read("OffsetsMessageFormatter")], [(1, "first"), (1, "second")])
        expect("the group", [v["protocol"] for v in read("GroupMetadataMessageFormatter")][-2:], ["range", None])

    report.check("group tools: __consumer_offsets with Kafka's formatters", run)


def objects(text):
    """JSON objects that stand one behind the other."""
    decoder, found, at = json.JSONDecoder(), [], text.find("{")
    while at >= 0:
        value, end = decoder.raw_decode(text, at)
        found.append(value)
        at = text.find("{", end)
    return found


def output(groups, args):
    """What the tool says, whether it ends with an error or not."""
    try:
        return groups(*args)
    except Failed as e:
        return str(e)


def kcat_group(report, bootstrap, client, prefix):
    """kcat -G: two processes share a topic; when one ends the other has all; a third goes on at the commit."""
    topic = group = prefix

    class Process:
        """One kcat in the group."""

        def __init__(self):
            self.lines, self.assigned = [], None
            self.process = subprocess.Popen(
                ["kcat", "-b", bootstrap, "-u", "-f", "%p %o\n", "-X", "auto.offset.reset=earliest", "-X", "heartbeat.interval.ms=200",
                 "-X", "session.timeout.ms=6000", "-X", "fetch.wait.max.ms=100", "-G", group, topic],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.changed = threading.Condition()
            for stream, take in ((self.process.stdout, self.record), (self.process.stderr, self.event)):
                threading.Thread(target=lambda s=stream, t=take: [t(line) for line in s], daemon=True).start()

        def record(self, line):
            with self.changed:
                self.lines.append(tuple(int(n) for n in line.split()))
                self.changed.notify_all()

        def event(self, line):
            with self.changed:
                if "assigned:" in line:
                    self.assigned = len(re.findall(r"\[\d+\]", line))
                    self.changed.notify_all()

        def wait(self, what, holds):
            with self.changed:
                if not self.changed.wait_for(holds, 30):
                    raise Failed(f"kcat -G: {what} not within 30 s: assigned {self.assigned}, {len(self.lines)} lines")

        def end(self):
            self.process.send_signal(signal.SIGINT)
            self.process.wait(20)

    def produce():
        client.ask("produce", topic=topic, codec="none", acks="all", records=[record(None, b"v", partition=i % 2) for i in range(2 * COUNT)])

    def run():
        client.ask("create", topic=topic, partitions=2)
        produce()
        one = Process()
        processes = [one]
        try:
            one.wait("all records", lambda: len(one.lines) == 2 * COUNT)
            two = Process()
            processes.append(two)
            two.wait("one partition", lambda: two.assigned == 1)
            one.wait("one partition", lambda: one.assigned == 1)
            produce()
            for p in (one, two):
                p.wait("its partition's records", lambda p=p: len(p.lines) == (2 * COUNT if p is one else 0) + COUNT)
            one.end()
            two.wait("both partitions", lambda: two.assigned == 2)
            produce()
            two.wait("the records of both", lambda: len(two.lines) == 3 * COUNT)
            two.end()
            produce()
            three = Process()
            processes.append(three)
            three.wait("the records behind the commit", lambda: len(three.lines) >= 2 * COUNT)
            three.end()
            everything = sorted(line for p in processes for line in p.lines)
            expect("records, each once", everything, sorted((p, o) for p in range(2) for o in range(4 * COUNT)))
        finally:
            for p in processes:
                p.process.kill()

    report.check("kcat -G: members come and go", run)
