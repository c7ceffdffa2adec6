"""The states of a replica: what each one knows. They hold data; `transitions` makes them, `polling` moves them on.

Every one has `epoch`, `leader_id` (-1: not known), `endpoints` (the leader's, empty where not known) and `voted`.
Times are absolute ms of the caller's monotonic clock. Source: org.apache.kafka.raft.EpochState and its classes; kraft.md 4.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from metashell.raft.messages import NO_LEADER, Endpoints
from metashell.raft.protocols import PartialSnapshot
from metashell.raft.snapshot_check import SnapshotCheck
from metashell.raft.voter_set import VoterSet
from metashell.values import OffsetAndEpoch, ReplicaKey

NO_ENDPOINTS: Final[Endpoints] = {}


class Tally:
    """The answers of one round of votes among the voters as they were when it began."""

    __slots__ = ("answers", "count", "granted", "majority", "voters")

    def __init__(self, voters: VoterSet, local_id: int) -> None:
        self.voters = voters
        self.count = len(voters)
        self.majority = voters.majority_size
        self.answers: dict[int, bool] = {local_id: True} if local_id in voters else {}
        self.granted = len(self.answers)

    def record(self, voter_id: int, granted: bool) -> None:
        self.answers[voter_id] = granted
        self.granted = sum(self.answers.values())

    def is_won(self) -> bool:
        return self.granted >= self.majority

    def is_lost(self) -> bool:
        """Whether a majority is out of reach."""
        return self.granted + self.count - len(self.answers) < self.majority

    def unrecorded(self) -> list[int]:
        return [id for id in self.voters.ids if id not in self.answers]


class Unattached:
    """Knows the epoch, perhaps its leader's id, and for whom it voted; stands when `election_deadline_ms` comes."""

    __slots__ = ("election_deadline_ms", "endpoints", "epoch", "leader_id", "voted")
    name: Final = "unattached"

    def __init__(self, epoch: int, leader_id: int, voted: ReplicaKey | None, election_deadline_ms: int) -> None:
        self.epoch = epoch
        self.leader_id = leader_id
        self.endpoints = NO_ENDPOINTS
        self.voted = voted
        self.election_deadline_ms = election_deadline_ms


class Prospective:
    """Asks whether it would be elected, in the epoch as it is."""

    __slots__ = ("election_deadline_ms", "endpoints", "epoch", "leader_id", "since_ms", "tally", "voted")
    name: Final = "prospective"

    def __init__(
        self,
        epoch: int,
        leader_id: int,
        endpoints: Endpoints,
        voted: ReplicaKey | None,
        tally: Tally,
        election_deadline_ms: int,
        since_ms: int,
    ) -> None:
        self.epoch = epoch
        self.leader_id = leader_id
        self.endpoints = endpoints
        self.voted = voted
        self.tally = tally
        self.election_deadline_ms = election_deadline_ms
        self.since_ms = since_ms


class Candidate:
    """Voted for itself and asks for votes."""

    __slots__ = ("election_deadline_ms", "endpoints", "epoch", "leader_id", "since_ms", "tally", "voted")
    name: Final = "candidate"

    def __init__(self, epoch: int, voted: ReplicaKey, tally: Tally, election_deadline_ms: int, since_ms: int) -> None:
        self.epoch = epoch
        self.leader_id = NO_LEADER
        self.endpoints = NO_ENDPOINTS
        self.voted: ReplicaKey | None = voted
        self.tally = tally
        self.election_deadline_ms = election_deadline_ms
        self.since_ms = since_ms


class Download:
    """A snapshot that is fetched, checked page by page; `is_complete` while it is made durable."""

    __slots__ = ("check", "id", "is_complete", "part")

    def __init__(self, id: OffsetAndEpoch, part: PartialSnapshot) -> None:
        self.id = id
        self.part = part
        self.check = SnapshotCheck()
        self.is_complete = False


class Follower:
    """Fetches from a leader whose endpoints it knows."""

    __slots__ = (
        "download",
        "endpoints",
        "epoch",
        "fetch_deadline_ms",
        "has_fetched",
        "has_updated_leader",
        "leader_id",
        "update_deadline_ms",
        "voted",
    )
    name: Final = "follower"

    def __init__(
        self,
        epoch: int,
        leader_id: int,
        endpoints: Endpoints,
        voted: ReplicaKey | None,
        fetch_deadline_ms: int,
        update_deadline_ms: int,
    ) -> None:
        self.epoch = epoch
        self.leader_id = leader_id
        self.endpoints = endpoints
        self.voted = voted
        self.fetch_deadline_ms = fetch_deadline_ms
        self.update_deadline_ms = update_deadline_ms
        self.has_fetched = False
        self.has_updated_leader = False
        self.download: Download | None = None


class Progress:
    """How far one replica has fetched, as the leader knows it; -1 for what is not known.

    `leader_end` is the leader's log end at the replica's fetch before.
    """

    __slots__ = ("end_offset", "key", "last_caught_up_ms", "last_fetch_ms", "leader_end")

    def __init__(self, key: ReplicaKey) -> None:
        self.key = key
        self.end_offset = -1
        self.last_fetch_ms = -1
        self.last_caught_up_ms = -1
        self.leader_end = -1


class Leader:
    """Leads `epoch` from `epoch_start` on.

    `voters` are all of the latest set by id, self included where it is one; `observers` by (id, directory id).
    `change` is the voter change in progress, `volatile_voters` the voters as they described themselves at kraft.version 0:
    both are `reconfiguration`'s.
    """

    __slots__ = (
        "accumulator",
        "begin_deadline_ms",
        "change",
        "check_deadline_ms",
        "endpoints",
        "epoch",
        "epoch_start",
        "fetched",
        "granting",
        "leader_id",
        "observers",
        "resign_requested",
        "since_step",
        "volatile_voters",
        "voted",
        "voters",
        "waiting",
    )
    name: Final = "leader"

    def __init__(
        self,
        epoch: int,
        local_id: int,
        endpoints: Endpoints,
        epoch_start: int,
        granting: tuple[int, ...],
        accumulator: Any,
        since_step: int,
    ) -> None:
        self.epoch = epoch
        self.leader_id = local_id
        self.endpoints = endpoints
        self.voted: ReplicaKey | None = None
        self.epoch_start = epoch_start
        self.granting = granting
        self.accumulator = accumulator
        self.since_step = since_step
        self.voters: dict[int, Progress] = {}
        self.observers: dict[tuple[int, bytes], Progress] = {}
        self.fetched: set[int] = set()
        self.check_deadline_ms = 0
        self.begin_deadline_ms = 0
        self.resign_requested = False
        self.change: Any = None
        self.volatile_voters: VoterSet | None = None
        self.waiting: list[tuple[int, int, int]] = []


class Resigned:
    """Led its epoch and gave it up, or was restarted after it led; tells the voters."""

    __slots__ = ("acknowledged", "election_deadline_ms", "endpoints", "epoch", "leader_id", "successors", "voted")
    name: Final = "resigned"

    def __init__(
        self, epoch: int, local_id: int, endpoints: Endpoints, successors: tuple[ReplicaKey, ...], election_deadline_ms: int
    ) -> None:
        self.epoch = epoch
        self.leader_id = local_id
        self.endpoints = endpoints
        self.voted: ReplicaKey | None = None
        self.successors = successors
        self.acknowledged: set[int] = {local_id}
        self.election_deadline_ms = election_deadline_ms


Role: TypeAlias = Unattached | Prospective | Candidate | Leader | Follower | Resigned
