"""The path that was probably meant by one that names nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.nodes import Directory
from metashell.shell.paths import child_path
from metashell.shell.search.patterns import has_wildcards, quote_glob

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.nodes import Node

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
