"""Controllers as processes of their own, ours and Kafka's: their directories, and the command lines that start them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tools.bench.common import kafka_argv, our_script
from tools.interop.nodes import controller_settings, free_ports, write_config

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAg"


def formatted(config: Path, *words: str) -> Path:
    """The same configuration, when its directory is formatted."""
    argv = [our_script("kafka-storage"), "format", "-t", CLUSTER_ID, "-c", str(config), *words]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return config


def voters(folder: Path, ids: range, settings: Mapping[str, object]) -> list[tuple[Path, int]]:
    """Formatted controllers that know each other: the configuration and the port of each."""
    folder.mkdir()
    ports = dict(zip(ids, free_ports(len(ids)), strict=True))
    quorum = {"controller.quorum.voters": ",".join(f"{id}@localhost:{port}" for id, port in ports.items()), **settings}
    return [
        (formatted(write_config(folder / f"{id}.properties", controller_settings(id, port, folder / f"node-{id}", quorum))), port)
        for id, port in ports.items()
    ]


def ours_argv(config: Path) -> list[str]:
    return [our_script("metashell"), "server", str(config)]


def kafka_server_argv(config: Path) -> list[str]:
    """A controller of a real Kafka; empty where there is none."""
    argv = kafka_argv("server", str(config))
    return [] if argv is None else [argv[0], "-Xmx512m", *argv[1:]]


def small_kafka_server_argv(config: Path) -> list[str]:
    """The same for several on one machine."""
    argv = kafka_server_argv(config)
    return argv and [argv[0], "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *argv[2:]]
