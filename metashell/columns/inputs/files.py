"""The files to read for a path: what `log.inputs` finds there, on this machine or in a store, if its records are known.

Logs of other topics than those that metashell decodes are left out, unless they are named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import zip_longest

from metashell.codec.uris import errors_without_credentials, file_name, is_uri
from metashell.errors import PathError
from metashell.log.file_kinds import Closing
from metashell.log.files import OpenFile, is_stream, open_file
from metashell.log.inputs import LOCAL, FoundLog, InputFile, Tree, all_empty, find_logs, named_file, nothing_found, other_log, paths_of
from metashell.log.kinds import DATA, KNOWN_LOGS, METADATA, LogKind
from metashell.log.names import parse_name


def input_files(
    path: str, log: LogKind | None = None, *, every_checkpoint: bool = False, may_be_empty: bool = False
) -> Iterator[InputFile]:
    """The files that `path` stands for.

    `log` names the kind of log where nothing else does; other logs are left out then. With `every_checkpoint` all checkpoints of
    a directory are given, not only the one that replay needs.
    Errors: UsageError where there is nothing, nothing to decode, or no batch in any of it, unless it `may_be_empty`.
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
    from metashell.columns.inputs.remote import remote_input

    tree, top, is_folder = remote_input(uri)
    if is_folder:
        yield from _files_below(uri, top, tree, log, every_checkpoint, may_be_empty)
    else:
        folder = tree.parent(top)
        yield _known(named_file(uri, tree, folder)._replace(version=tree.version(folder, tree.name(top))), log)


def _known(file: InputFile, log: LogKind | None) -> InputFile:
    """A file that was named, of a log that is known. Errors: UsageError."""
    found = file.log
    if found in KNOWN_LOGS and log is not None and found != log:
        raise other_log(file.path, found, log, reads=False)
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
        missing = nothing_found(path, [found.kind for found in seen], () if log is None else (log,))
        raise PathError(f"{missing} (--log says what they are)", path) if seen and log is None else missing
    if not may_be_empty and all(found.is_empty for found in chosen):
        raise all_empty(path, [found.kind for found in chosen])


def _in_order(found: FoundLog) -> Iterator[InputFile]:
    """The files of a metadata log, each with what is known of its place among them."""
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
    # Damage at the start of a file hides its kind: it is read, and the damage is reported.
    return found is None or log is not None


def is_far(file: OpenFile) -> bool:
    """Whether a file lies in a store, where each read is a request."""
    return bool(getattr(file, "is_far", False))


def is_read_once(path: str) -> bool:
    """Whether a path can be read only once: standard input, a pipe or the like."""
    return not is_uri(path) and is_stream(path)


def open_input(path: str, *, strict: bool = False) -> OpenFile:
    """A file by path or URI. With `strict` a store that fails is an error of each read, else the end of the file, with its `trouble`.

    Errors: UsageError where it cannot be opened.
    """
    if is_uri(path):
        from metashell.columns.inputs.remote import open_remote

        return open_remote(path, strict=strict)
    return open_file(path)


class Excerpt(Closing):
    """A file up to a fixed place: what is appended to it later is not seen."""

    def __init__(self, file: OpenFile, end: int) -> None:
        self.file = file
        self.name = file.name
        self.batch_size_max = file.batch_size_max
        self.is_far = is_far(file)
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
