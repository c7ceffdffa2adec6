"""Parses a rehearsal's plan in TOML: steps with their times, and assumptions. Errors point at the line and the word.

    title = "Patch day"

    [assume]
    copy-rate = "100M"                  # as --assume copy-rate=100M
    "min.insync.replicas" = 2           # a name with dots is a setting of the controllers

    [[step]]
    do = "kill-broker 3"                # the words of the command line; a list of words where one has a blank

    [[step]]
    at = "2m"                           # of the rehearsal; or after = "30s", since the step before it began;
    do = "restart-broker 3"             # without a time: as soon as nothing changes any more

tomllib does not give the positions of values, so they are found here."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from metashell.common.errors import UsageError
from metashell.common.options import did_you_mean
from metashell.common.terminal import terminal_line
from metashell.rehearse.step_grammar import ParsedStep, ReadMoves, WordError, parse_step
from metashell.rehearse.steps import AFTER, AT, StepError, StepTimes

_KEYS: Final = ("title", "assume", "step")
_STEP_KEYS: Final = ("do", "at", "after", "note")
_TAB: Final = "    "
_EXCERPT_MAX: Final = 110


class PlanError(UsageError):
    """A plan has a fault. The message begins with file, line and column; `excerpt` is the line with a caret below it."""

    def __init__(self, name: str, text: str, index: int, message: str) -> None:
        begin = text.rfind("\n", 0, index) + 1
        line = text[begin:].split("\n", 1)[0].rstrip("\r")
        column = index - begin
        super().__init__(f"{name}:{text.count(chr(10), 0, begin) + 1}:{column + 1}: {terminal_line(message)}", name)
        shift = max(0, column - _EXCERPT_MAX // 2)
        shown = line[shift : shift + _EXCERPT_MAX]
        before = "".join("\t" if char == "\t" else " " for char in line[shift:column])
        self.excerpt = (shown.replace("\t", _TAB), before.replace("\t", _TAB) + "^") if shown.strip() else ()


@dataclass(frozen=True, slots=True)
class RehearsalPlan:
    """A plan: its steps in order, their notes, and its assumptions as text."""

    name: str
    text: str
    title: str
    steps: tuple[ParsedStep, ...]
    notes: tuple[str, ...]
    assume: Mapping[str, str]
    places: Mapping[Path, Place]

    def located(self, error: StepError) -> PlanError:
        """Turn an error about a step into one that points at the word in the file."""
        step = self.steps[error.index]
        return self._error(("step", error.index, "do"), step.words, step.place_of(error.field_name), f"step {error.index + 1}: {error}")

    def assumption_error(self, name: str, message: str) -> PlanError:
        """Turn an error about an assumption into one that points at its value in [assume]."""
        place = next(
            (found for path, found in self.places.items() if path[:1] == ("assume",) and ".".join(map(str, path[1:])) == name), None
        )
        return PlanError(self.name, self.text, 0 if place is None else place.value, message)

    def _error(self, path: Path, words: Sequence[str], index: int, message: str) -> PlanError:
        start = nearest_place(self.places, path).value
        return PlanError(self.name, self.text, word_place(self.text, start, words, index), message)


def parse_plan(text: str, name: str, read_moves: ReadMoves) -> RehearsalPlan:
    """Parse a TOML document; `name` is that of its file. Errors: PlanError."""
    document = _parsed(text, name)
    return _Reader(text, name, document, read_moves).plan()


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        found = re.search(r" \(at line ([0-9]+), column ([0-9]+)\)$", message)
        if found is None:
            end = len(text.rstrip())
            raise PlanError(name, text, end, f"not TOML: {message.removesuffix(' (at end of document)')} before the end") from None
        lines = text.split("\n")
        line = int(found[1])
        index = sum(len(other) + 1 for other in lines[: line - 1]) + int(found[2]) - 1
        raise PlanError(name, text, min(index, len(text)), f"not TOML: {message[: found.start()]}") from None
    except RecursionError:
        raise PlanError(name, text, 0, "not a plan: nested too deeply") from None


class _Reader:
    """Checks a document key by key."""

    def __init__(self, text: str, name: str, document: dict[str, Any], read_moves: ReadMoves) -> None:
        self._text = text
        self._name = name
        self._document = document
        self._read_moves = read_moves
        self._places = find_places(text)
        self._times = StepTimes()

    def plan(self) -> RehearsalPlan:
        self._check_keys((), self._document, _KEYS)
        title = self._document.get("title", "")
        if not isinstance(title, str):
            raise self._error(("title",), "title: not text")
        entries = self._document.get("step", [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._error(("step",), "step: a step is a table: write [[step]] above its lines")
        if not entries:
            raise PlanError(self._name, self._text, 0, 'no step: write [[step]] and do = "kill-broker 3"')
        steps: list[ParsedStep] = []
        for number, entry in enumerate(entries):
            steps.append(self._step(number, entry, self._time(number, entry)))
        notes = tuple(self._text_of(("step", number, "note"), entry.get("note", "")) for number, entry in enumerate(entries))
        return RehearsalPlan(self._name, self._text, title, tuple(steps), notes, self._assume(), self._places)

    def _check_keys(self, path: Path, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                where = f"step {path[1] + 1}: " if path and isinstance(path[1], int) else ""
                hint = did_you_mean(key, known) or f" (known: {', '.join(known)})"
                raise self._error((*path, key), f"{where}unknown key {key}{hint}", at_key=True)

    def _time(self, number: int, entry: Mapping[str, Any]) -> int | None:
        """The time of a step; None means when nothing changes any more."""
        path: Path = ("step", number)
        self._check_keys(path, entry, _STEP_KEYS)
        if AT in entry and AFTER in entry:
            raise self._error((*path, AFTER), f"step {number + 1}: at and after exclude each other", at_key=True)
        key = next((key for key in (AT, AFTER) if key in entry), None)
        if key is None:
            return self._times.next()
        word = self._text_of((*path, key), entry[key])
        try:
            return self._times.next(key, word)
        except UsageError as error:
            raise self._error((*path, key), f"step {number + 1}: {error}") from None

    def _step(self, number: int, entry: Mapping[str, Any], at_ms: int | None) -> ParsedStep:
        path: Path = ("step", number, "do")
        if "do" not in entry:
            raise self._error(path[:2], f'step {number + 1}: nothing to do: write do = "kill-broker 3"', at_key=True)
        words = self._words(path, number, entry["do"])
        try:
            return parse_step(words, self._read_moves, at_ms)
        except WordError as error:
            index = word_place(self._text, nearest_place(self._places, path).value, words, error.index)
            raise PlanError(self._name, self._text, index, f"step {number + 1}: {error}") from None

    def _words(self, path: Path, number: int, value: object) -> list[str]:
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return list(value)
        if not isinstance(value, str):
            raise self._error(path, f"step {number + 1}: do: not text, nor a list of words")
        try:
            return shlex.split(value)
        except ValueError as error:
            raise self._error(path, f"step {number + 1}: do: {error}") from None

    def _assume(self) -> dict[str, str]:
        table = self._document.get("assume", {})
        if not isinstance(table, dict):
            raise self._error(("assume",), "assume: not a table: write [assume] above its lines")
        found: dict[str, str] = {}
        self._flatten(("assume",), table, found)
        return found

    def _flatten(self, path: Path, table: Mapping[str, Any], found: dict[str, str]) -> None:
        """Join the names of nested tables, which TOML makes of unquoted names with dots."""
        for key, value in table.items():
            if isinstance(value, dict):
                self._flatten((*path, key), value, found)
            elif isinstance(value, bool):
                found[".".join(map(str, (*path[1:], key)))] = str(value).lower()
            elif isinstance(value, str | int):
                found[".".join(map(str, (*path[1:], key)))] = str(value)
            else:
                raise self._error((*path, key), f"assume: {key} is neither text nor a whole number")

    def _text_of(self, path: Path, value: object) -> str:
        if isinstance(value, str):
            return value
        hint = ': write at = "90s"' if path[-1] in ("at", "after") else ""
        raise self._error(path, f"step {int(path[1]) + 1}: {path[-1]}: not text{hint}")

    def _error(self, path: Path, message: str, *, at_key: bool = False) -> PlanError:
        place = nearest_place(self._places, path)
        return PlanError(self._name, self._text, place.key if at_key else place.value, message)


def nearest_place(places: Mapping[Path, Place], path: Path) -> Place:
    """The place of a value; inside an inline table or array, the place of the whole table or array."""
    while path and path not in places:
        path = path[:-1]
    return places.get(path, Place(0, 0))


def word_place(text: str, start: int, words: Sequence[str], index: int) -> int:
    """The place of a word in a value that begins at `start`; that of the whole value if quotes or escapes hide the word."""
    found = re.compile(r"""(["'])(?!\1)([^"'\\\n]*)\1""").match(text, start)
    spans = [] if found is None else [item.start() for item in re.finditer(r"\S+", found[2])]
    if found is None or len(spans) != len(words):
        return start
    return found.start(2) + spans[index]


Path = tuple[str | int, ...]
"""The path of a value: keys of tables, and indexes of array tables."""
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BASIC: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LITERAL: Final = re.compile(r"'([^'\n]*)'")
_LONG: Final = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}", re.DOTALL)
_SCALAR: Final = re.compile(r"[^,\]}#\r\n]*")


class Place(NamedTuple):
    """The indexes in the text at which a key and its value begin."""

    key: int
    value: int


def find_places(text: str) -> dict[Path, Place]:
    """Find the place of every table and value outside arrays and inline tables. The text must be valid TOML."""
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
    """The path that a heading names; in each array of tables it means the newest table."""
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
    """The parts of a dotted key, and the index of its end."""
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
    """The index at which a value ends."""
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
