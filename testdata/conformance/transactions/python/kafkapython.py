"""Transactions with kafka-python behind the line protocol of ../README.md."""

import os
import sys
import time

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from lines import serve

BOOTSTRAP = sys.argv[1]
SECONDS = 40
producers = {}


def make(q):
    """A producer, with its transactions begun if it has any."""
    if "transactionalId" not in q:
        return KafkaProducer(bootstrap_servers=BOOTSTRAP, enable_idempotence=True)
    p = KafkaProducer(bootstrap_servers=BOOTSTRAP, transactional_id=q["transactionalId"], transaction_timeout_ms=q.get("timeoutMs", 60000))
    p.init_transactions()
    return p


def open_producer(q):
    producers[q["producer"]] = make(q)


def with_admin(f):
    admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    try:
        return f(admin)
    finally:
        admin.close()


def create(q):
    with_admin(lambda a: a.create_topics([NewTopic(name=q["topic"], num_partitions=q["partitions"], replication_factor=1)]))


def send(q):
    p = producers[q["producer"]]
    sent = [p.send(q["topic"], v.encode(), b"k", partition=q["partition"]) for v in q["values"]]
    p.flush(SECONDS)
    for f in sent:
        f.get(SECONDS)


def read(q):
    c = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=None, isolation_level=q["isolation"], fetch_max_wait_ms=200)
    try:
        tp = TopicPartition(q["topic"], q["partition"])
        c.assign([tp])
        c.seek_to_beginning(tp)
        values, until = [], time.monotonic() + SECONDS
        while len(values) < q["count"] and time.monotonic() < until:
            values += c.poll(100).get(tp, [])
        while more := c.poll(q["graceMs"]).get(tp):
            values += more
        return {"values": [m.value.decode() for m in values]}
    finally:
        c.close()


def committed(q):
    tp = TopicPartition(q["topic"], q["partition"])
    return {"offset": with_admin(lambda a: a.list_group_offsets({q["group"]: [tp]}))[q["group"]][tp].offset}


def copy(q):
    c = KafkaConsumer(q["from"], bootstrap_servers=BOOTSTRAP, group_id=q["group"], enable_auto_commit=False, auto_offset_reset="earliest",
                      isolation_level="read_committed", fetch_max_wait_ms=200, heartbeat_interval_ms=500, session_timeout_ms=6000,
                      max_poll_records=q["size"])
    p = make(q)
    try:
        left, n, until = q["count"], 1, time.monotonic() + SECONDS
        while left > 0:
            got = c.poll(200)
            if time.monotonic() > until:
                raise TimeoutError(f"{left} records left when the time was over")
            if not got:
                continue
            p.begin_transaction()
            for tp, ms in got.items():
                for m in ms:
                    p.send(q["to"], m.value, m.key, partition=tp.partition)
            p.send_offsets_to_transaction({tp: OffsetAndMetadata(ms[-1].offset + 1, "", -1) for tp, ms in got.items()}, c.group_metadata())
            if n == q.get("crashAt"):
                p.flush(SECONDS)
                c.close()
                os._exit(9)
            time.sleep(q.get("paceMs", 0) / 1000)
            if n % q["abortEvery"] == 0:
                p.abort_transaction()
                for tp, ms in got.items():
                    c.seek(tp, ms[0].offset)
            else:
                p.commit_transaction()
                left -= sum(len(ms) for ms in got.values())
            n += 1
    finally:
        c.close()
        p.close(5)


serve({"hello": lambda _: {"protocols": ["classic"]}, "create": create, "open": open_producer,
       "begin": lambda q: producers[q["producer"]].begin_transaction(), "send": send,
       "commit": lambda q: producers[q["producer"]].commit_transaction(), "abort": lambda q: producers[q["producer"]].abort_transaction(),
       "close": lambda q: producers.pop(q["producer"]).close(5), "read": read, "committed": committed, "copy": copy})
# Whatever is left open is to be ended by the broker.
os._exit(0)
