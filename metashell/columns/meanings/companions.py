"""Columns that say another one in words: `topic_id_text` beside `topic_id`, `operation_name` beside `operation`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from metashell.columns.meanings.fields import NO_UNIT, Field, field_of

COMPANIONS: Final = {
    "_text": "{} as text, as Kafka and all our output show it: base64url, 22 characters",
    "_name": "the word for {}",
}
"""By the ending of the name; `{}` is the column that it goes with."""


def meaning_of(table: str, path: str, siblings: Collection[str]) -> Field | None:
    """The meaning of a column, or of a field of a struct, whose neighbours have the names `siblings`; None where it has none."""
    found = base_of(path, siblings)
    if found is None or (line := field_of(table, path)) is not None:
        return field_of(table, path) if found is None else line
    base, ending = found
    beside = field_of(table, base)
    return None if beside is None else Field(path, NO_UNIT, beside.since, COMPANIONS[ending].format(base.rpartition(".")[2]))


def base_of(path: str, siblings: Collection[str]) -> tuple[str, str] | None:
    """The path of the column that a companion goes with, and the ending of its name; None for what is none."""
    name = path.rpartition(".")[2]
    for ending in COMPANIONS:
        if name.endswith(ending) and name.removesuffix(ending) in siblings:
            return path.removesuffix(ending), ending
    return None
