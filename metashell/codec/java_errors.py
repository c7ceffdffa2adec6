"""What Kafka's generated readers say of bytes that are no message: the text that its tools print.

A message that does not decode is read once more here, field by field in the order of Kafka's readers, to find the words.
Source: org.apache.kafka.message.MessageDataGenerator; ByteBufferAccessor, ByteUtils.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from metashell.codec.plain import PlainReader
from metashell.codec.registry import MessageType
from metashell.codec.schema import FieldSchema
from metashell.errors import DecodeError

NO_MESSAGE = "null"
"""How Java prints the missing message of a BufferUnderflowException."""
_STRING_SIZE_MAX = 0x7FFF
_VARINT_SHIFT_MAX = 28


def java_read_error(message: MessageType, buf: bytes, version: int, start: int, end: int) -> str:
    """The message of the exception that Kafka's reader raises for `buf[start:end]`, which does not decode."""
    try:
        _JavaReader(message.schema, version, message.structs).read(buf, start, end)
    except DecodeError as error:
        return str(error)
    return NO_MESSAGE


class _JavaReader(PlainReader):
    """Reads as the plain reader does, and fails in Java's words."""

    def _fail(self, reason: str) -> DecodeError:
        return DecodeError(reason, offset=self.pos)

    def _take(self, size: int) -> bytes:
        if size > self.end - self.pos:
            raise self._fail(NO_MESSAGE)
        return super()._take(size)

    def _int(self, form: Struct) -> int:
        return int(form.unpack(self._take(form.size))[0])

    def _uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value & 0xFFFFFFFF
            shift += 7
            if shift > _VARINT_SHIFT_MAX:
                shown = value & 0xFFFFFFFF
                raise self._fail(f"Varint is too long, the most significant bit in the 5th byte is set, converted value: {shown:x}")

    def _array(self, field: FieldSchema) -> tuple[Any, ...] | None:
        at = self.pos
        count = self._uvarint() - 1 if self.flexible else self._int(Struct(">i"))
        if count < 0 and self.version not in field.nullable:
            raise self._fail(f"non-nullable field {field.json_name} was serialized as null")
        left = self.end - self.pos
        if count > left:
            raise self._fail(f"Tried to allocate a collection of size {count}, but there are only {left} bytes remaining.")
        self.pos = at
        return super()._array(field)

    def _primitive(self, field: FieldSchema, element: bool = False) -> Any:
        if field.type not in ("string", "bytes"):
            return super()._primitive(field, element)
        at = self.pos
        size = self._size(field)
        name = f"{field.json_name} element" if element else field.json_name
        if size < 0 and (element or self.version not in field.nullable):
            raise self._fail(f"non-nullable field {name} was serialized as null")
        if field.type == "string" and size > _STRING_SIZE_MAX:
            raise self._fail(f"string field {name} had invalid length {size}")
        left = self.end - self.pos
        if size > left:
            raise self._fail(f"Error reading byte array of {size} byte(s): only {left} byte(s) available")
        self.pos = at
        return super()._primitive(field, element)
