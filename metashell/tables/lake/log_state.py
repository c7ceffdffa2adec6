"""The part of each log that a lake has: offsets, leader epochs, and the batches that identify the log.

Each append notes what it took of which logs (`lake.appends`); the state is the sum of these notes. Two copies of a log that differ at an
offset have different epochs there, so a log that was cut and written anew shows at its first new batch."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from metashell.disk.names import parse_name


class Coverage:
    """A set of offsets as intervals; each has its first offset, and the one after its last."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, intervals: Iterable[tuple[int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in intervals:
            self.add(start, end)

    def add(self, start: int, end: int) -> None:
        """Add the offsets from `start` up to, not with, `end`. Neighbours become one interval."""
        if start >= end:
            return
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def remove_from(self, start: int) -> None:
        """Forget every offset from `start` on."""
        kept = [(first, min(last, start)) for first, last in self if first < start]
        self._starts, self._ends = [first for first, _ in kept], [last for _, last in kept]

    def has(self, start: int, end: int) -> bool:
        """Return whether all offsets from `start` up to `end` are in it; no offsets always are."""
        at = bisect_right(self._starts, start) - 1
        return start >= end or (at >= 0 and end <= self._ends[at])

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the ranges of offsets from `start` up to `end` that are not in it; each ends before its second number."""
        found = []
        at = bisect_right(self._ends, start)
        while start < end:
            if at == len(self._starts) or self._starts[at] >= end:
                found.append((start, end))
                break
            if start < self._starts[at]:
                found.append((start, self._starts[at]))
            start = self._ends[at]
            at += 1
        return found

    @property
    def start(self) -> int:
        """The first offset; 0 where there is none."""
        return self._starts[0] if self._starts else 0

    @property
    def end(self) -> int:
        """The offset after the last one; 0 where there is none."""
        return self._ends[-1] if self._ends else 0

    def copy(self) -> Coverage:
        return Coverage(self)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self._starts, self._ends, strict=True))

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coverage) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"Coverage({list(self)})"


# ---- leader epochs

_RUNS_MAX: Final = 1024


class Epochs:
    """Runs of offsets with one epoch each, in order. What is between two of them is not known; of many the oldest are forgotten."""

    __slots__ = ("_runs", "_starts")

    def __init__(self, runs: Iterable[tuple[int, int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._runs: list[tuple[int, int, int]] = []
        for start, end, epoch in runs:
            self.add(start, end, epoch)

    def add(self, start: int, end: int, epoch: int) -> None:
        """Note that the offsets from `start` up to, not with, `end` have an epoch; of some that are known already nothing changes.

        -1 is no epoch. A neighbour of the same epoch becomes one run with it, also over offsets between them: epochs grow along a log.
        What does not fit that, of a log that is damaged, is not noted.
        """
        at = bisect_right(self._starts, start) - 1
        is_odd = (at >= 0 and self._runs[at][2] > epoch) or (at + 1 < len(self._runs) and self._runs[at + 1][2] < epoch)
        if start >= end or epoch < 0 or is_odd:
            return
        if at >= 0:
            known = self._runs[at]
            if known[2] == epoch:
                if end <= known[1]:
                    return
                start = known[0]
                self._drop(at)
                at -= 1
            elif known[1] > start:
                return self.add(known[1], end, epoch)
        at += 1
        while at < len(self._runs) and (self._runs[at][0] < end or self._runs[at][2] == epoch):
            following = self._runs[at]
            if following[2] != epoch:
                end = following[0]
                break
            end = max(end, following[1])
            self._drop(at)
        if start < end:
            self._starts.insert(at, start)
            self._runs.insert(at, (start, end, epoch))
        if len(self._runs) > _RUNS_MAX:
            del self._runs[:-_RUNS_MAX], self._starts[:-_RUNS_MAX]

    def _drop(self, at: int) -> None:
        del self._starts[at], self._runs[at]

    def at(self, offset: int) -> int | None:
        """Return the epoch of an offset, None where it is not known."""
        found = bisect_right(self._starts, offset) - 1
        return self._runs[found][2] if found >= 0 and offset < self._runs[found][1] else None

    def newest_before(self, offset: int) -> int:
        """Return the newest epoch that is known of offsets before one, -1 where none is."""
        at = bisect_left(self._starts, offset)
        return self._runs[at - 1][2] if at else -1

    def remove_from(self, offset: int) -> None:
        """Forget all offsets from one on."""
        kept = [(start, min(end, offset), epoch) for start, end, epoch in self._runs if start < offset]
        self._runs, self._starts = kept, [start for start, _, _ in kept]

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return iter(self._runs)

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Epochs) and self._runs == other._runs

    def __repr__(self) -> str:
        return f"Epochs({self._runs})"


# ---- logs

Json = dict[str, Any]
_ANCHORS_MAX = 256


class LogKey(NamedTuple):
    """A log: its cluster, its node and its name; a loose file has neither, and a name that holds what it begins with."""

    cluster: str
    node: str
    log: str

    def __str__(self) -> str:
        return f"{self.log} of node {self.node} of {self.cluster}" if self.node else self.log.partition("@")[0]


class Anchor(NamedTuple):
    """A batch that was read, by what tells it from any other at its offsets."""

    base: int
    last: int
    epoch: int
    crc: int


class FileMark(NamedTuple):
    """The progress in a file: its size when it was read, the start and end of its last whole batch, and its first and last batches."""

    size: int
    position: int
    end: int
    first: Anchor
    last: Anchor


@dataclass(slots=True)
class LogState:
    """The covered part of one log: offsets of its segments, offsets that its checkpoints stand for, and the batches that identify it.

    `directory` is the id of its disk's directory, or of its topic; `passed_over` are faults of checkpoints that were not used, which are
    reported once.
    """

    offsets: Coverage = field(default_factory=Coverage)
    stood_for: Coverage = field(default_factory=Coverage)
    checkpoints: list[str] = field(default_factory=list)
    files: dict[str, FileMark] = field(default_factory=dict)
    anchors: dict[int, Anchor] = field(default_factory=dict)
    epochs: Epochs = field(default_factory=Epochs)
    directory: str = ""
    passed_over: list[str] = field(default_factory=list)

    def add(self, other: LogState) -> None:
        """Add what another one covers of the same log."""
        for start, end in other.offsets:
            self.offsets.add(start, end)
        for start, end in other.stood_for:
            self.stood_for.add(start, end)
        self.checkpoints += [name for name in other.checkpoints if name not in self.checkpoints]
        self.passed_over += [fault for fault in other.passed_over if fault not in self.passed_over]
        self.files.update(other.files)
        self.directory = other.directory or self.directory
        self.anchors.update(other.anchors)
        for run in other.epochs:
            self.epochs.add(*run)
        # Every second one of the old anchors goes: those that are left still show where a log differs, less exactly.
        if len(self.anchors) > _ANCHORS_MAX:
            lasts = sorted(self.anchors)
            for last in lasts[1 : _ANCHORS_MAX // 2 : 2]:
                del self.anchors[last]

    def remove_from(self, offset: int) -> None:
        """Forget the log from an offset on, and the checkpoints that stand for more than what is before it."""
        self.offsets.remove_from(offset)
        self.stood_for.remove_from(offset)
        self.epochs.remove_from(offset)
        self.anchors = {last: anchor for last, anchor in self.anchors.items() if last < offset}
        self.files = {name: mark for name, mark in self.files.items() if mark.last.last < offset}
        self.checkpoints = [name for name in self.checkpoints if checkpoint_end(name) <= offset and offset > 0]
        self.directory = self.directory if offset else ""

    def copy(self) -> LogState:
        made = LogState()
        made.add(self)
        return made

    def to_json(self) -> Json:
        found: Json = {
            "offsets": list(map(list, self.offsets)),
            "anchors": [list(anchor) for _, anchor in sorted(self.anchors.items())],
            "epochs": list(map(list, self.epochs)),
            "files": {name: [*mark[:3], list(mark.first), list(mark.last)] for name, mark in sorted(self.files.items())},
            "stood_for": list(map(list, self.stood_for)),
            "checkpoints": self.checkpoints,
            "directory": self.directory,
            "passed_over": self.passed_over,
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def of_json(cls, found: Json) -> LogState:
        return cls(
            offsets=Coverage(found.get("offsets", ())),
            stood_for=Coverage(found.get("stood_for", ())),
            checkpoints=list(found.get("checkpoints", ())),
            files={
                name: FileMark(size, position, end, Anchor(*first), Anchor(*last))
                for name, (size, position, end, first, last) in found.get("files", {}).items()
            },
            anchors={anchor[1]: Anchor(*anchor) for anchor in found.get("anchors", ())},
            epochs=Epochs((start, end, epoch) for start, end, epoch in found.get("epochs", ())),
            directory=found.get("directory", ""),
            passed_over=list(found.get("passed_over", ())),
        )


Logs = dict[LogKey, LogState]


def checkpoint_end(name: str) -> int:
    """Return the offset up to which a checkpoint stands for its log, by its name; 0 for one that has none in it."""
    parsed = parse_name(name)
    return parsed.snapshot_id.offset if parsed is not None and parsed.snapshot_id is not None else 0


def logs_to_json(logs: Logs) -> list[Json]:
    return [{**key._asdict(), **log.to_json()} for key, log in sorted(logs.items())]


def logs_of_json(found: list[Json]) -> Logs:
    return {LogKey(log["cluster"], log["node"], log["log"]): LogState.of_json(log) for log in found}
