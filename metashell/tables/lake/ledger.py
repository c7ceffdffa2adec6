"""The commits of a lake, and the state that they add up to.

A commit is one JSON file: the offsets and leader epochs that it covers of which logs, the files it added and those it removed. The state
is the fold of all of them, written as a whole now and then, so that opening a lake stays quick. Names are relative to the lake. Two
copies of a log that differ at an offset have different epochs there, so a log that was cut and rewritten shows at its first new batch."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from metashell.disk.names import parse_name
from metashell.tables.stores.store import checked_name


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


# ---- commits and the state that they add up to

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


class Source(NamedTuple):
    """The source of some rows: their log, and the text of their column `file`. `checkpoint` is set where the file is a checkpoint."""

    log: LogKey
    path: str
    checkpoint: str = ""


class LakeFile(NamedTuple):
    """A file of rows: its name in the lake, its rows and bytes, and the numbers of its sources."""

    name: str
    rows: int
    size: int
    sources: tuple[int, ...] = ()

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def table(self) -> str:
        return self.name.partition("/")[0].partition("=")[2]


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


@dataclass(slots=True, kw_only=True)
class Commit:
    """The changes that one export or one compaction made to a lake.

    `id` tells it from another of that number, by a writer that slept while it lost its lock. `first_source` is how many sources the state
    has already. `cut` are logs of which everything from an offset on was removed; `is_reset` says that all that was there is gone.
    `format` is what `format.json` says from this commit on, in the first one and in one that is a reset.
    """

    number: int
    version: str
    at_ms: int
    kind: str = "append"
    id: str = ""
    on_error: str = "fail"
    logs: Logs = field(default_factory=dict)
    cut: dict[LogKey, int] = field(default_factory=dict)
    first_source: int = 0
    sources: tuple[Source, ...] = ()
    added: tuple[LakeFile, ...] = ()
    removed: tuple[str, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    schemas: dict[str, dict[str, str]] = field(default_factory=dict)
    is_reset: bool = False
    format: Json = field(default_factory=dict)

    def to_json(self) -> Json:
        return {
            "number": self.number,
            "version": self.version,
            "at_ms": self.at_ms,
            "kind": self.kind,
            "id": self.id,
            "on_error": self.on_error,
            "is_reset": self.is_reset,
            "rows": self.rows,
            "logs": logs_to_json(self.logs),
            "cut": [[*key, offset] for key, offset in sorted(self.cut.items())],
            "first_source": self.first_source,
            "sources": [[*source.log, source.path, source.checkpoint] for source in self.sources],
            "added": files_to_json(self.added),
            "removed": list(self.removed),
            "schemas": self.schemas,
            "format": self.format,
        }

    @classmethod
    def of_json(cls, found: Json) -> Commit:
        """Errors: ValueError, among others, for what was not written here: such as a name that leads out of the lake."""
        return cls(
            number=_number(found["number"]),
            version=found["version"],
            at_ms=found["at_ms"],
            kind=found["kind"],
            id=_id(found["id"]),
            on_error=found["on_error"],
            is_reset=found["is_reset"],
            rows=found["rows"],
            logs=logs_of_json(found["logs"]),
            cut={LogKey(*key): offset for *key, offset in found["cut"]},
            first_source=found["first_source"],
            sources=tuple(sources_of_json(found["sources"])),
            added=tuple(files_of_json(found["added"])),
            removed=tuple(map(checked_name, found["removed"])),
            schemas=found["schemas"],
            format=found["format"],
        )


@dataclass(slots=True)
class LakeState:
    """All that a lake's commits say together. `last` is for each table the number of the last commit that wrote to it."""

    number: int = 0
    at_ms: int = 0
    logs: Logs = field(default_factory=dict)
    files: dict[str, LakeFile] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    schemas: dict[str, dict[str, str]] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    format: Json = field(default_factory=dict)

    def apply(self, commit: Commit) -> None:
        """Add the next commit."""
        assert commit.number == self.number + 1, "commits come in order"
        if commit.is_reset:
            self.logs, self.files, self.rows, self.sources, self.schemas = {}, {}, {}, [], {}
            self.last = dict.fromkeys(self.last, commit.number)
        assert commit.first_source == len(self.sources), "sources are numbered as they come"
        self.number, self.at_ms = commit.number, commit.at_ms
        for key, offset in commit.cut.items():
            if key in self.logs:
                self.logs[key].remove_from(offset)
        for key, log in commit.logs.items():
            self.logs.setdefault(key, LogState()).add(log)
        self.sources += commit.sources
        for name in commit.removed:
            self.files.pop(name, None)
        self.files.update({file.name: file for file in commit.added})
        for table, count in commit.rows.items():
            self.rows[table] = self.rows.get(table, 0) + count
            if count:
                self.last[table] = commit.number
        for table, columns in commit.schemas.items():
            self.schemas[table] = {**self.schemas.get(table, {}), **columns}
        self.format = commit.format or self.format

    def to_json(self) -> Json:
        return {
            "number": self.number,
            "at_ms": self.at_ms,
            "rows": self.rows,
            "logs": logs_to_json(self.logs),
            "sources": [[*source.log, source.path, source.checkpoint] for source in self.sources],
            "files": files_to_json(self.files.values()),
            "schemas": self.schemas,
            "last": self.last,
            "format": self.format,
        }

    @classmethod
    def of_json(cls, found: Json) -> LakeState:
        return cls(
            number=found["number"],
            at_ms=found["at_ms"],
            rows=found["rows"],
            logs=logs_of_json(found["logs"]),
            sources=list(sources_of_json(found["sources"])),
            files={file.name: file for file in files_of_json(found["files"])},
            schemas=found["schemas"],
            last=found.get("last", {}),
            format=found["format"],
        )


def logs_to_json(logs: Logs) -> list[Json]:
    return [{**key._asdict(), **log.to_json()} for key, log in sorted(logs.items())]


def logs_of_json(found: list[Json]) -> Logs:
    return {LogKey(log["cluster"], log["node"], log["log"]): LogState.of_json(log) for log in found}


def sources_of_json(found: list[list[str]]) -> list[Source]:
    return [Source(LogKey(cluster, node, log), path, checkpoint) for cluster, node, log, path, checkpoint in found]


def files_to_json(files: Any) -> list[list[Any]]:
    return [[file.name, file.rows, file.size, list(file.sources)] for file in files]


def files_of_json(found: list[list[Any]]) -> list[LakeFile]:
    return [LakeFile(checked_name(name), rows, size, tuple(sources)) for name, rows, size, sources in found]


def _number(found: Any) -> int:
    if type(found) is not int or found < 1:
        raise ValueError(f"not a number of a commit: {found!r}")
    return found


def _id(found: str) -> str:
    if "/" in checked_name(found):
        raise ValueError(f"not an id of a commit: {found!r}")
    return found
