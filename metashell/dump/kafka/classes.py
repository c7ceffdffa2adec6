"""Keys and values by the decoder classes that Kafka ships: org.apache.kafka.tools.api.{String,Default,Integer,Long}Decoder.

Source: DumpLogSegments.DecoderMessageParser; the classes' `fromBytes`.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from zlib import crc32

from metashell.codec.primitives import kafka_text
from metashell.errors import DecodeError

CLASS_PREFIX = "org.apache.kafka.tools.api."
_INT32 = Struct(">i")
_INT64 = Struct(">q")


class ClassPayloads:
    """The texts of keys and values; an empty or missing name means StringDecoder. Errors: DecodeError for another class."""

    def __init__(self, key_class: str | None, value_class: str | None) -> None:
        # In Kafka's order: of two wrong names the value's is reported.
        self._value = class_decoder(value_class)
        self._key = class_decoder(key_class)

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        return (None if key is None else self._key(key)), (None if value is None else self._value(value))


def class_decoder(name: str | None) -> Callable[[bytes], str]:
    """What turns bytes into text as the class of that name does. Errors: DecodeError for a class that is not Kafka's own."""
    if not name:
        return kafka_text
    found = DECODER_CLASSES.get(name.removeprefix(CLASS_PREFIX)) if name.startswith(CLASS_PREFIX) else None
    if found is None:
        raise DecodeError(f"Failed to load decoder class: {name}")
    return found


def _integer(raw: bytes) -> str:
    return str(_number(_INT32, raw))


def _long(raw: bytes) -> str:
    return str(_number(_INT64, raw))


def _number(form: Struct, raw: bytes) -> int:
    if len(raw) < form.size:
        raise DecodeError(f"{len(raw)} byte(s) are no number of {form.size}")
    return int(form.unpack_from(raw)[0])


def _default(raw: bytes) -> str:
    # Java prints the object's identity, a different one in every run; ours is the same for the same bytes.
    return f"[B@{crc32(raw):x}"


DECODER_CLASSES: dict[str, Callable[[bytes], str]] = {
    "StringDecoder": kafka_text,
    "DefaultDecoder": _default,
    "IntegerDecoder": _integer,
    "LongDecoder": _long,
}
