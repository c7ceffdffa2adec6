"""The quorum of a rehearsal: the real controller, its log, the living voters, and the virtual clock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Any, Final

from metashell.codec.error_codes import UNSUPPORTED_VERSION, VOTER_NOT_FOUND
from metashell.metadata.image import MetadataImage, VoterSet
from metashell.quorum.controller import Decision, QuorumController, Request, Settings
from metashell.quorum.controller.elections import PartitionChanges
from metashell.rehearse.outcome import Batch, QuorumGap, Refusal
from metashell.rehearse.steps import Assumptions

CLUSTER_ID: Final = "rehearsal"
NO_IDLE_RECORDS: Final = "metadata.max.idle.interval.ms"
"""An idle controller writes a NoOpRecord twice a second; a rehearsal leaves them out."""
NOBODY: Final = -1
_SWEEP: Final = "maybeFenceStaleBroker"
_QUIET_MS: Final = 3_600_000


class Quorum:
    """The active controller and the voters behind it.

    Shape: `voters` is empty if they are unknown; `active` is NOBODY while there is no active controller. Records are committed as soon as
    they are written. `on_written` is called after the controller has replayed a batch.
    """

    def __init__(self, image: MetadataImage, assumptions: Assumptions, clock: Clock, on_written: Callable[[Batch], None]) -> None:
        self.voters = frozenset(known_voters(image) or assumptions.voters)
        self.gaps: list[QuorumGap] = []
        self.last_write_ms = clock.now_ms
        self.idle_ms: dict[str, int] = {}
        self._clock = clock
        self._on_written = on_written
        self._failover_ms = assumptions.quorum_failover_ms
        self._commit_ms = assumptions.commit_ms
        self._dead = set(dead_voters(image, self.voters))
        self._election = 0
        self._waiting: list[Action] = []
        self._gap_from_ms: int | None = None
        self._gap_why = ""
        self._epoch = max(image.provenance.epoch, 0 if image.leader is None else image.leader.epoch)
        self._times: list[int] = [clock.now_ms]
        self._offset = max(image.provenance.offset, image.provenance.end_offset - 1, 0)
        self._offsets: list[int] = [self._offset]
        self.active = self._first_leader(image)
        settings = dict(assumptions.settings)
        settings["broker.session.timeout.ms"] = str(assumptions.session_timeout_ms)
        settings["broker.heartbeat.interval.ms"] = str(assumptions.heartbeat_interval_ms)
        settings[NO_IDLE_RECORDS] = "0"
        self.settings = Settings(settings, CLUSTER_ID, self.active)
        self.controller = QuorumController(self.settings, Random(assumptions.seed), keeps_objects=True)
        self.controller.load(image, self._offset)
        self._claim()
        if not self._has_majority():
            self._begin_gap(f"at the beginning: {self._majority_text()}")

    def _first_leader(self, image: MetadataImage) -> int:
        if image.leader is not None and (image.leader.id in self.living or not self.voters):
            return image.leader.id
        return min(self.living, default=0)

    @property
    def image(self) -> MetadataImage:
        return self.controller.state.image

    @property
    def last_offset(self) -> int:
        return self._offset

    @property
    def is_active(self) -> bool:
        return self._gap_from_ms is None

    @property
    def living(self) -> frozenset[int]:
        return self.voters - self._dead

    def offset_at(self, at_ms: int) -> int:
        """The last offset that a broker had read at a time."""
        return self._offsets[max(0, bisect_right(self._times, at_ms - self._commit_ms) - 1)]

    def send_request(self, api_key: int, version: int, body: Any, why: str) -> Any:
        """Send a request to the active controller, write its records, and return the response."""
        assert self.is_active, "nobody asks while nobody answers"
        now_ms = self._clock.now_ms
        decision = self.controller.decide(Request(api_key, version, body, received_ms=now_ms), now_ms)
        self._write(decision, why)
        return decision.answer

    def next_due_ms(self) -> int | None:
        """The time of the controller's next periodic task; None without an active controller."""
        return self.controller.next_due_ms() if self.is_active else None

    def changes(self) -> PartitionChanges:
        """The lookup of partitions by their brokers, as of now."""
        return PartitionChanges(self.controller.state)

    def run_due(self, before_sweep: Callable[[], bool]) -> None:
        """Run the next periodic task.

        Before the controller checks sessions, `before_sweep` notes the heartbeats of living brokers and returns whether a session can
        expire. If none can, these checks are left out until `resume_sweeps`.
        """
        name = self.controller.next_due_task() or ""
        if name == _SWEEP and not before_sweep():
            self.controller.shift_task(_SWEEP, self._clock.now_ms + _QUIET_MS)
            return
        decision = self.controller.run_due(self._clock.now_ms)
        if decision is not None:
            self._write(decision, name)
        if decision is None or not decision.records:
            self.idle_ms[name] = self._clock.now_ms

    def resume_sweeps(self) -> None:
        """Check sessions again: a broker is silent."""
        self.controller.shift_task(_SWEEP, self._clock.now_ms)

    def _write(self, decision: Decision, why: str) -> None:
        now_ms = self._clock.now_ms
        controller = self.controller
        for records in decision.batches():
            base_offset = self._offset + 1
            controller.replay(records, base_offset)
            self._offset += len(records)
            controller.commit(self._offset)
            self._times.append(now_ms)
            self._offsets.append(self._offset)
            self.last_write_ms = now_ms
            self._on_written(Batch(base_offset, max(0, now_ms), why, records))
        controller.written(decision)
        if decision.kraft_version is not None:
            controller.state.set_quorum(self.image.voters, decision.kraft_version)

    def kill(self, controller: int, why: str) -> None:
        """Kill a voter. If it was the active one, or no majority is left, there is no active controller for a time."""
        if controller not in self.living:
            return
        self._dead.add(controller)
        if not self._has_majority():
            # An election under way has too few votes now.
            self._election += 1
            self._begin_gap(f"{why}: {self._majority_text()}")
        elif controller == self.active:
            self._begin_gap(f"{why}: the quorum elects another leader")
            self._elect()

    def _majority_text(self) -> str:
        return f"{len(self.living)} of {len(self.voters)} controllers are left, which is no majority"

    def remove_voter(self, controller: int) -> list[Refusal]:
        """Remove a voter, as RemoveRaftVoter does; return the leader's refusal, if any.

        The new voter set is in force at once, before it is committed: the leader needs a majority of the new set to commit it. For example,
        of voters 1, 2, 3 with 2 dead, two of three are a majority. After 3 is removed, leader 1 needs both 1 and 2, and nothing is
        committed until 2 is back. A leader that removes itself resigns.
        """
        known, kraft_version = self.image.voters, self.image.features.kraft_version
        thing = f"controller {controller}"
        if known is None or kraft_version < 1:
            return [Refusal(thing, UNSUPPORTED_VERSION, "Cluster doesn't support removing voter because the kraft.version feature is 0")]
        left = tuple(voter for voter in known.voters if voter.id != controller)
        if not left or len(left) == len(known.voters):
            names = ", ".join(str(voter.id) for voter in known.voters)
            return [Refusal(thing, VOTER_NOT_FOUND, f"Cannot remove voter {controller} from the set of voters {names}")]
        self._offset += 1
        self.voters = frozenset(voter.id for voter in left)
        self.controller.state.set_quorum(VoterSet(self._offset, left), kraft_version)
        if not self._has_majority():
            self._begin_gap(f"controller {controller} was removed: {self._majority_text()}")
        elif controller == self.active:
            self._begin_gap(f"controller {controller} removed itself: the quorum elects another leader")
            self._elect()
        return []

    def revive(self, controller: int) -> None:
        """Bring a voter back; with a majority there is soon an active controller again."""
        if controller in self._dead:
            had_majority = self._has_majority()
            self._dead.discard(controller)
            if not had_majority and self._has_majority():
                self._elect()

    def _elect(self) -> None:
        self._election += 1
        self._clock.after(self._failover_ms, partial(self._fail_over, self._election))

    def when_active(self, action: Action) -> None:
        """Run an action when a controller is active, at once if one is."""
        if self.is_active:
            action()
        else:
            self._waiting.append(action)

    def close(self) -> None:
        """End the rehearsal: a gap that is still open has no end."""
        if self._gap_from_ms is not None:
            self.gaps.append(QuorumGap(self._gap_from_ms, None, self._gap_why))

    @property
    def is_idle(self) -> bool:
        """Return whether the tasks that elect leaders have found nothing to do since the last record."""
        if not self.is_active:
            return self.is_lost
        tasks = ["electUnclean"] + (["electPreferred"] if self.settings.value("auto.leader.rebalance.enable") else [])
        return all(name in self.idle_ms and self.idle_ms[name] > self.last_write_ms for name in tasks)

    @property
    def is_lost(self) -> bool:
        """Return whether no controller will be active until a voter comes back."""
        return not self.is_active and not self._has_majority()

    def _has_majority(self) -> bool:
        return not self.voters or 2 * len(self.living) > len(self.voters)

    def _begin_gap(self, why: str) -> None:
        if self._gap_from_ms is None:
            self._gap_from_ms = max(0, self._clock.now_ms)
            self.controller.renounce()
            self.active = NOBODY
        self._gap_why = why

    def _fail_over(self, election: int) -> None:
        if election != self._election or self.is_active or not self._has_majority():
            return
        assert self._gap_from_ms is not None, "nobody leads"
        self.gaps.append(QuorumGap(self._gap_from_ms, self._clock.now_ms, self._gap_why))
        self._gap_from_ms = None
        self.active = min(self.living, default=NOBODY)
        self.settings.node_id = self.active
        self._claim()
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            # A waiting action may end this leader too.
            self.when_active(action)

    def _claim(self) -> None:
        self._epoch += 1
        self._write(self.controller.claim(self._epoch, self._offset + 1, self._clock.now_ms), "a new leader of the quorum")
        self.idle_ms.clear()


def known_voters(image: MetadataImage) -> tuple[int, ...]:
    """The controllers that an image names: its voters, else the voters of the newest election, else the registered controllers."""
    if image.voters is not None:
        return tuple(voter.id for voter in image.voters.voters)
    if image.leader is not None and image.leader.voter_ids:
        return image.leader.voter_ids
    return tuple(sorted(image.cluster.controllers))


def dead_voters(image: MetadataImage, voters: Iterable[int]) -> frozenset[int]:
    """The controllers that count as dead: those on nodes whose broker is fenced, since that broker counts as dead."""
    brokers = image.cluster.brokers
    return frozenset(id for id in voters if id in brokers and brokers[id].fenced)


Action = Callable[[], None]


class Clock:
    """A heap of actions by time. Actions at the same time run in the order in which they were added.

    Shape: `busy` counts the pending actions that are no deadlines. A deadline matters only if another event does not happen before it, so
    a rehearsal that waits only for deadlines is at rest.
    """

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.busy = 0
        self._heap: list[tuple[int, int, bool, Action]] = []
        self._count = 0

    def at(self, at_ms: int, action: Action, *, is_deadline: bool = False) -> None:
        """Schedule an action; if its time is past, it runs next."""
        self._count += 1
        self.busy += not is_deadline
        heappush(self._heap, (max(at_ms, self.now_ms), self._count, is_deadline, action))

    def after(self, delay_ms: int, action: Action, *, is_deadline: bool = False) -> None:
        self.at(self.now_ms + delay_ms, action, is_deadline=is_deadline)

    @property
    def next_ms(self) -> int | None:
        """The time of the next action, None without one."""
        return self._heap[0][0] if self._heap else None

    def run_next(self) -> None:
        """Advance to the next action and run it."""
        self.now_ms, _, is_deadline, action = heappop(self._heap)
        self.busy -= not is_deadline
        action()
