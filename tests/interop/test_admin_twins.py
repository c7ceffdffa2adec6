"""Kafka's administration tools and ours of the same names, with the same words, on the same live clusters: they print the same.

A quorum of Kafka's with real brokers, and a node of 3.9; test_admin.py does the same by SASL and TLS on a quorum of ours. The tools run in
one Java process with the brokers, so that a line costs no start of a JVM. kafka-cluster ends its process for a wrong command line, so these
are run one by one.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from metashell.codec.messages import BrokerRegistrationRequest
from metashell.net.addresses import Address
from metashell.net.client import Client
from tests.interop.admin import start_kafka
from tests.interop.admin_twin_lines import CHANGE_LINES, OLDER_LINES, OPEN_LINES
from tests.interop.admin_twins import differences, ours, settled
from tests.java import KAFKA, host_command, jars, kafka, kafka_command
from tests.seeds import shows
from tools.interop.admin.open_cluster import OPEN
from tools.interop.admin.place import AdminPlace, admin_place
from tools.interop.admin.transcript import Step
from tools.interop.nodes import CLUSTER_ID, combined_settings, format_directories, free_ports, write_config

pytestmark = pytest.mark.slow

OLDER = "3.9.2"
SPARE_BROKERS = (101, 113, 112)
"""They are registered and never come; in Java's maps they are not in order."""


def test_both_print_the_same_on_kafkas_own_quorums(tmp_path: Path) -> None:
    jars(OLDER)
    with admin_place(OPEN, tmp_path, host_command(), start_kafka) as place:
        names = {**names_of(place), **start_older(place)}
        (tmp_path / "fast.properties").write_text("request.timeout.ms=2000\ndefault.api.timeout.ms=3000\n")
        (tmp_path / "empty.properties").touch()
        found = differences(place.host, OPEN_LINES, names, tmp_path)
        place.run(Step("start 2"))
        found += changes(place, names)
        place.place.wait_until("the older node serves", lambda: is_served(names["older"]))
        found += differences(place.host, OLDER_LINES, names, tmp_path)
    assert not found, "\n".join(found)


@shows("KIP-631/cluster-tool")
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("frobnicate",),
        ("u", "--help"),
        ("unregister-", "--help"),
        ("api-versions", "-h"),
        ("unregister-controller", "-C", "a:1"),
        ("cluster-id", "--bogus"),
        ("unregister", "-b", "a:1", "--id", "1x"),
        ("unregister",),
        ("unregister", "--id", "3"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_kafka_cluster_refuses_ends_the_same_way(words: tuple[str, ...], tmp_path: Path) -> None:
    theirs, own = kafka(KAFKA, "cluster", *words), ours("kafka-cluster", words, tmp_path)
    assert (own.status, own.stdout) == (theirs.returncode, theirs.stdout)
    # Java breaks lines inside words, and stretches them.
    assert "".join(own.stderr.split()) == "".join(theirs.stderr.decode().split())


def names_of(place: AdminPlace) -> dict[str, str]:
    return {name: place.address(name) for name in place.ports}


def start_older(place: AdminPlace) -> dict[str, str]:
    """A node of an older Kafka, which takes its time; gives the names of its addresses."""
    ports = free_ports(3)
    quorum = {"controller.quorum.bootstrap.servers": f"localhost:{ports[2]}"}
    config = write_config(place.folder / "older.properties", combined_settings(7, ports, place.folder / "older", quorum))
    format_directories(config, "-r", "3.9", "--standalone")
    place.place.command_of = partial(kafka_command, OLDER)
    place.place.start(config)
    return {"older": f"localhost:{ports[0]}", "older-controller": f"localhost:{ports[2]}"}


def is_served(address: str) -> bool:
    return ours("kafka-cluster", ["list-endpoints", "-b", address], Path()).stdout.count(b"\n") == 2


def changes(place: AdminPlace, names: dict[str, str]) -> list[str]:
    """Have Kafka's tools do everything, then ours; what differs."""
    dir_2 = next(text for text, name in place.names.known.items() if name == "dir-2")
    register_brokers(place.ports["controller"], SPARE_BROKERS)
    theirs = [changed(place, line.format(**names, **{"dir-2": dir_2}), is_ours=False) for line in CHANGE_LINES]
    register_brokers(place.ports["controller"], (113,))
    own = [changed(place, line.format(**names, **{"dir-2": dir_2}), is_ours=True) for line in CHANGE_LINES]
    pairs = zip(CHANGE_LINES, theirs, own, strict=True)
    return [f"$ {line}\ntheirs {their}\nours   {our}" for line, their, our in pairs if their != our]


def changed(place: AdminPlace, line: str, *, is_ours: bool) -> tuple[int | None, str]:
    """Status and output of a line, once all have heard what the last one changed."""
    place.settle()
    place.run(Step("observes 2"))
    tool, *words = shlex.split(line)
    if is_ours:
        own = ours(tool, words, place.folder)
        return own.status, settled(own.stdout.decode())
    theirs = place.host.run(tool, words)
    return theirs.status, settled(theirs.stdout)


def register_brokers(controller: int, ids: Sequence[int]) -> None:
    """Register brokers that send no heartbeat."""
    made = BrokerRegistrationRequest
    address = Address("localhost", controller)
    with Client([address]) as client:
        supported = client.run(lambda asked: asked.connection(address)).core.features.supported
        for id in ids:
            answer = client.request(
                made(
                    broker_id=id,
                    cluster_id=CLUSTER_ID,
                    incarnation_id=(id << 8).to_bytes(16, "big"),
                    listeners=(made.Listener(name="PLAINTEXT", host="localhost", port=1, security_protocol=0),),
                    features=tuple(
                        made.Feature(name=name, min_supported_version=low, max_supported_version=high)
                        for name, (low, high) in supported.items()
                    ),
                    rack=None,
                    log_dirs=((id << 16).to_bytes(16, "big"),),
                )
            )
            assert answer.error_code == 0, answer
