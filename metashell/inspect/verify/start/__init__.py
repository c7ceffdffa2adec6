"""Forecasts whether Apache Kafka would start on a disk, in each release, what it would cut or delete, and what would be lost.

Promises:
- Nothing is written. Kafka's own steps are followed without touching a file, in Kafka's order, up to the step at which it would exit.
- The rules are Kafka's, not ours. Kafka truncates a log at the first bad batch and deletes all later segments. It accepts gaps and torn
  checkpoints silently. It never checks offsets and epochs, which no checksum covers. `disk.log` recovers by other rules.
- Where we do not know what Kafka does, the answer is "not known", which counts as not safe.
- The judge is Kafka: tests/interop/test_start_safe.py starts real servers on copies of damaged directories and compares.

Only the metadata log is judged, and the files that a controller reads before it. Logs of topics and the server's other log directories
are listed as not judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from metashell.common.forms import counted

Action = Literal["cut", "delete", "split"]
"""`cut`: the file ends at `position` afterwards; `delete`: it is deleted, or renamed to be deleted; `split`: the bytes from `position` on
become a segment of their own, named by its offset."""


class ServerExit(Exception):
    """Kafka would exit here, for this reason. With `is_known` false we do not know what it would do."""

    def __init__(self, file: str, reason: str, *, position: int = -1, offset: int = -1, is_known: bool = True) -> None:
        super().__init__(reason)
        self.file = file
        self.reason = reason
        self.position = position
        self.offset = offset
        self.is_known = is_known


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that a start changes.

    `offset` is the first one removed, -1 for none. `bytes` counts everything removed, `batches` and `records` only what is sound in it.
    With `loses`, part of it is nowhere else in the directory.
    """

    file: str
    action: Action
    position: int
    bytes: int
    offset: int = -1
    batches: int = 0
    records: int = 0
    loses: bool = False
    reason: str = ""

    def __str__(self) -> str:
        done = {
            "cut": f"cut this file to {self.position} bytes",
            "delete": "delete this file",
            "split": f"split this file at byte {self.position}",
        }[self.action]
        held = (
            f" ({counted(self.batches, 'whole batch', 'whole batches')}, {counted(self.records, 'record')})"
            if self.file.endswith(".log")
            else ""
        )
        gone = f" and {'lose' if self.loses else 'remove'} {counted(self.bytes, 'byte')}{held}" if self.bytes else ""
        return f"Kafka would {done}{gone}, because {self.reason}"


@dataclass(slots=True)
class StartVerdict:
    """The answer for one log directory. `starts` is None if that is not known.

    `end_offset` and `epoch` are the log's end and last epoch after the start, before anything is written; None if the start does not get
    so far. `lost` is what the start would lose, and what is lost already; `unnoticed` are faults that Kafka accepts silently. `release` is
    the one that starts, and `releases` are all that would start and read everything, whatever they would cut. `troubles` are the ids of
    checks that would keep the started node from working. `not_judged` are logs of partitions that are not read.
    """

    path: str
    release: str
    starts: bool | None = True
    reason: str = ""
    changes: list[Change] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unnoticed: list[str] = field(default_factory=list)
    start_offset: int | None = None
    end_offset: int | None = None
    epoch: int | None = None
    troubles: list[str] = field(default_factory=list)
    not_judged: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    counts: tuple[int, int, int] = (0, 0, 0)
    """Files, batches and records that were read."""

    @property
    def is_safe(self) -> bool:
        return self.starts is True and not self.lost and not self.unnoticed and not self.troubles

    def __str__(self) -> str:
        if self.starts is None:
            return f"it is not known whether Kafka {self.release} would start: {self.reason}"
        others = [name for name in self.releases if name != self.release]
        if not self.starts:
            return f"Kafka {self.release} would not start: {self.reason}{f'; {_listed(others)} would' if others else ''}"
        log = f"log from offset {self.start_offset} to {self.end_offset}, epoch {self.epoch}"
        losses = [f"lose {'; '.join(self.lost)}"] if self.lost else []
        losses += [f"not notice {counted(len(self.unnoticed), 'fault')}"] if self.unnoticed else []
        outcome = f"and {', and '.join(losses or ['lose nothing'])}"
        outcome += f", but not work: {', '.join(self.troubles)}" if self.troubles else ""
        left_out = f"; the logs of {counted(len(self.not_judged), 'partition')} were not read" if self.not_judged else ""
        also = f"; {_listed(others)} would start too" if others else "; no other release would do so"
        return f"Kafka {self.release} would start ({log}) {outcome}{also}{left_out}"


def _listed(names: list[str]) -> str:
    """`4.1, 4.2 and 4.3`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def verdict_value(verdict: StartVerdict) -> dict[str, Any]:
    """A verdict as JSON; null for what is not known."""
    return {
        "kind": "start",
        "path": verdict.path,
        "release": verdict.release,
        "starts": verdict.starts,
        "releases": list(verdict.releases),
        "safe": verdict.is_safe,
        "reason": verdict.reason or None,
        "start_offset": verdict.start_offset,
        "end_offset": verdict.end_offset,
        "epoch": verdict.epoch,
        "changes": [_change_value(change) for change in verdict.changes],
        "lost": verdict.lost,
        "unnoticed": verdict.unnoticed,
        "troubles": verdict.troubles,
        "not_judged": list(verdict.not_judged),
    }


def _change_value(change: Change) -> dict[str, Any]:
    return {
        "file": change.file,
        "action": change.action,
        "position": change.position,
        "offset": change.offset if change.offset >= 0 else None,
        "bytes": change.bytes,
        "batches": change.batches,
        "records": change.records,
        "loses": change.loses,
        "reason": change.reason,
    }
