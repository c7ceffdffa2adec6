"""Disks that are slow, and disks that fail: what depends on them waits, what failed stops the replica."""

from __future__ import annotations

import asyncio
from errno import EIO
from pathlib import Path

import pytest

from metashell.quorum.raft.messages import NotLeaderError
from tests.coroutines import eventually
from tests.quorum.server.quorum import Quorum, append


async def test_a_leader_commits_although_its_own_sync_takes_for_ever(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        leader.log.gate.shut()
        flushed = leader.log.flushed_offset
        offset = await leader.running.append([b"two of three have it"])
        assert leader.log.flushed_offset <= offset
        await eventually(lambda: leader.log.gate.waiting == 1)
        leader.log.gate.open()
        await eventually(lambda: leader.log.flushed_offset > offset >= flushed)


def patient(folder: Path) -> Quorum:
    """A quorum whose leader keeps its place while followers are silent for seconds, which a busy machine alone can bring about."""
    quorum = Quorum(folder)
    for member in quorum.members.values():
        member.settings["fetch_timeout_ms"] = 10_000
    return quorum


async def test_nothing_is_committed_while_no_follower_can_sync(tmp_path: Path) -> None:
    async with patient(tmp_path) as quorum:
        leader = await quorum.leader()
        await leader.running.append([b"first"])
        for member in quorum.others(leader):
            member.log.gate.shut()
        node = leader.running.node
        before = node.high_watermark
        appending = asyncio.ensure_future(leader.running.append([b"second"]))
        await eventually(lambda: all(member.log.end_offset == node.log_end_offset for member in quorum.others(leader)))
        await eventually(lambda: leader.log.flushed_offset == node.log_end_offset)
        assert node.high_watermark == before
        assert not appending.done()
        quorum.others(leader)[0].log.gate.open()
        await asyncio.gather(appending, return_exceptions=True)
        if appending.exception() is not None:  # the wait may have cost the leadership
            await append(quorum, b"third")


@pytest.mark.slow
async def test_no_vote_leaves_before_it_is_on_disk(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        waiting = quorum.others(leader)
        for member in waiting:
            member.store.gate.shut()
        epoch = leader.running.node.epoch
        passed = {member.id: member.store.gate.passed for member in waiting}
        await leader.running.kill()
        await eventually(lambda: any(member.store.gate.waiting for member in waiting))
        assert all(member.store.gate.passed == passed[member.id] for member in waiting)
        assert all(member.store.read().epoch == epoch for member in waiting)
        assert not any(member.is_leader for member in waiting)
        for member in waiting:
            member.store.gate.open()
        following = await quorum.leader(but=leader)
        assert following.running.node.epoch > epoch
        assert following.store.read().epoch >= following.running.node.epoch


@pytest.mark.slow
@pytest.mark.parametrize("of", ["log", "store"])
async def test_a_disk_that_fails_stops_the_replica_and_the_others_go_on(tmp_path: Path, of: str) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        await leader.running.append([b"first"])
        broken = OSError(EIO, "Input/output error")
        if of == "log":
            failing = leader
            failing.log.gate.error = broken
            appending = asyncio.ensure_future(leader.running.append([b"second"]))
            assert await failing.running.failure is broken
            await asyncio.gather(appending, return_exceptions=True)
        else:
            failing = quorum.others(leader)[0]
            failing.store.gate.error = broken
            await leader.running.stop()
            assert await failing.running.failure is broken
            await leader.open()
            leader.start(quorum.voters)
        assert failing.running.driver.is_stopped
        with pytest.raises(NotLeaderError):
            await failing.running.append([b"third"])
        await quorum.leader(but=failing)
        await append(quorum, b"fourth")


async def test_a_machine_that_cannot_apply_stops_its_replica_alone(tmp_path: Path) -> None:
    async with patient(tmp_path) as quorum:
        leader = await quorum.leader()
        failing = quorum.others(leader)[0]

        async def refuse(batches: object) -> None:
            raise ValueError("cannot apply")

        failing.machine.handle_commit = refuse  # type: ignore[method-assign,assignment]
        await append(quorum, b"x")
        assert str(await failing.running.failure) == "cannot apply"
        await append(quorum, b"y")
