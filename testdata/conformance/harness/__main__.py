"""python3 -m harness HOST:PORT [NAME...]: all checks, or those whose names contain one of NAME."""

import os
import sys
import time

from . import kcat, roundtrip, tools
from .clients import COMMANDS, Client
from .report import Report


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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("usage: python3 -m harness HOST:PORT [NAME...]", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
