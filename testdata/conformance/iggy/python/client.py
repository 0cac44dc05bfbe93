"""python3 client.py HOST:PORT USER PASSWORD [CERTIFICATE]: Iggy's Python client (the Rust SDK underneath) against a server of its protocol.

With a certificate to trust it connects by TLS. Prints `ok name` for each check; anything else ends it with exit code 1.
"""

import asyncio
import datetime
import os
import sys
import time

from apache_iggy import AutoCommit, IggyClient, PollingStrategy, SendMessage

MESSAGES = [b"first", "zweite - вторая".encode(), bytes(range(256)), b"x" * 100_000]


def ok(name):
    """Says that a check has passed."""
    print("ok", name, flush=True)


def expect(what, got, want):
    """Ends the program unless got == want."""
    if got != want:
        raise SystemExit(f"FAIL {what}: got {got!r:.300}, want {want!r:.300}")


async def admin(client, stream, topic):
    """Streams and topics."""
    expect("a stream that is not there", await client.get_stream(stream), None)
    await client.create_stream(name=stream)
    made = await client.get_stream(stream)
    expect("the stream", (made.name, made.topics_count, made.messages_count), (stream, 0, 0))
    try:
        await client.create_stream(name=stream)
    except RuntimeError:
        pass
    else:
        raise SystemExit("FAIL create stream: the same name twice was accepted")
    await client.create_topic(stream=stream, name=topic, partitions_count=2, message_expiry=datetime.timedelta(days=7))
    made = await client.get_topic(stream, topic)
    expect("the topic", (made.name, made.partitions_count, made.messages_count), (topic, 2, 0))
    ok("streams and topics")


async def messages(client, stream, topic):
    """What is sent comes back."""
    await client.send_messages(stream=stream, topic=topic, partitioning=1, messages=[SendMessage(m) for m in MESSAGES])
    got = await client.poll_messages(stream=stream, topic=topic, partition_id=1, polling_strategy=PollingStrategy.First(), count=10, auto_commit=False)
    expect("payloads", [m.payload() for m in got], MESSAGES)
    expect("offsets", [m.offset() for m in got], [0, 1, 2, 3])
    expect("partitions", {m.partition_id() for m in got}, {1})
    if any(m.id() == 0 or m.checksum() == 0 or abs(m.timestamp() / 1e6 - time.time()) > 3600 for m in got):
        raise SystemExit("FAIL poll: an id, checksum or time is missing")
    for strategy, count, want in [
        (PollingStrategy.Offset(value=2), 1, [2]),
        (PollingStrategy.Last(), 2, [2, 3]),
        (PollingStrategy.Timestamp(value=0), 1, [0]),
        (PollingStrategy.Offset(value=4), 10, []),
    ]:
        got = await client.poll_messages(stream=stream, topic=topic, partition_id=1, polling_strategy=strategy, count=count, auto_commit=False)
        expect(f"{strategy} {count}", [m.offset() for m in got], want)
    ok("send and poll")


async def offsets(client, stream, topic):
    """A stored offset moves `next` on."""
    for want in ([0, 1], [2, 3], []):
        got = await client.poll_messages(stream=stream, topic=topic, partition_id=1, polling_strategy=PollingStrategy.Next(), count=2, auto_commit=True)
        expect("next with commit", [m.offset() for m in got], want)
    ok("stored offsets")


async def group(client, stream, topic):
    """A consumer group reads both partitions once and goes on where it left."""
    await client.send_messages(stream=stream, topic=topic, partitioning=0, messages=[SendMessage("of the other partition")])
    want = sorted(MESSAGES + [b"of the other partition"])

    async def read(count):
        consumer = await client.consumer_group(
            "workers", stream, topic, polling_strategy=PollingStrategy.Next(), batch_length=10,
            auto_commit=AutoCommit.Disabled(), poll_interval=datetime.timedelta(milliseconds=20))
        got = []
        async for m in consumer.iter_messages():
            got.append(m.payload())
            await consumer.store_offset(m.offset(), m.partition_id())
            if len(got) == count:
                return got

    got = await asyncio.wait_for(read(len(want)), 60)
    expect("messages of the group", sorted(got), want)
    await client.send_messages(stream=stream, topic=topic, partitioning=1, messages=[SendMessage("later")])
    expect("the group later", await asyncio.wait_for(read(1), 60), [b"later"])
    ok("consumer group")


async def connect(address, user, password, certificate):
    """A client that has logged in."""
    if certificate:
        client = IggyClient.from_connection_string(
            f"iggy+tcp://{user}:{password}@{address}?tls=true&tls_domain=localhost&tls_ca_file={certificate}")
        await client.connect()  # logs in as well
        return client
    client = IggyClient(address)
    await client.connect()
    try:
        await client.login_user(user, password + "x")
    except RuntimeError:
        ok("a wrong password is refused")
    else:
        raise SystemExit("FAIL login: a wrong password was accepted")
    await client.login_user(user, password)
    return client


async def main(address, user, password, certificate=None):
    """All checks."""
    client = await connect(address, user, password, certificate)
    await client.ping()
    ok("connect, login, ping")
    stream = f"python-{os.getpid()}-{int(time.time())}"
    await admin(client, stream, "events")
    await messages(client, stream, "events")
    await offsets(client, stream, "events")
    await group(client, stream, "events")


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(*sys.argv[1:5]), 180))
    # The client's native threads outlive its Python objects (group members go on reading) and now and then abort the interpreter
    # while it shuts down, with all checks passed. So the process ends without that shutdown.
    sys.stdout.flush()
    os._exit(0)
