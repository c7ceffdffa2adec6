"""Replicas of ours over loopback in one process: each with its disk, which tests may slow down or break."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metashell.codec.batches import RecordBatch
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.net.listener_options import ConnectionLimits, ListenerOptions
from metashell.quorum.raft.messages import RaftConfig
from metashell.quorum.raft.ready import Durable, ElectionState
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.server.config import ElectionStore
from metashell.quorum.server.records import SnapshotToMake
from metashell.quorum.server.replica_server import Parts, ReplicaServer
from tests.coroutines import eventually

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAg"
LIMIT_S = 120.0


class Values:
    """A state machine that keeps the values that were committed."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.end = 0
        self.leaders: list[tuple[int, int]] = []
        self.is_shut_down = False

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        for batch in batches:
            assert batch.header.base_offset == self.end
            self.end = batch.header.last_offset + 1
            if not batch.header.is_control:
                self.values += [record.value or b"" for record in batch.records()]
        return None

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Any) -> None:
        self.values = [record.value or b"" for batch in batches if not batch.header.is_control for record in batch.records()]
        self.end = id.offset

    def handle_leader_change(self, leader_id: int, epoch: int) -> None:
        self.leaders.append((leader_id, epoch))

    def begin_shutdown(self) -> None:
        self.is_shut_down = True


class Gate:
    """What stands before a disk operation: nothing, a wait until it is opened, or an error."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.error: OSError | None = None
        self.passed = 0
        self.waiting = 0

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def pass_through(self) -> None:
        self.waiting += 1
        assert self._open.wait(LIMIT_S)
        self.waiting -= 1
        if self.error is not None:
            raise self.error
        self.passed += 1


class GatedLog(MemoryLog):
    """A log in memory whose sync passes a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    def note_committed(self, offset: int) -> None:
        """Nobody asks for it here."""

    def begin_flush(self) -> list[int]:
        return [self.end_offset]

    def sync(self, token: list[int]) -> None:
        self.gate.pass_through()

    def finish_flush(self, token: list[int]) -> int:
        if self.gate.error is not None:
            raise self.gate.error
        self.flush_to(min(token[0], self.end_offset))
        return self.flushed_offset

    def defer(self) -> None:
        """Nothing takes time in memory but what has a gate."""

    def take_work(self) -> None:
        return None

    def delete_due(self, now_ms: int) -> int | None:
        return None

    def close(self) -> None:
        self.gate.open()


class GatedStore:
    """quorum-state on disk, behind a gate."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.gate = Gate()
        self._store = ElectionStore(str(directory))

    def read(self) -> ElectionState:
        return self._store.read()

    def write(self, election: ElectionState, kraft_version: int) -> Durable:
        self.gate.pass_through()
        return self._store.write(election, kraft_version)


class Member:
    """One of the quorum, over its restarts: the disk stays, the rest is made anew."""

    def __init__(self, id: int, directory: Path) -> None:
        self.id = id
        self.key = ReplicaKey(id, bytes(15) + bytes((id + 100,)))
        self.log = GatedLog()
        self.store = GatedStore(directory)
        self.machine = Values()
        self.port = 0
        self.limits = ConnectionLimits()
        self.connections_max = 2000
        self.settings: dict[str, Any] = {}
        self.server: ReplicaServer | None = None
        self.events: list[str] = []

    @property
    def running(self) -> ReplicaServer:
        assert self.server is not None
        return self.server

    async def open(self) -> None:
        self.machine = Values()
        parts = Parts(
            log=self.log,
            store=self.store,
            election=self.store.read(),
            random=random.Random(self.id),
            wall_ms=lambda: int(time.time() * 1000),
            machine=self.machine,
            on_event=self.events.append,
        )
        self.server = ReplicaServer(parts)
        options = ListenerOptions(
            ranges={}, name="CONTROLLER", port=self.port, limits=self.limits, connections_max=self.connections_max, handshake_timeout_s=5.0
        )
        self.port = (await self.server.open(options))["CONTROLLER"].port

    def start(self, voters: Mapping[int, tuple[str, int]]) -> None:
        settings = {"cluster_id": CLUSTER_ID, "append_linger_ms": 0, "election_timeout_ms": 300, "fetch_timeout_ms": 600, **self.settings}
        config = RaftConfig(local=self.key, listeners={"CONTROLLER": ("127.0.0.1", self.port)}, static_voters=voters, **settings)
        self.running.start(config)

    @property
    def is_leader(self) -> bool:
        return self.server is not None and not self.server.driver.is_stopped and self.server.node.state_name == "leader"


class Quorum:
    """Members who know each other by controller.quorum.voters; an async context manager that stops them all."""

    def __init__(self, folder: Path, count: int = 3) -> None:
        self.members = {id: Member(id, folder / str(id)) for id in range(1, count + 1)}

    async def __aenter__(self) -> Quorum:
        for member in self.members.values():
            await member.open()
        for member in self.members.values():
            member.start(self.voters)
        return self

    async def __aexit__(self, *error: object) -> None:
        if error[0] is not None:
            for member in self.members.values():
                print(member.id, member.events[-20:], None if member.server is None else member.server.driver.failure)
        for member in self.members.values():
            member.log.gate.open()
            member.store.gate.open()
            if member.server is not None:
                await member.server.kill()
                member.server = None

    @property
    def voters(self) -> dict[int, tuple[str, int]]:
        return {member.id: ("127.0.0.1", member.port) for member in self.members.values()}

    async def leader(self, *, but: Member | None = None) -> Member:
        """The leader that a majority follows, once there is one."""
        found: list[Member] = []

        def has_leader() -> bool:
            found[:] = [member for member in self.members.values() if member.is_leader and member is not but]
            return bool(found) and found[0].running.node.high_watermark is not None

        await eventually(has_leader)
        return found[0]

    def others(self, *excluded: Member) -> list[Member]:
        return [member for member in self.members.values() if member not in excluded]

    async def restart(self, member: Member, *, crash: bool = False) -> None:
        """Stop a member and start it again on what its disk has kept."""
        if crash:
            await member.running.kill()
            member.log.lose_unflushed()
        else:
            await member.running.stop()
        await member.open()
        member.start(self.voters)


async def append(quorum: Quorum, value: bytes) -> int:
    """Append at whoever leads, again where leadership ends before the commit is known."""
    from metashell.quorum.raft.messages import RaftError

    while True:
        leader = await quorum.leader()
        try:
            return await leader.running.append([value])
        except RaftError:
            await asyncio.sleep(0)
