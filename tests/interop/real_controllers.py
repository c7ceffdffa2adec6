"""Lone real controllers of Kafka, each fresh, in the Java process that stays until the tests end."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from tests.java import lone_controllers
from tests.quorum.controller.canon import NODE
from tests.quorum.controller.live import LogTail, Wire
from tests.running import run_main
from tools.interop.lone import LoneControllers
from tools.interop.nodes import free_ports, write_config

CLUSTER_ID = "Z29sZGVuLWNvbnRyb2xsZQ"


@dataclass(frozen=True, slots=True)
class Format:
    """How a directory is formatted: its release and features; with a static voter kraft.version is 0."""

    release: str = "4.4-IV2"
    features: tuple[str, ...] = ()
    is_static: bool = False


class RealController:
    """One running controller, which leads its quorum."""

    def __init__(self, process: LoneControllers, config: Path, port: int) -> None:
        self._process = process
        self.config = config
        self.port = port
        self.wire = Wire(port)
        self.log = LogTail(config.parent / "log")

    def settle(self) -> bool:
        """Return once what is committed is published: readers and the authorizer see it then. False if it has ended."""
        return bool(self._process.ask("published", self.config)["did"] == "serves")

    def restart(self, config: Mapping[str, str]) -> None:
        """Stop it and start it on its directory."""
        assert not config, "it starts with the settings that it had"
        self._process.leave(self.config, waits=True)
        self._process.start(self.config)

    def close(self) -> None:
        """Stop it and forget its directory."""
        self.wire.close()
        self._process.leave(self.config)
        shutil.rmtree(self.config.parent, ignore_errors=True)


class RealControllers:
    """Starts them, each on a fresh directory in a folder."""

    def __init__(self, folder: Path) -> None:
        self.process = lone_controllers()
        self._folder = folder
        self._numbers = itertools.count()
        self._formatted: dict[Format, Path] = {}

    def start(self, kind: Format, settings: Mapping[str, object]) -> RealController:
        """A fresh controller that leads, on a directory formatted so. Errors: ControllerEndedError."""
        folder = self._folder / str(next(self._numbers))
        shutil.copytree(self._format(kind), folder / "log")
        port = free_ports(1)[0]
        config = write_config(folder / "server.properties", settings_of(kind, port, folder / "log"), settings)
        self.process.start(config)
        return RealController(self.process, config, port)

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
