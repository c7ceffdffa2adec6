"""The committed lists of mutations: those that change no behaviour, with the reason, and the sample of `make test`, with its tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from metashell.common.errors import UsageError
from tools.mutation.mutants import Key

FOLDER = Path(__file__).parent
EQUIVALENT = FOLDER / "equivalent.tsv"
SAMPLE = FOLDER / "sample.tsv"
COLUMNS = 5
AND = " + "
"""Stands between tests; their names have spaces."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a list: the key of a mutation, and a text (a reason, or tests); `line` counts from 1."""

    key: Key
    text: str
    line: int


def read(path: Path) -> list[Listed]:
    """The lines of a list: module, function, text of the line, change, and the text, divided by tabs; `#` starts a comment line.

    Errors: a UsageError with the place, for a line that has another form, an empty text, or a key that stands twice.
    """
    found: dict[Key, Listed] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != COLUMNS or not cells[-1].strip():
            raise UsageError(f"{path.name}:{number}: not five columns (module, function, line, change, text)")
        key = Key(*cells[:4])
        if key in found:
            raise UsageError(f"{path.name}:{number}: stands in line {found[key].line} already")
        found[key] = Listed(key, cells[4].strip(), number)
    return list(found.values())


def stale(path: Path, listed: Iterable[Listed], known: set[Key]) -> list[str]:
    """A line for each one whose mutation the sources do not have (any more)."""
    return [f"{path.name}:{one.line}: {one.key.module} has no such mutation any more" for one in listed if one.key not in known]
