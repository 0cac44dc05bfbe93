"""What the Python clients have in common: the harness's line protocol (../README.md)."""

import base64
import json
import sys


def b64(data):
    """Base64 of bytes; None stays None."""
    return None if data is None else base64.b64encode(bytes(data)).decode()


def raw(text):
    """The reverse of b64."""
    return None if text is None else base64.b64decode(text)


def say(answer):
    """Writes one answer."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def queries():
    """The harness's questions, one after the other."""
    for line in sys.stdin:
        yield json.loads(line)


def serve(ops):
    """Answers each question with what ops[its op] returns, or with the error that it raised."""
    for q in queries():
        try:
            say(ops[q["op"]](q) or {})
        except Exception as e:  # noqa: BLE001 - whatever a client raises is an answer here
            say({"error": f"{type(e).__name__}: {e}"})
