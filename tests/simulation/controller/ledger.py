"""What the committed log says of partitions, registrations and producer ids, record by record, and what must never be in it.

`misfit` says whether answers about one partition were right, with the log as the witness of the order in which its states followed each
other. They count up by partition epoch, and everybody who changes one names the epoch that it changes: so each answer says at which states
it was right, and the answers have an order if they can be laid on the states without going back in real time.

A metadata transaction that is aborted leaves nothing: its records are held back until it ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.codec.metadata_records import read_metadata_record
from metashell.metadata.image import PartitionRegistration
from metashell.metadata.image.partitions import fold_changes, partition_from_record
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.history import History

Key = tuple[bytes, int]
"""A partition by topic id and number."""
Fits = Callable[[PartitionRegistration | None], bool]

ONE_LEADER = "P1 OneLeaderAnEpoch"
SANE = "P2 PartitionsAreSane"


class Place(NamedTuple):
    """A state that a partition had, from an offset on; None once its topic is gone."""

    offset: int
    partition: PartitionRegistration | None


class Ledger:
    """`partitions` has every state of each partition in order, `names` each topic's name by id."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._end = 0
        self._transaction: list[tuple[int, Any]] | None = None
        self.partitions: dict[Key, list[Place]] = defaultdict(list)
        self.names: dict[bytes, str] = {}
        self.ids: dict[str, bytes] = {}
        self.leaders: dict[tuple[Key, int], int] = {}
        self.registrations: dict[int, list[int]] = defaultdict(list)
        self.stable_end = 0
        """Where the log ends that readers may see: before a transaction that is open."""

    def follow(self) -> None:
        """Take what was committed since. Errors: Violation for what must not be in a log."""
        for entry in self._history.since(self._end):
            if not entry.is_control:
                batch = RecordBatch(read_batch_header(entry.data), 0, entry.data, "committed")
                for record in batch.records():
                    assert record.value is not None
                    self._take(record.offset, read_metadata_record(record.value).body)
            self._end = entry.end
            if self._transaction is None:
                self.stable_end = entry.end

    def _take(self, offset: int, record: Any) -> None:
        match type(record).__name__:
            case "BeginTransactionRecord":
                if self._transaction is not None:
                    raise Violation(SANE, f"a transaction begins inside another at {offset}")
                self._transaction = []
            case "EndTransactionRecord":
                held, self._transaction = self._ended(offset), None
                for at, kept in held:
                    self._apply(at, kept)
            case "AbortTransactionRecord":
                self._ended(offset)
                self._transaction = None
            case _ if self._transaction is not None:
                self._transaction.append((offset, record))
            case _:
                self._apply(offset, record)

    def _ended(self, offset: int) -> list[tuple[int, Any]]:
        if self._transaction is None:
            raise Violation(SANE, f"a transaction ends at {offset} that never began")
        return self._transaction

    def _apply(self, offset: int, record: Any) -> None:
        match type(record).__name__:
            case "TopicRecord":
                if record.name in self.ids:
                    raise Violation(SANE, f"topic {record.name} is created at {offset} and exists")
                self.names[record.topic_id] = record.name
                self.ids[record.name] = record.topic_id
            case "RemoveTopicRecord":
                name = self.names[record.topic_id]
                if self.ids.pop(name, None) != record.topic_id:
                    raise Violation(SANE, f"topic {name} is removed at {offset} and does not exist")
                for key, places in self.partitions.items():
                    if key[0] == record.topic_id:
                        places.append(Place(offset, None))
            case "PartitionRecord":
                self._partition(offset, (record.topic_id, record.partition_id), partition_from_record(record))
            case "PartitionChangeRecord":
                key = record.topic_id, record.partition_id
                before = self.partitions[key][-1].partition if self.partitions[key] else None
                if before is None:
                    raise Violation(SANE, f"a partition changes at {offset} that does not exist")
                self._partition(offset, key, fold_changes(before, (record,)), before)
            case "ClearElrRecord":
                for key, places in self.partitions.items():
                    last = places[-1].partition
                    if last is not None and record.topic_name in ("", self.names[key[0]]):
                        places.append(Place(offset, last._replace(elr=(), last_known_elr=())))
            case "RegisterBrokerRecord":
                epochs = self.registrations[record.broker_id]
                if epochs and record.broker_epoch < epochs[-1]:
                    raise Violation(SANE, f"broker {record.broker_id} goes back to epoch {record.broker_epoch} at {offset}")
                epochs.append(record.broker_epoch)

    def _partition(self, offset: int, key: Key, after: PartitionRegistration, before: PartitionRegistration | None = None) -> None:
        self.partitions[key].append(Place(offset, after))
        what = f"{self.names.get(key[0])}-{key[1]} at {offset}: {after}"
        if before is not None and (after.leader_epoch < before.leader_epoch or after.partition_epoch != before.partition_epoch + 1):
            raise Violation(SANE, f"epochs do not go on from {before}: {what}")
        if before is not None and before.leader != after.leader and before.leader_epoch == after.leader_epoch and after.leader >= 0:
            raise Violation(ONE_LEADER, f"another leader in the epoch of {before}: {what}")
        if after.leader >= 0:
            if self.leaders.setdefault((key, after.leader_epoch), after.leader) != after.leader:
                raise Violation(ONE_LEADER, f"{self.leaders[key, after.leader_epoch]} led in that epoch: {what}")
            if after.leader not in after.isr:
                raise Violation(SANE, f"the leader is not in sync: {what}")
        if set(after.isr) & set(after.elr) or not set(after.isr) <= set(after.replicas):
            raise Violation(SANE, f"ISR, ELR and replicas do not fit: {what}")


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer: at which states it was right. Units: as `Operation`."""

    what: str
    called: int
    returned: int
    fits: Fits


def misfit(answers: Sequence[Seen], states: Sequence[Place]) -> Seen | None:
    """The first answer, by the time of its request, that fits no state that it may have seen; None where all have their place.

    A partition's first state is none, before it is created. Each answer is laid on the earliest state that it can have: that leaves the
    most to those that follow.
    """
    line: list[PartitionRegistration | None] = [None, *(place.partition for place in states)]
    placed: list[tuple[int, int]] = []
    for seen in sorted(answers, key=lambda seen: seen.called):
        earliest = max((at for returned, at in placed if returned < seen.called), default=0)
        at = next((at for at in range(earliest, len(line)) if seen.fits(line[at])), None)
        if at is None:
            return seen
        placed.append((seen.returned, at))
    return None
