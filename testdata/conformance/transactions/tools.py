"""Kafka's command-line tools for transactions, and its TransactionalMessageCopier."""

import json
import re
import subprocess
import threading

from harness.clients import java
from harness.report import Failed, expect
from harness.tools import PACKAGE, Tools

from .scenarios import Topic

SECONDS = 60


def checks(report, client, prefix):
    """client is a Java client that the tools look at, and read with."""
    tools = Tools(client.bootstrap)
    report.check("kafka-transactions: list, describe, describe-producers, find-hanging, abort", lambda: transactions(tools, client, prefix))
    report.check("kafka-producer-perf-test with transactions", lambda: perf_test(tools, client, prefix + "-perf"))
    report.check("TransactionalMessageCopier: killed and restarted", lambda: copier(client, prefix + "-copier", 2, []))
    report.check("TransactionalMessageCopier: in a group, killed and restarted",
                 lambda: copier(client, prefix + "-copier-group", 1, ["--group-mode", "--use-group-metadata"]))


def table(text):
    """Rows of a listing by column; columns are parted by tabs, empty ones stand."""
    lines = [[cell.strip() for cell in line.split("\t")] for line in text.splitlines() if "\t" in line]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def transactions(tools, client, name):
    """What the tool says of an open transaction, and how it ends one in a partition."""
    topic = Topic(client, name)

    def ask(*args):
        return table(tools.run("TransactionsCommand", *args))

    def mine(rows):
        return [r for r in rows if r["TransactionalId"] == name]

    client.ask("open", producer="tools", transactionalId=name)
    client.ask("begin", producer="tools")
    topic.send("tools", "before", partition=1)
    client.ask("commit", producer="tools")
    client.ask("begin", producer="tools")
    topic.send("tools", "a", "b", partition=1)
    expect("listed", [r["TransactionState"] for r in mine(ask("list"))], ["Ongoing"])
    described = ask("describe", "--transactional-id", name)[0]
    expect("described", [described[c] for c in ("TransactionalId", "TransactionState", "TransactionTimeoutMs", "TopicPartitions")],
           [name, "Ongoing", "60000", name + "-1"])
    place = ("--topic", name, "--partition", "1")
    producers = ask("describe-producers", *place)
    expect("producers", [(r["ProducerId"], r["ProducerEpoch"], r["CurrentTransactionStartOffset"]) for r in producers],
           [(described["ProducerId"], described["ProducerEpoch"], "2")])
    expect("hanging", ask("find-hanging", "--topic", name, "--max-transaction-timeout", "0"), [])
    tools.run("TransactionsCommand", "abort", *place, "--start-offset", "2")
    expect("producers after the abort", [r["CurrentTransactionStartOffset"] for r in ask("describe-producers", *place)], ["None"])
    client.ask("open", producer="plain-tools")
    topic.send("plain-tools", "behind", partition=1)
    topic.committed("before", "behind", partition=1)
    client.ask("open", producer="tools", transactionalId=name)
    expect("listed at the end", [r["TransactionState"] for r in mine(ask("list"))], ["Empty"])


def perf_test(tools, client, name):
    """Each record counts once for those who read what is committed."""
    Topic(client, name)
    count = 3000
    out = tools.run("ProducerPerformance", "--topic", name, "--num-records", str(count), "--record-size", "10", "--throughput", "1500",
                    "--transactional-id", name, "--transaction-duration-ms", "100")
    expect("records sent", re.search(r"(\d+) records sent, [^\n]*99.9th", out).group(1), str(count))
    got = sum(len(client.ask("read", topic=name, partition=p, isolation="read_committed", count=0, graceMs=1000)["values"]) for p in (0, 1))
    if got != count:
        raise Failed(f"{got} of {count} records are committed")


class Copier:
    """One run of the TransactionalMessageCopier; it says what it does in JSON."""

    def __init__(self, bootstrap, name, more):
        self.process = subprocess.Popen(java(
            PACKAGE + "TransactionalMessageCopier", "--broker-list", bootstrap, "--input-topic", name + "-in", "--input-partition", "0",
            "--output-topic", name + "-out", "--consumer-group", name, "--transactional-id", name, "--transaction-size", "20",
            "--transaction-timeout", "5000", "--enable-random-aborts", *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def lines(self):
        """What it says, to its end."""
        for line in self.process.stdout:
            if line.startswith("{"):
                yield json.loads(line)


def copier(client, name, kills, more):
    """Killed with -9 after some transactions; the last run ends by itself. The copy is complete, and holds nothing twice."""
    source, sink = Topic(client, name + "-in"), Topic(client, name + "-out")
    values = [f"{i}" for i in range(500)]
    client.ask("open", producer=name)
    source.send(name, *values)
    client.ask("close", producer=name)
    for last in [False] * kills + [True]:
        run = Copier(client.bootstrap, name, more)
        timer = threading.Timer(SECONDS, run.process.kill)
        timer.start()
        try:
            for status in run.lines():
                if not last and status["totalProcessed"] >= 60:
                    run.process.kill()
            code = run.process.wait()
        finally:
            run.process.kill()
            timer.cancel()
        if code != (0 if last else -9):
            raise Failed(f"exit code {code}: {''.join(run.errors)[-500:]}")
    got = client.ask("read", topic=sink.name, partition=0, isolation="read_committed", count=0, graceMs=1000)["values"]
    got += client.ask("read", topic=sink.name, partition=1, isolation="read_committed", count=0, graceMs=1000)["values"]
    if sorted(got, key=int) != values:
        raise Failed(f"{len(got)} records, {len(set(got))} of them different, of {len(values)}")
