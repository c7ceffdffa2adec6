"""What a `.schema` text says, as plain values: messages, structs, fields and their versions.

The notation is one line a message and one line a field (CONTRIBUTING.md shows an example). A nested line
is a field of the struct that the type above it names; `struct Name` introduces a struct that is used more
than once. Nothing here knows bytes: `compiler`, `jsontext` and `plain` make them out of these values.
"""

from __future__ import annotations

import keyword

NEWEST = 32767
"""The upper end of `3+`: int16's largest, because a version is an int16 on the wire."""

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
"""Stands for "the schema names no default": the zero of the type then."""


class SchemaError(ValueError):
    """A schema text that does not follow the notation; the message has the file's name and the line."""


class Versions:
    """A closed range of versions, `low` above `high` for none."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __repr__(self) -> str:
        return f"Versions({self.low}, {self.high})"


NONE = Versions(1, 0)


class FieldSchema:
    """One field: wire name, type and what holds in which versions.

    `type` is a primitive's name or a struct's; `is_array` stands for `[]type`. `tag` is None for an untagged
    field. `default` is NO_DEFAULT, None, or a value of the type.
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
        self.nullable = NONE
        self.tag: int | None = None
        self.tagged = NONE
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
        """Tags that other versions know: Kafka's readers refuse them, where a tag that none knows is kept."""
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
        self.flexible = NONE
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
        return NONE
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
