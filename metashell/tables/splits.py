"""Splits: the work as byte ranges of whole batches, so that one large file uses every core.

Each record belongs to exactly one split. A file is cut at places on the chain of its batches, which starts at its first byte. They
are found by hopping over batch headers, or taken from the `.index` beside a segment if the chain between two of its entries
confirms them. Where the chain is broken by corruption, the next batch is guessed, and believed only if a chain from there
leads to the known end of the file (see `resync`). A reader walks its range and must end exactly where the range does.

Nothing here needs numpy or pyarrow: planning is cheap, and splits are small values that can be pickled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from struct import iter_unpack

from metashell.common.errors import PathError, UsageError
from metashell.common.uris import file_name, is_uri, shown_uri
from metashell.disk.directory import log_name_of
from metashell.disk.files import OpenFile
from metashell.disk.inputs import InputFile
from metashell.disk.names import METADATA, LogKind, parse_name
from metashell.disk.segment import SourceFault
from metashell.tables.batch_chain import Chain, narrow_range
from metashell.tables.dictionary import log_of_table
from metashell.tables.input_files import input_files, is_read_once, open_input
from metashell.tables.read_options import Bounds

TARGET_BYTES = 32 << 20
"""The usual size of a split: 250 000 partition records, and a few tens of milliseconds of start-up are a small part of it."""
_MANY = 8
FILE_COST_BYTES = 64 << 10
"""The cost of opening a file, in bytes: thousands of small files are shared out by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A range of one file: batches that start at `start` or after and end at `end` or before; `end` is -1 for all of a stream.

    `log` is the kind of log it lies in, None where only reading shows it; `checkpoint` names the checkpoint that the file is. `size` is
    that of the file when it was planned. What follows the last whole batch of the file is no fault where `may_end_early`.
    `begins_by`, `next_path` and `passed_over` are those of `InputFile`, for its first and its last piece. `is_narrowed`: what lies outside
    of the wanted offsets and epochs was cut off. `version` is that of `InputFile`. `seal` says what the file was when it was planned,
    where that matters: see `tables.lake.input_conflicts`. `is_guessed`: reading has to show that batches begin at `start` and end at `end`.
    """

    path: str
    log: LogKind | None
    cluster_id: str
    start: int
    end: int
    size: int
    may_end_early: bool = False
    checkpoint: str = ""
    begins_by: int | None = None
    next_path: str = ""
    passed_over: tuple[SourceFault, ...] = ()
    is_narrowed: bool = False
    version: str = ""
    seal: tuple[str, tuple[tuple[int, tuple[int, int, int, int]], ...]] = ("", ())
    is_guessed: bool = False

    @property
    def is_last(self) -> bool:
        return self.end in (self.size, -1)


@dataclass(frozen=True, slots=True)
class Split:
    """The input of one task: pieces of files, in order."""

    pieces: tuple[Piece, ...]

    @property
    def bytes(self) -> int:
        """The number of bytes to read, as far as it is known before."""
        return sum(max(piece.end - piece.start, 0) for piece in self.pieces)


def plan_splits(
    paths: str | Sequence[str],
    target_bytes: int = TARGET_BYTES,
    *,
    log: LogKind | None = None,
    every_checkpoint: bool = False,
    only: Bounds | None = None,
    logs: set[LogKind | None] | None = None,
) -> list[Split]:
    """Return the splits of all files that `paths` stand for, of about `target_bytes` each: large files are cut, small ones put together.

    `log` names the kind of log where nothing else does; other logs are left out then. `every_checkpoint`: see `input_files`.
    With `only`, what cannot hold a wanted row is in no split; the kinds of all logs that were found go into `logs`.
    Errors: UsageError for a path that cannot be opened, or stands for no log.
    """
    return list(iter_splits(paths, target_bytes, log=log, every_checkpoint=every_checkpoint, only=only, logs=logs))


def iter_splits(
    paths: str | Sequence[str],
    target_bytes: int = TARGET_BYTES,
    *,
    log: LogKind | None = None,
    every_checkpoint: bool = False,
    only: Bounds | None = None,
    logs: set[LogKind | None] | None = None,
) -> Iterator[Split]:
    """Yield the splits of `plan_splits`, each as soon as it is known."""
    listed = [paths] if isinstance(paths, str) else paths
    files = (file for path in listed for file in input_files(path, log, every_checkpoint=every_checkpoint))
    return splits_of(files, target_bytes, only=only, logs=logs)


def splits_of(
    files: Iterable[InputFile],
    target_bytes: int = TARGET_BYTES,
    *,
    only: Bounds | None = None,
    logs: set[LogKind | None] | None = None,
    sizes: dict[str, int] | None = None,
) -> Iterator[Split]:
    """Yield the splits of files that are listed already; `sizes`: see `file_pieces`."""
    gathered: list[Piece] = []
    weight = 0
    for file in files:
        if logs is not None:
            logs.add(kind_of(file))
        pieces = file_pieces(file, target_bytes, only, sizes)
        first, second = next(pieces, None), next(pieces, None)
        if first is not None and second is not None:
            for piece in chain((first, second), pieces):
                yield Split((piece,))
        elif first is not None:
            gathered.append(first)
            weight += max(first.end - first.start, 0) + FILE_COST_BYTES
        if weight >= target_bytes:
            yield Split(tuple(gathered))
            gathered, weight = [], 0
    if gathered:
        yield Split(tuple(gathered))


def logs_of(splits: Iterable[Split]) -> set[LogKind | None]:
    """Return the kinds of logs that splits are of; None where only reading shows it."""
    return {piece.log for split in splits for piece in split.pieces}


def require_logs(logs: Collection[LogKind | None], tables: Iterable[str], paths: str | Sequence[str]) -> None:
    """Require the log of each table. Errors: UsageError where it was not found: an empty table would say that nothing is in it."""
    for table in tables:
        if not has_log(logs, table):
            raise absent_log(paths, table)


def has_log(logs: Collection[LogKind | None], table: str) -> bool:
    """Return whether the log that a table is made from is among those that were found."""
    return log_of_table(table) in (None, *logs) or None in logs


def absent_log(paths: str | Sequence[str], table: str) -> UsageError:
    """Return the error for a table whose log is not here."""
    log = log_of_table(table)
    assert log is not None, "every log has this table"
    where = " ".join(map(shown_uri, (paths,) if isinstance(paths, str) else paths))
    return PathError(f"{where}: no {log_name_of(log).removeprefix('the ')} here, which the table {table} is made from", table)


def file_pieces(file: InputFile, target_bytes: int, only: Bounds | None = None, sizes: dict[str, int] | None = None) -> Iterator[Piece]:
    """Yield the pieces of one file, each as soon as it is known; a stream, or a file below the size of two pieces, is one.

    With `only` there are none of what lies before and behind all wanted rows. `sizes` keeps how large files were when they were first
    planned: what has been added since is left out, so that all tables end at one place.
    """
    if is_read_once(file.path):
        # A look into a stream would consume it.
        yield _piece(file, 0, -1, -1)
        return
    if only is not None and _ends_before(file, only):
        return
    with open_input(file.path) as opened:
        size = opened.size()
        if size is None:
            yield _piece(file, 0, -1, -1)
            return
        size = size if sizes is None else min(size, sizes.setdefault(file.path, size))
        start, end = (0, size) if only is None or size == 0 else narrow_range(opened, size, only)
        if start == end and only is not None:
            return
        for cut in chain(cut_points(opened, size, target_bytes, file.path, start, end), (end,)):
            if cut > start or size == 0:
                yield _piece(file, start, cut, size, is_narrowed=only is not None)
            start = cut


def _ends_before(file: InputFile, only: Bounds) -> bool:
    """Return whether the name of the next segment shows that all of this one lies before the wanted offsets."""
    name = parse_name(file_name(file.next_path))
    if name is None or name.base_offset is None or only.offset.least is None:
        return False
    return name.base_offset <= only.offset.least


def kind_of(file: InputFile) -> LogKind | None:
    """Return the kind of log that a file is of, None where only reading shows it."""
    return file.log if file.log is not None or is_read_once(file.path) else METADATA


def _piece(file: InputFile, start: int, end: int, size: int, *, is_narrowed: bool = False) -> Piece:
    return Piece(
        path=file.path,
        log=kind_of(file),
        cluster_id=file.cluster_id,
        start=start,
        end=end,
        size=size,
        may_end_early=file.may_end_early,
        checkpoint=file.checkpoint,
        begins_by=file.begins_by if start == 0 else None,
        next_path=file.next_path if end in (size, -1) else "",
        passed_over=file.passed_over if start == 0 else (),
        is_narrowed=is_narrowed,
        version=file.version,
    )


def cut_points(
    opened: OpenFile, size: int, target_bytes: int, path: str | None = None, start: int = 0, end: int | None = None
) -> Iterator[int]:
    """Places on the chain of batches of a file, near every `target_bytes` from `start` to `end`, which lie on it.

    `path` lets the index beside it help.
    """
    end = size if end is None else end
    wanted = [start + place for place in _wanted_places(end - start, target_bytes)]
    if not wanted:
        return
    walk = Chain(opened, size)
    walk.jump(start)
    hints = _index_hints(path, wanted) if path is not None else {}
    last = start
    for place in wanted:
        hint = hints.get(place)
        if hint is not None and hint[0] > walk.position and walk.confirms(*hint):
            walk.jump(hint[0])
        if walk.advance(place) is None:
            return
        if last < walk.position < end:
            yield walk.position
            last = walk.position


def _wanted_places(size: int, target_bytes: int) -> list[int]:
    """Return the best places of cuts: evenly, but closer at the end of a large file, so that all tasks end at about the same time."""
    count = max(round(size / target_bytes), 1)
    quarters = [4 * number for number in range(1, count)]
    if count >= _MANY:
        quarters = [*quarters[:-1], 4 * count - 6, 4 * count - 4, 4 * count - 3, 4 * count - 2, 4 * count - 1]
    return [size * quarter // (4 * count) for quarter in quarters]


def _index_hints(path: str, wanted: Iterable[int]) -> dict[int, tuple[int, int, int, int]]:
    """For each wanted place two neighbouring entries of the offset index before it: position and last offset, twice."""
    name = parse_name(file_name(path))
    if name is None or name.base_offset is None or name.is_compressed or is_uri(path):
        return {}
    try:
        with open(path[: -len(".log")] + ".index", "rb") as file:
            data = file.read()
    except OSError:
        return {}
    from bisect import bisect_right

    entries = [(position, name.base_offset + relative) for relative, position in iter_unpack(">ii", data[: len(data) // 8 * 8])]
    while entries and entries[-1] == (0, name.base_offset):
        entries.pop()
    positions = [position for position, _ in entries]
    if positions != sorted(set(positions)):
        return {}
    found = {}
    for place in wanted:
        at = bisect_right(positions, place) - 1
        if at > 0:
            found[place] = (*entries[at - 1], *entries[at])
    return found
