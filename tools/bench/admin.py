"""One-shot administration commands against a live cluster, in turn with Kafka's own tools against the same one.

The cluster is one real node (broker and controller) where Kafka is found, else a quorum of ours, and then only `-C` is measured.
Goal: any of them within 150 ms.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from metashell.cli.admin.client import Admin
from metashell.cli.admin.protocol import Kind
from metashell.codec.messages import CreateTopicsRequest
from metashell.net.addresses import ConnectError, parse_addresses
from metashell.quorum.embedded import EmbeddedQuorum
from tools.bench.common import Case, kafka_argv, measure, ours
from tools.bench.controllers import formatted
from tools.interop.nodes import cluster, combined_settings, free_ports, write_config

RUNS = 10
GOAL_S = 0.15
TOPICS = 20

Row = tuple[tuple[str, ...], tuple[str, ...]]
"""Our words, and the tool of Kafka and its words, empty where it has no such command."""


def main() -> int:
    """Measure and print every pair; status 1 when a goal is missed."""
    with tempfile.TemporaryDirectory() as folder, live_cluster(Path(folder)) as (brokers, controllers):
        return measure(
            Case(
                what=" ".join(plain(mine, brokers, controllers)),
                ours=ours(*mine),
                theirs=kafka_argv(*theirs) if theirs else None,
                runs=RUNS,
                wall_s=GOAL_S,
            )
            for mine, theirs in rows(brokers, controllers)
        )


def rows(brokers: str, controllers: str) -> Iterator[Row]:
    """What is measured."""
    ways = [("--bootstrap-controller", controllers)]
    if brokers:
        ways.insert(0, ("--bootstrap-server", brokers))
    for way in ways:
        yield ("kafka-cluster", "cluster-id", *way), ("cluster", "cluster-id", *way)
        yield ("kafka-cluster", "list-endpoints", *way), ("cluster", "list-endpoints", *way)
        for words in (("describe", "--status"), ("describe", "--replication")):
            yield ("kafka-metadata-quorum", *way, *words), ("quorum", *way, *words)
        yield ("kafka-features", *way, "describe"), ("features", *way, "describe")
        dry = ("disable", "--feature", "group.version", "--dry-run")
        yield ("kafka-features", *way, *dry), ("features", *way, *dry)
        yield ("metashell", "brokers", "list", *way), ()
        yield ("metashell", "quorum", "describe", *way), ()
    if brokers:
        way = ("--bootstrap-server", brokers)
        yield ("metashell", "topics", "list", *way), ("topics", *way, "--list")
        yield ("metashell", "topics", "describe", "topic-7", *way), ("topics", *way, "--describe", "--topic", "topic-7")
        yield ("metashell", "configs", "get", "topic:topic-7", *way), ("configs", *way, "--describe", "--topic", "topic-7", "--all")


def plain(words: Sequence[str], brokers: str, controllers: str) -> list[str]:
    """A command line without addresses."""
    names = {brokers: "B", controllers: "C", "--bootstrap-server": "-b", "--bootstrap-controller": "-C"}
    return [names.get(word, word) for word in words]


@contextmanager
def live_cluster(folder: Path) -> Iterator[tuple[str, str]]:
    """The addresses of its broker, empty without one, and of its controllers."""
    if (server := kafka_argv("server")) is None:
        with EmbeddedQuorum(3, fake_brokers=3) as quorum:
            yield "", quorum.bootstrap_controllers
        return
    ports = free_ports(3)
    broker, controller = f"localhost:{ports[0]}", f"localhost:{ports[2]}"
    settings = combined_settings(1, ports, folder / "data", {"controller.quorum.bootstrap.servers": controller})
    config = formatted(write_config(folder / "server.properties", settings), "--standalone")
    with cluster(lambda _, *words: [*server, *words], folder) as place:
        place.start(config)
        place.wait_until("the broker serves", lambda: has_topics(broker))
        yield broker, controller


def has_topics(broker: str) -> bool:
    """Whether the broker could make the topics."""
    topic = CreateTopicsRequest.CreatableTopic
    topics = tuple(topic(name=f"topic-{number}", num_partitions=3, replication_factor=1) for number in range(TOPICS))
    with Admin(Kind.BROKERS, parse_addresses(broker), timeout_ms=5_000) as admin:
        try:
            answer = admin.ask_active(CreateTopicsRequest(topics=topics, timeout_ms=5_000))
        except ConnectError:
            return False
    return all(item.error_code == 0 for item in answer.topics)
