"""A split as Arrow: what lies in a range of a file, table by table, in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from metashell.codec.batches import RecordBatch
from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.columns.chain import resync
from metashell.columns.common import batches_table, control_table, faults_table
from metashell.columns.faults import Fault, fault_of_batch, fault_of_item
from metashell.columns.inputs import Excerpt, open_input
from metashell.columns.logs import METADATA
from metashell.columns.place import Place
from metashell.columns.records import RecordTables
from metashell.columns.rows import Chunk
from metashell.columns.schemas import BATCHES, CONTROL, FAULTS
from metashell.columns.splits import Piece, Split
from metashell.errors import LogCorruptError
from metashell.log.segment import BatchFault, read_batches

OnError = Literal["fail", "skip"]
CHUNK_ROWS = 1 << 16
CHUNK_BYTES = 8 << 20
"""A chunk ends with the batch that fills it in rows or bytes; one batch expands to at most 128 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What to read and how: the wanted tables (None: all but `records`), and what becomes of faults and secrets.

    `payloads` off leaves the JSON text of `records` null, which is most of its cost; with `dictionary` the columns that are
    the same in all rows of a file are dictionary arrays, which Parquet writers take at once and Spark not at all.
    """

    tables: Collection[str] | None = None
    on_error: OnError = "fail"
    show_secrets: bool = False
    payloads: bool = True
    dictionary: bool = False
    max_decompressed: int = MAX_DECOMPRESSED

    def wants(self, table: str) -> bool:
        return table != "records" if self.tables is None else table in self.tables


def read_split(
    split: Split,
    tables: Collection[str] | None = None,
    *,
    on_error: OnError = "fail",
    show_secrets: bool = False,
    options: ReadOptions | None = None,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The tables of a split as (name, record batch) pairs, in the order of the log; tables without rows give nothing.

    `options` takes the place of the other arguments.
    Errors: LogCorruptError at the first fault, unless they are skipped: then they are rows of `faults`, wanted or not.
    UsageError for a file that cannot be opened.
    """
    chosen = options or ReadOptions(tables=tables, on_error=on_error, show_secrets=show_secrets)
    for piece in split.pieces:
        yield from read_piece(piece, chosen)


def read_piece(piece: Piece, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The tables of a range of a file."""
    place = Place(piece, options.dictionary)
    records = RecordTables(piece.log, options)
    for chunk, faults in _chunks(piece, options):
        yield from _tables_of(chunk, faults, place, records, options)


def _tables_of(
    chunk: Chunk, faults: list[Fault], place: Place, records: RecordTables, options: ReadOptions
) -> Iterator[tuple[str, pa.RecordBatch]]:
    buffer, rows = chunk.read()
    faults += [fault_of_batch(chunk.batches[fault.batch], fault.reason) for fault in chunk.faults]
    found, unreadable = records.read(chunk.batches, buffer, rows, place)
    if options.wants(CONTROL):
        found += [(CONTROL, table) for table in control_table(chunk.batches, buffer, rows, place)]
    if options.wants(BATCHES) and chunk.batches:
        found.append((BATCHES, batches_table(chunk.batches, place)))
    faults = sorted([*faults, *unreadable], key=lambda fault: fault.position)
    serious = next((fault for fault in faults if fault.is_serious), None)
    if serious is not None and options.on_error == "fail":
        raise LogCorruptError(place.file, max(serious.offset if serious.offset is not None else -1, -1), str(serious))
    yield from found
    if faults:
        yield FAULTS, faults_table(faults, place, with_bytes=options.show_secrets or place.log != METADATA)


def _chunks(piece: Piece, options: ReadOptions) -> Iterator[tuple[Chunk, list[Fault]]]:
    """The batches of a piece by the chunk, and the faults between them."""
    chunk, faults = Chunk(), []
    held = 0
    for item in _items(piece):
        fault = None
        if isinstance(item, BatchFault):
            if not (item.may_be_tail and piece.is_last and piece.may_end_early):
                fault = fault_of_item(item)
                faults.append(fault)
        else:
            chunk.add(item, options.max_decompressed)
            held += len(item.data)
        if chunk.row_count >= CHUNK_ROWS or max(chunk.size, held) >= CHUNK_BYTES or len(faults) >= CHUNK_ROWS or (fault and fault.is_serious):
            yield chunk, faults
            chunk, faults, held = Chunk(), [], 0
    if chunk.batches or faults:
        yield chunk, faults


def _items(piece: Piece) -> Iterator[RecordBatch | BatchFault]:
    """The batches and faults of a range. Where the framing breaks, the walk goes on where the chain is found again, if it is."""
    with open_input(piece.path) as opened:
        if piece.end < 0:
            yield from read_batches(opened)
            return
        file = Excerpt(opened, piece.end)
        start = piece.start
        while True:
            broken: BatchFault | None = None
            for item in read_batches(file, start=start):
                if isinstance(item, BatchFault) and item.ends_walk:
                    broken = item
                    break
                yield item
            if broken is None:
                break
            following = None if broken.kind == "zero-tail" else resync(file, broken.position, piece.end)
            yield broken if following is None else _gap(broken, following)
            if following is None:
                return
            start = following
    if piece.size == 0 and not piece.may_end_early:
        yield BatchFault(kind="truncated", file=piece.path, position=0, size=0, reason="the file is empty")


def _gap(broken: BatchFault, following: int) -> BatchFault:
    size = following - broken.position
    return BatchFault(
        kind=broken.kind if broken.kind != "truncated" else "bad-size",
        file=broken.file,
        position=broken.position,
        size=size,
        offset=broken.offset,
        reason=f"no batch can be read in {size} bytes ({broken.reason})",
    )
