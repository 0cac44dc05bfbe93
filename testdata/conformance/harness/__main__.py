"""python3 -m harness HOST:PORT [NAME...]: all checks, or those whose names contain one of NAME."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from . import groups, grouptools, kcat, roundtrip, tools
from .clients import COMMANDS, Client
from .report import Report

# How many clients are checked in groups at the same time.
AT_ONCE = 4


def main(bootstrap, only):
    """Runs everything; the exit code."""
    report = Report(only)
    # Names of their own for each run, so that it can be repeated against one broker.
    prefix = f"conf-{os.getpid()}-{int(time.time()) % 100000}-"
    clients = {}
    try:
        for name in COMMANDS:
            client = report.check(f"{name} starts", lambda n=name: Client(n, bootstrap)) if not only else Client(name, bootstrap)
            if client:
                clients[name] = client
        if "java" not in clients:
            return report.end()
        run(report, clients, bootstrap, prefix)
        run_groups(report, clients, bootstrap, prefix)
    finally:
        for client in clients.values():
            client.close()
    return report.end()


def run(report, clients, bootstrap, prefix):
    """Client by client, then across."""
    writers = list(clients.values())
    for i, client in enumerate(writers):
        name = prefix + client.name
        roundtrip.admin(report, client, name + "-admin")
        roundtrip.partitions(report, client, name + "-five")
        roundtrip.positions(report, client, writers[(i + 1) % len(writers)], name + "-positions")
        roundtrip.large(report, client, name + "-large")
    roundtrip.java_only(report, clients["java"], prefix + "special")
    cat = kcat.Kcat(bootstrap)
    kcat.checks(report, cat, clients, prefix + "kcat")
    tools.checks(report, tools.Tools(bootstrap), clients, prefix + "tools")
    for writer in writers:
        written = roundtrip.write_all(report, writer, prefix + writer.name)
        for reader in writers:
            roundtrip.read_all(report, writer, reader, written)
        kcat.reads(report, cat, writer, written)


def run_groups(report, clients, bootstrap, prefix):
    """Groups wait more than they work, so several clients at the same time, and the tools beside them."""
    helpers = {"tools": Client("java", bootstrap, "-tools"), "kcat": Client("confluent-kafka", bootstrap, "-kcat")}
    work = [lambda c=c: groups.checks(report, c, f"{prefix}{c.name}-group") for c in clients.values()]
    work.insert(1, lambda: grouptools.checks(report, tools.Tools(bootstrap), helpers["tools"], prefix + "group-tools"))
    work.append(lambda: grouptools.kcat_group(report, bootstrap, helpers["kcat"], prefix + "group-kcat"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(w) for w in work]:
            done.result()
    # Alone: it reads to where nothing more comes.
    grouptools.formatter(report, tools.Tools(bootstrap), helpers["tools"], prefix + "group-formatter")
    for helper in helpers.values():
        helper.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("usage: python3 -m harness HOST:PORT [NAME...]", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
