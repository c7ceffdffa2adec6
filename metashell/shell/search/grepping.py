"""What `grep` looks for: expressions as POSIX writes them or as Python does, and leaves with lines that match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from metashell.checks import PartitionSurvey
from metashell.nodes.names import sorted_names
from metashell.nodes.topics import PartitionNode, TopicNode, partition_value
from metashell.shell.carets import CaretError
from metashell.shell.output import value_lines
from metashell.values import uuid_text

if TYPE_CHECKING:
    from metashell.image import PartitionRegistration, TopicImage
    from metashell.nodes import Directory, Node

_SWAPPED: Final = "+?|(){}"
"""Plain characters of a basic expression, which a backslash makes special; with Python it is the other way round."""
_MEANINGS: Final = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "`": r"\A", "'": r"\Z"}
_CLASSES: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}
_VARYING: Final = ("partitionId", "topicId", "leaderEpoch", "partitionEpoch")


def compile_search(text: str, *, is_extended: bool, ignores_case: bool) -> re.Pattern[str]:
    """The pattern of an expression. Errors: CaretError."""
    import warnings

    pieces, places = ([text], [0]) if is_extended else _basic(text)
    source = "".join(pieces)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(source, re.IGNORECASE if ignores_case else 0)
        except re.error as error:
            index = min(error.pos or 0, len(source))
            raise CaretError(error.msg, text, index if is_extended else _place(pieces, places, index)) from None
        except (OverflowError, RecursionError):
            raise CaretError("the expression is too large", text, 0) from None


def _place(pieces: list[str], places: list[int], index: int) -> int:
    """Where in a basic expression the piece begins that is at an index of its translation."""
    end = 0
    for piece, place in zip(pieces, places, strict=True):
        end += len(piece)
        if index < end:
            return place
    return places[-1] if places else 0


def _basic(text: str) -> tuple[list[str], list[int]]:
    """A basic expression of POSIX in pieces of Python's, and where in the text each begins."""
    pieces: list[str] = []
    places: list[int] = []
    at = 0
    is_start = True
    while at < len(text):
        places.append(at)
        char, following = text[at], text[at + 1 : at + 2]
        was_start, is_start = is_start, False
        if char == "\\" and following:
            at += 2
            is_start = following in "(|"
            pieces.append(following if following in _SWAPPED else _escaped(following))
            continue
        if char == "[":
            found, at = _bracket(text, at)
            pieces.append(found)
            continue
        at += 1
        if char in _SWAPPED or (char == "*" and was_start):
            pieces.append("\\" + char)
        elif char == "^":
            is_start = was_start
            pieces.append(char if was_start else r"\^")
        elif char == "$":
            is_end = at == len(text) or text[at : at + 2] in (r"\)", r"\|")
            pieces.append(r"\Z" if is_end else r"\$")
        else:
            pieces.append(char)
    return pieces, places


def _escaped(char: str) -> str:
    """A character behind a backslash: that of GNU's grep where it has a meaning there, else itself."""
    if char in _MEANINGS:
        return _MEANINGS[char]
    if char in "123456789":
        return f"(?:\\{char})"
    return f"\\{char}" if char in "wWsSbB" else re.escape(char)


def _bracket(text: str, start: int) -> tuple[str, int]:
    """A bracket expression as Python writes it, where a backslash is special, and where it ends."""
    at = start + 1
    sign = "^" if text[at : at + 1] == "^" else ""
    at += len(sign)
    found = ""
    while at < len(text):
        char = text[at]
        named = re.compile(r"\[:(\w+):\]").match(text, at)
        if named is not None and named[1] in _CLASSES:
            found += _CLASSES[named[1]]
            at = named.end()
        elif char == "]" and found:
            return f"[{sign}{found}]", at + 1
        else:
            found += char if char in "-" or char.isalnum() else "\\" + char
            at += 1
    raise CaretError("unterminated character set", text, start)


class PartitionGrep:
    """Finds the partitions of topics of which `cat` shows a line that matches, and decodes only those that differ in more than epochs.

    Of all lines four can differ between partitions that are alike otherwise; these are made by themselves.
    """

    def __init__(self, matches: Callable[[str], bool]) -> None:
        self._matches = matches
        self._survey = PartitionSurvey(self._has_match)
        self._lines = _Lines(matches)

    def nodes(self, node: TopicNode) -> Iterator[Node]:
        """The partitions with a match, in order, and the topic's leaves, which are not looked at."""
        topic = node.topic
        for name in sorted_names(map(str, self._numbers(topic))):
            yield PartitionNode(name, topic, int(name))
        yield from node.facts()

    def _numbers(self, topic: TopicImage) -> list[int]:
        id_line = f'  "topicId": "{uuid_text(topic.id)}",'
        told = self._survey.with_epochs(topic)
        if self._matches(id_line):
            return list(told.ids)
        lines = self._lines
        return [
            id
            for id, leader_epoch, partition_epoch, has_match in zip(
                told.ids, told.leader_epochs, told.partition_epochs, told.answers, strict=True
            )
            if has_match or lines["partitionId", id] or lines["leaderEpoch", leader_epoch] or lines["partitionEpoch", partition_epoch]
        ]

    def _has_match(self, partition: PartitionRegistration) -> bool:
        lines = value_lines(partition_value(partition, bytes(16), 0))
        return any(self._matches(line) for line in lines if not line.startswith(_STARTS))


_STARTS: Final = tuple(f'  "{name}": ' for name in _VARYING)
_REMEMBERED_MAX: Final = 1 << 16


class _Lines(dict[tuple[str, int], bool]):
    """Whether the line of a number matches, by the field's name and the number."""

    def __init__(self, matches: Callable[[str], bool]) -> None:
        super().__init__()
        self._matches = matches

    def __missing__(self, field: tuple[str, int]) -> bool:
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        name, number = field
        found = self[field] = self._matches(f'  "{name}": {number},')
        return found


def entered_topics(grep: PartitionGrep) -> Callable[[Directory], Iterator[Node] | None]:
    """The children of a topic that a walk enters, for `descend`."""

    def enter(directory: Directory) -> Iterator[Node] | None:
        is_plain = isinstance(directory, TopicNode) and not directory.has_directories
        return grep.nodes(directory) if is_plain and isinstance(directory, TopicNode) else None

    return enter
