"""What the words of a command line stand for: files, the logs of directories, standard input."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from metashell.codec.batches import HEADER_SIZE, RecordBatch, read_batch_header
from metashell.errors import PathError, UsageError
from metashell.escape import writable
from metashell.log.files import OpenFile, open_file
from metashell.log.inputs import (
    LogFolder,
    all_empty,
    find_metadata,
    log_folder,
    log_folders,
    needed_checkpoint,
    nothing_found,
    paths_of,
)
from metashell.log.kinds import KNOWN_LOGS, METADATA, LogKind
from metashell.log.names import classify, parse_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    # What reads directories costs a few milliseconds, which a single file does not need.
    from metashell.log.directory import MetadataDirectory

_FIRST_LOOK = 4096


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
            yield Input(label=place, open=partial(open_file, place), is_checkpoint=_is_checkpoint_name(place))
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
    listing = directory.list()
    segments = listing.segments
    follows: int | None = None
    checkpoint = needed_checkpoint(listing, directory.open)
    if checkpoint is not None:
        yield directory_input(directory, checkpoint, is_checkpoint=True, log=METADATA)
        end = next(entry.snapshot_id.offset for entry in listing.checkpoints if entry.name == checkpoint)
        follows = end - 1 if segments and segments[0].base_offset > end else None
    elif listing.checkpoints and (not segments or segments[0].base_offset > 0):
        # None is complete: what the newest one has, and what it lacks, is better than silence.
        yield directory_input(directory, listing.checkpoints[0].name, is_checkpoint=True, log=METADATA)
    for segment in segments:
        yield directory_input(directory, segment.name, is_last=segment is segments[-1], follows=follows, log=folder.kind)
        follows = None


def directory_input(
    directory: MetadataDirectory,
    name: str,
    *,
    is_checkpoint: bool = False,
    is_last: bool = False,
    follows: int | None = None,
    log: LogKind | None = None,
) -> Input:
    """A listed file of a directory as an input."""
    return Input(
        label=os.path.join(directory.path, name),
        open=partial(directory.open, name),
        is_checkpoint=is_checkpoint,
        may_end_early=is_last,
        follows=follows,
        directory=directory,
        log=log,
    )


def shown_path(path: str) -> str:
    """A path as text, whatever the locale: a byte that is not UTF-8 is the text `\\xe9`."""
    return writable(os.fsencode(path).decode("utf-8", "surrogateescape"))


def _is_checkpoint_name(path: str) -> bool:
    parsed = parse_name(os.path.basename(path))
    return parsed is not None and parsed.kind != "segment"


def starts_like_checkpoint(file: OpenFile, path: str) -> bool:
    """Whether a regular file is a checkpoint by its name or, under another name, by what it starts with."""
    if file.size() is None:
        return _is_checkpoint_name(path)
    first: RecordBatch | None = None
    data = file.read_at(0, _FIRST_LOOK)
    if len(data) >= HEADER_SIZE:
        header = read_batch_header(data)
        if header.magic == 2 and HEADER_SIZE <= header.size_bytes <= len(data):
            first = RecordBatch(header, 0, data[: header.size_bytes])
    with suppress(ValueError):
        return classify(os.path.basename(path), first) != "segment"
    return False
