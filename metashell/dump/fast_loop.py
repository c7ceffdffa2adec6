"""The tight loop over the records of a batch, one per form of line, made from one template.

It takes the record header that metadata logs are made of (no attributes, the batch's timestamp, the next offset, null
key, no headers, lengths below 8192) by comparing bytes; anything else makes it give up, and the caller reads the same
records again with every check. So it may be as careless as it is fast: all that it must never do is accept something
that the careful way would read otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from metashell.codec.primitives import encode_varint
from metashell.errors import DecodeError

SEGMENT_RECORDS = 1 << 14
"""Records that are formatted between two looks at how much text is waiting."""
GAVE_UP = -1

ValueText = Callable[[bytes, int, int], str]
ValueTexts = dict[bytes, tuple[ValueText | None, str]]
"""The first three bytes of a value (frame version, type, version) -> what writes its body, and the text before it.

A missing key is asked of the dictionary's own `__missing__`; None for the writer leaves the record out.
"""
FastLoop = Callable[[bytes, int, int, int, int, str, ValueTexts, Callable[[str], None]], int]
"""`(buf, at, first, count, base_offset, middle, texts, append)` -> the index after the last record, or GAVE_UP.

Writes records `first` to `first + count` of a batch; `middle` is the text that is the same for all its records.
"""

_TEMPLATE = """
def loop(buf, at, first, count, base_offset, middle, texts, append):
    headers, header_sizes, overheads = usual_headers(first, count)
    offsets = range(base_offset + first, base_offset + first + count)
    try:
        for offset, header, header_size, overhead in zip(offsets, headers, header_sizes, overheads):
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
            body, before = texts[buf[start : start + 3]]
            {skip}
            append({line})
    except (IndexError, DecodeError):
        return GAVE_UP
    return at
"""
_SKIP = "if body is None: continue"

_headers: list[bytes] = []
_header_sizes: list[int] = []
_overheads: list[int] = []


def make_loop(line: str, may_skip: bool = False, head: str = "") -> FastLoop:
    """The loop that appends `line`, an expression over its local names, for each record.

    The value's text is `body(buf, start + 3, end)`, what goes before it `before`; `value_size` is twice the size; `head`
    is a text that is the same for the whole file.
    """
    names = {"usual_headers": usual_headers, "GAVE_UP": GAVE_UP, "DecodeError": DecodeError, "head": head}
    source = _TEMPLATE.format(line=line, skip=_SKIP if may_skip else "")
    exec(compile(source, "<dump-log loop>", "exec"), names)
    loop: FastLoop = names["loop"]  # type: ignore[assignment]
    return loop


def usual_headers(first: int, count: int) -> tuple[Sequence[bytes], Sequence[int], Sequence[int]]:
    """For records `first` to `first + count` of a batch: the bytes between length and value length, their number, and
    by how much a record's length varint exceeds its value's when that has one byte (both are twice the size).
    """
    last = first + count
    for delta in range(len(_headers), last):
        header = b"\0\0" + encode_varint(delta) + b"\1"
        _headers.append(header)
        _header_sizes.append(len(header))
        _overheads.append(2 * (len(header) + 2))
    if first == 0:
        return _headers, _header_sizes, _overheads
    return (
        list(islice(_headers, first, last)),
        list(islice(_header_sizes, first, last)),
        list(islice(_overheads, first, last)),
    )
