"""Brings what a release says of a message into a text that knows older versions.

The release is right about its own versions, the text about those before them. The result is proven, not trusted: it has to mean in each of
the two spans what its source does. What cannot be merged so is left to a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from metashell.codec.schema import Versions, parse_schema, parse_versions
from tools.release.lines import Line, meaning, read_lines, schema_text, versions_text


class NotMergedError(Exception):
    """The two texts contradict each other, or a field has versions with a gap between them."""


def merged(ours: str, theirs: str, *, is_partial: bool = False) -> str:
    """Our text with the versions of the release in it. `is_partial`: the release's text comes from classes (`definitions.py`).

    Errors: NotMergedError.
    """
    span = parse_schema(theirs).versions
    old = parse_schema(ours).versions
    if old.low >= span.low and not is_partial:
        return theirs
    made = schema_text(_Merge(read_lines(ours), read_lines(theirs), span.low, is_partial=is_partial).head())
    if meaning(made, span.low, span.high, is_partial=is_partial) != meaning(theirs, span.low, span.high, is_partial=is_partial):
        raise NotMergedError(f"the versions from {span.low} on are not those of the release")
    # A text has one head, and one `ignorable` for all versions of a field: the release's.
    if (
        old.low < span.low
        and meaning(made, old.low, span.low - 1, is_partial=True)[1:] != meaning(ours, old.low, span.low - 1, is_partial=True)[1:]
    ):
        raise NotMergedError(f"the versions before {span.low} are not those of the text")
    return made


class _Merge:
    def __init__(self, ours: Line, theirs: Line, low: int, *, is_partial: bool) -> None:
        self._ours, self._theirs, self._low, self._is_partial = ours, theirs, low, is_partial
        self._old, self._new = _structs(ours), _structs(theirs)

    def head(self) -> Line:
        words = list(self._ours.words if self._is_partial else self._theirs.words)
        old, new = (parse_versions(_after(head.words, "versions")) for head in (self._ours, self._theirs))
        words[words.index("versions") + 1] = _closed(Versions(min(old.low, new.low), new.high))
        flexible = [parse_versions(_after(head.words, "flexible")) for head in (self._ours, self._theirs)]
        words[words.index("flexible") + 1] = self._joined(*flexible)
        return Line(words, self._fields(self._ours.lines, self._theirs.lines), self._ours.remark)

    def _fields(self, ours: list[Line], theirs: list[Line]) -> list[Line]:
        """The fields of one struct: the release's in its order, and between them those that only older versions have."""
        old = {line.name: line for line in ours}
        new = {line.name for line in theirs}
        kept = iter(ours)
        out: list[Line] = []
        for line in theirs:
            if line.name in old:
                out += self._gone(kept, new, until=line.name)
            out.append(self._struct(line) if line.words[0] == "struct" else self._field(old.get(line.name), line))
        out += self._gone(kept, new, until=None)
        return sorted(out, key=lambda line: line.words[0] == "struct")

    def _gone(self, kept: Iterator[Line], new: set[str], *, until: str | None) -> Iterator[Line]:
        """The lines of ours up to that one which the release no longer has, for the versions before it."""
        for line in kept:
            if line.name == until:
                return
            if line.name in new:
                raise NotMergedError(f"{line.name} stands in another order")
            if line.words[0] == "struct":
                if line.words[1] not in self._new:
                    yield deepcopy(line)
                continue
            versions = parse_versions(line.words[2])
            below = Versions(versions.low, min(versions.high, self._low - 1))
            if below.low <= below.high:
                yield Line([*line.words[:2], versions_text(below), *line.words[3:]], deepcopy(line.lines), line.remark)

    def _struct(self, line: Line) -> Line:
        return Line(list(line.words), self._fields(self._old.get(line.words[1], []), line.lines))

    def _field(self, old: Line | None, new: Line) -> Line:
        inner = self._fields(self._old.get(new.struct, []), new.lines) if new.lines else []
        if old is None:
            return Line(list(new.words), inner)
        words = list(old.words if self._is_partial else new.words)
        words[1:3] = [new.words[1], self._joined(parse_versions(old.words[2]), parse_versions(new.words[2]))]
        for word, behind in (("nullable", 1), ("tag", 2)):
            if word in words:
                spans = [
                    parse_versions(line.words[line.words.index(word) + behind]) if word in line.words else Versions(1, 0)
                    for line in (old, new)
                ]
                words[words.index(word) + behind] = self._joined(*spans)
        return Line(words, inner, old.remark)

    def _joined(self, old: Versions, new: Versions) -> str:
        """The older versions of the one and the newer versions of the other."""
        below, above = Versions(old.low, min(old.high, self._low - 1)), Versions(max(new.low, self._low), new.high)
        if below.low > below.high:
            return versions_text(new)
        if above.low > above.high:
            return versions_text(below)
        if above.low > below.high + 1:
            raise NotMergedError(f"versions {versions_text(below)} and {versions_text(above)} have a gap between them")
        return versions_text(Versions(below.low, above.high))


def _structs(head: Line) -> dict[str, list[Line]]:
    """The fields of each struct of a text, wherever they stand."""
    found: dict[str, list[Line]] = {}
    for line in head.lines:
        if line.lines:
            found[line.struct] = line.lines
            found |= _structs(line)
    return found


def _after(words: list[str], word: str) -> str:
    return words[words.index(word) + 1]


def _closed(versions: Versions) -> str:
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"
