"""Transactions with aiokafka behind the line protocol of ../README.md."""

import asyncio
import os
import sys
import threading
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from lines import serve

BOOTSTRAP = sys.argv[1]
SECONDS = 40
producers = {}


async def make(q):
    """A producer, with its transactions begun if it has any."""
    if "transactionalId" in q:
        p = AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, transactional_id=q["transactionalId"], transaction_timeout_ms=q.get("timeoutMs", 60000))
    else:
        p = AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, enable_idempotence=True)
    await p.start()
    return p


async def open_producer(q):
    producers[q["producer"]] = await make(q)


async def with_admin(f):
    admin = AIOKafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    await admin.start()
    try:
        return await f(admin)
    finally:
        await admin.close()


async def create(q):
    for e in (await with_admin(lambda a: a.create_topics([NewTopic(q["topic"], q["partitions"], 1)]))).topic_errors:
        if e[1]:
            raise RuntimeError(f"error {e[1]} for {e[0]}")


async def send(q):
    p = producers[q["producer"]]
    for f in [await p.send(q["topic"], v.encode(), b"k", q["partition"]) for v in q["values"]]:
        await f


async def read(q):
    c = AIOKafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=None, isolation_level=q["isolation"], fetch_max_wait_ms=200)
    await c.start()
    try:
        tp = TopicPartition(q["topic"], q["partition"])
        c.assign([tp])
        await c.seek_to_beginning(tp)
        values, until = [], time.monotonic() + SECONDS
        while len(values) < q["count"] and time.monotonic() < until:
            values += (await c.getmany(tp, timeout_ms=100)).get(tp, [])
        while more := (await c.getmany(tp, timeout_ms=q["graceMs"])).get(tp):
            values += more
        return {"values": [m.value.decode() for m in values]}
    finally:
        await c.stop()


async def committed(q):
    tp = TopicPartition(q["topic"], q["partition"])
    return {"offset": (await with_admin(lambda a: a.list_consumer_group_offsets(q["group"], partitions=[tp])))[tp].offset}


async def copy(q):
    c = AIOKafkaConsumer(q["from"], bootstrap_servers=BOOTSTRAP, group_id=q["group"], enable_auto_commit=False, auto_offset_reset="earliest",
                         isolation_level="read_committed", fetch_max_wait_ms=200, heartbeat_interval_ms=500, session_timeout_ms=6000)
    await c.start()
    p = await make(q)
    try:
        left, n, until = q["count"], 1, time.monotonic() + SECONDS
        while left > 0:
            got = await c.getmany(timeout_ms=200, max_records=q["size"])
            if time.monotonic() > until:
                raise TimeoutError(f"{left} records left when the time was over")
            if not got:
                continue
            await p.begin_transaction()
            for tp, ms in got.items():
                for m in ms:
                    await p.send(q["to"], m.value, m.key, tp.partition)
            await p.send_offsets_to_transaction({tp: ms[-1].offset + 1 for tp, ms in got.items()}, q["group"])
            if n == q.get("crashAt"):
                await p.flush()
                await c.stop()
                os._exit(9)
            await asyncio.sleep(q.get("paceMs", 0) / 1000)
            if n % q["abortEvery"] == 0:
                await p.abort_transaction()
                for tp, ms in got.items():
                    c.seek(tp, ms[0].offset)
            else:
                await p.commit_transaction()
                left -= sum(len(ms) for ms in got.values())
            n += 1
    finally:
        await p.stop()
        await c.stop()


async def begin(q):
    await producers[q["producer"]].begin_transaction()


async def commit(q):
    await producers[q["producer"]].commit_transaction()


async def abort(q):
    await producers[q["producer"]].abort_transaction()


async def close(q):
    await producers.pop(q["producer"]).stop()


def run(f):
    return lambda q: asyncio.run_coroutine_threadsafe(f(q), loop).result()


loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
serve({"hello": lambda _: {"protocols": ["classic"]}, "create": run(create), "open": run(open_producer), "begin": run(begin), "send": run(send),
       "commit": run(commit), "abort": run(abort), "close": run(close), "read": run(read), "committed": run(committed), "copy": run(copy)})
# Whatever is left open is to be ended by the broker.
os._exit(0)
