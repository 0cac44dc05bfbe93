"""aiokafka behind the harness's line protocol."""

import asyncio
import sys
import threading
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.structs import OffsetAndMetadata

from lines import b64, raw, say, serve

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor, "sticky": StickyPartitionAssignor}
BOOTSTRAP = sys.argv[1]


def hello(_):
    return {"codecs": ["none", "gzip", "snappy", "lz4", "zstd"], "nullHeaders": True, "repeatedHeaders": True,
            "idempotent": True, "maxTimestamp": False, "static": True, "pattern": True,
            "protocols": [["classic", a] for a in ASSIGNORS]}


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


async def join(q):
    c = AIOKafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=q["group"], client_id=q["member"], group_instance_id=q.get("instance"),
                         partition_assignment_strategy=[ASSIGNORS[q["assignor"]]], enable_auto_commit=False, auto_offset_reset="earliest",
                         fetch_max_wait_ms=200, heartbeat_interval_ms=200, session_timeout_ms=6000, metadata_max_age_ms=1000)
    if q.get("pattern"):
        c.subscribe(pattern=q["pattern"])
    else:
        c.subscribe([q["topic"]])
    members[q["member"]] = c
    # It returns when the member has joined, and others of this program may have to join anew for that.
    starting[q["member"]] = asyncio.ensure_future(c.start())


async def poll(q):
    c = members[q["member"]]
    if not (await asyncio.wait([starting[q["member"]]], timeout=q["timeoutMs"] / 1000))[0]:
        return {"records": [], "assigned": []}
    starting[q["member"]].result()
    got = await c.getmany(timeout_ms=q["timeoutMs"])
    return {"records": [[m.topic, m.partition, m.offset] for ms in got.values() for m in ms], "assigned": [list(tp) for tp in c.assignment()]}


async def commit(q):
    c = members[q["member"]]
    await c.commit({tp: OffsetAndMetadata(await c.position(tp), q.get("metadata") or "") for tp in c.assignment()})


async def committed(q):
    tp = TopicPartition(q["topic"], q["partition"])
    at = (await with_admin(lambda a: a.list_consumer_group_offsets(q["group"], partitions=[tp])))[tp]
    return {"offset": at.offset, "metadata": at.metadata}


async def leave(q):
    await starting.pop(q["member"])
    await members.pop(q["member"]).stop()


async def seek(q):
    members[q["member"]].seek(TopicPartition(q["topic"], q["partition"]), q["offset"])


async def pause(q):
    members[q["member"]].pause(TopicPartition(q["topic"], q["partition"]))


async def resume(q):
    members[q["member"]].resume(TopicPartition(q["topic"], q["partition"]))


def run(f):
    return lambda q: asyncio.run_coroutine_threadsafe(f(q), loop).result()


members, starting = {}, {}
# Members send heartbeats between the questions, so the loop goes on.
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
serve({"hello": hello, "produce": run(produce), "consume": run(consume), "offsets": run(offsets), "create": run(create),
       "delete": run(delete), "topics": run(topics), "describe": run(describe), "join": run(join), "poll": run(poll), "commit": run(commit),
       "committed": run(committed), "leave": run(leave), "seek": run(seek), "pause": run(pause), "resume": run(resume)})
