"""One replica of a partition: its log, and what it is to do as leader or follower.

Source: kafka.cluster.Partition, ReplicaManager; KIP-101 and KIP-320 (truncation by epochs), KIP-497 (AlterPartition), KIP-966 (ELR).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from metashell.metadata.image import PartitionRegistration

Key = tuple[str, int]
"""A partition: its topic's name and its number."""
NOBODY: Final = -1
BATCH: Final = 50
"""The most records of one partition that a follower is given at once."""


class Record(NamedTuple):
    """One record of a partition; values are never written twice."""

    epoch: int
    value: int


class Follower:
    """What a leader knows of a follower."""

    def __init__(self, now_ms: int) -> None:
        self.end = -1
        self.broker_epoch = -1
        self.fetched_ms = -1
        self.leader_end = -1
        self.caught_up_ms = now_ms

    def fetched(self, offset: int, broker_epoch: int, leader_end: int, now_ms: int) -> None:
        """It has everything below `offset`. Who had at its last fetch what the leader had then was caught up at that time."""
        if offset >= leader_end:
            self.caught_up_ms = now_ms
        elif self.leader_end >= 0 and offset >= self.leader_end:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.end, self.broker_epoch = offset, broker_epoch
        self.fetched_ms, self.leader_end = now_ms, leader_end


class Pending(NamedTuple):
    """An ISR that the leader asked for and was not told about yet, as (id, broker epoch)."""

    members: tuple[tuple[int, int], ...]
    partition_epoch: int


class Waiting(NamedTuple):
    """Somebody who wrote with acks=all: `answer` is called with whether all in sync have it, None where nobody can say any more."""

    offset: int
    record: Record
    answer: Callable[[bool | None], None]


class Replica:
    """The log stays when the process ends; all else is of one life."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.log: list[Record] = []
        self.flushed = 0
        self.high_watermark = 0
        self.forget()

    def forget(self) -> None:
        """What a new process does not know."""
        self.is_leader = False
        self.leader = NOBODY
        self.epoch = -1
        self.epoch_start = 0
        self.partition: PartitionRegistration | None = None
        self.followers: dict[int, Follower] = {}
        self.pending: Pending | None = None
        self.waiting: deque[Waiting] = deque()

    @property
    def end(self) -> int:
        return len(self.log)

    @property
    def last_epoch(self) -> int:
        return self.log[-1].epoch if self.log else -1

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The last epoch here that is not above `epoch`, and where it ends."""
        end = self.end
        while end and self.log[end - 1].epoch > epoch:
            end -= 1
        return (self.log[end - 1].epoch if end else -1), end

    def truncate(self, end: int) -> None:
        del self.log[end:]
        self.flushed = min(self.flushed, end)
        self.high_watermark = min(self.high_watermark, end)

    # As the metadata says

    def apply(self, id: int, partition: PartitionRegistration, now_ms: int) -> None:
        """Take what the controllers say of the partition, unless something later is known."""
        known = self.partition
        if known is not None and partition.partition_epoch < known.partition_epoch:
            return
        if known is None or partition.partition_epoch > known.partition_epoch:
            # Whatever was asked for has been decided, or never will be.
            self.pending = None
        self.partition = partition
        if partition.leader_epoch <= self.epoch:
            self._meet(id, partition, now_ms)
            return
        self.epoch, self.leader = partition.leader_epoch, partition.leader
        self.pending = None
        self.give_up()
        self.is_leader = partition.leader == id
        self.followers = {}
        self.epoch_start = self.end
        self._meet(id, partition, now_ms)

    def _meet(self, id: int, partition: PartitionRegistration, now_ms: int) -> None:
        """A leader expects all replicas to fetch."""
        if self.is_leader:
            self.followers = {other: self.followers.get(other) or Follower(now_ms) for other in partition.replicas if other != id}

    def give_up(self) -> None:
        """Nobody who waits is told anything for certain any more."""
        while self.waiting:
            self.waiting.popleft().answer(None)

    # As a leader

    @property
    def isr(self) -> tuple[int, ...]:
        """What the controllers are known to have."""
        assert self.partition is not None
        return self.partition.isr

    def counted(self, id: int) -> set[int]:
        """Whose copies a record needs before it counts: everybody who is in sync, or may be by what was asked for."""
        members = set(self.isr)
        if self.pending is not None:
            members.update(member for member, _ in self.pending.members)
        members.discard(id)
        return members

    def advance(self, id: int, min_isr: int) -> bool:
        """Move the high watermark as far as all who count have come; whether it moved."""
        if len(self.isr) < min_isr:
            return False
        mark = self.end
        for other in self.counted(id):
            follower = self.followers.get(other)
            mark = min(mark, follower.end if follower is not None else -1)
        if mark <= self.high_watermark:
            return False
        self.high_watermark = mark
        return True

    def answer_waiting(self, min_isr: int) -> None:
        while self.waiting and self.waiting[0].offset < self.high_watermark:
            self.waiting.popleft().answer(len(self.isr) >= min_isr)

    def wanted_isr(self, id: int, now_ms: int, lag_ms: int, may_join: Callable[[int, int], bool]) -> tuple[int, ...] | None:
        """The ISR that a leader would rather have, None if it is content. `may_join` knows of fenced brokers and of former lives."""
        members = self.isr
        late = [
            other
            for other in members
            if other != id and (follower := self.followers.get(other)) is not None and now_ms - follower.caught_up_ms > lag_ms
        ]
        if late:
            return tuple(member for member in members if member not in late)
        for other, follower in self.followers.items():
            if (
                other not in members
                and follower.end >= max(self.high_watermark, self.epoch_start)
                and may_join(other, follower.broker_epoch)
            ):
                return (*members, other)
        return None


class Fetched(NamedTuple):
    """What a leader answers a follower, or a consumer, about one partition."""

    error: str = ""
    records: tuple[Record, ...] = ()
    high_watermark: int = 0
    diverging: tuple[int, int] | None = None
    start: int = 0
    epoch: int = -1


def applied(replica: Replica, got: Fetched) -> bool:
    """What a follower makes of an answer; whether it changed anything."""
    if got.diverging is not None:
        epoch, end = got.diverging
        _, own_end = replica.end_of_epoch(epoch)
        replica.truncate(min(end, own_end, replica.end))
        return True
    if got.start != replica.end:
        return False
    replica.log.extend(got.records)
    replica.high_watermark = max(replica.high_watermark, min(got.high_watermark, replica.end))
    return bool(got.records)


def kept_by_power_loss(replica: Replica, chance: Any) -> int:
    """How much of the log is there after the power was gone: all that was flushed, and perhaps more."""
    return int(chance.randrange(replica.flushed, replica.end + 1))
