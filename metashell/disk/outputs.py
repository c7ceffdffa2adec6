"""Opens files for output, but never one of the files that commands read.

A directory of metadata is evidence, and a mistyped `>` must not truncate a controller's log. So nothing is created or opened for writing
below a source, beside the files that mark a log directory, or by another name (a hard link) of a source's file."""

from __future__ import annotations

import os
from contextlib import contextmanager
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from metashell.common.errors import PathError, UsageError, reason_of
from metashell.common.uris import is_uri, shown_uri
from metashell.disk.names import META_PROPERTIES, PARTITION_METADATA, QUORUM_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Identity = tuple[int, int]

LOG_DIRECTORY_MARKS = (META_PROPERTIES, QUORUM_STATE, PARTITION_METADATA)
"""Files that mark a directory of logs."""
_MODE = 0o666


def open_output(path: str, *, append: bool = False, sources: Iterable[str] = ()) -> int:
    """The descriptor of a file to write to, truncated unless `append`; other things, such as a pipe, are just opened.

    Errors: PathError if it cannot be opened, or lies in one of the `sources` or in any other directory of logs.
    """
    sources = list(sources)
    refuse_beside_logs(path, sources)
    try:
        # Not truncated yet: first we must know that it is not a source's file.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOCTTY | os.O_CLOEXEC | (os.O_APPEND if append else 0), _MODE)
    except OSError as error:
        raise PathError.of(path, error) from None
    try:
        found = os.fstat(descriptor)
        if S_ISREG(found.st_mode):
            if _is_source(found, sources):
                raise PathError(f"{path}: is a file of what is read here, which is not written to", path)
            if not append:
                os.ftruncate(descriptor, 0)
    except OSError as error:
        os.close(descriptor)
        raise PathError.of(path, error) from None
    except PathError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def errors_naming(path: str, hint: str = "") -> Iterator[None]:
    """A block that writes to one file, or below one folder. Errors: PathError with its name, for example if the disk is full."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        about = path if error.filename is None else os.fsdecode(error.filename)
        raise PathError(f"{about}: {reason_of(error)}{hint}", about) from error


@contextmanager
def temporary_files() -> Iterator[None]:
    """A block that writes to the folder for temporary files. Errors: PathError that says so."""
    from tempfile import gettempdir

    try:
        folder = gettempdir()
    except OSError as error:
        raise PathError(f"no folder for temporary files: {reason_of(error)}; TMPDIR names one", "TMPDIR") from error
    with errors_naming(folder, " (the folder for temporary files; TMPDIR names another)"):
        yield


def refuse_beside_logs(path: str, sources: Iterable[str]) -> None:
    """Errors: PathError for a file that lies, or would lie, in one of the sources or in any other directory of logs.

    UsageError for the URI of a store: this function opens only files of this machine.
    """
    if is_uri(path):
        raise UsageError(f"{shown_uri(path)}: this can be written to a file of this machine only, not to a store", shown_uri(path))
    real = os.path.realpath(path)
    if _is_beside_logs(os.path.dirname(real), list(sources)) and not _is_special(real):
        raise PathError(f"{path}: lies in a metadata directory, which is only read", path)


def refuse_folder_of_logs(folder: str, sources: Iterable[str]) -> None:
    """Errors: PathError for an output folder that is, or lies in, one of the sources or any other directory of logs."""
    real = os.path.realpath(folder)
    read = list(sources)
    if _is_beside_logs(real, read) or _is_beside_logs(os.path.dirname(real), read):
        raise PathError(f"{folder}: is or lies in a metadata directory, which is only read", folder)


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not S_ISREG(mode) and not S_ISDIR(mode)


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_beside_logs(folder: str, sources: list[str]) -> bool:
    """Whether a folder has the marks of a directory of logs, or lies below a source."""
    if any(os.path.lexists(os.path.join(folder, mark)) for mark in LOG_DIRECTORY_MARKS):
        return True
    read = {_identity(source) for source in sources} - {None}
    while read:
        if _identity(folder) in read:
            return True
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return False


def _is_source(found: os.stat_result, sources: list[str]) -> bool:
    """Whether a file belongs to a source, perhaps under another name."""
    wanted = found.st_dev, found.st_ino
    if any(_identity(source) == wanted for source in sources):
        return True
    # The path lies outside of every source. Only a file with several names can lie in a source too, so others need no search.
    return found.st_nlink > 1 and any(_identity(file) == wanted for source in sources for file in _files(source))


def _files(source: str) -> Iterator[str]:
    for folder, _, names in os.walk(source):
        for name in names:
            yield os.path.join(folder, name)
