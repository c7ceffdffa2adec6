"""Where the values of a TOML document stand, which tomllib does not say: only so can an error about a value point at it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

Path = tuple[str | int, ...]
"""The way to a value: keys of tables, and the places of array tables."""
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BASIC: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LITERAL: Final = re.compile(r"'([^'\n]*)'")
_LONG: Final = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}", re.DOTALL)
_SCALAR: Final = re.compile(r"[^,\]}#\r\n]*")


class Place(NamedTuple):
    """Where a key and its value begin, as indexes of the text."""

    key: int
    value: int


def find_places(text: str) -> dict[Path, Place]:
    """The place of every table and value outside of arrays and inline tables. The text is TOML that tomllib takes."""
    places: dict[Path, Place] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    at = _skip_blank(text, 0)
    while at < len(text):
        start = at
        if text[at] == "[":
            is_array = text.startswith("[[", at)
            keys, at = _keys(text, at + 1 + is_array)
            table = _within(keys[:-1], counts)
            if is_array:
                name = (*table, keys[-1])
                counts[name] = counts.get(name, -1) + 1
            table = _within(keys, counts)
            places[table] = Place(start, start)
            at = text.index("]", at) + 1 + is_array
        else:
            keys, at = _keys(text, at)
            value = _skip_spaces(text, text.index("=", at) + 1)
            places[(*table, *keys)] = Place(start, value)
            at = _skip_value(text, value)
        at = _skip_blank(text, at)
    return places


def _within(keys: tuple[str, ...], counts: dict[Path, int]) -> Path:
    """The table that a heading names: the newest of each array of tables on the way."""
    table: Path = ()
    for key in keys:
        table = (*table, key)
        if table in counts:
            table = (*table, counts[table])
    return table


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _skip_spaces(text: str, at: int) -> int:
    while text[at] in " \t":
        at += 1
    return at


def _keys(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The parts of a dotted key, and where it ends."""
    keys = []
    while True:
        at = _skip_spaces(text, at)
        found = _BARE.match(text, at) or _BASIC.match(text, at) or _LITERAL.match(text, at)
        assert found is not None, "tomllib took it"
        keys.append(found[1] if found.re is not _BARE else found[0])
        at = _skip_spaces(text, found.end())
        if text[at] != ".":
            return tuple(keys), at
        at += 1


def _skip_value(text: str, at: int) -> int:
    """Where a value ends."""
    if text[at] in "\"'":
        found = _LONG.match(text, at) or _BASIC.match(text, at) or _LITERAL.match(text, at)
        assert found is not None, "tomllib took it"
        return found.end()
    if text[at] not in "[{":
        scalar = _SCALAR.match(text, at)
        assert scalar is not None
        return scalar.end()
    at += 1
    while True:
        at = _skip_blank(text, at)
        if text[at] in "]}":
            return at + 1
        if text[at] in ",=":
            at += 1
        elif (key := _BARE.match(text, at)) and text[_skip_spaces(text, key.end())] in "=.":
            at = key.end()
        else:
            at = _skip_value(text, at) if text[at] != "." else at + 1
