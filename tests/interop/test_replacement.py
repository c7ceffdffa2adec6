"""A live quorum of Kafka's controllers is replaced node by node by ours with KIP-853, and back, while a broker works on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.java import host_command
from tools.interop.brokers_traffic import Writer, check_written, read_topic
from tools.interop.host import Host
from tools.interop.mixed_quorum import QUIET
from tools.interop.nodes import broker_settings, cluster, controller_settings, format_directories, free_ports, write_config
from tools.interop.replaced_quorum import ReplacedQuorum

pytestmark = pytest.mark.slow

KAFKAS: Final = (1, 2, 3)
OURS: Final = (4, 5, 6)
BROKER: Final = 11
DIRECTORY_IDS = {1: "iSWq0OPXTqOZ8aVrKmWO1A", 2: "mL1w5SXrSHKHKX4dPKoQTw", 3: "MvDxzVmcRsaTz33bUuRU6A"}
TOPIC, PARTITIONS = "traffic", 3


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[ReplacedQuorum]:
    """Controllers 1 to 3 are the first voters, 4 to 6 join by themselves; all are formatted, none is started."""
    with cluster(lambda *words: list(words), tmp_path) as place:
        ids = (*KAFKAS, *OURS, BROKER)
        ports = dict(zip(ids, free_ports(len(ids)), strict=True))
        host = Host(host_command(), tmp_path)
        place.nodes.append(host.node)
        made = ReplacedQuorum(place, ports, KAFKAS, host, BROKER, f"localhost:{ports[BROKER]}")
        servers = {"controller.quorum.bootstrap.servers": ",".join(f"localhost:{ports[id]}" for id in (*KAFKAS, *OURS))}
        first = ",".join(f"{id}@localhost:{ports[id]}:{key}" for id, key in DIRECTORY_IDS.items())
        for id in KAFKAS:
            write_config(made.config(id), controller_settings(id, ports[id], made.directory(id), servers), QUIET)
            format_node(made, id, "--initial-controllers", first)
        for id in OURS:
            settings = controller_settings(id, ports[id], made.directory(id), servers)
            write_config(made.config(id), settings, QUIET, {"controller.quorum.auto.join.enable": "true"})
            format_node(made, id, "--no-initial-controllers")
        write_config(made.config(BROKER), broker_settings(BROKER, ports[BROKER], made.directory(BROKER), servers))
        format_node(made, BROKER)
        yield made


def format_node(quorum: ReplacedQuorum, id: int, *words: str) -> None:
    format_directories(quorum.config(id), *words)


def create_topic(quorum: ReplacedQuorum, name: str, partitions: int = 1) -> None:
    words = ("--bootstrap-server", quorum.broker, "--create", "--topic", name, "--partitions", str(partitions))
    done = quorum.tool("kafka-topics", *words, "--if-not-exists")
    assert done.status == 0, done


def test_kafkas_controllers_are_replaced_by_ours_and_ours_by_kafkas(quorum: ReplacedQuorum) -> None:
    quorum.start(*KAFKAS)
    quorum.start(BROKER)
    create_topic(quorum, TOPIC, PARTITIONS)
    writer = Writer("writer", quorum.broker, TOPIC, PARTITIONS, per_second=20).start()

    voters = set(KAFKAS)
    for old, new in zip(KAFKAS, OURS, strict=True):
        quorum.start(new)
        quorum.wait_for_voters(voters | {new})
        quorum.remove(old)
        quorum.stop(old)
        voters = voters - {old} | {new}
        quorum.wait_for_voters(voters)
        create_topic(quorum, f"without-{old}")
        if len(voters & set(OURS)) < len(OURS):
            # Ours leads Kafka's controllers and a broker, and the other way round.
            for leaders in (voters & set(OURS), voters & set(KAFKAS)):
                leader = quorum.make_lead(leaders)
                create_topic(quorum, f"led-by-{leader}-without-{old}")
                quorum.commit(f"led-by-{leader}-without-{old}")
                quorum.assert_logs_agree(*voters)
    assert voters == set(OURS)
    assert quorum.assert_logs_agree(*OURS, BROKER) > 10
    written = writer.count

    for old, new in zip(OURS, KAFKAS, strict=True):
        quorum.clear(new)
        format_node(quorum, new, "--no-initial-controllers")
        quorum.start(new)
        quorum.add(new)
        quorum.stop(old)
        quorum.remove(old)
        voters = voters - {old} | {new}
        quorum.wait_for_voters(voters)
        create_topic(quorum, f"without-{old}")
        quorum.assert_logs_agree(*voters)
    assert voters == set(KAFKAS)
    assert quorum.assert_logs_agree(*KAFKAS, BROKER) > 10

    writer.end()
    assert writer.count > written and not writer.errors
    check_written(writer, read_topic(quorum.broker, TOPIC, PARTITIONS))
