"""Where the transcripts of tests/golden/admin are, and how the cluster that they run on is started."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from tests.java import KAFKA, kafka_command
from tools.interop.admin.open_cluster import OPEN
from tools.interop.admin.secured_cluster import SECURED
from tools.interop.nodes import Cluster, Node, server_command

ROOT: Final = Path(__file__).resolve().parents[1]
RUNS: Final = {
    OPEN: ("features", "topics", "configs", "users", "acls", "moves", "clients", "quorum"),
    SECURED: ("secured",),
}
"""The transcripts, in the order in which they run on a cluster of a layout."""


def golden_path(name: str) -> Path:
    return ROOT / "golden" / "admin" / f"{name}.txt"


def start_kafka(place: Cluster, config: Path) -> Node:
    """Start one of Kafka's own controllers."""
    place.command_of = partial(kafka_command, KAFKA)
    return place.start(config)


def start_ours(place: Cluster, config: Path) -> Node:
    """Start one of ours."""
    place.command_of = lambda tool, *words: server_command(*words)
    return place.start(config)
