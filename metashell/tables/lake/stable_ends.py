"""The last stable offsets of logs of groups: up to there an append reads them.

A row of a lake never changes, so it is written once the outcome of its transaction is known. What follows the first record of an open
transaction comes with the append after its end. A compressed file does not grow: its open transactions stay open, and it is read whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from metashell.common.errors import PathError
from metashell.common.uris import file_name, folder_of
from metashell.disk.files import OpenFile
from metashell.disk.inputs import InputFile
from metashell.disk.names import COMPRESSED_SUFFIXES, OFFSETS
from metashell.tables.input_files import is_remote, open_input
from metashell.tables.lake.input_conflicts import names_of
from metashell.tables.lake.ledger import FileMark, LogKey, LogState
from metashell.tables.lake.remote_probe import KEPT_MAX, CachedFile, batch_at
from metashell.tables.transactions import first_held


@contextmanager
def open_to_plan(file: InputFile) -> Iterator[OpenFile]:
    """A file to plan with. Errors: MetashellError where a disk or a store cannot be read: what is behind it must not count as read."""
    with open_input(file.path, strict=True) as opened:
        size = opened.size()
        yield CachedFile(opened, size) if is_remote(opened) and size is not None and size <= KEPT_MAX else opened
        if opened.trouble is not None and opened.size() is not None:
            raise PathError(f"{opened.name}: {opened.trouble}", file.path)


def is_as_read(opened: OpenFile, mark: FileMark, size: int) -> bool:
    """Return whether the last batch that was read is where it was."""
    last = batch_at(opened, mark.position) if size >= mark.end else None
    return last is not None and last == (mark.last, mark.end - mark.position)


@dataclass(slots=True)
class StablePart:
    """The files to read, each with its log. `ends_at` has for a file of which only a part is read the byte at which that ends.

    `held` says of each log that is not read to its end who holds it back.
    """

    files: list[InputFile]
    keys: list[LogKey]
    ends_at: dict[str, int] = field(default_factory=dict)
    held: dict[LogKey, str] = field(default_factory=dict)


def up_to_last_stable(files: Sequence[InputFile], keys: Sequence[LogKey], covered: Mapping[LogKey, LogState]) -> StablePart:
    """Return the files without what lies behind the last stable offset of a log of groups. `covered` is what the lake has."""
    found = StablePart(list(files), list(keys))
    gone: set[str] = set()
    # Where nothing names the node, each segment has a key of its own.
    for folder in dict.fromkeys(folder_of(file.path) for file in files if file.log == OFFSETS):
        own = [pair for pair in zip(files, keys, strict=True) if folder_of(pair[0].path) == folder and not _is_packed(pair[0])]
        first, start = _first_new(own, covered)
        held = first_held([file.path for file, _ in own[first:]], start)
        if held is None:
            continue
        number = first + held.number
        last, key = own[number]
        found.ends_at[last.path] = held.position
        gone.update(file.path for file, _ in own[number + (held.position > 0) :])
        found.held[key] = (
            f"{key}: read up to offset {held.offset}, where a transaction of producer {held.producer_id} is open: what follows is added "
            "once it has ended"
        )
    if gone:
        kept = [pair for pair in zip(files, keys, strict=True) if pair[0].path not in gone]
        found.files, found.keys = [file for file, _ in kept], [key for _, key in kept]
    return found


def _is_packed(file: InputFile) -> bool:
    return file_name(file.path).rpartition(".")[2] in COMPRESSED_SUFFIXES


def _first_new(files: Sequence[tuple[InputFile, LogKey]], covered: Mapping[LogKey, LogState]) -> tuple[int, int]:
    """Return the number of the first file that may have new batches, and the place in it before which no transaction is open."""
    for number in reversed(range(len(files))):
        file, key = files[number]
        known = covered.get(key)
        mark = None if known is None else known.files.get(names_of(file.path)[1])
        if mark is None:
            continue
        with open_to_plan(file) as opened:
            size = opened.size()
            if size is not None and is_as_read(opened, mark, size):
                return number, mark.end
        break
    return 0, 0
