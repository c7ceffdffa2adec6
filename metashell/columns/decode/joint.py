"""Many small files decoded as one chunk: what a chunk costs is then paid once for hundreds of files.

Only whole files of plain, good batches in order are taken. Where anything else is found, nothing is given, and the files are read one
by one, as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.columns.decode.chunks import Chunk, add_plain
from metashell.columns.decode.common import batches_table, control_table
from metashell.columns.decode.headers import Headers
from metashell.columns.decode.options import ReadOptions
from metashell.columns.decode.order import HeaderOrder
from metashell.columns.decode.place import Places
from metashell.columns.decode.records import RecordTables
from metashell.columns.decode.vectors import Ints
from metashell.columns.inputs.files import Excerpt, open_input
from metashell.columns.inputs.splits import Piece
from metashell.columns.schemas import BATCHES, CONTROL
from metashell.errors import UsageError
from metashell.log.kinds import METADATA
from metashell.log.order import order_fault

JOINT_BYTES: Final = 4 << 20
"""How much is decoded at once. Each group of files pays for every type of record that it has."""
SMALL_MAX: Final = JOINT_BYTES // 8
"""Larger files are decoded alone: what is paid for each is little beside them."""
FAILURES_MAX: Final = 2
"""After so many groups that could not be read together the files of a split are read one by one."""

Tables = list[tuple[str, pa.RecordBatch]]
NextOrder = Callable[[Piece, HeaderOrder], bool]
"""Whether the file after a piece begins in order."""


def groups(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The pieces in order; neighbours that may be read together are in one list, no file twice."""
    gathered: dict[str, Piece] = {}
    log, size = None, 0
    for piece in pieces:
        is_small = _may_join(piece)
        if gathered and (not is_small or piece.log != log or size + piece.size > JOINT_BYTES or piece.path in gathered):
            yield list(gathered.values())
            gathered, size = {}, 0
        if is_small:
            gathered[piece.path] = piece
            log, size = piece.log, size + piece.size
        else:
            yield [piece]
    if gathered:
        yield list(gathered.values())


def _may_join(piece: Piece) -> bool:
    is_whole = piece.start == 0 and piece.end == piece.size and 0 < piece.size <= SMALL_MAX
    return is_whole and piece.log is not None and not (piece.passed_over or piece.is_narrowed or piece.is_guessed)


def read_joint(pieces: Sequence[Piece], options: ReadOptions, next_is_in_order: NextOrder) -> Tables | None:
    """The raw tables of small files of one kind of log; None where any of them is not as usual."""
    log = pieces[0].log
    assert log is not None
    if options.tables_by_log is not None:
        if log not in options.tables_by_log:
            return []
        options = replace(options, tables=options.tables_by_log[log])
    chunk, starts, firsts = _gathered(pieces)
    if chunk is None:
        return None
    headers, buffer, rows = chunk.read()
    counts = np.diff([*firsts, len(headers)])
    file_of_batch = np.repeat(np.arange(len(pieces)), counts)
    headers.position -= np.array(starts, np.int64)[file_of_batch]
    if log == METADATA and not _in_order(pieces, headers, firsts, next_is_in_order):
        return None
    place = Places(pieces, file_of_batch)
    found, faults = RecordTables(log, options).read(headers, buffer, rows, place)
    if faults or chunk.faults:
        return None
    if options.wants(CONTROL):
        found += [(CONTROL, table) for table in control_table(headers, buffer, rows, place, options.show_secrets)]
    if options.wants(BATCHES):
        found.append((BATCHES, batches_table(headers, place)))
    return found


def _gathered(pieces: Sequence[Piece]) -> tuple[Chunk | None, list[int], list[int]]:
    """All files in one chunk, None where one is unusual: where each starts in the buffer, and the number of its first batch."""
    chunk = Chunk(b"", 0)
    starts: list[int] = []
    firsts: list[int] = []
    for piece in pieces:
        try:
            with open_input(piece.path) as file:
                data = Excerpt(file, piece.end).read_at(0, piece.size)
        except UsageError:
            return None, [], []
        starts.append(chunk.size)
        firsts.append(len(chunk))
        if len(data) != piece.size or not add_plain(chunk, data):
            return None, [], []
    return chunk, starts, firsts


def _in_order(pieces: Sequence[Piece], headers: Headers, firsts: Sequence[int], next_is_in_order: NextOrder) -> bool:
    """Whether the batches of each file follow one another, and the files that are neighbours too."""
    base, end, epoch = headers.base_offset, headers.last_offset + 1, headers.leader_epoch
    odd = (base[1:] != end[:-1]) | (epoch[1:] < epoch[:-1])
    odd[np.array(firsts[1:], np.int64) - 1] = False
    if odd.any():
        return False
    lasts = [*(first - 1 for first in firsts[1:]), len(headers) - 1]
    ends, epochs = _picked(end, epoch, lasts)
    begins = _picked(base, epoch, firsts)
    for number, piece in enumerate(pieces):
        begin = (begins[0][number], begins[1][number])
        if piece.begins_by is not None and begin[0] > piece.begins_by:
            return False
        if not piece.next_path:
            continue
        if number + 1 < len(pieces) and pieces[number + 1].path == piece.next_path:
            following = (begins[0][number + 1], begins[1][number + 1])
            if order_fault(ends[number], epochs[number], following):
                return False
        elif not next_is_in_order(piece, HeaderOrder.after(ends[number], epochs[number])):
            return False
    return True


def _picked(offsets: Ints, epochs: Ints, numbers: Sequence[int]) -> tuple[list[int], list[int]]:
    chosen = np.array(numbers, np.int64)
    return offsets[chosen].tolist(), epochs[chosen].tolist()
