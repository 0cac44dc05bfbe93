"""The client programs of the transactions' checks, which speak the harness's line protocol."""

import os

from harness.clients import BUILD, COMMANDS, Client

HERE = os.path.dirname(os.path.abspath(__file__))
JAVA = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"]
KAFKA = os.environ["CONFORMANCE_KAFKA"]
# The release of the older Java client; empty where it could not be installed.
OLDER = os.environ["CONFORMANCE_OLDER"]
# That of Kafka Streams, likewise.
STREAMS = os.environ["CONFORMANCE_STREAMS"]
JAVA_NAME = f"java {KAFKA}"


def java(main, jars, classes, *args):
    """A Java command line with a class path that was written down when it was installed."""
    with open(os.path.join(BUILD, jars), encoding="utf-8") as f:
        return [*JAVA, os.path.join(BUILD, classes) + os.pathsep + f.read().strip(), main, *args]


def python(program):
    """A command line for one of the Python clients."""
    return [os.path.join(BUILD, "venv", "bin", "python"), os.path.join(HERE, "python", program)]


PROGRAMS = {
    JAVA_NAME: lambda: java("Transactions", "classpath", "transactions-classes"),
    f"java {OLDER}": lambda: java("Transactions", "transactions-java-jars", "transactions-classes"),
    "confluent-kafka": lambda: python("confluent.py"),
    "kafka-python": lambda: python("kafkapython.py"),
    "aiokafka": lambda: python("aio.py"),
    "kafkajs": lambda: ["node", os.path.join(HERE, "node", "transactions.js")],
}
if not OLDER:
    del PROGRAMS["java "]


class Program(Client):
    """A client program; its name in the reports is that of the client."""

    def __init__(self, name, bootstrap, use=""):
        self.bootstrap = bootstrap
        self.slug = name.replace(" ", "-")
        log = "transactions-" + self.slug
        COMMANDS[log] = PROGRAMS[name]
        super().__init__(log, bootstrap, use)
        self.name = name

    def another(self, use):
        """The same once more."""
        return Program(self.name, self.bootstrap, use)
