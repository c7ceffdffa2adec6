"""Disks below a controller that hang, fill up or fail: what depends on them waits, what failed ends the controller."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from errno import EIO, ENOSPC
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.error_codes import NONE, NOT_CONTROLLER
from metashell.disk.metadata_log import MetadataLog
from metashell.net.transport import ConnectionFailedError
from metashell.quorum.server import driver, replica_server
from metashell.quorum.server.controller_machine import ControllerMachine
from metashell.quorum.server.controller_server import ControllerServer, DiskHangsError
from tests.coroutines import eventually
from tests.quorum.server.controllers import QUICK, Controllers, add_broker, client, create, create_at, topic_request, topics_of
from tests.quorum.server.quorum import LIMIT_S


class Hanging:
    """Makes the syncs of one controller's log wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, server: ControllerServer) -> None:
        self._opened = threading.Event()
        self.waiting = 0
        sync, own = MetadataLog.sync, server.config.directory

        def slow(log: MetadataLog, token: Any) -> None:
            if log.directory.startswith(own):
                self.waiting += 1
                assert self._opened.wait(LIMIT_S)
                self.waiting -= 1
            sync(log, token)

        monkeypatch.setattr(MetadataLog, "sync", slow)

    def end(self) -> None:
        self._opened.set()


def failing(monkeypatch: pytest.MonkeyPatch, server: ControllerServer, method: str, number: int) -> None:
    """Make one controller's log fail with an error of the system."""
    plain, own = getattr(MetadataLog, method), server.config.directory

    def failed(log: MetadataLog, *arguments: Any) -> Any:
        if log.directory.startswith(own):
            raise OSError(number, "as the test wants it")
        return plain(log, *arguments)

    monkeypatch.setattr(MetadataLog, method, failed)


async def test_a_quorum_goes_on_while_the_disk_of_its_leader_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Controllers(tmp_path) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        hanging = Hanging(monkeypatch, active)
        try:
            assert await create(active, "two of three have it") == 17  # no name for a topic
            assert await create(active, "two-of-three-have-it") == NONE
            await eventually(lambda: hanging.waiting == 1)
        finally:
            hanging.end()
        await eventually(lambda: hanging.waiting == 0)


async def test_a_controller_whose_disk_hangs_ends_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_server, "DRAIN_S", 0.05)
    monkeypatch.setattr(driver, "SHUTDOWN_MARGIN_S", 0.0)
    async with Controllers(tmp_path, 1, settings={"metadata.max.idle.interval.ms": 20}) as quorum:
        active = await quorum.active()
        hanging = Hanging(monkeypatch, active)
        try:
            await eventually(lambda: hanging.waiting == 1)
            await active.replica.driver.shut_down(10)
            await quorum.stop(1)
            error = active.failure.result()
            assert isinstance(error, DiskHangsError)
            assert str(error) == f"{active.config.directory}: the disk hangs: it has not finished what was written"
        finally:
            hanging.end()
        await eventually(lambda: hanging.waiting == 0)


async def test_of_connections_that_are_closed_nothing_is_kept_while_the_disk_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Controllers(tmp_path, 1) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        hanging = Hanging(monkeypatch, active)
        machine = active.machine
        try:
            staying, leaving = await client(active), await client(active)
            asked = [asyncio.ensure_future(one.request(topic_request("t"), version=7)) for one in (staying, leaving)]
            await eventually(lambda: machine.waiting == 2)
            leaving.close("done")
            await eventually(lambda: len(kept(machine)) == 1)
            assert isinstance((await asyncio.gather(asked[1], return_exceptions=True))[0], ConnectionFailedError)
        finally:
            hanging.end()
        assert code_of(await asked[0]) == NONE
        assert machine.waiting == 0 and not kept(machine)


def kept(machine: ControllerMachine) -> list[Any]:
    """The requests that are still held."""
    return [waiter.request for _, waiter in machine._purgatory._waiting if waiter.request is not None]


@pytest.mark.parametrize(("method", "number"), [("append", ENOSPC), ("sync", EIO)])
async def test_a_leader_whose_disk_fails_ends_and_says_nothing_that_is_not_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, number: int
) -> None:
    async with Controllers(tmp_path, settings=QUICK) as quorum:
        await add_broker(await quorum.active(), 1)
        active = await create_at(quorum, "before")
        failing(monkeypatch, active, method, number)
        connection = await client(active)
        asked = [asyncio.ensure_future(connection.request(topic_request(f"t{n}"), version=7)) for n in range(3)]
        error = await active.failure
        assert isinstance(error, OSError) and error.errno == number
        answers = await asyncio.gather(*asked, return_exceptions=True)
        heir = await quorum.active(but=active.config.node.node_id)
        kept = topics_of(heir) - {"before"}
        said = {name for name, answer in zip(("t0", "t1", "t2"), answers, strict=True) if code_of(answer) == NONE}
        assert said <= kept
        assert all(code_of(answer) in (NONE, NOT_CONTROLLER, None) for answer in answers)
        await create_at(quorum, "after", but=active.config.node.node_id)


def code_of(answer: Any) -> int | None:
    """The error code of what CreateTopics gave; None for a connection that ended."""
    if isinstance(answer, BaseException):
        assert isinstance(answer, ConnectionFailedError)
        return None
    topics: Sequence[Any] = answer.topics
    code: int = topics[0].error_code
    return code
