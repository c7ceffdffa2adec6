"""A split as Arrow: what lies in a range of a file, table by table, in pieces of bounded size.

Many small files are decoded as one chunk, whose cost is then paid once for hundreds of files. Only whole files of plain, good batches in
order are joined. Where anything else is found, the files are read one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.codec.batches import RecordBatch
from metashell.common.errors import LogCorruptError, PathError, UsageError
from metashell.common.uris import shown_uri
from metashell.disk.directory import content_of
from metashell.disk.files import OpenFile
from metashell.disk.names import DATA, METADATA
from metashell.disk.segment import BatchFault, Tail, empty_tail, may_lack_batches, order_fault, read_batches
from metashell.tables.batch_chain import resync, wanted_parts
from metashell.tables.columns.chunk_records import Place, Places, batch_outcomes
from metashell.tables.columns.chunks import (
    RECORDS_MAX,
    Batches,
    Chunk,
    add_plain,
    read_chunks,
    read_stream_chunks,
)
from metashell.tables.columns.record_tables import RecordTables, batches_table, control_table, faults_table
from metashell.tables.columns.record_walk import Rows
from metashell.tables.columns.typed_tables import typed_batch
from metashell.tables.columns.vectors import Fault, HeaderOrder, Headers, Ints, Mask, fault_of_file, fault_of_item, fault_of_records
from metashell.tables.input_files import Excerpt, is_read_once, open_input
from metashell.tables.read_options import Bounds, ReadOptions
from metashell.tables.schemas import BATCHES, CONTROL, FAULTS
from metashell.tables.splits import Piece, Split
from metashell.tables.transactions import Markers, markers_behind


def read_split(split: Split, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the tables of a split as (name, record batch) pairs, in the order of the log; tables without rows give nothing.

    Errors: LogCorruptError at the first fault, unless they are skipped: then they are rows of `faults`, wanted or not.
    UsageError for a file that cannot be opened.
    """
    for table, batch in _raw_tables(split, options):
        yield table, typed_batch(table, batch) if options.columns == "typed" else batch


def _raw_tables(split: Split, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the raw tables of a split, small files together where that is wanted and possible."""
    failures_left = FAILURES_MAX if options.joins_files and options.only is None else 0
    for pieces in joint_groups(split.pieces):
        if len(pieces) > 1 and failures_left:
            found = read_joint(pieces, options, partial(_next_is_in_order, options=options))
            if found is not None:
                yield from found
                continue
            failures_left -= 1
        for piece in pieces:
            yield from read_piece(piece, options)


def read_piece(piece: Piece, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the raw tables of a range of a file."""
    with open_input(piece.path, strict=options.fails_with_store) as file:
        items = read_batches(file)
        if piece.log is None:
            # What can be read only once shows what log it is when reading begins.
            content, items = content_of(items)
            if content.kind == DATA:
                shown = shown_uri(piece.path)
                raise PathError(f"{shown}: no log here whose records are known (--log says what they are)", shown)
            piece = replace(piece, log=content.kind or METADATA)
        assert piece.log is not None
        if options.tables_by_log is not None:
            if piece.log not in options.tables_by_log:
                return
            options = replace(options, tables=options.tables_by_log[piece.log])
        for passed_over in piece.passed_over:
            yield from _tables_of_faults([fault_of_file(passed_over)], Place(replace(piece, path=passed_over.file)), options)
        place = Place(piece)
        records = RecordTables(piece.log, options)
        # Of other logs compaction leaves gaps, and so does what is passed over.
        order = HeaderOrder(piece.begins_by) if piece.log == METADATA and options.only is None else None
        for item, is_last in _with_last(_wanted_items(file, items, piece, options), piece):
            if isinstance(item, Batches):
                yield from _tables_of(item, _behind(piece, is_last=is_last), place, records, order, options)
                continue
            if order is not None:
                order.forget()
            if not (item.may_be_tail and piece.is_last and piece.may_end_early):
                yield from _tables_of_faults([fault_of_item(item, file)], place, options)
        if order is not None:
            yield from _order_of_next(file, piece, order, options)


def _next_is_in_order(piece: Piece, order: HeaderOrder, *, options: ReadOptions) -> bool:
    """Return whether the segment after a file begins in order."""
    try:
        with open_input(piece.path, strict=options.fails_with_store) as file:
            return next(_order_of_next(file, piece, order, options), None) is None
    except (LogCorruptError, UsageError):
        return False


def _order_of_next(file: OpenFile, piece: Piece, order: HeaderOrder, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the fault of the first batch after a piece, which belongs to another one, if it does not follow the last one here."""
    with ExitStack() as opened:
        if not piece.is_last:
            item = next(read_batches(file, start=piece.end), None)
        elif piece.next_path:
            try:
                item = next(read_batches(opened.enter_context(open_input(piece.next_path, strict=options.fails_with_store))), None)
            except (OSError, UsageError):
                return  # its own piece reports it
            piece = replace(piece, path=piece.next_path)
        else:
            return
    fault = order.check_next(item) if isinstance(item, RecordBatch) else None
    if fault is not None:
        yield from _tables_of_faults([fault], Place(piece), options)


Behind = Callable[[Headers], Markers | None]
"""Gives the markers behind a chunk; None of a stream, whose rest is not read ahead."""


def _behind(piece: Piece, *, is_last: bool) -> Behind:
    if is_read_once(piece.path):
        return lambda _: Markers((), 0, 0) if is_last else None
    return lambda headers: markers_behind(piece.path, 0 if piece.end < 0 else int(headers.position[-1] + headers.size[-1]))


def _with_last(items: Iterator[Batches | BatchFault], piece: Piece) -> Iterator[tuple[Batches | BatchFault, bool]]:
    """Yield items, each with whether a stream ends with it. Only of a stream one more is read before an item is given."""
    if piece.end >= 0:
        yield from ((item, False) for item in items)
        return
    before = next(items, None)
    while before is not None:
        following = next(items, None)
        yield before, following is None
        before = following


def _tables_of(
    chunk: Batches, behind: Behind, place: Place, records: RecordTables, order: HeaderOrder | None, options: ReadOptions
) -> Iterator[tuple[str, pa.RecordBatch]]:
    reported = 0
    is_first = True
    for headers, buffer, of_part in chunk.parts():
        ahead = partial(_markers, behind, headers)
        outcomes = batch_outcomes(headers, buffer, of_part, None, ahead) if records.need_outcomes else None
        for rows in of_part.pieces(RECORDS_MAX):
            if options.only is not None:
                rows = rows.part(_wanted_rows(headers, rows, options.only))
            found, faults = records.read(headers, buffer, rows, place, outcomes)
            if options.wants(CONTROL):
                found += [(CONTROL, table) for table in control_table(headers, buffer, rows, place, options.show_secrets)]
            if is_first and options.wants(BATCHES):
                found.append((BATCHES, batches_table(headers, place)))
            faults += [fault_of_records(headers, fault.batch, fault.reason) for fault in chunk.faults[reported:]]
            reported = len(chunk.faults)
            if is_first and order is not None:
                faults += order.check(headers)
            is_first = False
            # With --on-error fail a chunk with a fault gives nothing, but for the parts before it.
            of_faults = list(_tables_of_faults(faults, place, options))
            yield from found
            yield from of_faults
    yield from _tables_of_faults(
        [fault_of_records(headers, fault.batch, fault.reason) for fault in chunk.faults[reported:]], place, options
    )


def _markers(behind: Behind, headers: Headers, _: int) -> Markers | None:
    return behind(headers)


def _tables_of_faults(faults: list[Fault], place: Place, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Faults as rows. Errors: LogCorruptError for the first that is serious, unless faults are skipped."""
    if not faults:
        return
    faults.sort(key=lambda fault: (fault.position, -1 if fault.offset is None else fault.offset))
    serious = next((fault for fault in faults if fault.is_serious), None)
    if serious is not None and options.on_error == "fail":
        offset = serious.offset if serious.offset is not None else serious.position
        raise LogCorruptError(place.file, offset, f"{serious.reason} (byte {serious.position})")
    yield FAULTS, faults_table(faults, place, show_secrets=options.show_secrets)


def _wanted_rows(headers: Headers, rows: Rows, only: Bounds) -> Mask:
    """Return a mask of the rows within the bounds."""
    found = np.ones(len(rows), np.bool_)
    for (least, most), column in (
        (only.offset, rows.offset),
        (only.epoch, headers.leader_epoch[rows.batch]),
        (only.timestamp, rows.timestamp),
    ):
        if least is not None:
            found &= column >= least
        if most is not None:
            found &= column <= most
    return found


def _wanted_items(
    file: OpenFile, items: Iterator[RecordBatch | BatchFault], piece: Piece, options: ReadOptions
) -> Iterator[Batches | BatchFault]:
    """Yield the batches and faults of a range, but for the batches whose headers show that they hold no wanted row."""
    if options.only is None or piece.end < 0 or (piece.is_narrowed and options.only.timestamp.is_open):
        yield from _items(file, items, piece, options.max_decompressed)
        return
    for start, end in wanted_parts(file, piece.start, piece.end, options.only):
        yield from _items(file, items, replace(piece, start=start, end=end), options.max_decompressed)


def _items(
    file: OpenFile, items: Iterator[RecordBatch | BatchFault], piece: Piece, max_decompressed: int
) -> Iterator[Batches | BatchFault]:
    """Yield the batches and faults of a range; of a stream `items`. Behind broken framing the walk continues where the chain does."""
    if piece.end < 0:
        first = next(items, None)
        if first is None and file.trouble is None and not _may_be_empty(piece):
            yield empty_tail(file.name)
        yield from read_stream_chunks(chain(() if first is None else (first,), items), max_decompressed)
        return
    excerpt = Excerpt(file, piece.end)
    start = piece.start
    while True:
        broken: Tail | None = None
        for item in read_chunks(excerpt, start, max_decompressed):
            if isinstance(item, Tail):
                broken = item
                break
            yield item
        if broken is None:
            break
        following = None if broken.kind == "zero-tail" else resync(excerpt, broken.position, piece.end)
        if following is None and not piece.is_last:
            following = piece.end
        if following is None:
            yield broken
            return
        yield broken.continued_at(following, piece.size - broken.position)
        start = following
    if piece.size == 0 and not _may_be_empty(piece):
        yield empty_tail(file.name)


def _may_be_empty(piece: Piece) -> bool:
    return piece.may_end_early or may_lack_batches(piece.log)


# ---- many small files as one chunk

JOINT_BYTES: Final = 4 << 20
"""The number of bytes decoded at once. Each group of files pays for every type of record that it has."""
SMALL_MAX: Final = JOINT_BYTES // 8
"""Larger files are decoded alone: what is paid for each is little beside them."""
FAILURES_MAX: Final = 2
"""After so many groups that could not be read together the files of a split are read one by one."""

Tables = list[tuple[str, pa.RecordBatch]]
NextOrder = Callable[[Piece, HeaderOrder], bool]
"""A test of whether the file after a piece begins in order."""


def joint_groups(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces in order; neighbours that may be read together are in one list, no file twice."""
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
    """Return the raw tables of small files of one kind of log; None where any of them is not as usual."""
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
    if len(rows) > 2 * RECORDS_MAX:
        return None
    counts = np.diff([*firsts, len(headers)])
    file_of_batch = np.repeat(np.arange(len(pieces)), counts)
    headers.position -= np.array(starts, np.int64)[file_of_batch]
    if log == METADATA and not _in_order(pieces, headers, firsts, next_is_in_order):
        return None
    place = Places(pieces, file_of_batch)
    records = RecordTables(log, options)
    behind = partial(_behind_file, pieces)
    outcomes = batch_outcomes(headers, buffer, rows, file_of_batch, behind) if records.need_outcomes else None
    found, faults = records.read(headers, buffer, rows, place, outcomes)
    if faults or chunk.faults:
        return None
    if options.wants(CONTROL):
        found += [(CONTROL, table) for table in control_table(headers, buffer, rows, place, options.show_secrets)]
    if options.wants(BATCHES):
        found.append((BATCHES, batches_table(headers, place)))
    return found


def _behind_file(pieces: Sequence[Piece], number: int) -> Markers | None:
    return markers_behind(pieces[number].path, pieces[number].size)


def _gathered(pieces: Sequence[Piece]) -> tuple[Chunk | None, list[int], list[int]]:
    """Return all files in one chunk, None where one is unusual: where each starts in the buffer, and the number of its first batch."""
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
    """Return whether the batches of each file follow one another, and the files that are neighbours too."""
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
