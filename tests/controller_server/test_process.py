"""A controller as a process: how it ends in each state, and what a kill leaves."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from metashell.codec.error_codes import NONE
from tests.controller_server.quorum import CLUSTER_ID, Controllers, Place, add_broker, create, topics_of
from tests.server.quorum import eventually, run
from tools.interop.nodes import server_command

pytestmark = pytest.mark.slow


class Process:
    """One controller; `lines` are those of its standard error."""

    def __init__(self, config: Path, *argv: str) -> None:
        self._argv = argv or server_command(str(config))
        self.lines: list[str] = []

    async def start(self) -> Process:
        self.process = await asyncio.create_subprocess_exec(*self._argv, stderr=asyncio.subprocess.PIPE)
        self._reading = asyncio.ensure_future(self._read())
        return self

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.lines.append(line.decode().rstrip())

    async def says(self, what: str) -> None:
        await eventually(lambda: any(what in line for line in self.lines) or self._reading.done())
        assert any(what in line for line in self.lines), self.lines

    async def ended(self) -> int:
        status = await self.process.wait()
        await self._reading
        return status

    async def end(self, number: int) -> int:
        self.process.send_signal(number)
        return await self.ended()


@pytest.mark.parametrize("state", ["leader", "follower", "prospective"])
def test_sigterm_ends_a_controller_in_any_state(tmp_path: Path, state: str) -> None:
    async def main() -> None:
        quorum = Controllers(tmp_path, 1 if state == "leader" else 3)
        process = await Process(quorum.configs[1]).start()
        try:
            if state == "follower":
                await quorum.start(2)
                await quorum.start(3)
            await process.says(f"{state} epoch=")
            assert await process.end(signal.SIGTERM) == 0
            assert process.lines[-1].endswith("stopped")
        finally:
            for id in list(quorum.running):
                await quorum.kill(id)

    run(main)


HANGING = """
import sys, threading
from metashell.cli.server import main
from metashell.log.metadata_log import MetadataLog
from metashell.server import replica_server
MetadataLog.sync = lambda *arguments: threading.Event().wait()
replica_server.DRAIN_S = 0.05
replica_server.ReplicaServer.stop.__defaults__ = (10,)
sys.exit(main(sys.argv[1:]))
"""
"""A controller whose disk never answers, and that is not patient."""


def test_sigterm_ends_a_controller_whose_disk_hangs(tmp_path: Path) -> None:
    async def main() -> None:
        config = Controllers(tmp_path, 1).configs[1]
        process = await Process(config, sys.executable, "-c", HANGING, str(config), "--allow-plaintext").start()
        await process.says("leader epoch=")
        assert await process.end(signal.SIGTERM) == 1
        assert process.lines[-1].endswith("node-1: the disk hangs: what was begun is not done")

    run(main)


def test_a_leader_that_is_killed_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    async def main() -> None:
        quorum = Controllers(tmp_path, 1)
        process = await Process(quorum.configs[1]).start()
        await process.says("the active controller of epoch 1")
        there = Place({"CONTROLLER": quorum.ports[1]})
        await add_broker(there, 1)
        names = {f"acknowledged-{n}" for n in range(20)}
        for name in sorted(names):
            assert await create(there, name) == NONE
        await process.end(signal.SIGKILL)
        again = await quorum.start(1)
        await eventually(lambda: topics_of(again) == names)
        await quorum.kill(1)

    run(main)


def test_a_controller_of_another_cluster_is_not_let_in(tmp_path: Path) -> None:
    async def main() -> None:
        quorum = Controllers(tmp_path)
        meta = tmp_path / "node-3" / "meta.properties"
        meta.write_text(meta.read_text().replace(CLUSTER_ID, "AAAAAAAAAAAAAAAAAAAAAg"))
        for id in (1, 2, 3):
            await quorum.start(id)
        try:
            active = await quorum.active()
            assert active.config.node.node_id != 3
            await add_broker(active, 1)
            assert await create(active, "a") == NONE
            assert topics_of(quorum.running[3]) == set()
            assert quorum.running[3].image.features.metadata_version is None
        finally:
            for id in list(quorum.running):
                await quorum.kill(id)

    run(main)
