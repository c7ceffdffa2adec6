"""Which files a path stands for: a file, a log directory, a node's directory, or a folder with those of many clusters; a URI.

A metadata directory stands for its segments, and where they do not begin at offset 0 its newest complete checkpoint comes
first, as in dump-log. Logs of other topics than those that metashell decodes are left out, unless they are named.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from metashell.columns.logs import METADATA, cluster_of, log_of_directory
from metashell.errors import UsageError
from metashell.log.files import STREAM_NAMES, OpenFile, open_file
from metashell.log.names import META_PROPERTIES, LogFileName, parse_name

URI_MARK = "://"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file to read: the kind of log it lies in (None: its content will tell) and the cluster it is of.

    `may_end_early` marks the last segment of a directory, whose torn or empty tail is no fault. A file that `is_named` is read
    even where nothing tells what it holds.
    """

    path: str
    log: str | None
    cluster_id: str
    may_end_early: bool = False
    is_named: bool = False


def input_files(path: str, log: str | None = None) -> Iterator[InputFile]:
    """The files that `path` stands for.

    Errors: UsageError where there is nothing, or nothing to decode.
    """
    if is_uri(path):
        from metashell.columns.remote import remote_files

        yield from remote_files(path, log)
        return
    if not os.path.isdir(path):
        directory = os.path.dirname(path)
        parsed = parse_name(os.path.basename(path))
        kind = METADATA if parsed is not None and parsed.kind != "segment" else log_of_directory(os.path.abspath(directory))
        yield InputFile(path=path, log=log or kind, cluster_id=cluster_of(directory or "."), is_named=True)
        return
    found = False
    for directory, names, files in os.walk(path):
        names.sort()
        for file in files_of_directory(directory, files, log):
            found = True
            yield file
    if not found:
        raise UsageError(f"{path}: no log here that can be decoded: neither segments nor checkpoints", path)


def files_of_directory(directory: str, names: list[str], log: str | None) -> Iterator[InputFile]:
    """The files to read of one directory's."""
    base = os.path.basename(os.path.abspath(directory))
    kind = log or log_of_directory(base)
    if kind is None and _is_partition(base) and os.path.exists(os.path.join(os.path.dirname(os.path.abspath(directory)), META_PROPERTIES)):
        return  # the log of some topic of a node, which holds users' data
    segments, checkpoints = chosen_names(names)
    chosen = [*needed_checkpoint(partial(os.path.join, directory), segments, checkpoints), *segments]
    cluster_id = cluster_of(directory) if chosen else ""
    for name in chosen:
        is_checkpoint = name.endswith((".checkpoint", ".checkpoint.gz"))
        yield InputFile(
            path=os.path.join(directory, name),
            log=METADATA if is_checkpoint else kind,
            cluster_id=cluster_id,
            may_end_early=bool(segments) and name == segments[-1],
        )


def _is_partition(name: str) -> bool:
    topic, dash, number = name.rpartition("-")
    return bool(topic and dash) and number.isdigit() and number == str(int(number))


def chosen_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Segments in order and checkpoints, newest first, among the names of a directory; of a file and its gzip copy the file."""
    parsed: dict[object, tuple[LogFileName, str]] = {}
    for name in sorted(names, key=lambda name: name.endswith(".gz")):
        found = parse_name(name)
        if found is not None and not found.state and found.kind != "bootstrap":
            parsed.setdefault(found.base_offset if found.kind == "segment" else found.snapshot_id, (found, name))
    segments = sorted((found.base_offset or 0, name) for found, name in parsed.values() if found.kind == "segment")
    checkpoints = [(found.snapshot_id, name) for found, name in parsed.values() if found.snapshot_id is not None]
    checkpoints.sort(key=lambda entry: entry[0], reverse=True)
    return [name for _, name in segments], [name for _, name in checkpoints]


def needed_checkpoint(path_of: Callable[[str], str], segments: list[str], checkpoints: list[str]) -> Iterator[str]:
    """The newest complete checkpoint, where the segments do not tell the whole story; `path_of` a name is where the file lies."""
    first = parse_name(segments[0]) if segments else None
    if first is not None and first.base_offset == 0:
        return
    from metashell.log.snapshot import first_snapshot_fault

    for name in checkpoints:
        with open_input(path_of(name)) as file:
            if first_snapshot_fault(file) is None:
                yield name
                return


def is_uri(path: str) -> bool:
    """Whether a path is one of pyarrow's file systems, such as `s3://bucket/key`."""
    return URI_MARK in path


def is_stream(path: str) -> bool:
    """Whether a path is standard input, a pipe or the like: what is read of it is gone."""
    if path in STREAM_NAMES:
        return True
    try:
        return not is_uri(path) and not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def open_input(path: str) -> OpenFile:
    """A file by path or URI. Errors: UsageError where it cannot be opened."""
    if is_uri(path):
        from metashell.columns.remote import open_remote

        return open_remote(path)
    return open_file(path)


class Excerpt:
    """A file that ends at a fixed place, whatever is appended to it meanwhile."""

    def __init__(self, file: OpenFile, end: int) -> None:
        self.file = file
        self.name = file.name
        self.batch_size_max = file.batch_size_max
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

    def size(self) -> int | None:
        size = self.file.size()
        return self.end if size is None else min(size, self.end)

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
