"""The records inside a version-2 batch: where each field lies, checked, without copying anything.

Loops that care for speed read the usual record header themselves (one-byte lengths, null key, no headers) and come
here for everything else; what they get is the same tuple.
"""

from __future__ import annotations

from collections.abc import Iterator

from metashell.codec.primitives import kafka_text
from metashell.errors import DecodeError

RecordFields = tuple[int, int, int, int, int, int, int, int]
"""offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, headers_start, next.

A size of -1 is a null, whose start means nothing. `headers_start` is the index of the header count, `next` the index
after the record.
"""

Header = tuple[str, bytes | None]


def walk_records(buf: bytes, start: int, end: int, count: int) -> Iterator[RecordFields]:
    """The places of `count` records that fill `buf` from `start` to `end`.

    Errors: DecodeError (its offset an index into `buf`) at the record that does not fit, for a negative count, and
    after the last record when bytes are left over.
    """
    if count < 0:
        raise DecodeError(f"record count {count} is negative", offset=start)
    position = start
    for _ in range(count):
        fields = read_record_header(buf, position, end)
        position = fields[7]
        yield fields
    if position != end:
        raise DecodeError(f"{end - position} bytes are left after the {count} records of the batch", offset=position)


def read_record_header(buf: bytes, position: int, end: int) -> RecordFields:
    """The places of one record's fields; its headers are walked too, so that the record ends where it says.

    Errors: DecodeError when a field runs past the record, or the record past `end`.
    """
    size, at = read_varint(buf, position, end)
    record_end = at + size
    if size < 0 or record_end > end:
        raise DecodeError(f"record of {size} bytes does not fit in the {end - at} left", offset=position)
    timestamp_delta, at = read_varlong(buf, at + 1, record_end)  # one byte of attributes, unused
    offset_delta, at = read_varint(buf, at, record_end)
    key_size, key_start = _read_size(buf, at, record_end, "key")
    value_size, value_start = _read_size(buf, key_start + max(key_size, 0), record_end, "value")
    headers_start = value_start + max(value_size, 0)
    headers_end = _skip_headers(buf, headers_start, record_end)
    if headers_end != record_end:
        raise DecodeError(f"record of {size} bytes ends {record_end - headers_end} bytes late", offset=headers_end)
    return offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, headers_start, record_end


def read_headers(buf: bytes, headers_start: int, end: int) -> tuple[Header, ...]:
    """The headers of one record, in order; malformed UTF-8 in a name becomes U+FFFD as in Java."""
    count, at = read_varint(buf, headers_start, end)
    headers: list[Header] = []
    for _ in range(count):
        name_size, name_start = _read_size(buf, at, end, "header name")
        at = name_start + name_size
        value_size, value_start = _read_size(buf, at, end, "header value")
        name = kafka_text(buf[name_start:at])
        at = value_start + max(value_size, 0)
        headers.append((name, None if value_size < 0 else buf[value_start:at]))
    return tuple(headers)


def read_varint(buf: bytes, position: int, end: int) -> tuple[int, int]:
    """A zig-zag int32 and the index after it.

    Errors: DecodeError for more than five bytes, or an end in the middle.
    """
    return _read_zigzag(buf, position, end, 5, 0xFFFFFFFF)


def read_varlong(buf: bytes, position: int, end: int) -> tuple[int, int]:
    """A zig-zag int64 and the index after it.

    Errors: DecodeError for more than ten bytes, or an end in the middle.
    """
    return _read_zigzag(buf, position, end, 10, 0xFFFFFFFFFFFFFFFF)


def _read_zigzag(buf: bytes, position: int, end: int, size_max: int, mask: int) -> tuple[int, int]:
    value = shift = 0
    for at in range(position, min(position + size_max, end)):
        byte = buf[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= mask  # Java shifts the excess bits out of the word
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
    reason = "is cut off" if position + size_max > end else f"is longer than {size_max} bytes"
    raise DecodeError(f"varint {reason}", offset=position)


def _read_size(buf: bytes, position: int, end: int, what: str) -> tuple[int, int]:
    """The size of a nullable field and where it starts; a negative size is -1."""
    size, start = read_varint(buf, position, end)
    if size < 0:
        return -1, start
    if size > end - start:
        raise DecodeError(f"{what} of {size} bytes does not fit in the {end - start} left", offset=position)
    return size, start


def _skip_headers(buf: bytes, position: int, end: int) -> int:
    if position < end and buf[position] == 0:
        return position + 1
    count, at = read_varint(buf, position, end)
    if count < 0:
        raise DecodeError(f"header count {count} is negative", offset=position)
    for _ in range(count):
        name_size, name_start = _read_size(buf, at, end, "header name")
        if name_size < 0:
            raise DecodeError("header name is null", offset=at)
        value_size, value_start = _read_size(buf, name_start + name_size, end, "header value")
        at = value_start + max(value_size, 0)
    return at
