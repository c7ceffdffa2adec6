"""Finds messages by family and name, and compiles their classes, readers and writers on first use.

A family is a folder of `schemas/`. Identity is (family, name): keys repeat between the logs of a cluster, and KIP-631's schemas use
Kafka's names. Nothing here scans the folders: a message's file is read when the message is first named.
"""

from __future__ import annotations

from os import listdir
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

from metashell.codec.schema import MessageSchema, parse_schema, plain_read

if TYPE_CHECKING:
    from collections.abc import Generator

    from metashell.codec.code_writer import StepWriter, Writer
    from metashell.codec.compiler import BoundedReader, Reader
    from metashell.codec.json_text import JsonReader

SCHEMA_FOLDER = join(dirname(__file__), "schemas")
_messages: dict[tuple[str, str], MessageType] = {}


class MessageType:
    """One message of Kafka in all its versions.

    `cls` is its class, `structs` has this class and those of its structs by name, `key` is its API key or record type. `versions` is
    (lowest, newest). Versions above the newest are compiled on demand with the newest layout, because `0+` has no upper end. Each
    product, the classes too, is made at its first use, and the compiler's module is imported then: a dump needs no objects, a shell no
    JSON from bytes.
    """

    cls: Any
    structs: dict[str, Any]

    def __init__(self, family: str, schema: MessageSchema) -> None:
        self.family = family
        self.schema = schema
        self.name = schema.name
        self.kind = schema.kind
        self.key = schema.key
        self.versions = (schema.versions.low, schema.versions.high)
        self._readers: dict[int, Reader] = {}
        self._bounded_readers: dict[int, BoundedReader] = {}
        self._writers: dict[int, Writer] = {}
        self._step_writers: dict[int, StepWriter] = {}
        self._json_readers: dict[int, JsonReader] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in ("cls", "structs"):
            raise AttributeError(name)
        from metashell.codec.compiler import make_classes

        self.structs = make_classes(self.schema)
        self.cls = self.structs[self.name]
        for struct_name in self.schema.structs:
            setattr(self.cls, struct_name, self.structs[struct_name])
        return self.__dict__[name]

    def __repr__(self) -> str:
        return f"MessageType({self.family}/{self.name})"

    def flexible(self, version: int) -> bool:
        """Whether a version has compact lengths and tagged fields."""
        return version in self.schema.flexible

    def make_struct(self, name: str) -> Any:
        """A struct of defaults."""
        return self.structs[name]()

    def reader(self, version: int) -> Reader:
        """`(buf, start, end) -> object`, the quick form of `read`."""
        made = self._readers.get(version)
        if made is None:
            from metashell.codec.compiler import make_reader

            made = self._readers[version] = make_reader(self.schema, version, self.structs)
        return made

    def bounded_reader(self, version: int) -> BoundedReader:
        """`(buf, start, end, left) -> (object, index behind it)`: see `compiler.make_bounded_reader`."""
        made = self._bounded_readers.get(version)
        if made is None:
            from metashell.codec.compiler import make_bounded_reader

            made = self._bounded_readers[version] = make_bounded_reader(self.schema, version, self.structs)
        return made

    def writer(self, version: int) -> Writer:
        """`(object, bytearray) -> None`, the quick form of `write`."""
        made = self._writers.get(version)
        if made is None:
            from metashell.codec.code_writer import make_writer

            made = self._writers[version] = make_writer(self.schema, version, self.make_struct)
        return made

    def json_reader(self, version: int) -> JsonReader:
        """`(buf, start, end) -> str`, the quick form of `json`."""
        made = self._json_readers.get(version)
        if made is None:
            from metashell.codec.json_text import make_json_reader

            def read(buf: bytes, start: int, end: int) -> Any:
                return self.plain_read(buf, version, start, end)

            made = self._json_readers[version] = make_json_reader(self.schema, version, read, self.make_struct)
        return made

    def plain_read(self, buf: bytes, version: int, start: int, end: int) -> Any:
        """As `read`, without any compiled code but the classes."""

        return plain_read(self.schema, version, self.structs, buf, start, end)

    def object_json(self, value: Any, version: int) -> str:
        """The text of Kafka's JSON converter for an object."""
        from metashell.codec.json_text import object_json

        return object_json(value, self.schema, version, self.make_struct)

    def read(self, buf: bytes, version: int, start: int = 0, end: int | None = None) -> Any:
        """The object that `buf[start:end]` holds; every byte must belong to it.

        Errors: DecodeError with the field's path and its offset in `buf`.
        """
        return self.reader(version)(buf, start, len(buf) if end is None else end)

    def write(self, value: Any, version: int) -> bytes:
        """The bytes of an object. Errors: EncodeError."""
        out = bytearray()
        self.writer(version)(value, out)
        return bytes(out)

    def write_steps(self, value: Any, version: int) -> Generator[None, None, bytearray]:
        """As `write`, in steps for an event loop that a large object would block: it yields between the structs of its arrays."""
        made = self._step_writers.get(version)
        if made is None:
            from metashell.codec.code_writer import make_step_writer

            made = self._step_writers[version] = make_step_writer(self.schema, version, self.make_struct)
        out = bytearray()
        yield from made(value, out)
        return out

    def json(self, buf: bytes, version: int, start: int = 0, end: int | None = None) -> str:
        """The text of Kafka's JSON converter for `buf[start:end]`, made without an object.

        Errors: DecodeError, as `read`.
        """
        return self.json_reader(version)(buf, start, len(buf) if end is None else end)

    def to_json_value(self, value: Any, version: int) -> dict[str, Any]:
        """The same as Python values under Kafka's JSON names: bytes are base64 text, uuids base64url text."""
        from json import loads

        shown: dict[str, Any] = loads(self.object_json(value, version))
        return shown


def message_type(family: str, name: str) -> MessageType:
    """The message of that name. Errors: KeyError if the family has none."""
    found = _messages.get((family, name))
    if found is None:
        path = join(SCHEMA_FOLDER, family, name + ".schema")
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError:
            raise KeyError(f"no message {name} in family {family}") from None
        found = _messages[family, name] = MessageType(family, parse_schema(text, f"{family}/{name}.schema"))
    return found


def message_names(family: str) -> list[str]:
    """The names of all messages of a family, sorted (for tests and tools: it reads a folder)."""

    return sorted(name[: -len(".schema")] for name in listdir(join(SCHEMA_FOLDER, family)) if name.endswith(".schema"))
