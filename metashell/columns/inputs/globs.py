"""Patterns in paths and URIs: `*`, `[ab]`, `{a,b}`, `**` for any depth; on this machine also `?`, which begins the query of a URI."""

from __future__ import annotations

import os
from errno import ENOENT
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, unquote

from metashell.codec.uris import URI_MARK, is_uri, shown_uri, spelled_out
from metashell.errors import PathError
from metashell.log.inputs import paths_of

_MARKS = frozenset("*[")


def places_of(path: str) -> list[str]:
    """The paths or URIs that a pattern stands for, or the path itself where it is none. Errors: UsageError for one that matches nothing."""
    if not is_uri(path):
        return paths_of(path) if os.path.lexists(path) or "{" not in path else _of_several(path, paths_of)
    base = path.partition("?")[0]
    if "{" in base:
        return _of_several(path, _remote_places)
    return _remote_places(path) if _MARKS & set(base) else [path]


def _of_several(path: str, expand: Any) -> list[str]:
    """The places of all that the braces of a pattern say; one of these may match nothing."""
    found: list[str] = []
    for each in spelled_out(path):
        try:
            found += [place for place in expand(each) if is_uri(place) or os.path.lexists(place)]
        except PathError:
            continue
    if not found:
        raise PathError(f"{shown_uri(path)}: {os.strerror(ENOENT)}", shown_uri(path))
    return list(dict.fromkeys(found))


def _remote_places(uri: str) -> list[str]:
    from metashell.stores.file_systems import errors_of, file_system, nothing_at

    base, question, query = uri.partition("?")
    scheme, mark, rest = base.partition(URI_MARK)
    words = rest.rstrip("/").split("/")
    first = next((number for number, word in enumerate(words) if _MARKS & set(word)), len(words))
    top = f"{scheme}{mark}{'/'.join(words[:first])}"
    patterns = [unquote(word) for word in words[first:]]
    system, folder = file_system(f"{top}{question}{query}")
    with errors_of(uri):
        found = sorted(_below(system, folder.rstrip("/"), patterns))
    if not found:
        raise nothing_at(uri, system, folder)
    return ["/".join(filter(None, (top, quote("/".join(names))))) + question + query for names in found]


def _below(system: Any, folder: str, patterns: list[str]) -> list[tuple[str, ...]]:
    """The names, from `folder` on, that a list of patterns fits, one a level."""
    from pyarrow.fs import FileSelector, FileType

    if not patterns:
        return [()] if system.get_file_info(folder).type != FileType.NotFound else []
    pattern, rest = patterns[0], patterns[1:]
    if pattern != "**" and not _MARKS & set(pattern):
        return [(pattern, *names) for names in _below(system, f"{folder}/{pattern}", rest)]
    found = _below(system, folder, rest) if pattern == "**" and rest else []
    for entry in system.get_file_info(FileSelector(folder, allow_not_found=True)):
        name, is_folder = entry.base_name, entry.type == FileType.Directory
        if pattern == "**":
            if is_folder:
                found += [(name, *names) for names in _below(system, entry.path, patterns)]
            elif not rest:
                found.append((name,))
        elif fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith(".")):
            found += [(name, *names) for names in _below(system, entry.path, rest)] if rest else [(name,)]
    return found
