"""Splits: which part of the work is whose, as byte ranges of whole batches, so that one large file uses every core.

Each record belongs to exactly one split. The cuts of a file are places on the chain of its batches, which starts at its first
byte: found by hopping over batch headers, or taken from the `.index` beside a segment where the chain between two of its entries
confirms them. Where the chain is broken by corruption, the next batch is guessed, and believed only if a chain from there
leads to the known end of the file (see `resync`). A reader walks its range and must end exactly where the range does.

Nothing here needs numpy or pyarrow: planning is cheap, and splits are small values that can be pickled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from metashell.columns.chain import Chain
from metashell.columns.inputs import InputFile, input_files, is_stream, open_input
from metashell.columns.logs import METADATA
from metashell.log.files import OpenFile

TARGET_BYTES = 32 << 20
"""The size of a split when nobody says another: 250 000 partition records, a few tens of milliseconds of start-up to spread."""
_LOOK_BYTES = 1 << 20
_FILE_COST_BYTES = 64 << 10
"""What opening a file is worth: thousands of small files are shared out by this too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A range of one file: batches that start at `start` or after and end at `end` or before; `end` is -1 for all of a stream.

    `log` is the kind of log it lies in. `size` is that of the file when it was planned. What follows the last whole batch of the
    file is no fault where `may_end_early`.
    """

    path: str
    log: str
    cluster_id: str
    start: int
    end: int
    size: int
    may_end_early: bool = False

    @property
    def is_last(self) -> bool:
        return self.end in (self.size, -1)


@dataclass(frozen=True, slots=True)
class Split:
    """What one task reads: pieces of files, in order."""

    pieces: tuple[Piece, ...]

    @property
    def bytes(self) -> int:
        """How much there is to read, as far as is known before."""
        return sum(max(piece.end - piece.start, 0) for piece in self.pieces)


def plan_splits(
    paths: str | Sequence[str], target_bytes: int = TARGET_BYTES, *, log: str | None = None, use_index: bool = True
) -> list[Split]:
    """The splits of all files that `paths` stand for, of about `target_bytes` each: large files are cut, small ones put together.

    `log` names the kind of log where file names do not tell.
    Errors: UsageError for a path that cannot be opened, or stands for no log.
    """
    listed = [paths] if isinstance(paths, str) else paths
    splits: list[Split] = []
    gathered: list[Piece] = []
    weight = 0
    for file in (file for path in listed for file in input_files(path, log)):
        pieces = file_pieces(file, target_bytes, use_index=use_index)
        if len(pieces) > 1:
            splits += [Split((piece,)) for piece in pieces]
            continue
        for piece in pieces:
            gathered.append(piece)
            weight += max(piece.end - piece.start, 0) + _FILE_COST_BYTES
        if weight >= target_bytes:
            splits.append(Split(tuple(gathered)))
            gathered, weight = [], 0
    if gathered:
        splits.append(Split(tuple(gathered)))
    return splits


def file_pieces(file: InputFile, target_bytes: int, *, use_index: bool = True) -> list[Piece]:
    """The pieces of one file; a stream, or a file below the size of two pieces, is one."""
    if is_stream(file.path):
        # To look into it would be to read it.
        return [_piece(file, file.log or METADATA, 0, -1, -1)]
    with open_input(file.path) as opened:
        size = opened.size()
        log = file.log or kind_by_content(file, opened)
        if log is None:
            return []
        if size is None:
            return [_piece(file, log, 0, -1, -1)]
        cuts = cut_points(opened, size, target_bytes, file.path if use_index else None)
    bounds = [0, *cuts, size]
    return [_piece(file, log, start, end, size) for start, end in pairwise(bounds) if end > start or size == 0]


def kind_by_content(file: InputFile, opened: OpenFile) -> str | None:
    """The kind of log that a file's first records are of; a file that was named is taken for the metadata log if in doubt."""
    from metashell.columns.logs import log_of_records
    from metashell.log.segment import BatchFault, read_batches

    if opened.size() is None:
        return METADATA
    first = (item for item in read_batches(opened, max_bytes=_LOOK_BYTES) if not isinstance(item, BatchFault))
    return log_of_records(first) or (METADATA if file.is_named else None)


def _piece(file: InputFile, log: str, start: int, end: int, size: int) -> Piece:
    return Piece(path=file.path, log=log, cluster_id=file.cluster_id, start=start, end=end, size=size, may_end_early=file.may_end_early)


def cut_points(opened: OpenFile, size: int, target_bytes: int, path: str | None = None) -> list[int]:
    """Places on the chain of batches of a file, near every `target_bytes`; `path` lets the index beside it help."""
    count = max(round(size / target_bytes), 1)
    wanted = [size * number // count for number in range(1, count)]
    if not wanted:
        return []
    chain = Chain(opened, size)
    hints = _index_hints(path, wanted) if path is not None else {}
    cuts: list[int] = []
    for place in wanted:
        hint = hints.get(place)
        if hint is not None and hint[0] > chain.position and chain.confirms(*hint):
            chain.jump(hint[0])
        if chain.advance(place) is None:
            break
        if not cuts or chain.position > cuts[-1]:
            cuts.append(chain.position)
    return [cut for cut in cuts if 0 < cut < size]


def _index_hints(path: str, wanted: Iterable[int]) -> dict[int, tuple[int, int, int, int]]:
    """For each wanted place two neighbouring entries of the offset index before it: position and last offset, twice."""
    from metashell.log.names import parse_name

    name = parse_name(os.path.basename(path))
    if name is None or name.base_offset is None or name.is_compressed or "://" in path:
        return {}
    try:
        with open(path[: -len(".log")] + ".index", "rb") as file:
            data = file.read()
    except OSError:
        return {}
    from bisect import bisect_right
    from struct import iter_unpack

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
