"""Names similar to the typed text: matches for completion, and the path that a mistyped one probably meant.

Names that begin with the text come first, then those that contain it, then those that have its characters in order. A list of a hundred
thousand names is searched as one text, which is made once and kept while the list lives: a Python loop over the names would take longer
than the gap between two keys. Only the first `LOOKED_AT` hits are ranked, so an answer costs the same however many hits there are."""

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
"""The most hits that are ranked."""
SUBSTRING_MIN: Final = 2
SUBSEQUENCE_MIN: Final = 3
"""The fewest characters for a search in order; fewer characters are in nearly every name."""
_LISTS_KEPT = 4
_BOUNDARIES = "-_./ :("

_texts: dict[int, tuple[Sequence[str], str, str]] = {}
"""The text of each list by its identity, as it is and in lower case. The list is kept too, so that no other list gets its identity."""


def matching(word: str, names: Sequence[str], limit: int, with_prefix: Callable[[str, int], list[str]] | None = None) -> list[str]:
    """Return up to `limit` names that match a word, best first; `with_prefix` returns those that begin with it, if it has a faster way."""
    found = with_prefix(word, limit) if with_prefix is not None else [name for name in names if name.startswith(word)][:limit]
    if len(word) >= SUBSTRING_MIN and len(found) < limit:
        taken = set(found)
        hits = [name for name in _containing(word, names) if name not in taken]
        if not hits and not found and len(word) >= SUBSEQUENCE_MIN:
            hits = _in_order(word, names)
        found += hits[: limit - len(found)]
    return found


def fitting(pattern: re.Pattern[str], literal: str, names: Sequence[str], limit: int) -> list[str]:
    """Return the first `limit` names that a pattern matches as a whole; `literal` is a text that each of them contains."""
    text = _kept(names)[1]
    if literal not in text:
        return []
    whole = re.compile(f"(?m)^(?:{pattern.pattern})$")
    lines = _lines(text, (match.start() for match in islice(whole.finditer(text), limit)))
    return [names[line] for line, _ in lines]


def text_of(names: Sequence[str]) -> str:
    """Return the names in lower case, one per line."""
    return _kept(names)[2]


def _kept(names: Sequence[str]) -> tuple[Sequence[str], str, str]:
    kept = _texts.get(id(names))
    if kept is None:
        if len(_texts) >= _LISTS_KEPT:
            _texts.clear()
        # Names of the tree have no line breaks; those of other lists must not shift the lines.
        text = "\n".join(name.replace("\n", " ") for name in names)
        kept = _texts[id(names)] = (names, text, text.lower())
    return kept


def _containing(word: str, names: Sequence[str]) -> list[str]:
    """Return the names that contain the word. Names where it begins a part of the name come first."""
    wanted = word.lower()
    hits: list[tuple[bool, int, str]] = []
    text = text_of(names)
    for line, at in _lines(text, _finds(text, wanted)):
        is_begun = at == 0 or text[at - 1] in _BOUNDARIES or text[at - 1] == "\n"
        hits.append((not is_begun, line, names[line]))
    return [name for _, _, name in sorted(hits)]


def _in_order(word: str, names: Sequence[str]) -> list[str]:
    """Return the names that have the word's characters in order. Those where they are closest come first."""
    wanted = word.lower()
    # Each class excludes the next character, so that there is only one way to match and no backtracking.
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
    """Yield where the text contains `wanted`, once per line."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        end = text.find("\n", at)
        at = text.find(wanted, end) if end >= 0 else -1


def _lines(text: str, places: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Yield the line number and the place of the first places."""
    line = before = 0
    for count, at in enumerate(places):
        if count == LOOKED_AT:
            return
        line += text.count("\n", before, at)
        before = at
        yield line, at


_FEW: Final = 2000
"""The most names that are compared with difflib; in a longer list only common beginnings and ends are compared."""
_FOLDERS_MAX: Final = 20
_EDITS: Final = 2


def nearest_path(root: Node, components: Sequence[str]) -> str | None:
    """Return an existing path, ready to be typed, in which the first wrong name is replaced or found one directory further down."""
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
    # `topics/orders` means `topics/byName/orders`.
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
    """Return the name most similar to a word, or None if none is similar."""
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
    """Return how many characters two words share at their beginnings and ends."""
    least = min(len(one), len(other))
    start = 0
    while start < least and one[start] == other[start]:
        start += 1
    end = 0
    while end < least - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return start + end
