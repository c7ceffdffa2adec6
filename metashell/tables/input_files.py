"""The files to read for a path: what `disk.log.inputs` finds, on this machine or in a store, if its records are known.

Logs of other topics than those that metashell decodes are left out, unless they are named. Patterns are `*`, `[ab]`, `{a,b}` and `**` for
any depth; on this machine also `?`, which begins the query of a URI. Logs of a store are copied to this machine for what reads whole
logs by seeking."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import ENOENT
from fnmatch import fnmatchcase
from itertools import zip_longest
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from metashell.common.errors import PathError
from metashell.common.uris import (
    URI_MARK,
    errors_without_credentials,
    expand_braces,
    file_name,
    is_uri,
    path_below,
    place_and_query,
    shown_uri,
)
from metashell.disk.files import OpenFile, is_stream, open_file
from metashell.disk.inputs import (
    LOCAL,
    FoundLog,
    InputFile,
    Tree,
    empty_logs_fault,
    find_logs,
    named_file,
    no_log_fault,
    other_log_fault,
    paths_of,
)
from metashell.disk.names import DATA, KNOWN_LOGS, META_PROPERTIES, METADATA, PARTITION_METADATA, QUORUM_STATE, Closing, LogKind, parse_name


def input_files(
    path: str, log: LogKind | None = None, *, every_checkpoint: bool = False, may_be_empty: bool = False
) -> Iterator[InputFile]:
    """Yield the files that `path` stands for.

    `log` names the kind of log where nothing else does; other logs are left out then. With `every_checkpoint` all checkpoints of
    a directory are given, not only the one that replay needs.
    Errors: UsageError if there is nothing, nothing to decode, or no batch in any file, unless it `may_be_empty`.
    """
    if is_uri(path):
        with errors_without_credentials():
            yield from _remote_files(path, log, every_checkpoint, may_be_empty)
        return
    for place in paths_of(path):
        if os.path.isdir(place):
            yield from _files_below(place, place, LOCAL, log, every_checkpoint, may_be_empty)
        else:
            yield _known(named_file(place), log)


def _remote_files(uri: str, log: LogKind | None, every_checkpoint: bool, may_be_empty: bool) -> Iterator[InputFile]:
    from metashell.tables.remote_files import remote_input

    tree, top, is_folder = remote_input(uri)
    if is_folder:
        yield from _files_below(uri, top, tree, log, every_checkpoint, may_be_empty)
    else:
        folder = tree.parent(top)
        yield _known(named_file(uri, tree, folder)._replace(version=tree.version(folder, tree.name(top))), log)


def _known(file: InputFile, log: LogKind | None) -> InputFile:
    """Return a file that was named, of a log that is known. Errors: UsageError."""
    found = file.log
    if found in KNOWN_LOGS and log is not None and found != log:
        raise other_log_fault(file.path, found, log, reads=False)
    if found in (None, DATA) and log is not None:
        found = log
    if found == DATA:
        raise PathError(f"{file.path}: no log here whose records are known (--log says what they are)", file.path)
    return file._replace(log=found)


def _files_below(path: str, top: str, tree: Tree, log: LogKind | None, every_checkpoint: bool, may_be_empty: bool) -> Iterator[InputFile]:
    seen: list[FoundLog] = []
    try:
        for found in find_logs(top, tree, every_checkpoint=every_checkpoint):
            seen.append(found)
            if found.kind == METADATA and not found.files:
                raise PathError(f"{found.directory}: none of its checkpoints is complete, and there is no segment", path)
            files = _in_order(found) if found.kind == METADATA else found.files
            yield from (file._replace(log=log or file.log) for file in files if _is_wanted(file.log, log))
    except OSError as error:
        raise PathError.of(path, error) from error
    chosen = [found for found in seen if found.is_empty or any(_is_wanted(file.log, log) for file in found.files)]
    if not chosen:
        missing = no_log_fault(path, [found.kind for found in seen], () if log is None else (log,))
        raise PathError(f"{missing} (--log says what they are)", path) if seen and log is None else missing
    if not may_be_empty and all(found.is_empty for found in chosen):
        raise empty_logs_fault(path, [found.kind for found in chosen])


def _in_order(found: FoundLog) -> Iterator[InputFile]:
    """Yield the files of a metadata log, each with what is known of its place among them."""
    unused = {file_name(fault.file) for fault in found.passed_over}
    names = [parse_name(file_name(file.path)) for file in found.files if file_name(file.path) not in unused]
    begins_by: int | None = max((name.snapshot_id.offset for name in names if name is not None and name.snapshot_id is not None), default=0)
    passed_over = found.passed_over
    for file, following in zip_longest(found.files, found.files[1:]):
        file = file._replace(passed_over=passed_over)
        if not file.checkpoint:
            file = file._replace(begins_by=begins_by, next_path=following.path if following is not None else "")
            begins_by = None
        passed_over = ()
        yield file


def _is_wanted(found: LogKind | None, log: LogKind | None) -> bool:
    if found in KNOWN_LOGS:
        return log in (None, found)
    # Damage at the start of a file hides its kind: the file is read, and the damage is reported.
    return found is None or log is not None


def is_remote(file: OpenFile) -> bool:
    """Return whether a file lies in a store, where each read is a request."""
    return bool(getattr(file, "is_far", False))


def is_read_once(path: str) -> bool:
    """Return whether a path can be read only once: standard input, a pipe or the like."""
    return not is_uri(path) and is_stream(path)


def open_input(path: str, *, strict: bool = False) -> OpenFile:
    """Open a file by path or URI. With `strict` a store that fails is an error of each read, else the end of the file, with its `trouble`.

    Errors: UsageError where it cannot be opened.
    """
    if is_uri(path):
        from metashell.tables.remote_files import open_remote

        return open_remote(path, strict=strict)
    return open_file(path)


class Excerpt(Closing):
    """A file up to a fixed place: what is appended to it later is not seen."""

    def __init__(self, file: OpenFile, end: int) -> None:
        self.file = file
        self.name = file.name
        self.batch_size_max = file.batch_size_max
        self.is_far = is_remote(file)
        self.end = end

    @property
    def trouble(self) -> str | None:
        return self.file.trouble

    @trouble.setter
    def trouble(self, reason: str | None) -> None:
        self.file.trouble = reason

    def read_at(self, position: int, size: int) -> bytes:
        size = min(size, self.end - position)
        return self.file.read_at(position, size) if size > 0 else b""

    def peek(self, size: int) -> bytes:
        return self.file.peek(min(size, self.end))

    def size(self) -> int | None:
        size = self.file.size()
        return self.end if size is None else min(size, self.end)

    def close(self) -> None:
        self.file.close()


# ---- patterns

_MARKS = frozenset("*[")


def expand_globs(path: str) -> list[str]:
    """Return the paths or URIs that a pattern stands for, a plain path as it is. Errors: UsageError for a pattern without matches."""
    if not is_uri(path):
        return paths_of(path) if os.path.lexists(path) or "{" not in path else _of_several(path, paths_of)
    base = path.partition("?")[0]
    if "{" in base:
        return _of_several(path, _remote_places)
    return _remote_places(path) if _MARKS & set(base) else [path]


def _of_several(path: str, expand: Any) -> list[str]:
    """Return the places of all alternatives in the braces of a pattern; one of them may match nothing."""
    found: list[str] = []
    for each in expand_braces(path):
        try:
            found += [place for place in expand(each) if is_uri(place) or os.path.lexists(place)]
        except PathError:
            continue
    if not found:
        raise PathError(f"{shown_uri(path)}: {os.strerror(ENOENT)}", shown_uri(path))
    return list(dict.fromkeys(found))


def _remote_places(uri: str) -> list[str]:
    from metashell.tables.stores.file_systems import errors_of, file_system, nothing_at

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
    """Return the names, from `folder` on, that a list of patterns fits, one a level."""
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


# ---- logs of a store, copied to this machine

_SMALL = frozenset((META_PROPERTIES, PARTITION_METADATA, QUORUM_STATE))


class LocalCopies(NamedTuple):
    """Paths of this machine; `uris` says what was fetched to where."""

    paths: list[str]
    uris: dict[str, str]

    def shown(self, text: str) -> str:
        """Return a text that names where a file was found, not where it was fetched to. A path in it ends at a space or a colon."""
        for folder in self.uris:
            text = re.sub(re.escape(folder) + r"(?:/[^\s:,()]*)?", lambda match: self.shown_path(match[0]), text)
        return text

    def shown_path(self, path: str) -> str:
        """Return the URI of a file or folder that was fetched, any other path as it is."""
        for folder, uri in self.uris.items():
            if path == folder or path.startswith(f"{folder}/"):
                return path_below(uri, quote(path[len(folder) + 1 :]))
        return path


@contextmanager
def fetch_logs(paths: Sequence[str], kind: LogKind = METADATA) -> Iterator[LocalCopies]:
    """The paths, with a copy of its logs of one kind in place of each URI, for as long as the block runs.

    Errors: PathError where a store fails or has nothing there, or a copy cannot be written.
    """
    if not any(map(is_uri, paths)):
        yield LocalCopies(list(paths), {})
        return
    with TemporaryDirectory(prefix="metashell-logs-") as work:
        found = LocalCopies([], {})
        for number, path in enumerate(paths):
            if not is_uri(path):
                found.paths.append(path)
                continue
            above = os.path.join(work, str(number))
            copy = _fetch(path, above, kind)
            found.paths.append(copy)
            place, query = place_and_query(shown_uri(path))
            found.uris[copy] = place.rstrip("/") + query
        yield found


def _fetch(uri: str, above: str, kind: LogKind) -> str:
    """Copy what lies at a URI to a place of the same name below `above`, with the files above it that name its cluster."""
    from metashell.tables.remote_files import remote_input

    tree, top, is_folder = remote_input(uri)
    copy = os.path.join(above, tree.name(top))
    if tree.read(tree.parent(top), META_PROPERTIES) is not None:
        tree.fetch(tree.parent(top), META_PROPERTIES, above)
    if not is_folder:
        tree.fetch(tree.parent(top), tree.name(top), above)
        return copy
    os.makedirs(copy, exist_ok=True)
    wanted = {log.directory for log in find_logs(top, tree) if log.kind in (kind, None)}
    for folder, names in tree.walk(top):
        target = os.path.join(copy, os.path.relpath(folder, top))
        for name in names:
            if name in _SMALL or (tree.place(folder) in wanted and parse_name(name) is not None):
                tree.fetch(folder, name, target)
    return copy
