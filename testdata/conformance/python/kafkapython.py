"""kafka-python behind the harness's line protocol."""

import sys
import time

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.structs import OffsetAndMetadata

from lines import b64, raw, say, serve

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
BOOTSTRAP = sys.argv[1]
TIMEOUT = 20


def hello(_):
    return {"codecs": ["none", "gzip", "snappy", "lz4", "zstd"], "nullHeaders": False, "repeatedHeaders": True,
            "idempotent": True, "maxTimestamp": False, "static": True, "pattern": False,
            # Now and then a member stays without partitions, with Kafka 4.4.0 as well.
            "attempts": 3, "protocols": [["classic", a] for a in ASSIGNORS]}


def produce(q):
    codec = None if q["codec"] == "none" else q["codec"]
    acks = q["acks"] if q["acks"] == "all" else int(q["acks"])
    p = KafkaProducer(bootstrap_servers=BOOTSTRAP, compression_type=codec, acks=acks, linger_ms=20, max_request_size=2000000,
                      enable_idempotence=acks == "all" and q.get("idempotent", True))
    try:
        sent = [p.send(q["topic"], value=raw(r["value"]), key=raw(r["key"]), partition=r["partition"],
                       timestamp_ms=r.get("timestamp"), headers=[(n, raw(v)) for n, v in r["headers"]])
                for r in q["records"]]
        p.flush(TIMEOUT)
        return {"offsets": [f.get(TIMEOUT).offset for f in sent]}
    finally:
        p.close(TIMEOUT)


def consume(q):
    c = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=None, enable_auto_commit=False, auto_offset_reset="none",
                      fetch_max_wait_ms=200)
    try:
        tp = TopicPartition(q["topic"], q["partition"])
        c.assign([tp])
        start = q["from"]
        if "offset" in start:
            c.seek(tp, start["offset"])
        elif "timestamp" in start:
            found = c.offsets_for_times({tp: start["timestamp"]})[tp]
            c.seek(tp, found.offset if found else c.end_offsets([tp])[tp])
        elif start["at"] == "start":
            c.seek_to_beginning(tp)
        else:
            c.seek_to_end(tp)
        say({"ready": c.position(tp)})
        records = []
        until = time.monotonic() + q["timeoutMs"] / 1000
        while len(records) < q["count"] and time.monotonic() < until:
            for m in c.poll(100).get(tp, []):
                records.append({"offset": m.offset, "timestamp": m.timestamp, "key": b64(m.key), "value": b64(m.value),
                                "headers": [[n, b64(v)] for n, v in m.headers or []]})
        return {"records": records, "position": c.position(tp)}
    finally:
        c.close()


def offsets(q):
    c = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=None)
    try:
        tp = TopicPartition(q["topic"], q["partition"])
        spec = q["spec"]
        if spec == "earliest":
            return {"offset": c.beginning_offsets([tp])[tp], "timestamp": -1}
        if spec == "latest":
            return {"offset": c.end_offsets([tp])[tp], "timestamp": -1}
        found = c.offsets_for_times({tp: spec})[tp]
        return {"offset": found.offset, "timestamp": found.timestamp} if found else {"offset": -1, "timestamp": -1}
    finally:
        c.close()


def with_admin(f):
    admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    try:
        return f(admin)
    finally:
        admin.close()


def create(q):
    t = NewTopic(name=q["topic"], num_partitions=q["partitions"], replication_factor=-1, topic_configs=q.get("configs") or {})
    with_admin(lambda a: a.create_topics([t]))
    return {"partitions": q["partitions"]}


def delete(q):
    with_admin(lambda a: a.delete_topics([q["topic"]]))


def topics(_):
    return {"topics": list(with_admin(lambda a: a.list_topics()))}


def describe(q):
    t = with_admin(lambda a: a.describe_topics([q["topic"]]))[0]
    return {"partitions": len(t["partitions"])}


def join(q):
    c = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id=q["group"], client_id=q["member"], group_instance_id=q.get("instance"),
                      partition_assignment_strategy=[ASSIGNORS[q["assignor"]]], enable_auto_commit=False, auto_offset_reset="earliest",
                      fetch_max_wait_ms=200, heartbeat_interval_ms=200, session_timeout_ms=6000)
    members[q["member"]] = c
    # A leader that does not know the topic yet assigns nothing, and now and then stays with that.
    c.partitions_for_topic(q["topic"])
    c.subscribe([q["topic"]])


def poll(q):
    c = members[q["member"]]
    records = [[m.topic, m.partition, m.offset] for ms in c.poll(q["timeoutMs"]).values() for m in ms]
    return {"records": records, "assigned": [list(tp) for tp in c.assignment()]}


def commit(q):
    c = members[q["member"]]
    c.commit({tp: OffsetAndMetadata(c.position(tp), q.get("metadata") or "", -1) for tp in c.assignment()})


def committed(q):
    at = members[q["member"]].committed(TopicPartition(q["topic"], q["partition"]), metadata=True)
    return {"offset": at.offset, "metadata": at.metadata} if at else {"offset": -1, "metadata": ""}


def leave(q):
    members.pop(q["member"]).close()


members = {}
serve({"join": join, "poll": poll, "commit": commit, "committed": committed, "leave": leave,
       "seek": lambda q: members[q["member"]].seek(TopicPartition(q["topic"], q["partition"]), q["offset"]),
       "pause": lambda q: members[q["member"]].pause(TopicPartition(q["topic"], q["partition"])),
       "resume": lambda q: members[q["member"]].resume(TopicPartition(q["topic"], q["partition"])),
       "hello": hello, "produce": produce, "consume": consume, "offsets": offsets, "create": create, "delete": delete,
       "topics": topics, "describe": describe})
