"""aiokafka behind the harness's line protocol."""

import asyncio
import sys
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from lines import b64, raw, say, serve

BOOTSTRAP = sys.argv[1]


def hello(_):
    return {"codecs": ["none", "gzip", "snappy", "lz4", "zstd"], "nullHeaders": True, "repeatedHeaders": True,
            "idempotent": True, "maxTimestamp": False}


async def produce(q):
    codec = None if q["codec"] == "none" else q["codec"]
    acks = q["acks"] if q["acks"] == "all" else int(q["acks"])
    p = AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, compression_type=codec, acks=acks, linger_ms=20, max_request_size=2000000,
                         enable_idempotence=acks == "all" and q.get("idempotent", True))
    await p.start()
    try:
        sent = [await p.send(q["topic"], raw(r["value"]), raw(r["key"]), r["partition"], r.get("timestamp"),
                             [(n, raw(v)) for n, v in r["headers"]]) for r in q["records"]]
        done = [await f for f in sent]
        return {"offsets": [m.offset if m else -1 for m in done]}
    finally:
        await p.stop()


async def consume(q):
    c = AIOKafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=None, enable_auto_commit=False, auto_offset_reset="none",
                         fetch_max_wait_ms=200)
    await c.start()
    try:
        tp = TopicPartition(q["topic"], q["partition"])
        c.assign([tp])
        start = q["from"]
        if "offset" in start:
            c.seek(tp, start["offset"])
        elif "timestamp" in start:
            found = (await c.offsets_for_times({tp: start["timestamp"]}))[tp]
            c.seek(tp, found.offset if found else (await c.end_offsets([tp]))[tp])
        elif start["at"] == "start":
            await c.seek_to_beginning(tp)
        else:
            await c.seek_to_end(tp)
        say({"ready": await c.position(tp)})
        records = []
        until = time.monotonic() + q["timeoutMs"] / 1000
        while len(records) < q["count"] and time.monotonic() < until:
            for m in (await c.getmany(tp, timeout_ms=100)).get(tp, []):
                records.append({"offset": m.offset, "timestamp": m.timestamp, "key": b64(m.key), "value": b64(m.value),
                                "headers": [[n, b64(v)] for n, v in m.headers]})
        return {"records": records, "position": await c.position(tp)}
    finally:
        await c.stop()


async def offsets(q):
    c = AIOKafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=None)
    await c.start()
    try:
        tp = TopicPartition(q["topic"], q["partition"])
        if q["spec"] == "earliest":
            return {"offset": (await c.beginning_offsets([tp]))[tp], "timestamp": -1}
        if q["spec"] == "latest":
            return {"offset": (await c.end_offsets([tp]))[tp], "timestamp": -1}
        found = (await c.offsets_for_times({tp: q["spec"]}))[tp]
        return {"offset": found.offset, "timestamp": found.timestamp} if found else {"offset": -1, "timestamp": -1}
    finally:
        await c.stop()


async def with_admin(f):
    admin = AIOKafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    await admin.start()
    try:
        return await f(admin)
    finally:
        await admin.close()


def checked(errors):
    """Raises what a topic operation's answer holds; this client leaves that to its caller."""
    for e in errors:
        if e[1]:
            raise RuntimeError(f"error {e[1]} for {e[0]}: {e[2] if len(e) > 2 else ''}")


async def create(q):
    t = NewTopic(q["topic"], q["partitions"], 1, topic_configs=q.get("configs") or {})
    checked((await with_admin(lambda a: a.create_topics([t]))).topic_errors)
    return {"partitions": q["partitions"]}


async def delete(q):
    checked((await with_admin(lambda a: a.delete_topics([q["topic"]]))).topic_error_codes)


async def topics(_):
    return {"topics": await with_admin(lambda a: a.list_topics())}


async def describe(q):
    t = (await with_admin(lambda a: a.describe_topics([q["topic"]])))[0]
    return {"partitions": len(t["partitions"])}


def run(f):
    return lambda q: asyncio.run(f(q))


serve({"hello": hello, "produce": run(produce), "consume": run(consume), "offsets": run(offsets), "create": run(create),
       "delete": run(delete), "topics": run(topics), "describe": run(describe)})
