"""Names close to what was typed: matches for completion, and the path that a mistyped one probably meant.

Names that begin with the text come first, then those that contain it, then those that have its characters in order. A list of a hundred
thousand names is searched as one text, which is made once and kept while the list lives: a Python loop over them would take longer than
the gap between two keys. Nothing is ranked before the first `LOOKED_AT` hits are known, so an answer costs the same however many there
are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.metadata.nodes import Directory
from metashell.shell.paths import child_path, has_wildcards, quote_glob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.metadata.nodes import Node


LOOKED_AT: Final = 2000
"""So many hits are ranked at most."""
SUBSTRING_MIN: Final = 2
SUBSEQUENCE_MIN: Final = 3
"""Fewer characters are in nearly every name."""
_LISTS_KEPT = 4
_BOUNDARIES = "-_./ :("

_texts: dict[int, tuple[Sequence[str], str, str]] = {}
"""The text of each list by its identity, as it is and in lower case; the list is kept with it, so that no other can have the same."""


def matching(word: str, names: Sequence[str], limit: int, with_prefix: Callable[[str, int], list[str]] | None = None) -> list[str]:
    """Up to `limit` names that fit a word, the best first; `with_prefix` gives those that begin with it, where that is quicker."""
    found = with_prefix(word, limit) if with_prefix is not None else [name for name in names if name.startswith(word)][:limit]
    if len(word) >= SUBSTRING_MIN and len(found) < limit:
        taken = set(found)
        hits = [name for name in _containing(word, names) if name not in taken]
        if not hits and not found and len(word) >= SUBSEQUENCE_MIN:
            hits = _in_order(word, names)
        found += hits[: limit - len(found)]
    return found


def fitting(pattern: re.Pattern[str], literal: str, names: Sequence[str], limit: int) -> list[str]:
    """The first names that a pattern fits as a whole; `literal` is a text that stands in each of them."""
    text = _kept(names)[1]
    if literal not in text:
        return []
    whole = re.compile(f"(?m)^(?:{pattern.pattern})$")
    lines = _lines(text, (match.start() for match in islice(whole.finditer(text), limit)))
    return [names[line] for line, _ in lines]


def text_of(names: Sequence[str]) -> str:
    """The names in lower case, each on a line of its own."""
    return _kept(names)[2]


def _kept(names: Sequence[str]) -> tuple[Sequence[str], str, str]:
    kept = _texts.get(id(names))
    if kept is None:
        if len(_texts) >= _LISTS_KEPT:
            _texts.clear()
        # No name of a tree has a line break; of another list it may not shift the lines.
        text = "\n".join(name.replace("\n", " ") for name in names)
        kept = _texts[id(names)] = (names, text, text.lower())
    return kept


def _containing(word: str, names: Sequence[str]) -> list[str]:
    """The names that hold the word, those first in which it begins a part of the name."""
    wanted = word.lower()
    hits: list[tuple[bool, int, str]] = []
    text = text_of(names)
    for line, at in _lines(text, _finds(text, wanted)):
        is_begun = at == 0 or text[at - 1] in _BOUNDARIES or text[at - 1] == "\n"
        hits.append((not is_begun, line, names[line]))
    return [name for _, _, name in sorted(hits)]


def _in_order(word: str, names: Sequence[str]) -> list[str]:
    """The names with the word's characters in their order, those first in which they stand closest."""
    wanted = word.lower()
    # Each class leaves out the character that follows it, so that there is one way to match and no way back.
    first, rest = wanted[0], wanted[1:]
    pattern = f"(?m)^[^{re.escape(first)}\n]*" + f"({re.escape(first)}" + "".join(f"[^{re.escape(c)}\n]*{re.escape(c)}" for c in rest) + ")"
    text = text_of(names)
    found = ((match.start(1), match.end(1) - match.start(1)) for match in re.finditer(pattern, text))
    spans: dict[int, int] = {}

    def starts() -> Iterator[int]:
        for at, length in found:
            spans[at] = length
            yield at

    hits = [(spans[at], line, names[line]) for line, at in _lines(text, starts())]
    return [name for _, _, name in sorted(hits)]


def _finds(text: str, wanted: str) -> Iterator[int]:
    """Where the text holds what is wanted, once for each line."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        end = text.find("\n", at)
        at = text.find(wanted, end) if end >= 0 else -1


def _lines(text: str, places: Iterator[int]) -> Iterator[tuple[int, int]]:
    """The number of the line of each place, and the place, of the first ones."""
    line = before = 0
    for count, at in enumerate(places):
        if count == LOOKED_AT:
            return
        line += text.count("\n", before, at)
        before = at
        yield line, at


_FEW: Final = 2000
"""Among so many names the nearest is looked for by all that two words can share, among more by what they begin and end with."""
_FOLDERS_MAX: Final = 20
_EDITS: Final = 2


def nearest_path(root: Node, components: Sequence[str]) -> str | None:
    """A path that is there, as it can be typed: the first wrong name replaced by one like it, or found one directory further down."""
    if any(map(has_wildcards, components)):
        return None
    node, path = root, "/"
    for index, name in enumerate(components):
        if not isinstance(node, Directory):
            return None
        child = node.child(name)
        if child is None:
            return _mended(node, path, name, components[index + 1 :])
        node, path = child, child_path(path, quote_glob(name))
    return None


def _mended(directory: Directory, path: str, name: str, rest: Sequence[str]) -> str | None:
    names = directory.child_names()
    near = nearest_name(name, names)
    child = None if near is None else directory.child(near)
    if child is not None and near is not None:
        found = child_path(path, quote_glob(near))
        return _continued(child, found, rest) or found
    # `topics/orders` is meant as `topics/byName/orders`.
    for between in names[:_FOLDERS_MAX] if len(names) <= _FOLDERS_MAX else ():
        folder = directory.child(between)
        if isinstance(folder, Directory) and (child := folder.child(name)) is not None:
            found = child_path(child_path(path, quote_glob(between)), quote_glob(name))
            return _continued(child, found, rest) or found
    return None


def _continued(node: Node, path: str, rest: Sequence[str]) -> str | None:
    for name in rest:
        child = node.child(name) if isinstance(node, Directory) else None
        if child is None:
            return None
        node, path = child, child_path(path, quote_glob(name))
    return path


def nearest_name(word: str, names: Sequence[str]) -> str | None:
    """The name most like a word, None if there is none like it."""
    wanted = word.casefold()
    if len(names) <= _FEW:
        from difflib import get_close_matches

        same = next((name for name in names if name.casefold() == wanted), None)
        return same or next(iter(get_close_matches(word, names, n=1)), None)
    return _by_its_ends(word, wanted, names)


def _by_its_ends(word: str, wanted: str, names: Iterable[str]) -> str | None:
    best, best_shared = None, max(len(word) - _EDITS, len(word) // 2 + 1) - 1
    for name in names:
        if abs(len(name) - len(word)) <= _EDITS:
            if name.casefold() == wanted:
                return name
            shared = _shared(word, name)
            if shared > best_shared:
                best, best_shared = name, shared
    return best


def _shared(one: str, other: str) -> int:
    """How many characters at their beginnings and ends are the same."""
    least = min(len(one), len(other))
    start = 0
    while start < least and one[start] == other[start]:
        start += 1
    end = 0
    while end < least - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return start + end
