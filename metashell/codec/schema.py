"""The notation of `.schema` texts, and the plain reader that walks a schema field by field.

The notation is one line per message and one line per field (CONTRIBUTING.md shows an example). An indented line is a field of the struct
that the type above it names; `struct Name` introduces a struct that is used more than once.

The plain reader is ten times slower than the compiled ones, which fall back to it: it checks everything, names the field and the byte at
fault, and reads valid but rare encodings (malformed UTF-8, over-long varints). It shares no code with the compiler, so the tests also
compare the compiled code with it."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final

from metashell.codec.primitives import kafka_text, read_uvarint
from metashell.common.errors import DecodeError

NEWEST = 32767
"""The upper end of `3+`: the largest int16, because a version is an int16 on the wire."""

FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""The primitives of a fixed width, with their formats in `struct`."""
PRIMITIVES = frozenset((*FORMATS, "string", "bytes", "records"))
NO_DEFAULT = object()
"""Marks a field without a default in its schema; the type's zero is the default then."""


class SchemaError(ValueError):
    """A schema text that does not follow the notation; the message has the file's name and the line."""


class Versions:
    """A closed range of versions; `low` is above `high` in an empty one."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __repr__(self) -> str:
        return f"Versions({self.low}, {self.high})"


NO_VERSIONS = Versions(1, 0)


class FieldSchema:
    """One field: wire name, type, and the versions in which it exists, is nullable or is tagged.

    `type` is a primitive's name or a struct's; `is_array` means `[]type`. `tag` is None for an untagged field. `default` is NO_DEFAULT,
    None, or a value of the type.
    """

    __slots__ = (
        "attribute",
        "default",
        "flexible",
        "ignorable",
        "is_array",
        "json_name",
        "name",
        "nullable",
        "tag",
        "tagged",
        "type",
        "versions",
    )

    def __init__(self, name: str, type_text: str, versions: Versions) -> None:
        self.name = name
        self.attribute = snake_case(name)
        self.json_name = name[0].lower() + name[1:]
        self.is_array = type_text.startswith("[]")
        self.type = type_text[2:] if self.is_array else type_text
        self.versions = versions
        self.nullable = NO_VERSIONS
        self.tag: int | None = None
        self.tagged = NO_VERSIONS
        self.flexible: Versions | None = None
        self.ignorable = False
        self.default: object = NO_DEFAULT

    @property
    def is_struct(self) -> bool:
        return self.type not in PRIMITIVES

    def is_tagged(self, version: int) -> bool:
        return version in self.tagged

    def element(self) -> FieldSchema:
        """One item of an array, as a field that is never null."""
        made = FieldSchema(self.name, self.type, self.versions)
        made.flexible = self.flexible
        made.attribute = "item"
        return made

    def __repr__(self) -> str:
        return f"FieldSchema({self.name}: {'[]' if self.is_array else ''}{self.type})"


class StructSchema:
    """A struct's name and its fields in wire order."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: list[FieldSchema] = []

    def at(self, version: int) -> list[FieldSchema]:
        """The fields that exist in a version, in schema order."""
        return [field for field in self.fields if version in field.versions]

    def untagged(self, version: int) -> list[FieldSchema]:
        return [field for field in self.at(version) if not field.is_tagged(version)]

    def tagged(self, version: int) -> list[FieldSchema]:
        """The tagged fields of a version in ascending order of their tags."""
        fields = [field for field in self.at(version) if field.is_tagged(version)]
        return sorted(fields, key=lambda field: -1 if field.tag is None else field.tag)

    def illegal_tags(self, version: int) -> list[int]:
        """Tags that only other versions know: Kafka's readers refuse them, while they keep a tag that no version knows."""
        legal = {field.tag for field in self.tagged(version)}
        return sorted(field.tag for field in self.fields if field.tag is not None and field.tag not in legal)


class MessageSchema(StructSchema):
    """A message: its kind, key, versions, and the structs it uses by name."""

    __slots__ = ("flexible", "key", "kind", "last_release", "latest_unstable", "listeners", "structs", "versions")

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(name)
        self.kind = kind
        self.key: int | None = None
        self.versions = Versions(0, 0)
        self.flexible = NO_VERSIONS
        self.listeners: tuple[str, ...] = ()
        self.latest_unstable = False
        self.last_release: str | None = None
        self.structs: dict[str, StructSchema] = {}


def snake_case(name: str) -> str:
    """The attribute of a wire name: `TopicId` is `topic_id`, `KRaftVersion` is `k_raft_version`."""
    letters: list[str] = []
    for index, letter in enumerate(name):
        if letter.isupper() and index:
            before = name[index - 1]
            after = name[index + 1 : index + 2]
            if not before.isupper() or after.islower():
                letters.append("_")
        letters.append(letter.lower())
    attribute = "".join(letters)
    return attribute + "_" if keyword.iskeyword(attribute) else attribute


def parse_schema(text: str, source: str = "schema") -> MessageSchema:
    """The one message that a schema text declares.

    Errors: SchemaError with `source` and the line for anything that is not the notation.
    """
    message: MessageSchema | None = None
    stack: list[tuple[int, StructSchema]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].rstrip()
        if not line:
            continue
        indent = len(line) - len(line.lstrip())
        words = line.split()
        try:
            if message is None:
                message = _parse_message(words)
                stack = [(0, message)]
                continue
            while stack[-1][0] >= indent:
                stack.pop()
            if words[0] == "struct":
                stack.append((indent, _struct(message, words[1])))
                continue
            field = _parse_field(words)
            stack[-1][1].fields.append(field)
            if field.is_struct:
                stack.append((indent, _struct(message, field.type)))
        except (IndexError, KeyError, StopIteration, ValueError) as error:
            reason = f"{type(error).__name__} {error}".strip()
            raise SchemaError(f"{source}: line {number}: {line.strip()!r}: {reason}") from error
    if message is None:
        raise SchemaError(f"{source}: no message")
    for struct in message.structs.values():
        if not struct.fields:
            raise SchemaError(f"{source}: struct {struct.name} has no fields")
    return message


def _struct(message: MessageSchema, name: str) -> StructSchema:
    return message.structs.setdefault(name, StructSchema(name))


def _parse_message(words: list[str]) -> MessageSchema:
    message = MessageSchema(words[0], words[1])
    rest = iter(words[2:])
    for word in rest:
        if word == "key":
            message.key = int(next(rest))
        elif word == "versions":
            message.versions = parse_versions(next(rest))
        elif word == "flexible":
            message.flexible = parse_versions(next(rest))
        elif word == "listeners":
            message.listeners = tuple(next(rest).split(","))
        elif word == "latest-unstable":
            message.latest_unstable = True
        elif word == "last" and next(rest) == "in":
            message.last_release = next(rest)
        else:
            raise ValueError(f"unknown word {word!r}")
    return message


def _parse_field(words: list[str]) -> FieldSchema:
    field = FieldSchema(words[0], words[1], parse_versions(words[2]))
    rest = iter(words[3:])
    for word in rest:
        if word == "nullable":
            field.nullable = parse_versions(next(rest))
        elif word == "tag":
            field.tag = int(next(rest))
            field.tagged = parse_versions(next(rest))
        elif word == "default":
            field.default = _parse_default(field, next(rest))
        elif word == "flexible":
            field.flexible = parse_versions(next(rest))
        elif word == "entity":
            next(rest)
        elif word == "ignorable":
            field.ignorable = True
        elif word not in ("key", "zerocopy"):
            raise ValueError(f"unknown word {word!r}")
    return field


def parse_versions(text: str) -> Versions:
    """`3`, `3-5`, `3+` or `none`."""
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return Versions(int(text[:-1]), NEWEST)
    low, _, high = text.partition("-")
    return Versions(int(low), int(high or low))


def _parse_default(field: FieldSchema, text: str) -> object:
    if text == "null":
        return None
    if field.type == "bool":
        return {"true": True, "false": False}[text]
    if field.type == "string":
        return text.strip('"')
    if field.type == "float64":
        return float(text)
    return int(text, 0)


FIXED = {name: Struct(">" + form) for name, form in FORMATS.items()}
"""The primitives of a fixed width, by their names in schemas."""
STRING_MAX: Final = 32_767
"""The most bytes of a string, in every version: a compact length could be larger, but Kafka's readers refuse that too."""


class TrailingBytesError(DecodeError):
    """A message that ended before its bytes did; `left_over` counts the remaining bytes."""

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
            # Kafka's generated readers do not compare a known field's end with the size before it, so neither do we.
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
    """Read `buf[start:end]` and keep nothing. For a few records this is faster than compiling the message's class and reader.

    Errors: DecodeError, as `plain_read`.
    """
    plain_read(schema, version, dict.fromkeys((schema.name, *schema.structs), _nothing), buf, start, end)


def _nothing(**values: Any) -> None:
    """Takes the place of the class of every struct."""


def plain_read(schema: MessageSchema, version: int, classes: Mapping[str, Callable[..., Any]], buf: bytes, start: int, end: int) -> Any:
    """The object that `buf[start:end]` holds, read without any compiled code."""
    return PlainReader(schema, version, classes).read(buf, start, end)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
