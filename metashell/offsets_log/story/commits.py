"""What a group's commits tell: that it works, that it was set back, and that offsets were removed."""

from __future__ import annotations

from metashell.amounts import duration_text
from metashell.codec.blobs.consumer_protocol import Partition
from metashell.forms import counted
from metashell.groups.record import Record
from metashell.groups.view import parts_of, parts_text
from metashell.offsets_log.story.events import Event, Moment, Story


class CommitTeller:
    """Takes commits in order. Those between two events of another kind are one event."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._newest: dict[Partition, tuple[int, Moment]] = {}
        self._count = 0
        self._partitions: set[Partition] = set()
        self._first = self._last = Moment(-1, -1)
        self._event_count = 0

    def tell(self, record: Record, moment: Moment, *, is_held_back: bool) -> None:
        """Count a commit. One below the newest of its partition is an event by itself; not one in a transaction, which may be aborted."""
        if len(self._story.events) != self._event_count:
            self._flush()
        partition = (record.key.topic, record.key.partition)
        if not self._count:
            self._first = moment
        self._count += 1
        self._last = moment
        self._partitions.add(partition)
        if is_held_back:
            return
        known = self._newest.get(partition)
        self._newest[partition] = (record.value.offset, moment)
        if known is not None and record.value.offset < known[0]:
            self._flush()
            text = f"{partition[0]}:{partition[1]} was set back from {known[0]} to {record.value.offset}"
            self._add(Event(moment=moment, kind="set-back", text=text))

    def removed(self, partitions: list[Partition], moment: Moment) -> None:
        """Offsets of these partitions were deleted in one batch."""
        self._flush()
        ages = [moment.ms - self._newest.pop(partition)[1].ms for partition in partitions if partition in self._newest]
        age = f", committed {duration_text(min(ages))} before" if ages else ""
        text = (
            f"offsets of {parts_text(parts_of(partitions))} were removed{age}: expired, deleted by somebody, or with their topic or group"
        )
        details = {"partitions": len(partitions), "age_ms": min(ages, default=None)}
        self._add(Event(moment=moment, kind="offsets-removed", text=text, details=details))

    def end(self) -> None:
        """The log is over."""
        self._flush()

    def _flush(self) -> None:
        if self._count:
            within = f" within {duration_text(self._last.ms - self._first.ms)}" if self._count > 1 else ""
            text = f"{counted(self._count, 'commit')} of {parts_text(parts_of(self._partitions))}{within}"
            details = {"commits": self._count, "last_offset": self._last.offset, "last_timestamp": self._last.ms}
            # They lie before the event that ends them.
            self._story.events.insert(self._event_count, Event(moment=self._first, kind="commits", text=text, details=details))
        self._count = 0
        self._partitions = set()
        self._event_count = len(self._story.events)

    def _add(self, event: Event) -> None:
        self._story.events.append(event)
        self._event_count = len(self._story.events)
