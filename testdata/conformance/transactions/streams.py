"""An application of Kafka Streams with processing.guarantee=exactly_once_v2."""

import os
import queue
import random
import subprocess
import tempfile
import threading
import time

from harness.clients import BUILD
from harness.report import Failed, expect

from .programs import java
from .scenarios import Topic

SECONDS = 60
EACH = 60
WORDS = ("one", "two", "three", "four", "five")


class Application:
    """One run of streams/Counts.java."""

    def __init__(self, bootstrap, name, state, log):
        self.log = log
        what = [bootstrap, name, name + "-words", name + "-counts", state]
        self.process = subprocess.Popen(java("Counts", "transactions-streams-jars", "streams-classes", *what),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.said = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self.said.put(line.strip())
        self.said.put("ended")

    def wait(self, what):
        """Waits until it says what; everything it has said until then."""
        heard, until = [], time.monotonic() + SECONDS
        while what not in heard:
            try:
                line = self.said.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                raise Failed(f"it did not say {what!r} within {SECONDS} s, but {heard}") from None
            if line == "ended" or line.startswith("failed"):
                raise Failed(f"it said {line!r} after {heard}; see {self.log.name}")
            heard.append(line)
        return heard

    def kill(self):
        """Ends it without a chance to say goodbye."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends it in good order."""
        self.process.stdin.close()
        expect("exit code", self.process.wait(SECONDS), 0)


def checks(report, client, prefix, when):
    """client is a Java client that writes the words and reads the counts; when is what happens meanwhile, for the check's name."""
    report.check("Kafka Streams, exactly_once_v2: killed, restarted, every word counted once" + when, lambda: counts(client, prefix))


def counts(client, name):
    """Killed while it counts, started again, stopped in good order, started once more: each word's counts are 1, 2, 3 and so on."""
    words, out = Topic(client, name + "-words"), Topic(client, name + "-counts")
    client.ask("open", producer="words")
    order = random.Random(1)

    def send():
        values = [w for w in WORDS for _ in range(EACH)]
        order.shuffle(values)
        for p in (0, 1):
            words.send("words", *values[p::2], partition=p)

    def counted(expected):
        want = {w: [f"{w}={n + 1}" for n in range(expected)] for w in WORDS}
        until = time.monotonic() + SECONDS
        while True:
            got = [v for p in (0, 1) for v in
                   client.ask("read", topic=out.name, partition=p, isolation="read_committed", count=0, graceMs=400)["values"]]
            by_word = {w: [v for v in got if v.split("=")[0] == w] for w in WORDS}
            wrong = [w for w in WORDS if by_word[w] != want[w][:len(by_word[w])]]
            if wrong:
                raise Failed(f"counts of {wrong[0]}: {by_word[wrong[0]]}")
            if len(got) == expected * len(WORDS):
                return
            if time.monotonic() > until:
                raise Failed(f"{len(got)} of {expected * len(WORDS)} counts after {SECONDS} s")

    with tempfile.TemporaryDirectory() as state, open(os.path.join(BUILD, "transactions-streams.log"), "wb") as log:
        running = []

        def start():
            running.append(Application(client.bootstrap, name, state, log))
            return running[-1], running[-1].wait("state RUNNING")

        try:
            app, _ = start()
            send()
            while not client.ask("read", topic=out.name, partition=0, isolation="read_committed", count=1, graceMs=0)["values"]:
                time.sleep(0.05)
            send()
            app.kill()
            app, _ = start()
            counted(2 * EACH)
            app.stop()
            app, heard = start()
            restored = sum(int(line.split()[1]) for line in heard if line.startswith("restored"))
            if restored < len(WORDS):
                raise Failed(f"{restored} records restored from the changelog")
            send()
            counted(3 * EACH)
            app.stop()
        finally:
            for app in running:
                app.process.kill()
