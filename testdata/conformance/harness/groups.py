"""Consumer groups: each client with two members of its own, for each way in which it shares partitions."""

import time

from .data import record
from .report import Failed, expect

PARTITIONS = 4
POLL_MS = 150
# Rebalances of all kinds are over by then; those of a member that was lost after its session timeout, 6 s.
SECONDS = 40


class Ledger:
    """What a group has received and committed: nothing is left out, and nothing comes again behind its commit."""

    def __init__(self):
        self.next = {}
        self.committed = {}
        self.received = 0
        self.again = 0

    def enter(self, who, records):
        """Notes what a member was given."""
        for topic, partition, offset in records:
            at = (topic, partition)
            if offset > self.next.get(at, 0):
                raise Failed(f"{who} got offset {offset} of {at}, nobody got {self.next.get(at, 0)}")
            if offset < self.committed.get(at, 0):
                raise Failed(f"{who} got offset {offset} of {at}, which is committed up to {self.committed[at]}")
            if offset < self.next.get(at, 0):
                self.again += 1
                continue
            self.next[at] = offset + 1
            self.received += 1


class Group:
    """The members of one group of a client, and its topic."""

    def __init__(self, client, name, protocol, assignor):
        self.client = client
        self.name = name
        self.topic = name
        self.how = {"protocol": protocol, "assignor": assignor}
        self.ledger = Ledger()
        self.members = {}
        self.generation = {}

    def create(self, topic=None):
        """Makes a topic, that of the group unless another is named."""
        self.client.ask("create", topic=topic or self.topic, partitions=PARTITIONS)

    def produce(self, each, topic=None):
        """Writes some records to each partition."""
        self.client.ask("produce", topic=topic or self.topic, codec="none", acks="all",
                        records=[record(b"k", b"v", partition=p) for p in range(PARTITIONS) for _ in range(each)])

    def join(self, member, **more):
        """Starts a member."""
        self.client.ask("join", member=member, group=self.name, topic=self.topic, **self.how, **more)
        self.members[member] = []

    def leave(self, member):
        """Ends a member in good order."""
        self.client.ask("leave", member=member)
        del self.members[member]

    def poll(self):
        """Lets each member poll once, in turn."""
        for member in self.members:
            answer = self.client.ask("poll", member=member, timeoutMs=POLL_MS)
            self.ledger.enter(member, answer["records"])
            self.members[member] = sorted(tuple(a) for a in answer["assigned"])
            self.generation[member] = answer.get("generation")

    def until(self, what, holds):
        """Polls until something holds."""
        end = time.monotonic() + SECONDS
        while True:
            self.poll()
            if holds():
                return
            if time.monotonic() > end:
                raise Failed(f"{what}: not within {SECONDS} s; members {self.members}, {self.ledger.received} received")

    def shares(self, *sizes):
        """Polls until the members own so many partitions each, and none twice."""
        def holds():
            owned = [p for ps in self.members.values() for p in ps]
            return sorted(len(ps) for ps in self.members.values()) == sorted(sizes) and len(set(owned)) == len(owned)

        self.until(f"shares of {sizes}", holds)

    def receive(self, count):
        """Polls until all records there are were received, each once."""
        self.until(f"{count} records", lambda: self.ledger.received >= count)
        expect("received", self.ledger.received, count)

    def commit(self, metadata=""):
        """Has each member commit its positions."""
        for member in self.members:
            self.client.ask("commit", member=member, metadata=metadata)
        self.ledger.committed = dict(self.ledger.next)

    def committed(self, member, partition):
        """A committed offset and its metadata, as the client reads it."""
        answer = self.client.ask("committed", member=member, group=self.name, topic=self.topic, partition=partition)
        return answer["offset"], answer["metadata"]


def checks(report, client, prefix):
    """All that a client can do in groups."""
    for protocol, assignor in client.features["protocols"]:
        name = f"{client.name} group, {protocol} {assignor}"
        report.check(f"{name}: members come and go",
                     lambda p=protocol, a=assignor: attempt(client, come_and_go, f"{prefix}-{p}-{a}", p, a))
    for protocol in sorted({p for p, _ in client.features["protocols"]}):
        assignor = [a for p, a in client.features["protocols"] if p == protocol][0]
        if client.features["static"]:
            report.check(f"{client.name} group, {protocol}: static members",
                         lambda p=protocol, a=assignor: attempt(client, static, f"{prefix}-{p}-static", p, a))
        if client.features["pattern"]:
            report.check(f"{client.name} group, {protocol}: pattern",
                         lambda p=protocol, a=assignor: attempt(client, pattern, f"{prefix}-{p}-pattern", p, a))


def attempt(client, check, name, protocol, assignor):
    """Checks a group of that name. A client that is known to fail now and then with Kafka too has three attempts, each with another group."""
    attempts = client.features.get("attempts", 1)
    for n in range(1, attempts):
        try:
            return check(Group(client, f"{name}-{n}", protocol, assignor))
        except Failed as failure:
            print(f"     {client.name}, attempt {n} of {attempts}: {failure}", flush=True)
    return check(Group(client, name, protocol, assignor))


def come_and_go(group):
    """Two members share a topic, one leaves, the other takes over, a third goes on at the commit."""
    group.create()
    group.produce(5)
    group.join("one")
    group.shares(PARTITIONS)
    group.receive(20)
    group.commit()
    group.join("two")
    group.shares(2, 2)
    group.produce(5)
    group.receive(40)
    group.commit("metadata of " + group.name)
    for partition in range(PARTITIONS):
        expect(f"commit of partition {partition}", group.committed("two", partition), (10, "metadata of " + group.name))
    group.leave("one")
    group.shares(PARTITIONS)
    group.produce(5)
    group.receive(60)
    group.commit()
    group.leave("two")
    group.produce(2)
    group.join("three")
    group.receive(68)
    expect("records that came again", group.ledger.again, 0)
    seek_and_pause(group)
    group.leave("three")


def seek_and_pause(group):
    """Goes back in one partition, and leaves another out for a while."""
    client = group.client
    group.ledger.committed = {}
    client.ask("seek", member="three", topic=group.topic, partition=1, offset=12)
    group.until("five records again", lambda: group.ledger.again >= 5)
    expect("records that came again", group.ledger.again, 5)
    client.ask("pause", member="three", topic=group.topic, partition=2)
    group.produce(1)
    group.receive(71)
    expect("position in the paused partition", group.ledger.next[(group.topic, 2)], 17)
    client.ask("resume", member="three", topic=group.topic, partition=2)
    group.receive(72)


def static(group):
    """A static member comes back: it has what it had, and the other one does not notice."""
    group.create()
    group.join("stays", instance="stays")
    group.shares(PARTITIONS)
    group.join("restarts", instance="restarts")
    group.shares(2, 2)
    # One more round, so that what was revoked and given is confirmed.
    group.poll()
    had, other, generation = group.members["restarts"], group.members["stays"], group.generation["stays"]
    group.leave("restarts")
    group.join("restarts", instance="restarts")
    group.until("the static member is back", lambda: group.members["restarts"] == had and group.members["stays"] == other)
    expect("generation", group.generation["stays"], generation)
    group.produce(1)
    group.receive(4)
    group.leave("restarts")
    group.leave("stays")


def pattern(group):
    """A topic that is made later comes to those who subscribe to a pattern; one that does not match does not."""
    group.create(group.topic + ".early")
    group.create(group.topic + ".other")
    group.produce(1, group.topic + ".other")
    expression = "^" + group.topic + "[.](early|late)$"
    group.join("one", pattern=expression)
    group.join("two", pattern=expression)
    group.shares(2, 2)
    group.create(group.topic + ".late")
    group.produce(1, group.topic + ".late")
    group.shares(4, 4)
    group.receive(4)
    expect("topics", {topic for topic, _ in group.ledger.next}, {group.topic + ".late"})
    group.leave("one")
    group.leave("two")
