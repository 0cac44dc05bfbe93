"""What each client does in transactions, and what the others then read."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

from harness.report import Failed, expect

PARTITIONS = 2
# How long a reader waits for records that must not come.
GRACE_MS = 300
COMMIT_SECONDS = 10
# A broker looks for transactions that have taken too long every 10 s.
TIMEOUT_SECONDS = 30
# How often an application has to begin anew while a broker is away, where it is not once: kafkajs asks again for hardly anything
# that is about transactions.
ATTEMPTS = {"kafkajs": 5}
# kafka-python 3.0.12 now and then waits for ever for the answer to a transactional request that was lost with its connection.
HANGS_WHEN_KILLED = {"kafka-python"}


class Topic:
    """A topic, and what it must show."""

    def __init__(self, client, name, exists=False):
        self.client = client
        self.name = name
        if not exists:
            client.ask("create", topic=name, partitions=PARTITIONS)

    def send(self, producer, *values, partition=0):
        """Sends values and waits until they are written."""
        self.client.ask("send", producer=producer, topic=self.name, partition=partition, values=values)

    def shows(self, isolation, want, partition=0, reader=None):
        """Fails unless a partition's values are these, in that order."""
        got = (reader or self.client).ask("read", topic=self.name, partition=partition, isolation=isolation, count=len(want), graceMs=GRACE_MS)
        expect(f"{isolation} of partition {partition}", got["values"], list(want))

    def committed(self, *want, partition=0):
        """What is there for those who read what is committed."""
        self.shows("read_committed", want, partition)

    def everything(self, *want, partition=0):
        """What is there for all others."""
        self.shows("read_uncommitted", want, partition)


def fenced(what, run, pattern="(?i)fenced|epoch"):
    """Fails unless run is refused because another producer has taken over."""
    try:
        run()
    except Failed as e:
        if re.search(pattern, str(e)):
            return
        raise
    raise Failed(f"{what} was not refused")


def checks(report, client, prefix):
    """What a client does alone."""
    prefix += client.slug + "-"

    def scenario(what, run):
        report.check(f"{client.name}: {what}", lambda: run(client, prefix))

    scenario("idempotent by default", idempotent)
    scenario("interleaved producers", interleaved)
    scenario("a second producer of the id fences the first", fencing)
    scenario("a transactional id used again", again)
    for protocol in client.features["protocols"]:
        report.check(f"{client.name}: copy, {protocol} group, with aborts and a crash", lambda p=protocol: copy(client, prefix + "copy-" + p, p))


def idempotent(client, prefix):
    """A producer as it is made when nothing is said, beyond one of the bundles of five that brokers remember."""
    topic = Topic(client, prefix + "idempotent")
    client.ask("open", producer="plain")
    values = [f"{i}" for i in range(40)]
    for i in range(0, 40, 5):
        topic.send("plain", *values[i:i + 5])
    client.ask("close", producer="plain")
    topic.committed(*values)


def commit_and_abort(client, readers, prefix):
    """Two partitions; what is open, what is aborted, what is committed, as each reader sees it."""
    prefix += client.slug + "-"
    topic = Topic(client, prefix + "commit")
    client.ask("open", producer="p", transactionalId=prefix + "commit")
    for n, end in enumerate(("commit", "abort", "commit")):
        client.ask("begin", producer="p")
        for partition in range(PARTITIONS):
            topic.send("p", f"{n}-{partition}-a", f"{n}-{partition}-b", partition=partition)
        client.ask(end, producer="p")
    client.ask("begin", producer="p")
    topic.send("p", "open")

    def read(reader):
        for partition in range(PARTITIONS):
            every = [f"{n}-{partition}-{x}" for n in range(3) for x in "ab"]
            topic.shows("read_committed", [v for v in every if v[0] != "1"], partition, reader)
        topic.shows("read_uncommitted", [f"{n}-0-{x}" for n in range(3) for x in "ab"] + ["open"], 0, reader)

    failed = []
    with ThreadPoolExecutor(len(readers)) as pool:
        for reader, done in [(r, pool.submit(read, r)) for r in readers]:
            if done.exception():
                failed.append(f"{reader.name}: {done.exception()}")
    if failed:
        raise Failed("; ".join(failed))
    client.ask("abort", producer="p")
    client.ask("close", producer="p")


def interleaved(client, prefix):
    """An open transaction holds back what is behind it, also plain records; its end lets go of them."""
    topic = Topic(client, prefix + "interleaved")
    for p in "ab":
        client.ask("open", producer=p, transactionalId=prefix + "interleaved-" + p)
    client.ask("open", producer="plain")
    client.ask("begin", producer="a")
    topic.send("a", "a1")
    client.ask("begin", producer="b")
    topic.send("b", "b1")
    topic.send("plain", "plain")
    topic.send("a", "a2")
    topic.committed()
    client.ask("abort", producer="a")
    topic.committed()
    topic.send("b", "b2")
    client.ask("commit", producer="b")
    topic.committed("b1", "plain", "b2")
    topic.everything("a1", "b1", "plain", "a2", "b2")
    for p in ("a", "b", "plain"):
        client.ask("close", producer=p)


def fencing(client, prefix):
    """A zombie's transaction is aborted, and it cannot commit."""
    topic = Topic(client, prefix + "fencing")
    client.ask("open", producer="zombie", transactionalId=prefix + "fencing")
    client.ask("begin", producer="zombie")
    topic.send("zombie", "lost")
    client.ask("open", producer="new", transactionalId=prefix + "fencing")
    fenced("the commit of a zombie", lambda: client.ask("commit", producer="zombie"),
           "^ProducerFencedException" if client.name.startswith("java") else "(?i)fenced|epoch")
    client.ask("begin", producer="new")
    topic.send("new", "kept")
    client.ask("commit", producer="new")
    topic.committed("kept")
    client.ask("close", producer="new")


def again(client, prefix):
    """The id of a producer that has ended, and of one that ended in mid-transaction."""
    topic = Topic(client, prefix + "again")
    for n in range(4):
        name = f"p{n}"
        client.ask("open", producer=name, transactionalId=prefix + "again")
        client.ask("begin", producer=name)
        topic.send(name, f"{n}")
        if n % 2 == 0:
            client.ask("commit", producer=name)
            client.ask("close", producer=name)
    client.ask("open", producer="end", transactionalId=prefix + "again")
    topic.committed("0", "2")
    topic.everything("0", "1", "2", "3")


def begin_slowly(client, prefix):
    """Begins a transaction that takes too long. A broker takes its time to see that; abandoned waits for it."""
    topic = Topic(client, prefix + client.slug + "-timeout")
    client.ask("open", producer="slow", transactionalId=topic.name, timeoutMs=2000)
    client.ask("begin", producer="slow")
    topic.send("slow", "late")
    client.ask("open", producer="plain")
    topic.send("plain", "behind")
    return topic


def abandoned(topic):
    """The broker has aborted the transaction, and its producer cannot go on with it."""
    ask = {"topic": topic.name, "partition": 0, "isolation": "read_committed", "count": 0, "graceMs": 1000}
    until = time.monotonic() + TIMEOUT_SECONDS
    while not topic.client.ask("read", **ask)["values"]:
        if time.monotonic() > until:
            raise Failed(f"the transaction was not aborted within {TIMEOUT_SECONDS} s")
    topic.committed("behind")
    fenced("the commit of what was aborted", lambda: topic.client.ask("commit", producer="slow"), "(?i)fenced|epoch|abort|mapping|invalid")


class Copy:
    """Records that are copied from one topic to another: consumed, produced and committed in one transaction, of which some are aborted."""

    def __init__(self, client, name, protocol, each):
        self.client, self.name = client, name
        self.source, self.sink = Topic(client, name + "-in"), Topic(client, name + "-out")
        self.values = [[f"{p}-{i}" for i in range(each)] for p in range(PARTITIONS)]
        client.ask("open", producer=name)
        for p in range(PARTITIONS):
            self.source.send(name, *self.values[p], partition=p)
        client.ask("close", producer=name)
        self.count = each * PARTITIONS
        self.how = {"transactionalId": name, "group": name, "from": self.source.name, "to": self.sink.name, "protocol": protocol, "size": 7,
                    "abortEvery": 3}

    def committed(self, wanted=None):
        """How many records are behind the committed offsets. Waits a while for there to be as many as wanted, or for the group's
        coordinator to be there: clients tell only some of what passes from what stays."""
        ask, until = {"group": self.name, "topic": self.source.name}, time.monotonic() + COMMIT_SECONDS
        while True:
            try:
                found = sum(max(self.client.ask("committed", partition=p, **ask)["offset"], 0) for p in range(PARTITIONS))
                if wanted in (None, found) or time.monotonic() > until:
                    return found
            except Failed:
                if time.monotonic() > until:
                    raise
            time.sleep(0.1)

    def complete(self):
        """Fails unless all was copied once, and committed."""
        # The answer to the end of a transaction does not wait for its offsets to be seen, in versions up to 4.
        expect("committed offsets", self.committed(self.count), self.count)
        for p in range(PARTITIONS):
            self.sink.committed(*self.values[p], partition=p)


def copy(client, name, protocol):
    """The process dies in the middle of a transaction; another goes on at what was committed."""
    c = Copy(client, name, protocol, 40)
    first = client.another("-crashes")
    try:
        first.ask("copy", count=c.count, crashAt=5, **c.how)
    except Failed as e:
        if "ended" not in str(e):
            raise
    else:
        raise Failed("the process did not end in the middle")
    finally:
        first.close()
    before = c.committed()
    if not 0 < before < c.count:
        raise Failed(f"{before} records committed when the process had died")
    client.ask("copy", count=c.count - before, **c.how)
    c.complete()


def copy_through_kills(client, prefix):
    """Copies slowly enough for the broker to be killed in the meantime."""
    c = Copy(client, prefix + client.slug + "-kills", client.features["protocols"][0], 70)
    for attempt in range(ATTEMPTS.get(client.name, 1), 0, -1):
        try:
            client.ask("copy", count=c.count - c.committed(), paceMs=300, **c.how)
            break
        except Failed:
            if attempt == 1:
                raise
    c.complete()


def again_after_kills(client, prefix):
    """A producer goes on with the transactional id that fencing used, before the broker was killed; what was committed then is there."""
    topic = Topic(client, prefix + client.slug + "-fencing", exists=True)
    client.ask("open", producer="after", transactionalId=topic.name)
    client.ask("begin", producer="after")
    topic.send("after", "after the kills")
    client.ask("commit", producer="after")
    topic.committed("kept", "after the kills")
    topic.everything("lost", "kept", "after the kills")
