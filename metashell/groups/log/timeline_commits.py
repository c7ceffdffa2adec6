"""The commits of a group in its timeline: how many count, what was set back or removed, and what transactions undid or hold back."""

from __future__ import annotations

from metashell.codec.consumer_protocol import Partition
from metashell.common.forms import counted
from metashell.common.values import duration_text
from metashell.groups.decision import Record
from metashell.groups.log.fold import ABORTED, COMMITTED, OPEN
from metashell.groups.log.timeline_events import Moment, Timeline, TimelineEvent, listed
from metashell.groups.view import parts_of, parts_text

_UNDONE = {ABORTED: "that a transaction aborted", OPEN: "in a transaction that is still open"}


def _places(commits: list[tuple[Partition, int]]) -> str:
    return listed([f"{topic}:{partition} to {offset}" for (topic, partition), offset in commits], 3)


class CommitTimelineBuilder:
    """Adds commits to a timeline. All commits between two other events are one event."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._newest: dict[Partition, tuple[int, Moment]] = {}
        self._count = 0
        self._undone: dict[str, list[tuple[Partition, int]]] = {ABORTED: [], OPEN: []}
        self._partitions: set[Partition] = set()
        self._first = self._last = Moment(-1, -1)
        self._event_count = 0

    def add(self, record: Record, moment: Moment, outcome: str) -> None:
        """Count a commit by the outcome of its transaction. One below its partition's newest is an event of its own if it counts."""
        if len(self._timeline.events) != self._event_count:
            self._flush()
        partition = (record.key.topic, record.key.partition)
        if outcome != COMMITTED:
            if not self._count and not any(self._undone.values()):
                self._first = self._last = moment
            self._undone[outcome].append((partition, record.value.offset))
            return
        if not self._count:
            self._first = moment
        self._count += 1
        self._last = moment
        self._partitions.add(partition)
        known = self._newest.get(partition)
        self._newest[partition] = (record.value.offset, moment)
        if known is not None and record.value.offset < known[0]:
            self._flush()
            text = f"{partition[0]}:{partition[1]} was set back from {known[0]} to {record.value.offset}"
            details = {"topic": partition[0], "partition": partition[1], "from": known[0], "to": record.value.offset}
            self._add_event(TimelineEvent(moment=moment, kind="set-back", text=text, details=details))

    def removed(self, partitions: list[Partition], moment: Moment) -> None:
        """Add that one batch deleted the offsets of these partitions."""
        self._flush()
        ages = [moment.ms - self._newest.pop(partition)[1].ms for partition in partitions if partition in self._newest]
        age = f", committed {duration_text(min(ages))} before" if ages else ""
        text = (
            f"offsets of {parts_text(parts_of(partitions))} were removed{age}: expired, deleted by somebody, or with their topic or group"
        )
        details = {"partitions": len(partitions), "age_ms": min(ages, default=None)}
        self._add_event(TimelineEvent(moment=moment, kind="offsets-removed", text=text, details=details))

    def end(self) -> None:
        """Add what is left at the end of the log."""
        self._flush()

    def _flush(self) -> None:
        undone = [
            f"{counted(len(found), 'commit')} {_UNDONE[outcome]}: {_places(found)}" for outcome, found in self._undone.items() if found
        ]
        if self._count or undone:
            within = f" within {duration_text(self._last.ms - self._first.ms)}" if self._count > 1 else ""
            which = f" of {parts_text(parts_of(self._partitions))}{within}"
            if undone and len(self._partitions) == 1:
                which += f", the newest to {self._newest[next(iter(self._partitions))][0]}"
            done = [f"{counted(self._count, 'commit')}{which}"] if self._count else []
            text = "; ".join([*done, *undone])
            details = {"commits": self._count, "last_offset": self._last.offset, "last_timestamp": self._last.ms}
            details |= {outcome: len(found) for outcome, found in self._undone.items()}
            # The commits precede the event that ends their run.
            self._timeline.events.insert(self._event_count, TimelineEvent(moment=self._first, kind="commits", text=text, details=details))
        self._count = 0
        self._undone = {ABORTED: [], OPEN: []}
        self._partitions = set()
        self._event_count = len(self._timeline.events)

    def _add_event(self, event: TimelineEvent) -> None:
        self._timeline.events.append(event)
        self._event_count = len(self._timeline.events)
