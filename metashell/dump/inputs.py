"""What the words of a command line stand for: files, directories of them, standard input."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from metashell.codec.batches import HEADER_SIZE, RecordBatch, read_batch_header
from metashell.log.files import OpenFile, open_file
from metashell.log.names import classify, parse_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    # What reads directories costs a few milliseconds, which a single file does not need.
    from metashell.log.directory import MetadataDirectory

_FIRST_LOOK = 4096
INDEX_SUFFIXES = (".index", ".timeindex", ".txnindex", ".snapshot")
TEXT_FILES = (
    "leader-epoch-checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "partition.metadata",
    "quorum-state",
    "meta.properties",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One file to dump.

    `open` opens it (errors: OSError, UsageError). `may_end_early` marks the last segment of a directory, whose torn tail is no
    fault; `follows` is the offset before its first one where that is known, and `directory` what it is one of.
    """

    label: str
    open: Callable[[], OpenFile]
    is_checkpoint: bool = False
    may_end_early: bool = False
    follows: int | None = None
    directory: MetadataDirectory | None = None


def inputs_of(path: str) -> Iterator[Input]:
    """The files that `path` stands for, in order.

    A directory stands for its segments; where they do not begin at offset 0, its newest complete checkpoint comes first.
    Errors: UsageError for a directory without any.
    """
    if path != "-" and os.path.isdir(path):
        from metashell.log.directory import find_metadata

        path = find_metadata(path)
        if os.path.isdir(path):
            yield from _of_directory(path)
            return
    yield Input(label=path, open=lambda: open_file(path), is_checkpoint=_is_checkpoint_name(path))


def _of_directory(path: str) -> Iterator[Input]:
    from metashell.log.directory import MetadataDirectory

    directory = MetadataDirectory(path)
    listing = directory.list()
    segments = listing.segments
    follows: int | None = None
    if not segments or segments[0].base_offset > 0:
        for checkpoint in listing.checkpoints:
            entry = directory_input(directory, checkpoint.name, is_checkpoint=True)
            if _is_whole(entry):
                yield entry
                if segments and segments[0].base_offset > checkpoint.snapshot_id.offset:
                    follows = checkpoint.snapshot_id.offset - 1
                break
    for segment in segments:
        yield directory_input(directory, segment.name, is_last=segment is segments[-1], follows=follows)
        follows = None


def directory_input(
    directory: MetadataDirectory,
    name: str,
    *,
    is_checkpoint: bool = False,
    is_last: bool = False,
    follows: int | None = None,
) -> Input:
    """A listed file of a directory as an input."""
    return Input(
        label=os.path.join(directory.path, name),
        open=lambda: directory.open(name),
        is_checkpoint=is_checkpoint,
        may_end_early=is_last,
        follows=follows,
        directory=directory,
    )


def _is_whole(entry: Input) -> bool:
    from metashell.log.snapshot import first_snapshot_fault

    try:
        with entry.open() as file:
            return first_snapshot_fault(file) is None
    except OSError:
        return False


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


def is_other_kind(path: str) -> bool:
    """Whether a file is no log and no checkpoint, by its name: an index, a producer snapshot or one of the text files."""
    return os.path.splitext(path)[1] in INDEX_SUFFIXES or os.path.basename(path) in TEXT_FILES
