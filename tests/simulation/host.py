"""One replica over all its lives: its disk, its clock, the core that runs at present, and what the checkers remember of it."""

from __future__ import annotations

import errno
from dataclasses import replace
from random import Random
from typing import Any

from metashell.common.values import ZERO_UUID, ReplicaKey
from metashell.disk.properties import OFFSET_STEP, Acknowledged
from metashell.quorum.raft.messages import Endpoint, RaftConfig
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Durable, ElectionState, Ready
from tests.simulation.history import Key
from tests.simulation.sim_log import SimLog

NEVER = 1 << 62


class CrashError(Exception):
    """The process of `host` dies here and now."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.name)
        self.host = host


class Host:
    """A replica's place in the world.

    `life` counts its starts, so that what was meant for an earlier one is recognised. `election` and `log` survive a crash as far as they
    are durable. `writing` is the step that waits for a slow write of quorum-state; until then no other one is made. `began` is the role at
    the begin of a step. `fuse_left` is how many more effects happen before an injected crash, -1 without one. `forgotten_epoch` is the last
    epoch of which a vote was forgotten, `unaware_of` the last that it does not know to have led, `lost_end` where the log ended that lost
    durable batches and did not get them back (`tolerance`), `proof_on_disk` what lies beside meta.properties. `heard` is when a leader last
    answered a valid fetch of each replica, `contacts` when it was asked for anything, on its own clock. Until `hang_until` no fsync of the
    log ends, and if `hang_fails` none succeeds.
    """

    def __init__(self, index: int, id: int, directory: int, endpoint: Endpoint, log: SimLog, random: Random) -> None:
        self.index = index
        self.id = id
        self.endpoint = endpoint
        self.random = random
        self.is_broker = False
        self.is_resting = False
        self.generation = "4.3"
        self.base_ms = 1_000 + index * 977
        self.rate = 1_000
        self.wall_ms = 1_700_000_000_000
        self.life = 0
        self.election = ElectionState(0)
        self.quorum_version = 0
        self.node: RaftNode | None = None
        self.log = log
        self.format(directory, log)
        self.forget()

    def format(self, directory: int, log: SimLog) -> None:
        """A new, empty metadata directory."""
        self.directory = directory
        self.key: Key = (self.id, bytes(14) + bytes((self.id + 1, directory)))
        self.name = f"{self.id}" if directory == 1 else f"{self.id}.{directory}"
        self.log = log
        self.election = self.election_before = ElectionState(0)
        self.led_epochs: set[int] = set()
        self.forgotten_epoch = self.unaware_of = -1
        self.lost_end: int | None = None
        self.proof_on_disk = Acknowledged(self.key[1])

    def prove(self) -> None:
        """What lies beside meta.properties by now, as `disk.properties` keeps it: it is durable before anybody hears of it."""
        proof, log = self.proof_on_disk, self.log
        committed = min(self.replica.committed, log.flushed_offset)
        is_due = committed >= min(2 * proof.offset, proof.offset + OFFSET_STEP)
        has_records = proof.has_records or log.flushed_offset > 0
        if log.end_offset == 0 and not proof.offset and log.recovering is None:
            has_records = False
        self.proof_on_disk = replace(proof, offset=max(proof.offset, committed) if is_due else proof.offset, has_records=has_records)

    def forget(self) -> None:
        """All that a process loses when it ends."""
        self.up = False
        self.node = None
        self.replica: Any = None
        self.role: Any = None
        self.began: Any = None
        self.may_forget = True
        self.is_stopping = False
        self.seen_watermark: int | None = None
        self.proof = Durable(self.election, 0)
        self.asked = self.election
        self.asked_version = 0
        self.writing: Ready | None = None
        self.timer = NEVER
        self.restart_at = 0
        self.paused_until = 0
        self.slow_until = 0
        self.hang_until = 0
        self.hang_fails = False
        self.fuse_left = -1
        self.is_full = False
        self.high_watermark: int | None = None
        self.committed = 0
        self.voters_seen: frozenset[Key] | None = None
        self.at_candidacy: frozenset[int] = frozenset()
        self.grants: set[int] = set()
        self.pre_grants: set[int] = set()
        self.unsupported = False
        self.epoch_start = -1
        self.transitions = 0
        self.fetch_sent: tuple[int, int, int] | None = None
        self.listener = -1
        self.applied = -1
        self.digest = 0
        self.announced_epoch = -1
        self.notified: tuple[int, int] = (-1, -1)
        self.prepared: list[tuple[int, int, bytes]] = []
        self.pending_acks: list[tuple[int, int, list[bytes]]] = []
        self.asked_to_resign = -1
        self.heard: dict[Key, int] = {}
        self.contacts: dict[Key, int] = {}
        self.led_since = self.voters_since = self.polled_after = 0

    def is_among(self, voters: frozenset[Key]) -> bool:
        """Whether it is a voter of a set; one without a directory id is whoever has its id."""
        return self.key in voters or (self.id, ZERO_UUID) in voters

    @property
    def replica_key(self) -> ReplicaKey:
        return ReplicaKey(*self.key)

    def local_ms(self, now: int) -> int:
        """The host's own monotonic clock at a time of the world's."""
        return now + self.base_ms if self.rate == 1_000 else now * self.rate // 1_000 + self.base_ms

    def world_ms(self, local: int) -> int:
        """The first time of the world's at which the own clock shows `local`."""
        return local - self.base_ms if self.rate == 1_000 else -((self.base_ms - local) * 1_000 // self.rate)

    def start(self, config: RaftConfig, now: int) -> None:
        """A new process on what the disk holds; its first Ready waits in the node."""
        self.forget()
        self.life += 1
        self.up = True
        self.proof = Durable(self.election, self.quorum_version)
        self.asked, self.asked_version = self.election, self.quorum_version
        self.log.changed = self.log.epochs_changed = True
        local = self.local_ms(now)
        self.node = RaftNode(config, self.log, self.election, random=self.random, now_ms=local, wall_ms=self.wall_ms + local)
        self.replica = self.node

    def arm(self, effects: int) -> None:
        """Die after that many more effects."""
        self.fuse_left = effects
        self.log.fuse = self.burn

    def burn(self) -> None:
        """An effect is about to happen."""
        if self.is_full:
            raise OSError(errno.ENOSPC, "no space left on device")
        if self.fuse_left == 0:
            raise CrashError(self)
        if self.fuse_left > 0:
            self.fuse_left -= 1

    def snapshot_end(self) -> int:
        """How far its latest snapshot reaches: a start knows that to be committed."""
        ids = self.log.snapshot_ids
        return ids[-1].offset if ids else 0
