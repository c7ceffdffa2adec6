"""What the words of a command line stand for: files, the logs of directories, standard input."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

from metashell.errors import PathError, UsageError
from metashell.escape import writable
from metashell.log.files import OpenFile, open_file
from metashell.log.inputs import (
    LogFolder,
    all_empty,
    find_metadata,
    log_folder,
    log_folders,
    nothing_found,
    paths_of,
)
from metashell.log.kinds import KNOWN_LOGS, METADATA, LogKind
from metashell.log.listed_files import ListedFile, listed_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    # What reads directories costs a few milliseconds, which a single file does not need.
    from metashell.log.directory import MetadataDirectory


class Input(NamedTuple):
    """One file to dump.

    `open` opens it (errors: OSError, UsageError). `may_end_early` marks the last segment of a directory, whose torn tail is no
    fault; `follows` is the offset before its first one where that is known, and `directory` what it is one of. `log` is what it
    belongs to, where that is known before it is opened.
    """

    label: str
    open: Callable[[], OpenFile]
    is_checkpoint: bool = False
    may_end_early: bool = False
    follows: int | None = None
    directory: MetadataDirectory | None = None
    log: LogKind | None = None


def inputs_of(path: str, wanted: Collection[LogKind] = (), *, may_be_empty: bool = False) -> Iterator[Input]:
    """The files that `path` stands for, in order.

    A directory stands for its segments; where they do not begin at offset 0, its newest complete checkpoint comes first. A
    folder stands for the `wanted` logs below it; where none is wanted more than others, for its metadata log, or where there is none, for
    all whose records are known.
    Errors: UsageError for one without any, or in whose logs no batch was ever written, unless it `may_be_empty`.
    """
    for place in paths_of(path):
        if place == "-" or not os.path.isdir(place):
            yield Input(label=place, open=partial(open_file, place))
            continue
        folders = _folders(place, wanted)
        if not may_be_empty and all(folder.is_empty for folder in folders):
            raise all_empty(place, [folder.kind for folder in folders])
        for folder in folders:
            if os.path.isdir(folder.path):
                yield from _of_directory(folder)
            else:
                yield Input(label=folder.path, open=partial(open_file, folder.path), is_checkpoint=True, log=METADATA)


def _folders(path: str, wanted: Collection[LogKind]) -> list[LogFolder]:
    """Where the logs lie that a directory stands for."""
    try:
        named = log_folder(path)
        if named is not None and named.path == path:
            return [named]
        below: list[LogFolder] | None = None
        if not wanted or set(wanted) == {METADATA}:
            try:
                place = find_metadata(path)
            except UsageError:
                below = list(log_folders(path))
                if wanted or any(folder.kind == METADATA for folder in below):
                    raise
            else:
                found = log_folder(place) if os.path.isdir(place) else None
                return [found or LogFolder(place, METADATA)]
        below = list(log_folders(path)) if below is None else below
    except OSError as error:
        raise PathError.of(path, error) from error
    chosen = sorted(folder for folder in below if folder.kind in (wanted or KNOWN_LOGS))
    if not chosen:
        raise nothing_found(path, [folder.kind for folder in below], wanted)
    return chosen


def _of_directory(folder: LogFolder) -> Iterator[Input]:
    from metashell.log.directory import MetadataDirectory

    directory = MetadataDirectory(folder.path)
    for file in listed_files(directory.list(), directory.open, shows_damaged=True):
        yield directory_input(directory, file, METADATA if file.is_checkpoint else folder.kind)


def directory_input(directory: MetadataDirectory, file: ListedFile, log: LogKind | None) -> Input:
    """A listed file of a directory as an input."""
    return Input(
        label=os.path.join(directory.path, file.name),
        open=partial(directory.open, file.name),
        is_checkpoint=file.is_checkpoint,
        may_end_early=file.may_end_early,
        follows=file.follows,
        directory=directory,
        log=log,
    )


def shown_path(path: str) -> str:
    """A path as text, whatever the locale: a byte that is not UTF-8 is the text `\\xe9`."""
    return writable(os.fsencode(path).decode("utf-8", "surrogateescape"))
