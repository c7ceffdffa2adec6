"""As much of Thrift's compact protocol as the footer and the page headers of a Parquet file need.

A struct is a dict: the number of a field, its type and its value. Values are numbers, bytes, dicts for structs and `Items` for lists. What
is nested may be given as the bytes of its encoding.
"""

from __future__ import annotations

from struct import pack, unpack_from
from typing import Any, Final, NamedTuple

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
    """The struct that starts at a place, and where it ends. Errors: IndexError or ValueError for what is none."""
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


def encoded(kind: int, value: Any) -> bytes:
    """The encoding of a value."""
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
    """The number at a place, seven bits a byte, the lowest first; and the place behind it."""
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
