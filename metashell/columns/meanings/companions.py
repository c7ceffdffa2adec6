"""The meaning of a column of any table: its line, the words for its codes, and what goes beside it.

`topic_id_text` beside `topic_id` and `operation_name` beside `operation` have no lines of their own: they say another column in words.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from metashell.columns.meanings.fields import NO_UNIT, TIME, field_of
from metashell.columns.typed.words import CODES

COMPANIONS: Final = {
    "_text": "{} as text, as Kafka and all our output show it: base64url, 22 characters",
    "_name": "the word for {}",
}
"""By the ending of the name; `{}` is the column that it goes with."""


class Meaning(NamedTuple):
    """What a column means. `unit` is NO_UNIT or TIME where there is none; `codes` are the words for its numbers; `since` as in `Field`."""

    unit: str
    since: str
    text: str
    codes: dict[int, str]

    @property
    def whole(self) -> str:
        """The text with the words for all codes."""
        words = ", ".join(f"{code} {word}" for code, word in sorted(self.codes.items()))
        return f"{self.text} ({words})" if words else self.text

    @property
    def comment(self) -> str:
        """All of it in a line, for schemas."""
        return self.whole if self.unit in (NO_UNIT, TIME) else f"{self.whole} ({self.unit})"


def meaning_of(table: str, path: str, siblings: Collection[str]) -> Meaning | None:
    """The meaning of a column, or of a field of a struct, whose neighbours have the names `siblings`; None where it has none."""
    if (line := field_of(table, path)) is not None:
        words = CODES.get(table, {}).get(path)
        return Meaning(line.unit, line.since, line.meaning, {} if words is None else words.words)
    base = base_of(path, siblings)
    if base is None or (beside := field_of(table, base)) is None:
        return None
    return Meaning(NO_UNIT, beside.since, COMPANIONS[path.removeprefix(base)].format(base.rpartition(".")[2]), {})


def base_of(path: str, siblings: Collection[str]) -> str | None:
    """The path of the column that a companion goes with; None for what is no companion."""
    name = path.rpartition(".")[2]
    found = (ending for ending in COMPANIONS if name.endswith(ending) and name.removesuffix(ending) in siblings)
    ending = next(found, None)
    return None if ending is None else path.removesuffix(ending)
