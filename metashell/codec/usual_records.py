"""The tight loop over the records of a batch that are framed as metadata logs are, made from one template.

It takes the record header that metadata logs are made of (no attributes, the batch's timestamp, the next offset, null
key, no headers, lengths below 8192) by comparing bytes; anything else makes it give up, and the caller reads the same
records again with every check. So it may be as careless as it is fast: all that it must never do is accept something
that the careful way would read otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from textwrap import indent
from typing import Any

from metashell.codec.primitives import encode_uvarint
from metashell.errors import DecodeError

GAVE_UP = -1

_TEMPLATE = """
def loop(buf, at, first, count{parameters}):
    # A count is believed only as far as there are bytes for it: what it claims takes memory.
    if count > (len(buf) - at) // {record_size_min}:
        return GAVE_UP
    headers, header_sizes, overheads = usual_headers(first, count)
    try:
        for {targets}header, header_size, overhead in zip({sources}headers, header_sizes, overheads):
            size = buf[at]
            at += 1
            if size > 127:
                size = size & 127 | buf[at] << 7
                at += 1
            if not buf.startswith(header, at):
                return GAVE_UP
            start = at + header_size
            value_size = buf[start]
            start += 1
            if value_size > 127:
                value_size = value_size & 127 | buf[start] << 7
                start += 1
                if size - value_size != overhead + 2:
                    return GAVE_UP
            elif size - value_size != overhead:
                return GAVE_UP
            at += size >> 1
            end = at - 1
            if value_size & 1 or buf[end]:
                return GAVE_UP
{body}
    except (IndexError, DecodeError):
        return GAVE_UP
    return at
"""

_RECORD_SIZE_MIN = 7
_BLOCK = 64
"""Offset deltas whose varints differ in their first byte only."""
_FIRST_BYTES = [b"\0\0" + bytes((low,)) for low in range(0, 2 * _BLOCK, 2)]
_FIRST_BYTES_OF_MORE = [b"\0\0" + bytes((low | 128,)) for low in range(0, 2 * _BLOCK, 2)]

_headers: list[bytes] = []
_header_sizes: list[int] = []
_overheads: list[int] = []


def make_loop(body: str, *, parameters: str = "", each: Mapping[str, str] | None = None, names: Mapping[str, object] | None = None) -> Any:
    """The loop `(buf, at, first, count, ...) -> index after the last record, or GAVE_UP` that runs `body` for each record.

    It walks records `first` to `first + count` of a batch from index `at` on. `body` is one or more statements: the value is
    `buf[start:end]`, `value_size` is twice its size, and GAVE_UP may be returned. `parameters` are the loop's further ones, `each`
    gives names that run along and what they run over (`count` items), `names` are globals.
    """
    along = each or {"_": "range(count)"}
    source = _TEMPLATE.format(
        record_size_min=_RECORD_SIZE_MIN,
        parameters="".join(f", {name}" for name in parameters.split()),
        targets="".join(f"{name}, " for name in along),
        sources="".join(f"{sequence}, " for sequence in along.values()),
        body=indent(body, " " * 12),
    )
    scope = {"usual_headers": usual_headers, "GAVE_UP": GAVE_UP, "DecodeError": DecodeError, **(names or {})}
    exec(compile(source, "<loop over usual records>", "exec"), scope)
    return scope["loop"]


def usual_headers(first: int, count: int) -> tuple[Sequence[bytes], Sequence[int], Sequence[int]]:
    """For records `first` to `first + count` of a batch: the bytes between length and value length, their number, and
    by how much a record's length varint exceeds its value's when that has one byte (both are twice the size).

    Shape: from 0 on there may be more than `count`.
    """
    last = first + count
    record_headers(last)
    for header in islice(_headers, len(_header_sizes), None):
        _header_sizes.append(len(header))
        _overheads.append(2 * (len(header) + 2))
    if first == 0:
        return _headers, _header_sizes, _overheads
    return (
        list(islice(_headers, first, last)),
        list(islice(_header_sizes, first, last)),
        list(islice(_overheads, first, last)),
    )


def record_headers(count: int) -> list[bytes]:
    """How the usual record of each index of a batch starts: attributes 0, timestamp delta 0, offset delta, null key.

    Shape: the one common list, of at least `count` headers; not to be changed.
    """
    while len(_headers) < count:
        block = len(_headers) // _BLOCK
        rest = encode_uvarint(block) + b"\1" if block else b"\1"
        _headers.extend([start + rest for start in (_FIRST_BYTES_OF_MORE if block else _FIRST_BYTES)])
    return _headers
