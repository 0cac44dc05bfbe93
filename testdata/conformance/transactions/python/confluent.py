"""Transactions with confluent-kafka (librdkafka) behind the line protocol of ../README.md."""

import os
import sys
import time
import uuid

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from lines import serve

# When it has lost all brokers, librdkafka 2.16 begins anew with the bootstrap addresses, and then waits for ever for the group
# coordinator that it had before, in send_offsets_to_transaction.
CONF = {"bootstrap.servers": sys.argv[1], "socket.timeout.ms": 10000, "reconnect.backoff.max.ms": 500, "metadata.recovery.strategy": "none"}
SECONDS = 40
admin = AdminClient(CONF)
producers = {}


def make(q):
    """A producer, with its transactions begun if it has any."""
    if "transactionalId" not in q:
        return Producer(dict(CONF, **{"enable.idempotence": True}))
    timeout = q.get("timeoutMs", 60000)
    p = Producer(dict(CONF, **{"transactional.id": q["transactionalId"], "transaction.timeout.ms": timeout, "socket.timeout.ms": min(timeout, 10000)}))
    p.init_transactions(SECONDS)
    return p


def open_producer(q):
    producers[q["producer"]] = make(q)


def create(q):
    admin.create_topics([NewTopic(q["topic"], q["partitions"])], request_timeout=SECONDS)[q["topic"]].result(SECONDS)


def send(q):
    p, errors = producers[q["producer"]], []
    for v in q["values"]:
        p.produce(q["topic"], v, "k", q["partition"], lambda e, _: e and errors.append(e))
    if p.flush(SECONDS):
        raise RuntimeError("records left in the queue")
    if errors:
        raise KafkaException(errors[0])


def consumer(isolation, **more):
    return Consumer(dict(CONF, **{"enable.auto.commit": False, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 200,
                                  "isolation.level": isolation}, **more))


def checked(messages):
    for m in messages:
        if m.error():
            raise KafkaException(m.error())
    return messages


def read(q):
    c = consumer(q["isolation"], **{"group.id": "reader-" + uuid.uuid4().hex})
    try:
        c.assign([TopicPartition(q["topic"], q["partition"], 0)])
        values, until = [], time.monotonic() + SECONDS
        while len(values) < q["count"] and time.monotonic() < until:
            values += checked(c.consume(500, 0.1))
        while more := checked(c.consume(500, q["graceMs"] / 1000)):
            values += more
        return {"values": [m.value().decode() for m in values]}
    finally:
        c.close()


def committed(q):
    ask = ConsumerGroupTopicPartitions(q["group"], [TopicPartition(q["topic"], q["partition"])])
    return {"offset": admin.list_consumer_group_offsets([ask])[q["group"]].result(SECONDS).topic_partitions[0].offset}


def copy(q):
    group = {"group.id": q["group"], "group.protocol": q["protocol"]}
    if q["protocol"] == "classic":
        group |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    c, p = consumer("read_committed", **group), make(q)
    try:
        c.subscribe([q["from"]])
        left, n, until = q["count"], 1, time.monotonic() + SECONDS
        while left > 0:
            records = checked(c.consume(q["size"], 0.2))
            if time.monotonic() > until:
                raise TimeoutError(f"{left} records left when the time was over")
            if not records:
                continue
            p.begin_transaction()
            first, following = {}, {}
            for m in records:
                first.setdefault(m.partition(), m.offset())
                following[m.partition()] = m.offset() + 1
                p.produce(q["to"], m.value(), m.key(), m.partition())
            p.send_offsets_to_transaction([TopicPartition(q["from"], i, o) for i, o in following.items()], c.consumer_group_metadata(), SECONDS)
            if n == q.get("crashAt"):
                p.flush(SECONDS)
                c.close()
                os._exit(9)
            time.sleep(q.get("paceMs", 0) / 1000)
            if n % q["abortEvery"] == 0:
                p.abort_transaction(SECONDS)
                for i, o in first.items():
                    c.seek(TopicPartition(q["from"], i, o))
            else:
                p.commit_transaction(SECONDS)
                left -= len(records)
            n += 1
    finally:
        c.close()


serve({"hello": lambda _: {"protocols": ["classic", "consumer"]}, "create": create, "open": open_producer,
       "begin": lambda q: producers[q["producer"]].begin_transaction(), "send": send,
       "commit": lambda q: producers[q["producer"]].commit_transaction(SECONDS),
       "abort": lambda q: producers[q["producer"]].abort_transaction(SECONDS),
       "close": lambda q: producers.pop(q["producer"]) and None, "read": read, "committed": committed, "copy": copy})
# Whatever is left open is to be ended by the broker.
os._exit(0)
