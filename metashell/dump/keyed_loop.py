"""The tight loop over the records of a coordinator's log: they have keys, and the same keys come again and again.

Like the loop of metadata records it gives up on everything unusual, and the caller reads the same records again with every
check. A key's text is looked up by its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metashell.codec.primitives import encode_varint
from metashell.dump.fast_loop import GAVE_UP, FastLoop, ValueText
from metashell.errors import DecodeError

MEMO_LIMIT = 1 << 15
MEMO_KEY_SIZE_MAX = 256

Versions = dict[bytes, tuple[ValueText | None, str]]
"""The first two bytes of a value, its version -> what writes its fields, and the text before them; None leaves the record out."""

_SIZE = """
            if {name} > 127:
                if buf[start] > 127:
                    return GAVE_UP
                {name} = {name} & 127 | buf[start] << 7
                start += 1
            if {name} & 1:
                return GAVE_UP
            {name} >>= 1
            at = start + {name}
"""
"""Reads the rest of a varint that may have two bytes, and must be a size: no negative number."""
_TEMPLATE = """
def loop(buf, at, first, count, base_offset, middle, keys, append):
    offset = base_offset + first - 1
    try:
        for header in headers(first, count):
            offset += 1
            size = buf[at]
            at += 1
            if size > 127:
                if buf[at] > 127:
                    return GAVE_UP
                size = size & 127 | buf[at] << 7
                at += 1
            if size & 1 or not buf.startswith(header, at):
                return GAVE_UP
            end = at + (size >> 1)
            start = at + len(header)
            key_size = buf[start]
            start += 1
            {read_key_size}
            key_text, versions = keys[buf[start:at]]
            start = at + 1
            value_size = buf[at]
            if value_size == 1:
                if start != end - 1 or buf[start]:
                    return GAVE_UP
                at = end
                if versions is None:
                    continue
                append({tombstone})
                continue
            {read_value_size}
            if at != end - 1 or buf[at]:
                return GAVE_UP
            if versions is None:
                at = end
                continue
            body, before = versions[buf[start : start + 2]]
            append({line})
            at = end
    except (IndexError, DecodeError):
        return GAVE_UP
    return at
"""

_headers: list[bytes] = []
_FIRST = [b"\0\0\0"]


def make_keyed_loop(line: str, tombstone: str, head: str = "") -> FastLoop:
    """The loop that appends `line`, or `tombstone` for a record without a value: expressions over its local names.

    `keys` is a KeyTexts; `key_text`, `key_size` and `value_size` are a record's own; the value's text is
    `body(buf, start + 2, at)` and what goes before it `before`.
    """
    names: dict[str, Any] = {"headers": _usual_headers, "GAVE_UP": GAVE_UP, "DecodeError": DecodeError, "head": head}
    sizes = {f"read_{name}": _SIZE.format(name=name).strip() for name in ("key_size", "value_size")}
    exec(compile(_TEMPLATE.format(line=line, tombstone=tombstone, **sizes), "<dump-log keyed loop>", "exec"), names)
    loop: FastLoop = names["loop"]
    return loop


def _usual_headers(first: int, count: int) -> list[bytes]:
    """For records `first` to `first + count` of a batch, what stands between length and key length."""
    if count == 1 and first == 0:
        return _FIRST
    for delta in range(len(_headers), first + count):
        _headers.append(b"\0\0" + encode_varint(delta))
    return _headers[first : first + count]


class KeyTexts(dict[bytes, Any]):
    """A bounded memo from a key's bytes to its text and the versions of its values; `None` for these leaves the record out.

    `make` gives what a key has; it raises DecodeError for a key that is to be read with every check.
    """

    def __init__(self, make: Callable[[bytes], tuple[str, Versions | None]]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: bytes) -> tuple[str, Versions | None]:
        made = self.make(key)
        if len(key) <= MEMO_KEY_SIZE_MAX:
            if len(self) >= MEMO_LIMIT:
                self.clear()
            self[key] = made
        return made
