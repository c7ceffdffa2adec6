"""Columns of numbers from bytes: what numpy reads at many positions of one buffer at once, such as the headers of many batches.

The order of these headers is `disk.log.order` applied to all of them at once; a fault is a row with its place, its reason and the bytes
there.

Fields are unaligned and big-endian, so each width has a view of the buffer that overlaps itself byte by byte, and reading a field of all
rows is indexing that view with the rows' positions. The buffer is padded with zeros: a field that runs past its record reads a wrong
value and never other memory, and the reader compares ends afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from metashell.codec.batches import CODEC_MASK, CONTROL, HEADER_SIZE, LEAD_SIZE, LOG_APPEND_TIME, TRANSACTIONAL, BatchHeader, RecordBatch
from metashell.codec.redaction import shown_head
from metashell.disk.files import OpenFile
from metashell.disk.segment import BatchFault, SourceFault, order_fault

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]

PAD: Final = 1 << 13
"""More than the fixed fields and one-byte-counted arrays of any message take together after its end."""
DTYPES: Final = {
    "bool": "?",
    "int8": "i1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "int64": "i8",
    "float64": "f8",
    "uuid": "V16",
}
WIDTHS: Final = {name: np.dtype(code).itemsize for name, code in DTYPES.items()}
VARINT_SIZE_MAX: Final = 5
VARLONG_SIZE_MAX: Final = 9
"""One less than Kafka's: what has a tenth byte would not fit in 63 bits."""


_WORD: Final = "<i8"
_PAIR: Final = "<u2"


class Buffer:
    """Bytes that are read at many positions at once; `data` is them with the padding, `size` their number without."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.data = b"".join([*pieces, bytes(PAD)])
        self.size = len(self.data) - PAD
        self.bytes = np.frombuffer(self.data, np.uint8)
        self._views: dict[str, Array] = {}

    def _view(self, code: str) -> Array:
        view = self._views.get(code)
        if view is None:
            width = np.dtype(code).itemsize
            big_endian = code if width in (1, 16) else ">" + code
            view = np.ndarray((len(self.data) - width + 1,), big_endian, self.data, strides=(1,))
            self._views[code] = view
        return view

    def take(self, kind: str, positions: Ints) -> Array:
        """Return the values of a fixed-width primitive at these positions, in the machine's byte order; uuids as 16 bytes each."""
        if kind == "bool":
            return np.asarray(self.bytes[positions] != 0)
        code = DTYPES[kind]
        found = self._view(code)[positions]
        if found.dtype.itemsize in (1, 16):
            return found
        swapped: Array = found.byteswap(inplace=True).view(code)
        return swapped

    def words(self, positions: Ints) -> Ints:
        """Return the eight bytes from these positions on as one number each, the first byte its lowest."""
        return self._little_endian(_WORD)[positions]

    def pairs(self, positions: Ints) -> Array:
        """Return the two bytes from these positions on as one number each, the first byte its lowest."""
        return self._little_endian(_PAIR)[positions]

    def _little_endian(self, code: str) -> Array:
        view = self._views.get(code)
        if view is None:
            view = self._views[code] = np.ndarray((self.size + PAD + 1 - int(code[-1]),), code, self.data, strides=(1,))
        return view

    def blocks(self, kind: str, starts: Ints, count: int) -> Array:
        """Return `count` neighbouring values of a fixed-width primitive at each place, a row for each place."""
        width = WIDTHS[kind] * count
        view = np.ndarray((len(self.data) - width + 1,), f"V{width}", self.data, strides=(1,))
        code = DTYPES[kind]
        found = view[starts].view("u1" if kind == "bool" else code).reshape(len(starts), count)
        if kind == "bool":
            return np.asarray(found != 0)
        return found if WIDTHS[kind] in (1, 16) else found.byteswap(inplace=True)

    def ranges(self, starts: Ints, sizes: Ints) -> Array:
        """Return the bytes of all ranges, one after another."""
        return self.bytes[range_positions(starts, sizes, 1)]

    def uvarints(self, positions: Ints, size_max: int = VARINT_SIZE_MAX) -> tuple[Ints, Ints, Mask | None]:
        """Unsigned varints, the positions after them, and which are longer than `size_max` (None if there are none)."""
        first = self.bytes[positions]
        values = first.astype(np.int64)
        following = positions + 1
        if not (first & 128).any():
            return values, following, None
        high = first > 127
        if 4 * int(np.count_nonzero(high)) > len(first):
            second = self.bytes[following]
            if not (second[high] > 127).any():
                values = np.where(high, (values & 127) | second.astype(np.int64) << 7, values)
                return values, following + high, None
        more = np.flatnonzero(high)
        values[more] &= 127
        for shift in range(7, 7 * size_max, 7):
            byte = self.bytes[following[more]].astype(np.int64)
            values[more] |= (byte & 127) << shift
            following[more] += 1
            more = more[byte > 127]
            if not more.size:
                return values, following, None
        odd = np.zeros(len(positions), np.bool_)
        odd[more] = True
        return values, following, odd


def zigzag(values: Ints) -> Ints:
    """Decode zig-zag coded numbers."""
    return (values >> 1) ^ -(values & 1)


def range_positions(starts: Ints, counts: Ints, width: int) -> Ints:
    """Return the positions of all elements of all ranges: `counts[i]` elements of `width` bytes from `starts[i]` on."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    firsts = starts - width * (ends - counts)
    steps = np.arange(0, total * width, width, dtype=np.int64)
    return np.repeat(firsts, counts) + steps


def offsets_of(counts: Ints) -> Array:
    """Arrow's int32 offsets of lists with these counts."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    offsets[1:] = np.cumsum(counts)
    return offsets


def bitmap(present: Mask) -> Array:
    """Arrow's validity bitmap."""
    return np.packbits(present, bitorder="little")


# ---- headers of batches

_FIELDS = (
    ("base_offset", "int64", 0),
    ("length", "int32", 8),
    ("leader_epoch", "int32", 12),
    ("magic", "int8", 16),
    ("crc", "uint32", 17),
    ("attributes", "int16", 21),
    ("last_offset_delta", "int32", 23),
    ("base_timestamp", "int64", 27),
    ("max_timestamp", "int64", 35),
    ("producer_id", "int64", 43),
    ("producer_epoch", "int16", 51),
    ("base_sequence", "int32", 53),
    ("count", "int32", 57),
)


class Headers:
    """The header fields of a chunk's batches; `at` is where each batch lies in the buffer, `position` where in the file.

    Batches of magic 0 and 1 have another layout; theirs come as objects, by number.
    """

    base_offset: Ints
    leader_epoch: Array
    magic: Array
    crc: Array
    attributes: Array
    last_offset_delta: Array
    base_timestamp: Ints
    max_timestamp: Ints
    producer_id: Ints
    producer_epoch: Array
    base_sequence: Array
    count: Array
    length: Array

    def __init__(self, buffer: Buffer, at: Ints, position: Ints, old: dict[int, BatchHeader]) -> None:
        self.buffer = buffer
        self.at = at
        self.position = position
        for name, kind, place in _FIELDS:
            column = buffer.take(kind, at + place)
            for number, header in old.items():
                value: Any = header.size_bytes - LEAD_SIZE if name == "length" else getattr(header, name)
                column[number] = value
            setattr(self, name, column)

    def __len__(self) -> int:
        return len(self.at)

    @property
    def size(self) -> Array:
        return self.length + LEAD_SIZE

    @property
    def last_offset(self) -> Ints:
        return self.base_offset + self.last_offset_delta

    @property
    def codec_id(self) -> Array:
        return self.attributes & CODEC_MASK

    @property
    def is_control(self) -> Mask:
        return np.asarray(self.attributes & CONTROL != 0)

    @property
    def is_transactional(self) -> Mask:
        return np.asarray(self.attributes & TRANSACTIONAL != 0)

    @property
    def is_log_append_time(self) -> Mask:
        return np.asarray(self.attributes & LOG_APPEND_TIME != 0)

    def bytes_of(self, number: int, most: int) -> bytes:
        """Return the first bytes of a batch, at most so many."""
        at = int(self.at[number])
        return self.buffer.data[at : at + min(int(self.length[number]) + LEAD_SIZE, most)]


# ---- order of the batches of a metadata log


class HeaderOrder:
    """Checks the order of the batches of one file, chunk after chunk.

    `begins_by` is the offset at or before which the first batch has to start, None where nothing is known of it.
    """

    def __init__(self, begins_by: int | None) -> None:
        self._begins_by = begins_by
        self._expected: int | None = None
        self._epoch: int | None = None

    @classmethod
    def after(cls, end: int, epoch: int) -> HeaderOrder:
        """Return the order after a batch that ended before the offset `end`."""
        order = cls(None)
        order._expected, order._epoch = end, epoch
        return order

    def check(self, headers: Headers) -> list[Fault]:
        """Return the faults of batches out of order; each batch is compared with the one before it, whatever that one was."""
        if not len(headers):
            return []
        base, epoch = headers.base_offset, headers.leader_epoch
        # Numbers that wrap around here are out of order too; the message is made with Python's numbers.
        odd = (base[1:] != headers.last_offset[:-1] + 1) | (epoch[1:] < epoch[:-1])
        faults = [] if (reason := self._first(int(base[0]), int(epoch[0]))) is None else [_fault_of(headers, 0, reason)]
        for number in (np.flatnonzero(odd) + 1).tolist():
            here = (int(base[number]), int(epoch[number]))
            if reason := order_fault(_end(headers, number - 1), int(epoch[number - 1]), here):
                faults.append(_fault_of(headers, number, reason))
        self._expected, self._epoch = _end(headers, len(headers) - 1), int(epoch[-1])
        return faults

    def check_next(self, batch: RecordBatch) -> Fault | None:
        """Return the fault of the batch behind the last one, which another reads."""
        reason = self._first(batch.header.base_offset, batch.header.leader_epoch)
        if reason is None:
            return None
        data = batch.data
        return _fault(batch.header.base_offset, batch.position, len(data), reason, data[:HEADER_SIZE], data[:BYTES_MAX])

    def forget(self) -> None:
        """After bytes that hold no good batch, anything may follow."""
        self._begins_by = self._expected = self._epoch = None

    def _first(self, offset: int, epoch: int) -> str | None:
        expected = self._expected
        if self._begins_by is not None:
            # A checkpoint may end within a batch, or segments may reach back behind it.
            expected, self._begins_by = None if offset <= self._begins_by else self._begins_by, None
        return order_fault(expected, self._epoch, (offset, epoch))


def _end(headers: Headers, number: int) -> int:
    """Return the offset after a batch; may be beyond what an offset can be."""
    return int(headers.base_offset[number]) + int(headers.last_offset_delta[number]) + 1


def _fault_of(headers: Headers, number: int, reason: str) -> Fault:
    head, data = headers.bytes_of(number, HEADER_SIZE), headers.bytes_of(number, BYTES_MAX)
    return _fault(int(headers.base_offset[number]), int(headers.position[number]), int(headers.size[number]), reason, head, data)


def _fault(offset: int, position: int, size: int, reason: str, head: bytes, data: bytes) -> Fault:
    return Fault(kind="bad-order", offset=offset, position=position, size=size, reason=reason, harmless=shown_head(head), data=data)


# ---- faults

UNKNOWN_RECORD: Final = "unknown-record"
"""The kind of a fault that a newer release explains."""
BYTES_MAX: Final = 1 << 20
"""The bytes of a fault that are kept; `size` counts all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One place that could not be read. `data` are the bytes there, up to a limit, `harmless` what can hold no secret.

    A fault that is not serious ends no export: a newer release wrote a record, or a field of it, that is not known.
    """

    kind: str
    offset: int | None
    position: int
    size: int
    reason: str
    harmless: bytes | None = None
    data: bytes | None = None
    is_serious: bool = True

    def __str__(self) -> str:
        offset = "" if self.offset is None else f"offset {self.offset}: "
        return f"{offset}byte {self.position}: {self.reason}"


def fault_of_item(item: BatchFault, file: OpenFile) -> Fault:
    """Return the fault of a batch, or of bytes that hold none, which are read from the file again if that is possible."""
    data = item.batch.data if item.batch is not None else b""
    if not data and file.size() is not None:
        data = file.read_at(item.position, min(item.size, BYTES_MAX))
    return Fault(
        kind=item.kind,
        offset=item.offset,
        position=item.position,
        size=item.size,
        reason=item.reason,
        harmless=shown_head(data) if item.batch is not None else None,
        data=data[:BYTES_MAX],
    )


def fault_of_file(fault: SourceFault) -> Fault:
    """Return the fault of a checkpoint that is not used."""
    return Fault(
        kind="bad-checkpoint", offset=fault.offset if fault.offset >= 0 else None, position=fault.position, size=0, reason=fault.reason
    )


def fault_of_records(headers: Headers, number: int, reason: str) -> Fault:
    """Return a batch of the right checksum whose records cannot be read from some place on."""
    return Fault(
        kind="bad-records",
        offset=int(headers.base_offset[number]),
        position=int(headers.position[number]),
        size=int(headers.size[number]),
        reason=reason,
        harmless=shown_head(headers.bytes_of(number, HEADER_SIZE)),
        data=headers.bytes_of(number, BYTES_MAX),
    )
