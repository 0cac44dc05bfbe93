"""confluent-kafka (librdkafka) behind the harness's line protocol."""

import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from lines import b64, raw, say, serve

BOOTSTRAP = sys.argv[1]
CONF = {"bootstrap.servers": BOOTSTRAP, "socket.timeout.ms": 10000}
TIMEOUT = 20
admin = AdminClient(CONF)


def hello(_):
    return {"codecs": ["none", "gzip", "snappy", "lz4", "zstd"], "nullHeaders": True, "repeatedHeaders": True,
            "idempotent": True, "maxTimestamp": True, "static": True, "pattern": True,
            "protocols": [["classic", "range"], ["classic", "cooperative-sticky"], ["consumer", "uniform"]]}


def produce(q):
    done = {}

    def delivered(i):
        def report(err, msg):
            # With acks 0 there is no offset to be told.
            done[i] = err or (-1 if msg.offset() is None else msg.offset())
        return report

    conf = dict(CONF, **{"compression.type": q["codec"], "acks": q["acks"], "linger.ms": 20, "message.max.bytes": 2000000,
                         "message.timeout.ms": 15000, "enable.idempotence": q["acks"] == "all" and q.get("idempotent", True)})
    p = Producer(conf)
    for i, r in enumerate(q["records"]):
        extra = {"timestamp": r["timestamp"]} if r.get("timestamp") else {}
        p.produce(q["topic"], raw(r["value"]), raw(r["key"]), r["partition"], delivered(i),
                  headers=[(n, raw(v)) for n, v in r["headers"]], **extra)
    if p.flush(TIMEOUT):
        raise KafkaException("records left in the queue")
    for v in done.values():
        if not isinstance(v, int):
            raise KafkaException(v)
    return {"offsets": [done[i] for i in range(len(done))]}


def consume(q):
    c = Consumer(dict(CONF, **{"group.id": "unused", "enable.auto.commit": False, "auto.offset.reset": "error",
                               "enable.partition.eof": True, "fetch.wait.max.ms": 200}))
    try:
        tp = TopicPartition(q["topic"], q["partition"])
        start = q["from"]
        low, high = c.get_watermark_offsets(tp, timeout=TIMEOUT)
        if "offset" in start:
            tp.offset = start["offset"]
        elif "timestamp" in start:
            tp.offset = start["timestamp"]
            tp = c.offsets_for_times([tp], timeout=TIMEOUT)[0]
            if tp.offset < 0:
                tp.offset = high
        else:
            tp.offset = low if start["at"] == "start" else high
        c.assign([tp])
        say({"ready": tp.offset})
        records = []
        until = time.monotonic() + q["timeoutMs"] / 1000
        while len(records) < q["count"] and time.monotonic() < until:
            m = c.poll(0.1)
            if m is None or (m.error() and m.error().code() == -191):  # end of partition
                continue
            if m.error():
                raise KafkaException(m.error())
            records.append({"offset": m.offset(), "timestamp": m.timestamp()[1], "key": b64(m.key()), "value": b64(m.value()),
                            "headers": [[n, b64(v)] for n, v in m.headers() or []]})
        return {"records": records, "position": records[-1]["offset"] + 1 if records else tp.offset}
    finally:
        c.close()


def offsets(q):
    spec = q["spec"]
    of = {"earliest": OffsetSpec.earliest, "latest": OffsetSpec.latest, "max": OffsetSpec.max_timestamp}
    tp = TopicPartition(q["topic"], q["partition"])
    want = OffsetSpec.for_timestamp(spec) if isinstance(spec, int) else of[spec]()
    info = admin.list_offsets({tp: want}, request_timeout=TIMEOUT)[tp].result(TIMEOUT)
    return {"offset": info.offset, "timestamp": info.timestamp}


def create(q):
    t = NewTopic(q["topic"], q["partitions"], config=q.get("configs") or {})
    admin.create_topics([t], request_timeout=TIMEOUT)[q["topic"]].result(TIMEOUT)
    return {"partitions": q["partitions"]}


def delete(q):
    admin.delete_topics([q["topic"]], request_timeout=TIMEOUT)[q["topic"]].result(TIMEOUT)


def topics(_):
    return {"topics": list(admin.list_topics(timeout=TIMEOUT).topics)}


def describe(q):
    t = admin.list_topics(q["topic"], timeout=TIMEOUT).topics[q["topic"]]
    if t.error:
        raise KafkaException(t.error)
    return {"partitions": len(t.partitions)}


def join(q):
    conf = dict(CONF, **{"group.id": q["group"], "client.id": q["member"], "enable.auto.commit": False, "auto.offset.reset": "earliest",
                         "fetch.wait.max.ms": 200, "topic.metadata.refresh.interval.ms": 500, "group.protocol": q["protocol"]})
    if q["protocol"] == "classic":
        conf |= {"partition.assignment.strategy": q["assignor"], "heartbeat.interval.ms": 200, "session.timeout.ms": 6000}
    else:
        conf["group.remote.assignor"] = q["assignor"]
    if q.get("instance"):
        conf["group.instance.id"] = q["instance"]
    members[q["member"]] = c = Consumer(conf)
    c.subscribe([q.get("pattern") or q["topic"]])


def poll(q):
    c = members[q["member"]]
    records = []
    for m in c.consume(500, q["timeoutMs"] / 1000):
        if m.error():
            raise KafkaException(m.error())
        records.append([m.topic(), m.partition(), m.offset()])
    return {"records": records, "assigned": [[tp.topic, tp.partition] for tp in c.assignment()]}


def commit(q):
    c = members[q["member"]]
    at = [tp for tp in c.position(c.assignment()) if tp.offset >= 0]
    if not at:
        return
    for tp in c.commit(offsets=[TopicPartition(tp.topic, tp.partition, tp.offset, q.get("metadata") or "") for tp in at], asynchronous=False):
        if tp.error:
            raise KafkaException(tp.error)


def committed(q):
    tp = members[q["member"]].committed([TopicPartition(q["topic"], q["partition"])], timeout=TIMEOUT)[0]
    return {"offset": tp.offset, "metadata": tp.metadata or ""}


def leave(q):
    members.pop(q["member"]).close()


members = {}
serve({"join": join, "poll": poll, "commit": commit, "committed": committed, "leave": leave,
       "seek": lambda q: members[q["member"]].seek(TopicPartition(q["topic"], q["partition"], q["offset"])),
       "pause": lambda q: members[q["member"]].pause([TopicPartition(q["topic"], q["partition"])]),
       "resume": lambda q: members[q["member"]].resume([TopicPartition(q["topic"], q["partition"])]),
       "hello": hello, "produce": produce, "consume": consume, "offsets": offsets, "create": create, "delete": delete,
       "topics": topics, "describe": describe})
