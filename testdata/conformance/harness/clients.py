"""Client programs that stay up and answer one JSON line with another (../README.md)."""

import json
import os
import queue
import subprocess
import threading

from .report import Failed

BUILD = os.environ["CONFORMANCE_BUILD"]
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ANSWER_SECONDS = 45


def classpath():
    """The Java clients' and tools' class path."""
    with open(os.path.join(BUILD, "classpath"), encoding="utf-8") as f:
        return os.path.join(BUILD, "classes") + os.pathsep + f.read().strip()


def java(*args):
    """A Java command line that starts fast and stays small."""
    return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", classpath(), *args]


def python(program):
    """A command line for one of the Python clients."""
    return [os.path.join(BUILD, "venv", "bin", "python"), os.path.join(HERE, "python", program)]


COMMANDS = {
    "java": lambda: java("Client"),
    "confluent-kafka": lambda: python("confluent.py"),
    "kafka-python": lambda: python("kafkapython.py"),
    "aiokafka": lambda: python("aio.py"),
    "kafkajs": lambda: ["node", os.path.join(HERE, "node", "client.js")],
}


class Client:
    """One client program."""

    def __init__(self, name, bootstrap, use=""):
        """`use` tells programs of the same client apart."""
        self.name = name
        self.log = open(os.path.join(BUILD, name + use + ".log"), "wb")
        self.process = subprocess.Popen(COMMANDS[name]() + [bootstrap], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.features = self.ask("hello")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def start(self, op, **fields):
        """Asks without waiting for the answer."""
        self.process.stdin.write(json.dumps(dict(fields, op=op)).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self):
        """The next line; an error in it is raised."""
        try:
            line = self.lines.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise Failed(f"no answer within {ANSWER_SECONDS} s") from None
        if line is None:
            raise Failed(f"{self.name} ended; see {self.log.name}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def ask(self, op, **fields):
        """Asks and waits."""
        self.start(op, **fields)
        answer = self.answer()
        while "ready" in answer:
            answer = self.answer()
        return answer

    def consume(self, topic, partition, start, count, timeout_ms=10000):
        """Reads `count` records; fewer when the time is over."""
        return self.ask("consume", topic=topic, partition=partition, **{"from": start}, count=count, timeoutMs=timeout_ms)

    def close(self):
        """Ends the program."""
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
