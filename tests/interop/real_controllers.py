"""Lone real controllers of Kafka, each fresh: many of them run in one Java process, so that one starts in a twentieth of a second."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from tests.java import host_command
from tests.quorum.controller.canon import NODE
from tests.quorum.controller.live import LogTail, Wire
from tests.running import run_main
from tools.interop.host import Host
from tools.interop.nodes import free_ports, write_config

CLUSTER_ID = "Z29sZGVuLWNvbnRyb2xsZQ"
STARTS_MAX = 150
"""A controller that was stopped keeps some memory, so the process is replaced after so many."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a directory is formatted: its release and features; with a static voter kraft.version is 0."""

    release: str = "4.4-IV2"
    features: tuple[str, ...] = ()
    is_static: bool = False


class ControllerEndedError(Exception):
    """The Java process ended, or a controller in it did not start."""


class RealController:
    """One running controller, which leads its quorum."""

    def __init__(self, pool: RealControllers, config: Path, port: int) -> None:
        self._pool = pool
        self.config = config
        self.port = port
        self.wire = Wire(port)
        self.log = LogTail(config.parent / "log")

    def settle(self) -> bool:
        """Return once what is committed is published: readers and the authorizer see it then. False if it has ended."""
        return self._pool.ask("published", self.config)["did"] == "serves"

    def restart(self, config: Mapping[str, str]) -> None:
        """Stop it and start it on its directory."""
        assert not config, "it starts with the settings that it had"
        self._pool.ask("leave", self.config, waits=True)
        self._pool.start_again(self.config)

    def close(self) -> None:
        self.wire.close()
        self._pool.discard(self.config)


class RealControllers:
    """The Java process; close it, or use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        self._formatted: dict[Format, Path] = {}
        self._host: Host | None = None
        self._starts = 0

    def __enter__(self) -> RealControllers:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        if self._host is not None:
            self._host.node.kill()
            self._host = None

    def start(self, kind: Format, settings: Mapping[str, object]) -> RealController:
        """A fresh controller that leads, on a directory formatted so. Errors: ControllerEndedError."""
        if self._starts >= STARTS_MAX:
            self.close()
            self._starts = 0
        self._starts += 1
        folder = self._folder / str(next(self._numbers))
        shutil.copytree(self._format(kind), folder / "log")
        port = free_ports(1)[0]
        config = write_config(folder / "server.properties", settings_of(kind, port, folder / "log"), settings)
        self.start_again(config)
        return RealController(self, config, port)

    def start_again(self, config: Path) -> None:
        if (answer := self.ask("lead", config))["did"] != "serves":
            raise ControllerEndedError(answer["why"])

    def discard(self, config: Path) -> None:
        """Stop a controller and forget its directory."""
        self.ask("leave", config, waits=False)
        shutil.rmtree(config.parent, ignore_errors=True)

    def ask(self, what: str, config: Path, **words: object) -> dict[str, Any]:
        """What the process says of the controller with this configuration."""
        if self._host is None:
            self._host = Host(host_command(), self._folder)
        return self._host.ask(what, config=str(config), **words)

    def _format(self, kind: Format) -> Path:
        if kind not in self._formatted:
            folder = self._folder / f"format-{len(self._formatted)}"
            folder.mkdir()
            config = write_config(folder / "server.properties", settings_of(kind, 9093, folder / "log"))
            words = [word for feature in kind.features for word in ("--feature", feature)]
            argv = [
                "format",
                "-t",
                CLUSTER_ID,
                "-c",
                str(config),
                "-r",
                kind.release,
                *words,
                *([] if kind.is_static else ["--standalone"]),
            ]
            outcome = run_main(kafka_storage, argv, cwd=folder)
            assert outcome.status == 0, outcome
            self._formatted[kind] = folder / "log"
        return self._formatted[kind]


def settings_of(kind: Format, port: int, log_dir: Path) -> dict[str, object]:
    """The server.properties of a lone controller to which everybody is a super user, and that does nothing by itself."""
    quorum = "controller.quorum.voters" if kind.is_static else "controller.quorum.bootstrap.servers"
    return {
        "process.roles": "controller",
        "node.id": NODE,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CONTROLLER://127.0.0.1:{port}",
        "log.dirs": log_dir,
        quorum: f"{NODE}@127.0.0.1:{port}" if kind.is_static else f"127.0.0.1:{port}",
        "metadata.max.idle.interval.ms": 0,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "broker.session.timeout.ms": 3600000,
        "broker.heartbeat.interval.ms": 60000,
        "auto.leader.rebalance.enable": "false",
        "controller.quorum.append.linger.ms": 0,
        "num.network.threads": 1,
        "num.io.threads": 2,
    }
