"""The records that are written, and how what comes back is compared."""

import base64

from .report import Failed, expect, short

# Well in the past, whole milliseconds apart.
BASE_TIME = 1_700_000_000_000
EVERY_BYTE = bytes(range(256))


def b64(data):
    """Base64 of bytes; None stays None."""
    return None if data is None else base64.b64encode(data).decode()


def record(key, value, headers=(), timestamp=None, partition=0):
    """A record in the form of the line protocol."""
    return {"key": b64(key), "value": b64(value), "headers": [[n, b64(v)] for n, v in headers], "timestamp": timestamp,
            "partition": partition}


def standard(tag, features, partition=0):
    """Records of every kind that a client can write, `tag` in some of them."""
    t = tag.encode()
    out = [
        record(None, b"plain " + t),
        record(b"key", b"value " + t),
        record(b"key", None),
        record(b"", b""),
        record(None, b""),
        record(EVERY_BYTE, EVERY_BYTE),
        record(b"k" * 300, "größe 中 😀".encode()),
        record(b"h", b"one header", [("name", b"value")]),
        record(b"h", b"empty header", [("empty", b"")]),
        record(b"h", b"large header", [("large", b"x" * 1024), ("größe", "中".encode())]),
        record(None, b"v" * 5000, [("a", b"1"), ("b", EVERY_BYTE)]),
        record(b"t", b"timestamp", timestamp=BASE_TIME + 1),
        record(b"t", b"earlier timestamp", timestamp=BASE_TIME),
    ]
    if features.get("repeatedHeaders"):
        out.append(record(b"h", b"repeated header", [("r", b"1"), ("r", b"2"), ("s", b"3"), ("r", b"1")]))
    if features.get("nullHeaders"):
        out.append(record(b"h", b"null header", [("n", None), ("m", b"")]))
    for r in out:
        r["partition"] = partition
    return out


def _grouped(headers):
    """Headers by name, as clients see them that have a map for them."""
    names = {}
    for name, value in headers:
        names.setdefault(name, []).append(value)
    return names


def compare(got, want, first_offset=0, grouped=False):
    """Fails unless both lists hold the same records, with offsets that follow each other."""
    for i, (g, w) in enumerate(zip(got, want)):
        where = f"record {i}"
        expect(where + " offset", g["offset"], first_offset + i)
        expect(where + " key", g["key"], w["key"])
        expect(where + " value", g["value"], w["value"])
        if grouped:
            expect(where + " headers by name", _grouped(g["headers"]), _grouped(w["headers"]))
        else:
            expect(where + " headers", g["headers"], w["headers"])
        if w["timestamp"] is not None:
            expect(where + " timestamp", g["timestamp"], w["timestamp"])
        elif g["timestamp"] <= BASE_TIME + 1_000_000:
            raise Failed(f"{where} timestamp: got {g['timestamp']}, want the time of writing")
    if len(got) != len(want):
        raise Failed(f"got {len(got)} records, want {len(want)}; the last is {short(got[-1:])}")
