"""The plain reading of a message: one walk over its schema, field by field, checking everything.

It is ten times slower than what `compiler` makes, and it is what that falls back to: it finds the field and the byte
at fault, and it reads what is valid but rare (multi-byte lengths, malformed UTF-8). Being written apart from the
compiler, it is also the compiler's judge in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final

from metashell.codec.primitives import kafka_text, read_uvarint
from metashell.codec.schema import FORMATS, FieldSchema, MessageSchema, StructSchema
from metashell.errors import DecodeError

FIXED = {name: Struct(">" + form) for name, form in FORMATS.items()}
"""The primitives of a fixed width, by their names in schemas."""
STRING_MAX: Final = 32_767
"""Bytes of a string, in every version: compact lengths could say more, and Kafka's readers refuse them too."""


class TrailingBytesError(DecodeError):
    """A message ended before its bytes did; `left_over` counts what remains."""

    def __init__(self, message: str, offset: int, left_over: int) -> None:
        super().__init__(message, "", offset)
        self.left_over = left_over


class PlainReader:
    """Reads the fields of one message at one version from `buf[start:end]`.

    `structs` maps a struct's name to the class that is made for it; the message's own name is among them.
    """

    def __init__(self, schema: MessageSchema, version: int, structs: Mapping[str, Callable[..., Any]]) -> None:
        self.schema = schema
        self.version = version
        self.structs = structs
        self.flexible = version in schema.flexible
        self.buf = b""
        self.pos = 0
        self.end = 0
        self.path: list[str] = []

    def read(self, buf: bytes, start: int, end: int) -> Any:
        """The object that the bytes hold. Errors: DecodeError with the field's path and its offset in `buf`."""
        self.buf, self.pos, self.end = buf, start, min(end, len(buf))
        self.path.clear()
        value = self._struct(self.schema)
        if self.pos != self.end:
            left_over = self.end - self.pos
            raise TrailingBytesError(f"{self.schema.name}: {_bytes(left_over)} left over", self.pos, left_over)
        return value

    def _fail(self, reason: str) -> DecodeError:
        path = ".".join(self.path)
        return DecodeError(f"{self.schema.name}: {path}: {reason}" if path else f"{self.schema.name}: {reason}", path, self.pos)

    def _take(self, size: int) -> bytes:
        if size > self.end - self.pos:
            raise self._fail(f"{_bytes(size)} wanted, {self.end - self.pos} left")
        start = self.pos
        self.pos += size
        return self.buf[start : self.pos]

    def _uvarint(self) -> int:
        try:
            value, pos = read_uvarint(self.buf, self.pos)
        except DecodeError as error:
            raise self._fail(str(error)) from None
        if pos > self.end:
            raise self._fail("a varint runs past the end")
        self.pos = pos
        return value

    def _struct(self, struct: StructSchema) -> Any:
        values: dict[str, Any] = {}
        for field in struct.untagged(self.version):
            self.path.append(field.name)
            values[field.attribute] = self._field(field, tagged=False)
            self.path.pop()
        if self.flexible:
            self._tags(struct, values)
        return self.structs[struct.name](**values)

    def _tags(self, struct: StructSchema, values: dict[str, Any]) -> None:
        known = {field.tag: field for field in struct.tagged(self.version)}
        illegal = struct.illegal_tags(self.version)
        unknown: list[tuple[int, bytes]] = []
        for _ in range(self._uvarint()):
            tag = self._uvarint()
            size = self._uvarint()
            field = known.get(tag)
            if tag in illegal:
                raise self._fail(f"tag {tag} is not valid in version {self.version}")
            if field is None:
                unknown.append((tag, self._take(size)))
                continue
            self.path.append(field.name)
            # Kafka's generated readers do not hold a known field against the size before it; nor do we.
            values[field.attribute] = self._field(field, tagged=True)
            self.path.pop()
        if unknown:
            values["unknown_tags"] = tuple(unknown)

    def _field(self, field: FieldSchema, tagged: bool) -> Any:
        if field.is_array:
            return self._array(field)
        if field.is_struct:
            if self.version in field.nullable and not self._is_present(tagged):
                return None
            return self._struct(self.schema.structs[field.type])
        return self._primitive(field)

    def _is_present(self, tagged: bool) -> bool:
        if tagged:
            return self._uvarint() != 0
        return self._take(1) != b"\xff"

    def _array(self, field: FieldSchema) -> tuple[Any, ...] | None:
        count = self._uvarint() - 1 if self.flexible else self._int(FIXED["int32"])
        if count < 0:
            self._check_nullable(field)
            return None
        if count > self.end - self.pos:
            raise self._fail(f"{count} elements cannot lie in {_bytes(self.end - self.pos)}")
        items = []
        for index in range(count):
            self.path[-1] = f"{field.name}[{index}]"
            if field.is_struct:
                items.append(self._struct(self.schema.structs[field.type]))
            else:
                items.append(self._primitive(field, element=True))
        self.path[-1] = field.name
        return tuple(items)

    def _check_nullable(self, field: FieldSchema) -> None:
        if self.version not in field.nullable:
            raise self._fail("null, which is not legal here")

    def _int(self, form: Struct) -> int:
        return int(form.unpack(self._take(form.size))[0])

    def _primitive(self, field: FieldSchema, element: bool = False) -> Any:
        form = FIXED.get(field.type)
        if form is not None:
            return form.unpack(self._take(form.size))[0]
        size = self._size(field)
        if size < 0:
            if element:
                raise self._fail("null, which is not legal in an array")
            self._check_nullable(field)
            return None
        if field.type == "string" and size > STRING_MAX:
            raise self._fail(f"a string of {size} bytes, at most {STRING_MAX} are legal")
        raw = self._take(size)
        return kafka_text(raw) if field.type == "string" else raw

    def _size(self, field: FieldSchema) -> int:
        if self.flexible if field.flexible is None else self.version in field.flexible:
            return self._uvarint() - 1
        return self._int(FIXED["int16" if field.type == "string" else "int32"])


def plain_check(schema: MessageSchema, version: int, buf: bytes, start: int, end: int) -> None:
    """Read `buf[start:end]` and keep nothing: for a few records this is quicker than compiling the message's class and reader.

    Errors: DecodeError, as `plain_read`.
    """
    plain_read(schema, version, dict.fromkeys((schema.name, *schema.structs), _nothing), buf, start, end)


def _nothing(**values: Any) -> None:
    """Stands for the class of every struct."""


def plain_read(schema: MessageSchema, version: int, classes: Mapping[str, Callable[..., Any]], buf: bytes, start: int, end: int) -> Any:
    """The object that `buf[start:end]` holds, read without any compiled code."""
    return PlainReader(schema, version, classes).read(buf, start, end)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
