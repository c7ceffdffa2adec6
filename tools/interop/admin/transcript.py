"""A transcript: command lines, each with what it printed.

    # a remark
    $ kafka-topics --bootstrap-server {brokers} --list
    | a line of its standard output
    ! a line of its standard error
    = 1

`=` is the exit status where it is not 0. `~` in place of `$` means that the order of the lines is by chance: they are kept sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Step:
    """One command line and its output, as `lines` with their marks; `remarks` are the lines before it, without `#`."""

    command: str
    is_ordered: bool = True
    lines: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    at: int = 0
    """The number of its line in the file."""


def marked(stdout: Iterable[str], stderr: Iterable[str], status: int | None, *, is_ordered: bool) -> list[str]:
    """Output as the lines of a step."""
    lines = []
    for mark, printed in (("|", stdout), ("!", stderr)):
        lines += [f"{mark} {line}".rstrip() for line in (printed if is_ordered else sorted(line.strip() for line in printed))]
    return lines if status == 0 else [*lines, f"= {status}"]


def read_transcript(path: Path) -> list[Step]:
    """The steps of a file. Errors: ValueError for a line that is none of them."""
    return list(_steps(path))


def _steps(path: Path) -> Iterator[Step]:
    remarks: list[str] = []
    step: Step | None = None
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark, _, rest = line.partition(" ")
        if mark in ("|", "!", "="):
            if step is None:
                raise ValueError(f"{path}: line {at}: output of no command")
            step.lines.append(line)
            continue
        if step is not None:
            yield step
            step = None
        if mark in ("$", "~"):
            step = Step(rest, mark == "$", [], remarks, at)
            remarks = []
        elif mark == "#":
            remarks.append(rest)
        elif line:
            raise ValueError(f"{path}: line {at}: {line!r}")
        elif remarks:
            remarks.append("")
    if step is not None:
        yield step


def write_transcript(path: Path, steps: Iterable[Step]) -> None:
    """Write steps so that `read_transcript` gives them again."""
    text: list[str] = []
    for step in steps:
        text += ["" if not remark else f"# {remark}" for remark in step.remarks]
        text += [f"{'$' if step.is_ordered else '~'} {step.command}", *step.lines, ""]
    path.write_text("\n".join(text), encoding="utf-8")
