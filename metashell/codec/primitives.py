"""Wire primitives: variable-length integers, Kafka's UTF-8, and the checks that guard allocations.

Buffers are `bytes`; positions are indexes into them and nothing is copied but what is returned.
Unsigned varints are plain base-128 (metadata frames, flexible messages); varints of record bodies are
zig-zag on top of that.
"""

from __future__ import annotations

import re

from metashell.errors import DecodeError

UVARINT_SIZE_MAX = 5

_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def read_uvarint(buf: bytes, pos: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes, and the position after it.

    Units: the value has 32 bits; what the fifth byte holds above them is cut off, as in Java.
    Errors: DecodeError for a sixth byte or the end of the buffer.
    """
    value = shift = 0
    for index in range(pos, pos + UVARINT_SIZE_MAX):
        try:
            byte = buf[index]
        except IndexError:
            raise DecodeError(f"varint ends early at {index}", offset=pos) from None
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFF, index + 1
        shift += 7
    raise DecodeError(f"varint is too long, the most significant bit of the {UVARINT_SIZE_MAX}th byte is set", offset=pos)


def encode_uvarint(value: int) -> bytes:
    """An unsigned varint of a value that is not negative."""
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_varint(value: int) -> bytes:
    """A zig-zag varint, for int32 and int64 alike."""
    return encode_uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def kafka_text(raw: bytes) -> str:
    """A string's bytes as Kafka shows them: malformed UTF-8 turns into U+FFFD as the JDK does it.

    The JDK takes an encoded surrogate (ED A0-BF with its continuation byte) for one malformed character where
    Python takes each of its bytes for one. Source: java.nio.charset's UTF-8 decoder, measured.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _ENCODED_SURROGATE.sub(b"\xff", raw).decode("utf-8", "replace")
