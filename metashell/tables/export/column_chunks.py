"""Column chunks of Parquet that are written here: constants, and indices into a dictionary.

pyarrow spends 5 to 40 ns on each row of a column, whatever is in it. But half of the columns of a usual row group have one value (file,
epoch, version, empty lists), an id has the indices of its text, and indices of whole bytes need no packing: numpy copies them, and zstd
makes less of them than of packed ones. `parquet` decides which columns are written here, and puts the chunks together.

Footer and page headers are structs of Thrift's compact protocol, of which the needed part is here. A struct is a dict: the number of a
field, its type and its value. Values are numbers, bytes, dicts for structs and `Items` for lists. A nested value may be given as its
encoded bytes.

Source: the Parquet format's documentation, "Encodings" (RLE/bit-packing hybrid, dictionary), "Nested Encoding" and parquet.thrift."""

from __future__ import annotations

from dataclasses import dataclass
from struct import pack, unpack_from
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metashell.tables.columns.typed_arrays import UUID

MAGIC: Final = b"PAR1"
_TAIL: Final = 8
# Parquet's numbers for types, encodings, codecs and kinds of pages, and the field of a page's header that each kind has.
_BOOLEAN, _INT32, _INT64, _DOUBLE, _BYTE_ARRAY, _FIXED = 0, 1, 2, 5, 6, 7
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_UNCOMPRESSED, _ZSTD = 0, 6
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_OWN_HEADER: Final = {_DATA_PAGE: 5, _DICTIONARY_PAGE: 7}
_PHYSICAL: Final[dict[pa.DataType, int]] = {
    pa.bool_(): _BOOLEAN,
    pa.int8(): _INT32,
    pa.int16(): _INT32,
    pa.int32(): _INT32,
    pa.int64(): _INT64,
    pa.timestamp("ms", "UTC"): _INT64,
    pa.float64(): _DOUBLE,
    pa.string(): _BYTE_ARRAY,
    pa.binary(): _BYTE_ARRAY,
    UUID: _FIXED,
}
_WIDTHS: Final = {_INT32: np.int32, _INT64: np.int64}
_CODEC: Final = pa.Codec("zstd", 1)

Array = npt.NDArray[Any]


@dataclass(slots=True)
class Chunk:
    """A column chunk, wherever it will lie: its metadata and its pages. Data begins at `data_at`, behind the dictionary if it has one."""

    metadata: Struct
    pages: list[bytes | memoryview]
    data_at: int

    @property
    def path(self) -> str:
        return b".".join(self.metadata[3][1].values).decode()

    @property
    def plain_size(self) -> int:
        """The bytes of its pages before they were compressed."""
        return int(self.metadata[6][1])

    @property
    def size(self) -> int:
        return int(self.metadata[7][1])

    def entry(self, at: int) -> Struct:
        """Return the footer's entry of the chunk at this place in a file."""
        places: Struct = {9: (I64, at + self.data_at)}
        if self.data_at:
            places[11] = I64, at
        return {2: (I64, 0), 3: (STRUCT, {**self.metadata, **places})}

    def renamed(self, path: str) -> Chunk:
        """Return the chunk as that of another column."""
        return Chunk({**self.metadata, 3: _path(path)}, self.pages, self.data_at)


def read_footer(data: memoryview) -> Struct:
    """Return the metadata of a whole Parquet file."""
    size = int.from_bytes(data[-_TAIL : -len(MAGIC)], "little")
    return read_struct(bytes(data[-_TAIL - size : -_TAIL]))[0]


def chunks_of(data: memoryview) -> list[Chunk]:
    """Return the column chunks of a whole Parquet file, which has one row group."""
    (group,) = read_footer(data)[4][1].values
    found = []
    for entry in group[1][1].values:
        metadata = entry[3][1]
        first_data = metadata[9][1]
        start = metadata[11][1] if 11 in metadata else first_data
        found.append(Chunk(metadata, [data[start : start + metadata[7][1]]], first_data - start))
    return found


@dataclass(frozen=True, slots=True)
class Column:
    """The place of a chunk: its path, the type of the column, and whether a query narrows its search by it."""

    path: str
    type: pa.DataType
    has_statistics: bool

    @property
    def is_list(self) -> bool:
        return bool(pa.types.is_list(self.type))

    @property
    def physical(self) -> int:
        """Parquet's type of its values."""
        return _PHYSICAL[self.type.value_type if self.is_list else self.type]


def is_known(kind: pa.DataType) -> bool:
    """Return whether a column is one of Parquet too, of values that we know how to write, or of lists of such."""
    return (kind.value_type if pa.types.is_list(kind) else kind) in _PHYSICAL


@dataclass(frozen=True, slots=True)
class Levels:
    """The rows with values, and how many: their bytes in a page, their number (one a value, or a row without), and the nulls."""

    data: bytes
    count: int
    null_count: int


def like_levels(column: Column, rows: int, level: int = 1) -> Levels:
    """Return the levels of rows that are all alike: null (0) or a value (1); of a list null (0) or without elements (1)."""
    data = _sized(_run_of(level, rows))
    return Levels(_sized(_run_of(0, rows)) + data if column.is_list else data, rows, 0 if level else rows)


def row_levels(is_valid: Array) -> Levels:
    """Return the levels of values that may be null."""
    return Levels(_sized(_packed_bits(is_valid)), len(is_valid), int(len(is_valid) - np.count_nonzero(is_valid)))


def list_levels(offsets: Array, is_valid: Array | None) -> Levels:
    """Return the levels of lists, which may be null, of values that are not."""
    counts = np.diff(offsets)
    entries = np.maximum(counts, 1)
    ends = np.cumsum(entries)
    count = int(ends[-1])
    starts = ends - entries
    goes_on = np.ones(count, np.bool_)
    goes_on[starts] = False
    if counts.min() > 0:
        return Levels(_sized(_packed_bits(goes_on)) + _sized(_run_of(3, count)), count, 0)
    levels = np.full(-(-count // 4) * 4, 3, np.uint8)
    levels[starts[counts == 0]] = 1
    if is_valid is not None:
        levels[starts[~is_valid]] = 0
    # Four levels of two bits make a byte, the first one lowest.
    packed = levels[0::4] | levels[1::4] << 2 | levels[2::4] << 4 | levels[3::4] << 6
    null_count = count - int(offsets[-1] - offsets[0])
    return Levels(_sized(_packed_bits(goes_on)) + _sized(_literals(packed.tobytes(), count, 2)), count, null_count)


@dataclass(frozen=True, slots=True)
class Indices:
    """The page that says for each row where in a dictionary its value is."""

    page: bytes
    plain_size: int
    levels: Levels


def indices_of(levels: Levels, numbers: Array) -> Indices:
    """Return the page of these places, which have one byte or two each."""
    bits = 8 * numbers.dtype.itemsize
    data = levels.data + bytes((bits,)) + _literals(numbers.tobytes(), len(numbers), bits)
    page = _page(_DATA_PAGE, _CODEC.compress(data, asbytes=True), len(data), _own_header(levels, _RLE_DICTIONARY))
    return Indices(page.data, page.plain_size, levels)


def indexed_chunk(column: Column, indices: Indices, dictionary: Dictionary) -> Chunk:
    """Return a column of which each value is in a dictionary."""
    plain = _plain(column, dictionary)
    first = _page(_DICTIONARY_PAGE, _CODEC.compress(plain, asbytes=True), len(plain), {1: len(dictionary), 2: _PLAIN})
    return _with_dictionary(column, first, indices, dictionary, _ZSTD)


def constant_chunk(column: Column, value: Dictionary, rows: int) -> Chunk:
    """Return a column that has one value in all rows."""
    levels = like_levels(column, rows)
    plain = _plain(column, value)
    data = levels.data + b"\1" + _run_of(0, rows)  # the indices have one bit
    page = _page(_DATA_PAGE, data, len(data), _own_header(levels, _RLE_DICTIONARY))
    first = _page(_DICTIONARY_PAGE, plain, len(plain), {1: 1, 2: _PLAIN})
    return _with_dictionary(column, first, Indices(page.data, page.plain_size, levels), value, _UNCOMPRESSED)


def empty_chunk(column: Column, rows: int, *, is_null: bool) -> Chunk:
    """Return a column without values: all rows are null, or lists without elements."""
    levels = like_levels(column, rows, 0 if is_null else 1)
    page = _page(_DATA_PAGE, levels.data, len(levels.data), _own_header(levels, _PLAIN))
    metadata = _metadata(column, levels, [(_DATA_PAGE, _PLAIN)], _UNCOMPRESSED, page.plain_size, len(page.data))
    if column.has_statistics:
        metadata[12] = STRUCT, _longs({3: levels.null_count})
    return Chunk(metadata, [page.data], 0)


Dictionary = Any
"""The values of a dictionary: numbers that rise, ids as rows of two numbers, or texts."""


class _Page(NamedTuple):
    data: bytes
    plain_size: int


def _with_dictionary(column: Column, first: _Page, indices: Indices, dictionary: Dictionary, codec: int) -> Chunk:
    pages = [(_DICTIONARY_PAGE, _PLAIN), (_DATA_PAGE, _RLE_DICTIONARY)]
    plain_size, size = first.plain_size + indices.plain_size, len(first.data) + len(indices.page)
    metadata = _metadata(column, indices.levels, pages, codec, plain_size, size)
    if column.has_statistics:
        least, most = _bounds(column, dictionary)
        exact: Struct = {7: (TRUE, None), 8: (TRUE, None)}
        metadata[12] = STRUCT, {**_longs({3: indices.levels.null_count}), 5: (BINARY, most), 6: (BINARY, least), **exact}
    return Chunk(metadata, [first.data, indices.page], len(first.data))


def _metadata(column: Column, levels: Levels, pages: list[tuple[int, int]], codec: int, plain_size: int, size: int) -> Struct:
    return {
        **_numbers({1: column.physical, 4: codec}),
        2: (LIST, Items(I32, sorted({_PLAIN, _RLE, *(encoding for _, encoding in pages)}))),
        3: _path(column.path),
        **_longs({5: levels.count, 6: plain_size, 7: size}),
        13: (LIST, Items(STRUCT, [_numbers({1: kind, 2: encoding, 3: 1}) for kind, encoding in pages])),
    }


def _plain(column: Column, values: Dictionary) -> bytes:
    """Values in Parquet's plain encoding."""
    if isinstance(values, pa.Array):
        return _sized_texts(values)
    if column.physical == _BYTE_ARRAY:
        return _sized_rows(values.view(np.uint8))
    return bytes(values.astype(_WIDTHS.get(column.physical, values.dtype)).tobytes())


def _bounds(column: Column, values: Dictionary) -> tuple[bytes, bytes]:
    if isinstance(values, pa.Array):
        texts = [text.encode() for text in values.to_pylist()]
        return min(texts), max(texts)
    return _plain(column, values[:1]), _plain(column, values[-1:])


def _sized_texts(texts: pa.StringArray) -> bytes:
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, 4 * texts.offset)
    sizes = np.diff(offsets)
    if len(texts) == 1 or not sizes[0] or (sizes != sizes[0]).any():
        return b"".join(_sized(text.encode()) for text in texts.to_pylist())
    data = np.frombuffer(texts.buffers()[2], np.uint8, int(offsets[-1] - offsets[0]), int(offsets[0]))
    return _sized_rows(data.reshape(len(texts), -1))


def _sized_rows(rows: Array) -> bytes:
    """Byte strings of equal sizes, a row each."""
    count, size = rows.shape
    made = np.empty((count, 4 + size), np.uint8)
    made[:, :4] = np.frombuffer(size.to_bytes(4, "little"), np.uint8)
    made[:, 4:] = rows
    return bytes(made.tobytes())


def _own_header(levels: Levels, encoding: int) -> dict[int, int]:
    return {1: levels.count, 2: encoding, 3: _RLE, 4: _RLE}


def _page(kind: int, data: bytes, plain_size: int, own: dict[int, int]) -> _Page:
    header = encode_struct(STRUCT, {**_numbers({1: kind, 2: plain_size, 3: len(data)}), _OWN_HEADER[kind]: (STRUCT, _numbers(own))})
    return _Page(header + data, len(header) + plain_size)


def _run_of(number: int, count: int) -> bytes:
    """So many equal numbers, of at most eight bits."""
    made = bytearray()
    write_varint(made, 2 * count)
    made.append(number)
    return bytes(made)


def _packed_bits(bits: Array) -> bytes:
    return _literals(np.packbits(bits, bitorder="little").tobytes(), len(bits), 1)


def _literals(packed: bytes, count: int, bits: int) -> bytes:
    """So many numbers of so many bits, packed, as a run that is filled up to whole eights."""
    groups = -(-count // 8)
    made = bytearray()
    write_varint(made, 2 * groups + 1)
    return bytes(made) + packed + bytes(groups * bits - len(packed))


def _path(path: str) -> tuple[int, Items]:
    return LIST, Items(BINARY, [name.encode() for name in path.split(".")])


def _numbers(values: dict[int, int]) -> Struct:
    return {number: (I32, value) for number, value in values.items()}


def _longs(values: dict[int, int]) -> Struct:
    return {number: (I64, value) for number, value in values.items()}


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


# ---- Thrift's compact protocol

TRUE: Final = 1
FALSE: Final = 2
BYTE: Final = 3
I16: Final = 4
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
STRUCT: Final = 12
_LONG: Final = 15
"""From this count on a list has its count behind its head; so has a field its number that is so far behind the one before it."""

Struct = dict[int, tuple[int, Any]]


class Items(NamedTuple):
    """A list: the type of its elements, and the elements."""

    kind: int
    values: list[Any]


def read_struct(data: bytes, at: int = 0) -> tuple[Struct, int]:
    """Return the struct that starts at a place, and where it ends. Errors: IndexError or ValueError for what is none."""
    found: Struct = {}
    number = 0
    while head := data[at]:
        if head >> 4:
            number += head >> 4
            at += 1
        else:
            doubled, at = _read_varint(data, at + 1)
            number = doubled >> 1
        kind = head & 15
        # A flag is part of its field's head.
        value, at = (None, at) if kind <= FALSE else _read(data, at, kind)
        found[number] = kind, value
    return found, at + 1


def encode_struct(kind: int, value: Any) -> bytes:
    """Return the encoding of a value."""
    made = bytearray()
    _write(made, kind, value)
    return bytes(made)


def _read(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (I16, I32, I64):
        number, at = _read_varint(data, at)
        return (number >> 1) ^ -(number & 1), at
    if kind == BINARY:
        size, at = _read_varint(data, at)
        return data[at : at + size], at + size
    if kind == STRUCT:
        return read_struct(data, at)
    if kind == LIST:
        return _read_list(data, at)
    if kind == DOUBLE:
        return unpack_from("<d", data, at)[0], at + 8
    if kind in (TRUE, FALSE, BYTE):
        return data[at], at + 1
    raise ValueError(f"no Parquet file has values of Thrift's type {kind}")


def _read_list(data: bytes, at: int) -> tuple[Items, int]:
    kind, count = data[at] & 15, data[at] >> 4
    at += 1
    if count == _LONG:
        count, at = _read_varint(data, at)
    values = []
    for _ in range(count):
        value, at = _read(data, at, kind)
        values.append(value)
    return Items(kind, values), at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, seven bits a byte, the lowest first; and the place behind it."""
    number = data[at]
    if number < 0x80:
        return number, at + 1
    number &= 0x7F
    shift = 7
    while True:
        at += 1
        byte = data[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at + 1
        shift += 7


def _write_struct(made: bytearray, fields: Struct) -> None:
    last = 0
    for number in sorted(fields):
        kind, value = fields[number]
        if number - last < _LONG:
            made.append(number - last << 4 | kind)
        else:
            made.append(kind)
            write_varint(made, 2 * number)
        if kind > FALSE:
            _write(made, kind, value)
        last = number
    made.append(0)


def _write(made: bytearray, kind: int, value: Any) -> None:
    if kind in (I16, I32, I64):
        write_varint(made, value << 1 if value >= 0 else ~value << 1 | 1)
    elif kind == BINARY:
        write_varint(made, len(value))
        made += value
    elif isinstance(value, bytes):
        made += value
    elif kind == STRUCT:
        _write_struct(made, value)
    elif kind == LIST:
        count = len(value.values)
        made.append(min(count, _LONG) << 4 | value.kind)
        if count >= _LONG:
            write_varint(made, count)
        for element in value.values:
            _write(made, value.kind, element)
    elif kind == DOUBLE:
        made += pack("<d", value)
    else:
        made.append(value)


def write_varint(made: bytearray, number: int) -> None:
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
