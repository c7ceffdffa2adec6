"""Makes straight-line writers from a schema: `write(object, out)` appends one version of a message to a bytearray.

A field that the version lacks must hold its default, unless the schema marks it ignorable; else it is an EncodeError, like Kafka's
UnsupportedVersionException.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from struct import Struct
from struct import error as struct_error
from typing import Any, Final

from metashell.codec.code_writer import Source, default_of, field_groups, is_compact, is_fixed, new_source, used_structs
from metashell.codec.primitives import encode_uvarint
from metashell.codec.schema import FORMATS, FieldSchema, MessageSchema, StructSchema
from metashell.common.errors import EncodeError

Writer = Callable[[Any, bytearray], None]


class Shared(tuple[Any, ...]):
    """Structs that are part of many messages and never change: their bytes are made once, and then copied."""

    def __new__(cls, structs: Iterable[Any]) -> Shared:
        self = super().__new__(cls, structs)
        self.made = {}
        return self

    made: dict[tuple[str, str, int], bytes]


StepWriter = Callable[[Any, bytearray], Generator[None, None, None]]
_PIECE: Final = 64
"""The number of structs of an array between two rests of a step writer."""


def make_writer(schema: MessageSchema, version: int, make: Callable[[str], Any]) -> Writer:
    """Make `write(object, out)` for one version of a message; `make` gives a struct of defaults by name.

    Errors: EncodeError naming the message.
    """
    inner: Writer = _compiled(schema, version, make, in_steps=False)

    def write(value: Any, out: bytearray) -> None:
        try:
            inner(value, out)
        except _MISFITS as error:
            raise EncodeError(f"{schema.name} version {version}: {error}") from error

    return write


def make_step_writer(schema: MessageSchema, version: int, make: Callable[[str], Any]) -> StepWriter:
    """As `make_writer`, but a generator that yields now and then within the top-level arrays, so that others may run in between."""
    inner: StepWriter = _compiled(schema, version, make, in_steps=True)

    def write(value: Any, out: bytearray) -> Generator[None, None, None]:
        try:
            yield from inner(value, out)
        except _MISFITS as error:
            raise EncodeError(f"{schema.name} version {version}: {error}") from error

    return write


_MISFITS: Final = (struct_error, AttributeError, TypeError, UnicodeEncodeError)


def _compiled(schema: MessageSchema, version: int, make: Callable[[str], Any], *, in_steps: bool) -> Any:
    source = new_source({"encode_uvarint": encode_uvarint, "Struct": Struct, "EncodeError": EncodeError, "write_tags": write_tags})
    for struct in [*used_structs(schema, version), schema]:
        with source.block(f"def write_{struct.name}(o, w):"):
            source.add("yield" if in_steps and struct is schema else "pass")
            _write_struct(source, struct, schema, version, make, in_steps=in_steps and struct is schema)
    return source.execute(f"write {schema.name} {version}")[f"write_{schema.name}"]


def write_tags(out: bytearray, known: list[tuple[int, bytes]], unknown: tuple[tuple[int, bytes], ...]) -> None:
    """Write a section of tagged fields: known ones and unknown ones that were read, in ascending order."""
    tags = sorted([*known, *unknown]) if unknown else known
    out += encode_uvarint(len(tags))
    for tag, body in tags:
        out += encode_uvarint(tag)
        out += encode_uvarint(len(body))
        out += body


def _write_struct(
    source: Source, struct: StructSchema, schema: MessageSchema, version: int, make: Callable[[str], Any], *, in_steps: bool
) -> None:
    for field in struct.fields:
        if version not in field.versions and not field.ignorable:
            default = source.constant("default", default_of(field, make))
            with source.block(f"if o.{field.attribute} != {default}:"):
                reason = f"{struct.name}: {field.name} does not exist in version {version} and is not at its default"
                source.add(f"raise EncodeError({reason!r}, {field.name!r})")
    for run in field_groups(struct.untagged(version)):
        if is_fixed(run[0]):
            pack = source.packer("".join(FORMATS[field.type] for field in run))
            source.add(f"w += {pack}({', '.join(f'o.{field.attribute}' for field in run)})")
        else:
            source.add(f"v = o.{run[0].attribute}")
            _write_variable(source, run[0], schema, version, tagged=False, in_steps=in_steps)
    if version in schema.flexible:
        _write_tagged(source, struct, schema, version, make)


def _write_tagged(source: Source, struct: StructSchema, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> None:
    source.add("tags = []")
    source.add("outer = w")
    for field in struct.tagged(version):
        default = default_of(field, make)
        source.add(f"v = o.{field.attribute}")
        # A list does not equal the default (), so an empty array is recognized by its length; null is not empty.
        differs = "v is None or len(v)" if field.is_array and default == () else f"v != {source.constant('default', default)}"
        with source.block(f"if {differs}:"):
            source.add("w = bytearray()")
            if is_fixed(field):
                source.add(f"w += {source.packer(FORMATS[field.type])}(v)")
            else:
                _write_variable(source, field, schema, version, tagged=True)
            source.add(f"tags.append(({field.tag}, bytes(w)))")
    source.add("write_tags(outer, tags, o.unknown_tags)")


def _write_variable(
    source: Source, field: FieldSchema, schema: MessageSchema, version: int, tagged: bool, *, in_steps: bool = False
) -> None:
    """Add lines that append `v` to `w`."""
    nullable = version in field.nullable
    if field.is_struct and not field.is_array:
        if nullable:
            with source.block("if v is None:"):
                source.add(f"w += {bytes((0 if tagged else 255,))!r}")
            with source.block("else:"):
                source.add("w += b'\\x01'")
                source.add(f"write_{field.type}(v, w)")
        else:
            source.add(f"write_{field.type}(v, w)")
        return
    with source.block("if v is None:"):
        if nullable:
            null = b"\0" if is_compact(field, schema, version) else b"\xff" * _length_size(field)
            source.add(f"w += {null!r}")
        else:
            source.add(f"raise EncodeError({f'{schema.name}: {field.name} must not be null'!r}, {field.name!r})")
    with source.block("else:"):
        if field.is_array:
            _write_array(source, field, schema, version, in_steps=in_steps)
        else:
            if field.type == "string":
                source.add("v = v.encode()")
            _write_length(source, field, schema, version)
            source.add("w += v")


def _length_size(field: FieldSchema) -> int:
    return 2 if field.type == "string" and not field.is_array else 4


def _write_length(source: Source, field: FieldSchema, schema: MessageSchema, version: int) -> None:
    if is_compact(field, schema, version):
        source.add("w += encode_uvarint(len(v) + 1)")
    else:
        source.add(f"w += {source.packer('h' if _length_size(field) == 2 else 'i')}(len(v))")


def _write_array(source: Source, field: FieldSchema, schema: MessageSchema, version: int, *, in_steps: bool) -> None:
    if field.is_struct and not in_steps:
        _write_shared(source, field, schema, version)
        return
    _write_length(source, field, schema, version)
    if field.type in FORMATS:
        form = FORMATS[field.type]
        if form == "16s":
            with source.block("for item in v:"):
                source.add(f"w += {source.packer('16s')}(item)")
        else:
            source.add(f"w += Struct(f'>{{len(v)}}{form}').pack(*v)")
        return
    with source.block("for number, item in enumerate(v, 1):" if in_steps else "for item in v:"):
        if in_steps:
            source.add(f"if not number % {_PIECE}: yield")
        if field.is_struct:
            source.add(f"write_{field.type}(item, w)")
        else:
            source.add("v = item")
            _write_variable(source, field.element(), schema, version, tagged=False)


def _write_shared(source: Source, field: FieldSchema, schema: MessageSchema, version: int) -> None:
    """Add lines that write an array of structs, and keep the bytes of a `Shared` one."""
    source.names["Shared"] = Shared
    key = source.constant("key", (schema.name, field.name, version))
    source.add(f"made = v.made.get({key}) if v.__class__ is Shared else None")
    with source.block("if made is None:"):
        source.add("begin = len(w)")
        _write_length(source, field, schema, version)
        with source.block("for item in v:"):
            source.add(f"write_{field.type}(item, w)")
        source.add(f"if v.__class__ is Shared: v.made[{key}] = bytes(w[begin:])")
    with source.block("else:"):
        source.add("w += made")
