"""Verifies Kafka's files on disk: checksums, offsets, epochs, indexes, checkpoints and the small files beside them.

Promises:
- Each fault is one finding with its file, byte and offset. Everything else is still checked.
- A torn or zero-filled tail of a directory's last segment is normal after a node stops, so it is reported as information. So is anything
  that a running node changes meanwhile. In a file that was named, a torn tail is a finding.
- Nothing is written, locked or repaired. Files are streamed, so memory does not grow with them. Only a digest needs a whole image.
- A finding is about bytes on disk. Whether records fit each other is the image's business; `--digest` reports the faults of an image.

`run.run_verify` checks each path as a directory or a file. `walk.LogWalk` reads a log once, front to back, and compares it with its
indexes, epochs and small files. `start` answers another question: what would Kafka do if it started here? So it follows Kafka's rules
where they differ from ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from metashell.codec.primitives import MAX_DECOMPRESSED

Severity = Literal["error", "warning", "unusual", "info"]
"""`error`: the bytes are wrong; `warning`: Kafka never writes this, or we do not know it; `unusual` is worth a look; `info` is no
finding."""

FINDINGS_MAX = 100
"""Findings of one severity that are printed for a file; more are only counted."""


class Finding(NamedTuple):
    """One fault and its place: `position` is a byte of `file`, `offset` an offset of the log, -1 for none.

    A finding of `metadata.checks` also has the check's id and the next steps.
    """

    file: str
    position: int
    offset: int
    severity: Severity
    what: str
    check: str = ""
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = [self.file]
        if self.position >= 0:
            words.append(f"byte {self.position}")
        if self.offset >= 0:
            words.append(f"offset {self.offset}")
        return ": ".join((*words, self.severity, *([self.check] if self.check else []), self.what))


class Report:
    """Passes findings on as they are made, up to a limit for each file, and counts the files, batches and records that were read."""

    def __init__(self, pass_on: Callable[[Finding], None]) -> None:
        self._pass_on = pass_on
        self._counts: dict[tuple[str, Severity], int] = {}
        self.counts: dict[str, int] = {"directories": 0, "files": 0, "batches": 0, "records": 0, "index_entries": 0}
        self.by_severity: dict[Severity, int] = {"error": 0, "warning": 0, "unusual": 0, "info": 0}

    @property
    def is_fine(self) -> bool:
        return not self.by_severity["error"] and not self.by_severity["warning"]

    def error(self, file: str, what: str, *, position: int = -1, offset: int = -1) -> None:
        self.add(Finding(file, position, offset, "error", what))

    def warn(self, file: str, what: str, *, position: int = -1, offset: int = -1) -> None:
        self.add(Finding(file, position, offset, "warning", what))

    def note(self, file: str, what: str, *, position: int = -1, offset: int = -1) -> None:
        self.add(Finding(file, position, offset, "info", what))

    def add(self, finding: Finding) -> None:
        key = finding.file, finding.severity
        count = self._counts[key] = self._counts.get(key, 0) + 1
        self.by_severity[finding.severity] += 1
        if count <= FINDINGS_MAX:
            self._pass_on(finding)

    def count(self, severity: Severity) -> None:
        """Count a fault that another line of the output reports."""
        self.by_severity[severity] += 1

    def end_file(self, file: str) -> None:
        """Report how many findings of a file were not printed."""
        for severity in self.by_severity:
            held_back = self._counts.pop((file, severity), 0) - FINDINGS_MAX
            if held_back > 0:
                self._pass_on(Finding(file, -1, -1, severity, f"{held_back} more"))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """`paths` are directories and files; `digest` asks for one of each path's image, at `digest_offset` or at its end.

    `config` is the server's configuration: its directories are read and judged too. `start_safe` asks instead what a server of `release`
    would do that starts there.

    `output` is `text`, `json` or `jsonl`; with `verbose` text also has notes.
    """

    paths: tuple[str, ...]
    deep: bool = False
    digest: bool = False
    digest_offset: int | None = None
    start_safe: bool = False
    release: str | None = None
    config: str | None = None
    output: str = "text"
    verbose: bool = False
    max_decompressed: int = MAX_DECOMPRESSED
