"""python3 -m transactions HOST:PORT [NAME...]: all checks of transactions, or those whose names contain one of NAME."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness.report import Report

from . import programs, scenarios, streams, tools

# How many clients are checked at the same time: they wait more than they work.
AT_ONCE = 4
# How often the bridge is killed, and after how long each time: it starts within a second.
KILLS = 3
KILL_SECONDS = 4


def main(bootstrap, only):
    """Runs everything; the exit code."""
    report = Report(only)
    # Names of their own for each run, so that it can be repeated against one broker.
    prefix = f"txn-{os.getpid()}-{int(time.time()) % 100000}-"
    clients, helpers = [], []
    try:
        for name in programs.PROGRAMS:
            client = programs.Program(name, bootstrap) if only else report.check(f"{name}: starts", lambda n=name: programs.Program(n, bootstrap))
            if client:
                clients.append(client)
        if clients and clients[0].name == programs.JAVA_NAME:
            helpers = [clients[0].another(use) for use in ("-tools", "-streams")]
            run(report, clients, helpers, prefix)
    finally:
        for client in clients + helpers:
            client.close()
    return report.end()


def run(report, clients, helpers, prefix):
    """What takes a broker's time is begun first, the work of the clients done meanwhile."""
    slow = {c: report.check(f"{c.name}: a transaction that takes too long begins", lambda c=c: scenarios.begin_slowly(c, prefix)) for c in clients}
    for c in clients:
        report.check(f"{c.name}: commit and abort, read by all", lambda c=c: scenarios.commit_and_abort(c, clients, prefix))
    work = [lambda: tools.checks(report, helpers[0], prefix + "tools")]
    if programs.STREAMS:
        work.append(lambda: streams.checks(report, helpers[1], prefix + "streams", ""))
    work += [lambda c=c: scenarios.checks(report, c, prefix) for c in clients]
    at_once(AT_ONCE, work)
    for c, topic in slow.items():
        if topic:
            report.check(f"{c.name}: it is aborted by the broker", lambda t=topic: scenarios.abandoned(t))
    if "CONFORMANCE_BRIDGE_PID" in os.environ:
        run_through_kills(report, clients, helpers[1], prefix)


def run_through_kills(report, clients, helper, prefix):
    """What goes on while the bridge is killed and started again, and what is there afterwards."""
    def checks(c):
        report.check(f"{c.name}: copy, {c.features['protocols'][0]} group, while the bridge is killed", lambda: scenarios.copy_through_kills(c, prefix))

    over = threading.Event()

    def kill():
        for _ in range(KILLS):
            if over.wait(KILL_SECONDS):
                return
            with open(os.environ["CONFORMANCE_BRIDGE_PID"], encoding="utf-8") as f:
                os.kill(int(f.read()), signal.SIGKILL)

    work = [lambda c=c: checks(c) for c in clients if c.name not in scenarios.HANGS_WHEN_KILLED]
    if programs.STREAMS:
        work.insert(0, lambda: streams.checks(report, helper, prefix + "streams-kills", ", while the bridge is killed"))
    killer = threading.Thread(target=kill)
    killer.start()
    at_once(len(work), work)
    over.set()
    killer.join()
    for c in clients:
        report.check(f"{c.name}: a transactional id used again after the kills", lambda c=c: scenarios.again_after_kills(c, prefix))


def at_once(n, work):
    """Does all of it, n at a time."""
    with ThreadPoolExecutor(n) as pool:
        for done in [pool.submit(w) for w in work]:
            done.result()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
