"""What was acknowledged survives a power cut that takes what a disk had not synced."""

from __future__ import annotations

from errno import EIO
from pathlib import Path

import pytest

from tests.coroutines import eventually
from tests.quorum.server.quorum import Quorum, append


@pytest.mark.slow
async def test_a_replica_whose_sync_hangs_is_not_elected_with_what_it_then_loses(tmp_path: Path) -> None:
    """F has the acknowledged value in its cache only, the leader dies, F's power is cut: V, which synced it, must not elect F's rest."""
    quorum = Quorum(tmp_path)
    v = quorum.members[3]
    v.settings["may_stand"] = False
    async with quorum:
        leader = await quorum.leader()
        f = quorum.others(leader, v)[0]
        await leader.running.append([b"first"])
        await eventually(lambda: f.log.flushed_offset == f.log.end_offset == leader.log.end_offset)
        durable, epoch = f.log.end_offset, leader.running.node.epoch
        f.log.gate.shut()
        await leader.running.append([b"second"])
        await eventually(lambda: f.log.end_offset == leader.log.end_offset)
        await leader.running.kill()
        # It asks nobody for a vote, however often its time comes.
        await eventually(lambda: sum(line.startswith("prospective") for line in f.events) >= 2)
        assert not f.is_leader and v.store.read().epoch == f.running.node.epoch == epoch
        f.log.gate.error = OSError(EIO, "power cut")
        f.log.gate.open()
        await f.running.kill()
        f.log.lose_unflushed()
        f.log.gate.error = None
        assert f.log.end_offset == durable
        await f.open()
        f.start(quorum.voters)
        await leader.open()
        leader.start(quorum.voters)
        await append(quorum, b"third")
        await eventually(lambda: all(member.machine.values == [b"first", b"second", b"third"] for member in quorum.members.values()))
