"""A split as Arrow: what lies in a range of a file, table by table, in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from metashell.codec.batches import RecordBatch
from metashell.codec.uris import shown_uri
from metashell.columns.bounds import Bounds
from metashell.columns.decode.chunks import Chunk, read_chunks, read_stream_chunks
from metashell.columns.decode.common import batches_table, control_table, faults_table
from metashell.columns.decode.faults import Fault, fault_of_file, fault_of_item, fault_of_records
from metashell.columns.decode.headers import Headers
from metashell.columns.decode.joint import FAILURES_MAX, groups, read_joint
from metashell.columns.decode.options import ReadOptions
from metashell.columns.decode.order import HeaderOrder
from metashell.columns.decode.place import Place
from metashell.columns.decode.records import RecordTables
from metashell.columns.decode.rows import Rows
from metashell.columns.decode.vectors import Mask
from metashell.columns.inputs.chain import resync
from metashell.columns.inputs.files import Excerpt, open_input
from metashell.columns.inputs.splits import Piece, Split
from metashell.columns.inputs.wanted import wanted_parts
from metashell.columns.schemas import BATCHES, CONTROL, FAULTS
from metashell.columns.typed.tables import typed_batch
from metashell.errors import LogCorruptError, PathError, UsageError
from metashell.log.files import OpenFile
from metashell.log.identity import content_of
from metashell.log.kinds import DATA, METADATA
from metashell.log.segment import BatchFault, read_batches
from metashell.log.tail import Tail, empty_tail, may_lack_batches


def read_split(split: Split, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The tables of a split as (name, record batch) pairs, in the order of the log; tables without rows give nothing.

    Errors: LogCorruptError at the first fault, unless they are skipped: then they are rows of `faults`, wanted or not.
    UsageError for a file that cannot be opened.
    """
    for table, batch in _raw_tables(split, options):
        yield table, typed_batch(table, batch) if options.columns == "typed" else batch


def _raw_tables(split: Split, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The raw tables of a split, small files together where that is wanted and possible."""
    failures_left = FAILURES_MAX if options.joins_files and options.only is None else 0
    for pieces in groups(split.pieces):
        if len(pieces) > 1 and failures_left:
            found = read_joint(pieces, options, partial(_next_is_in_order, options=options))
            if found is not None:
                yield from found
                continue
            failures_left -= 1
        for piece in pieces:
            yield from read_piece(piece, options)


def read_piece(piece: Piece, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The raw tables of a range of a file."""
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
        for item in _wanted_items(file, items, piece, options):
            if isinstance(item, Chunk):
                yield from _tables_of(item, place, records, order, options)
                continue
            if order is not None:
                order.forget()
            if not (item.may_be_tail and piece.is_last and piece.may_end_early):
                yield from _tables_of_faults([fault_of_item(item, file)], place, options)
        if order is not None:
            yield from _order_of_next(file, piece, order, options)


def _next_is_in_order(piece: Piece, order: HeaderOrder, *, options: ReadOptions) -> bool:
    """Whether the segment after a file begins in order."""
    try:
        with open_input(piece.path, strict=options.fails_with_store) as file:
            return next(_order_of_next(file, piece, order, options), None) is None
    except (LogCorruptError, UsageError):
        return False


def _order_of_next(file: OpenFile, piece: Piece, order: HeaderOrder, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The fault of the first batch after a piece, which belongs to another one, if it does not follow the last one here."""
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


def _tables_of(
    chunk: Chunk, place: Place, records: RecordTables, order: HeaderOrder | None, options: ReadOptions
) -> Iterator[tuple[str, pa.RecordBatch]]:
    headers, buffer, rows = chunk.read()
    if options.only is not None:
        rows = rows.part(_wanted_rows(headers, rows, options.only))
    found, faults = records.read(headers, buffer, rows, place)
    if options.wants(CONTROL):
        found += [(CONTROL, table) for table in control_table(headers, buffer, rows, place, options.show_secrets)]
    if options.wants(BATCHES):
        found.append((BATCHES, batches_table(headers, place)))
    faults += [fault_of_records(headers, fault.batch, fault.reason) for fault in chunk.faults]
    if order is not None:
        faults += order.check(headers)
    # With --on-error fail a chunk with a fault gives nothing.
    of_faults = list(_tables_of_faults(faults, place, options))
    yield from found
    yield from of_faults


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
    """Which rows lie within the bounds."""
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
) -> Iterator[Chunk | BatchFault]:
    """The batches and faults of a range, but for the batches whose headers show that they hold no wanted row."""
    if options.only is None or piece.end < 0 or (piece.is_narrowed and options.only.timestamp.is_open):
        yield from _items(file, items, piece, options.max_decompressed)
        return
    for start, end in wanted_parts(file, piece.start, piece.end, options.only):
        yield from _items(file, items, replace(piece, start=start, end=end), options.max_decompressed)


def _items(file: OpenFile, items: Iterator[RecordBatch | BatchFault], piece: Piece, max_decompressed: int) -> Iterator[Chunk | BatchFault]:
    """The batches and faults of a range; of a stream `items`. Behind broken framing the walk continues where the chain does."""
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
