"""What a column means: the line of `fields.tsv` that is about it.

A line is about `TABLE:COLUMN` or, without a table, about every column of that name; `TABLE` and `COLUMN` may have `*`. A field of a
struct has the names of all around it, `end_points.port`, and a line about `port` is about it too. Of several lines that fit, one with a
table wins over one without, one without `*` over one with, then the longer name, then the earlier line. Where a line has `=` it says what
the next one of them says.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

NO_UNIT: Final = "-"
SAME: Final = "="
TIME: Final = "UTC"
"""Stands where others have a unit: the column is a time."""


class Field(NamedTuple):
    """One line: `since` is empty where the version of the record says it, and `@TABLE.COLUMN` where another column does."""

    pattern: str
    unit: str
    since: str
    meaning: str


class _Fields(NamedTuple):
    scoped: dict[str, Field]
    globs: tuple[Field, ...]
    shared: dict[str, Field]


@cache
def field_of(table: str, path: str) -> Field | None:
    """What the lines about a column of a table say, None where there is none. `path` is `end_points.port` for a field of a struct."""
    lines = lines_about(table, path)
    if not lines:
        return None
    first, last = lines[0], lines[-1]
    unit = last.unit if first.unit == SAME else first.unit
    return first._replace(unit=unit, meaning=last.meaning if first.meaning == SAME else first.meaning)


def lines_about(table: str, path: str) -> list[Field]:
    """The lines that say what a column is: one or, where that has `=`, those up to one without."""
    found = []
    for line in _fitting(table, path):
        found.append(line)
        if SAME not in (line.unit, line.meaning):
            break
    return found


def _fitting(table: str, path: str) -> Iterator[Field]:
    """The lines that are about a column, the nearest first."""
    lines = _fields()
    place = f"{table}:{path}"
    if place in lines.scoped:
        yield lines.scoped[place]
    yield from (line for line in lines.globs if fnmatchcase(place, line.pattern))
    yield from (lines.shared[name] for name in _endings(path) if name in lines.shared)


def _endings(path: str) -> Iterator[str]:
    """`a.b.c`, `b.c`, `c`."""
    while path:
        yield path
        path = path.partition(".")[2]


def all_fields() -> list[Field]:
    """Every line, in order."""
    lines = _fields()
    return [*lines.scoped.values(), *lines.globs, *lines.shared.values()]


@cache
def _fields() -> _Fields:
    lines = [Field(*line) for line in rows("fields.tsv")]
    scoped = {line.pattern: line for line in lines if ":" in line.pattern and "*" not in line.pattern}
    shared = {line.pattern: line for line in lines if ":" not in line.pattern}
    return _Fields(scoped, tuple(line for line in lines if "*" in line.pattern), shared)


def rows(name: str) -> list[list[str]]:
    """The lines of one of the dictionary's files, without its heading."""
    text = (files("metashell.columns.meanings") / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]
