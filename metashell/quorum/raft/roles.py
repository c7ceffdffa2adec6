"""The states of a replica: what each one knows. They hold data; `transitions` makes them, `polling` moves them on.

Times are absolute ms of the caller's monotonic clock. Source: org.apache.kafka.raft.EpochState and its classes.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from metashell.common.values import NO_LEADER, OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.accumulator import BatchAccumulator
from metashell.quorum.raft.messages import Endpoints
from metashell.quorum.raft.partition_state import SnapshotCheck
from metashell.quorum.raft.replicated_log import PartialSnapshot
from metashell.quorum.raft.voters import VoterChange, VoterSet

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


class EpochState:
    """The fields of every state: the epoch, its leader (-1: unknown), the leader's endpoints (empty: unknown), and who got the vote."""

    __slots__ = ("endpoints", "epoch", "leader_id", "voted")

    def __init__(self, epoch: int, leader_id: int, endpoints: Endpoints, voted: ReplicaKey | None) -> None:
        self.epoch = epoch
        self.leader_id = leader_id
        self.endpoints = endpoints
        self.voted = voted


class Unattached(EpochState):
    """Knows the epoch, perhaps its leader's id, and for whom it voted; stands when `election_deadline_ms` comes."""

    __slots__ = ("election_deadline_ms",)
    name: Final = "unattached"

    def __init__(self, epoch: int, leader_id: int, voted: ReplicaKey | None, election_deadline_ms: int) -> None:
        super().__init__(epoch, leader_id, NO_ENDPOINTS, voted)
        self.election_deadline_ms = election_deadline_ms


class Prospective(EpochState):
    """Asks whether it would be elected, in the epoch as it is."""

    __slots__ = ("election_deadline_ms", "since_ms", "tally")
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
        super().__init__(epoch, leader_id, endpoints, voted)
        self.tally = tally
        self.election_deadline_ms = election_deadline_ms
        self.since_ms = since_ms


class Candidate(EpochState):
    """Voted for itself and asks for votes."""

    __slots__ = ("election_deadline_ms", "since_ms", "tally")
    name: Final = "candidate"

    def __init__(self, epoch: int, voted: ReplicaKey, tally: Tally, election_deadline_ms: int, since_ms: int) -> None:
        super().__init__(epoch, NO_LEADER, NO_ENDPOINTS, voted)
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


class Follower(EpochState):
    """Fetches from a leader whose endpoints it knows. `leader_high_watermark` is what that said last, -1 before.

    It stands when it has heard nothing for `fetch_timeout_ms`, which is drawn once for each leader that it follows. `has_all` is whether
    it once had all of the leader's log, on disk.
    """

    __slots__ = (
        "download",
        "fetch_deadline_ms",
        "fetch_timeout_ms",
        "has_all",
        "has_fetched",
        "has_updated_leader",
        "leader_high_watermark",
        "update_deadline_ms",
    )
    name: Final = "follower"

    def __init__(
        self,
        epoch: int,
        leader_id: int,
        endpoints: Endpoints,
        voted: ReplicaKey | None,
        now_ms: int,
        fetch_timeout_ms: int,
        update_deadline_ms: int,
    ) -> None:
        super().__init__(epoch, leader_id, endpoints, voted)
        self.fetch_timeout_ms = fetch_timeout_ms
        self.fetch_deadline_ms = now_ms + fetch_timeout_ms
        self.update_deadline_ms = update_deadline_ms
        self.has_all = False
        self.has_fetched = False
        self.has_updated_leader = False
        self.leader_high_watermark = -1
        self.download: Download | None = None


class Progress:
    """The progress of one replica's fetches, as the leader knows it; -1 for unknown.

    `leader_end` is the leader's log end at the replica's fetch before.
    """

    __slots__ = ("end_offset", "key", "last_caught_up_ms", "last_fetch_ms", "leader_end")

    def __init__(self, key: ReplicaKey) -> None:
        self.key = key
        self.end_offset = -1
        self.last_fetch_ms = -1
        self.last_caught_up_ms = -1
        self.leader_end = -1


class Leader(EpochState):
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
        "epoch_start",
        "fetched",
        "granting",
        "observers",
        "resign_requested",
        "since_step",
        "volatile_voters",
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
        accumulator: BatchAccumulator,
        since_step: int,
    ) -> None:
        super().__init__(epoch, local_id, endpoints, None)
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
        self.change: VoterChange | None = None
        self.volatile_voters: VoterSet | None = None
        self.waiting: list[tuple[int, int, int]] = []


class Resigned(EpochState):
    """Led its epoch and gave it up, or was restarted after it led; announces that to the voters."""

    __slots__ = ("acknowledged", "election_deadline_ms", "successors")
    name: Final = "resigned"

    def __init__(
        self, epoch: int, local_id: int, endpoints: Endpoints, successors: tuple[ReplicaKey, ...], election_deadline_ms: int
    ) -> None:
        super().__init__(epoch, local_id, endpoints, None)
        self.successors = successors
        self.acknowledged: set[int] = {local_id}
        self.election_deadline_ms = election_deadline_ms


Role: TypeAlias = Unattached | Prospective | Candidate | Leader | Follower | Resigned
