"""A controller as a process: how it ends in each state, and what a kill leaves."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from metashell.codec.error_codes import NONE
from tests.coroutines import eventually
from tests.quorum.server.controllers import CLUSTER_ID, Controllers, Place, add_broker, create, topics_of
from tests.running import run_main
from tools.interop.nodes import controller_settings, free_ports, server_command, write_config

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
async def test_sigterm_ends_a_controller_in_any_state(tmp_path: Path, state: str) -> None:
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


HANGING = """
import sys, threading
from metashell.cli.controllers.server import main
from metashell.disk.metadata_log import MetadataLog
from metashell.quorum.server import replica_server
MetadataLog.sync = lambda *arguments: threading.Event().wait()
replica_server.DRAIN_S = 0.05
replica_server.ReplicaServer.stop.__defaults__ = (10,)
sys.exit(main(sys.argv[1:]))
"""
"""A controller whose disk never answers, and that is not patient."""


async def test_sigterm_ends_a_controller_whose_disk_hangs(tmp_path: Path) -> None:
    config = Controllers(tmp_path, 1).configs[1]
    process = await Process(config, sys.executable, "-c", HANGING, str(config), "--allow-plaintext").start()
    await process.says("leader epoch=")
    assert await process.end(signal.SIGTERM) == 1
    assert process.lines[-1].endswith("node-1: the disk hangs: it has not finished what was written")


async def test_a_leader_that_is_killed_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
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


async def test_a_controller_of_another_cluster_is_not_let_in(tmp_path: Path) -> None:
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


OLDER = """
import sys
from metashell.codec import releases
for function in (releases.supported_features, releases.unsupported_features):
    function.__defaults__ = (next(release for release in releases.RELEASES if release.name == "4.3"),)
from metashell.cli.controllers.server import main
sys.exit(main())
"""
"""A controller that supports what 4.3 does."""


@pytest.mark.parametrize("dynamic", [False, True])
async def test_a_controller_of_an_older_release_ends_and_the_quorum_goes_on(tmp_path: Path, dynamic: bool) -> None:
    joins = {"controller.quorum.auto.join.enable": "true", "controller.quorum.fetch.timeout.ms": 1000}
    quorum = Controllers(tmp_path, 2 if dynamic else 3, dynamic=dynamic)
    config = quorum.configs.get(3) or write_config(
        tmp_path / "3.properties", controller_settings(3, free_ports(1)[0], tmp_path / "node-3", quorum.quorum), joins
    )
    if dynamic:
        words = ["format", "-t", CLUSTER_ID, "-c", str(config), "--no-initial-controllers"]
        assert run_main(kafka_storage, words, cwd=tmp_path).status == 0
    try:
        await quorum.start(1)
        await quorum.start(2)
        await add_broker(await quorum.active(), 1)
        assert await create(await quorum.active(), "before") == NONE
        for _ in range(2):
            old = await Process(config, sys.executable, "-c", OLDER, str(config)).start()
            assert await old.ended() == 1
            assert "metadata.version 33 (4.4-IV2) is not supported: 7 to 30 are; Kafka 4.4 supports it" in old.lines[-1]
        active = await quorum.active()
        assert await create(active, "after") == NONE
        assert {"before", "after"} <= set(topics_of(active))
        assert set(active.image.cluster.controllers) == {1, 2}
        assert set(active.node.voters.ids) == ({1, 2} if dynamic else {1, 2, 3})
        # The second time it says so before anything else: it does not stand, vote or listen.
        assert len(old.lines) == 1
    finally:
        for id in list(quorum.running):
            await quorum.kill(id)
