"""Makes plain classes and straight-line readers from a schema.

`make_classes` makes the `__slots__` classes of a message and its structs. `make_reader` makes `read(buf, start, end)` for one version:
it walks no schema while it reads bytes. The name and id of a topic record are read like this:

    n = b[p] - 1; p += 1; e = p + n; v_name = b[p:e].decode(); p = e; v_topic_id, = unpack_16s(b, p); p += 16

At anything that these lines cannot handle (an index past the buffer, malformed UTF-8, bytes left over) they give up, and the plain reader
reads the message again from its start: that one names the fault or reads the rare case. So the fast code needs no error messages and few
checks; it must only never accept bytes that the plain reader would read otherwise. tests/codec/test_every_message.py compares the two for
every message and version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from struct import error as struct_error
from typing import Any, Final

from metashell.codec.code_writer import (
    ELEMENTS,
    SIZES,
    UNROLLED_COUNT_MAX,
    UNSET,
    Source,
    add_tag_loop,
    default_of,
    field_groups,
    is_compact,
    is_fixed,
    new_source,
    used_structs,
)
from metashell.codec.primitives import kafka_text
from metashell.codec.schema import FORMATS, STRING_MAX, FieldSchema, MessageSchema, StructSchema, plain_read
from metashell.common.errors import DecodeError

Reader = Callable[[bytes, int, int], Any]
BoundedReader = Callable[[bytes, int, int, list[int]], tuple[Any, int]]

_PLAIN, _COUNTING = "b, p, end", "b, p, end, left"
"""The parameters of every generated function. One that counts subtracts the values that it makes from `left[0]`."""


class TooManyValuesError(DecodeError):
    """A message that holds more values than its reader may make."""


class Entity:
    """The base of every generated class: equality by fields, and a constructor-like `repr`."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        names: tuple[str, ...] = self.__slots__
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names: tuple[str, ...] = self.__slots__
        shown = (name for name in names if name != "unknown_tags" or getattr(self, name))
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def make_classes(schema: MessageSchema) -> dict[str, type]:
    """The classes of a message and its structs by name, each with the schema's defaults in its constructor."""
    classes: dict[str, type] = {}

    def make(name: str) -> Any:
        return build(schema.structs[name])()

    def build(struct: StructSchema) -> type:
        if struct.name not in classes:
            classes[struct.name] = _make_class(struct, make)
        return classes[struct.name]

    for struct in schema.structs.values():
        build(struct)
    build(schema)
    return classes


def _make_class(struct: StructSchema, make: Callable[[str], Any]) -> type:
    source = Source()
    source.names.update(Entity=Entity, UNSET=UNSET)
    attributes = [field.attribute for field in struct.fields]
    with source.block(f"class {struct.name}(Entity):"):
        source.add(f"__slots__ = {(*attributes, 'unknown_tags')!r}")
        parameters = []
        for field in struct.fields:
            default = default_of(field, make)
            parameters.append(f"{field.attribute}={'UNSET' if _is_mutable(field, default) else source.constant('default', default)}")
        with source.block(f"def __init__(self, {', '.join([*parameters, 'unknown_tags=()'])}):"):
            for field in struct.fields:
                value = field.attribute
                if _is_mutable(field, default_of(field, make)):
                    # A struct is mutable, so each object gets a default struct of its own.
                    made = source.constant("make", partial(make, field.type))
                    value = f"{made}() if {value} is UNSET else {value}"
                source.add(f"self.{field.attribute} = {value}")
            source.add("self.unknown_tags = unknown_tags")
    made_class: type = source.execute(f"class {struct.name}")[struct.name]
    made_class.__module__ = "metashell.codec.messages"
    return made_class


def _is_mutable(field: FieldSchema, default: Any) -> bool:
    return field.is_struct and not field.is_array and default is not None


def make_reader(schema: MessageSchema, version: int, classes: Mapping[str, Callable[..., Any]]) -> Reader:
    """Make `read(buf, start, end) -> object` for one version of a message; `classes` come from `make_classes`.

    Errors: `read` raises DecodeError, with path and offset, for anything but exactly one message.
    """

    def slow(buf: bytes, begin: int, end: int) -> Any:
        return plain_read(schema, version, classes, buf, begin, end)

    source = new_source({"slow": slow, "UNSET": UNSET, "struct_error": struct_error, f"make_{schema.name}": classes[schema.name]})
    source.arguments = _PLAIN
    for struct in used_structs(schema, version):
        source.names[f"make_{struct.name}"] = classes[struct.name]
        _add_struct_reader(source, struct, schema, version)
    with source.block(f"def read({_PLAIN}):"):
        source.add("begin = p")
        with source.block("try:"):
            _read_struct(source, schema, schema, version)
            with source.block("if p == end:"):
                source.add(f"return {_construct(source, schema, schema, version)}")
        with source.block("except (IndexError, ValueError, struct_error, DecodeError):"):
            source.add("pass")
        source.add("return slow(b, begin, end)")
    reader: Reader = source.execute(f"read {schema.name} {version}")["read"]
    return reader


def make_bounded_reader(schema: MessageSchema, version: int, classes: Mapping[str, Callable[..., Any]]) -> BoundedReader:
    """Make `read(buf, start, end, left) -> (object, index behind it)`, for large messages from untrusted peers.

    An array entry of n fields subtracts n + 1 from `left[0]`: objects take far more memory than the bytes of tiny structs. A fault is not
    named, because the plain reader takes ten times as long and a peer could make us run it at will.
    Errors: TooManyValuesError once `left[0]` is below 0; DecodeError without a place.
    """
    source = new_source({"UNSET": UNSET, "struct_error": struct_error, "too_many": _too_many, "kafka_text": kafka_text})
    source.arguments = _COUNTING
    source.names[f"make_{schema.name}"] = classes[schema.name]
    for struct in used_structs(schema, version):
        source.names[f"make_{struct.name}"] = classes[struct.name]
        _add_struct_reader(source, struct, schema, version)
    with source.block(f"def read({_COUNTING}):"):
        with source.block("try:"):
            _read_struct(source, schema, schema, version)
            with source.block("if p <= end:"):
                source.add(f"return {_construct(source, schema, schema, version)}, p")
        with source.block("except (IndexError, ValueError, struct_error):"):
            source.add("pass")
        source.add(f"raise DecodeError('{schema.name}: malformed')")
    reader: BoundedReader = source.execute(f"read bounded {schema.name} {version}")["read"]
    return reader


UNKNOWN_TAG_VALUES: Final = 3
"""The values that one unknown tag counts as: a pair, its number and its bytes."""


def _too_many(left: int) -> TooManyValuesError:
    return TooManyValuesError(f"{-left} values more than can be taken")


def _add_struct_reader(source: Source, struct: StructSchema, schema: MessageSchema, version: int) -> None:
    with source.block(f"def read_{struct.name}({source.arguments}):"):
        _read_struct(source, struct, schema, version)
        source.add(f"return {_construct(source, struct, schema, version)}, p")


def _spend(source: Source, count: str, each: int = 1) -> None:
    """Add lines that count `count` values, if the reader counts."""
    if source.arguments == _COUNTING:
        source.add(f"left[0] -= {count}" + (f" * {each}" if each > 1 else ""))
        source.add("if left[0] < 0: raise too_many(left[0])")


def _construct(source: Source, struct: StructSchema, schema: MessageSchema, version: int) -> str:
    values = []
    for field in struct.fields:  # also those that the version lacks: positional arguments are faster than keywords
        if version in field.versions:
            values.append(_local(field))
        else:
            values.append(_default(source, field))
    values.append("unknown" if version in schema.flexible else "()")
    return f"make_{struct.name}({', '.join(values)})"


def _default(source: Source, field: FieldSchema) -> str:
    """An expression for a field's default; for UNSET, the constructor makes a new struct."""
    if field.is_struct and not field.is_array and field.default is not None:
        return "UNSET"
    return source.constant("default", default_of(field, lambda name: None))


def _local(field: FieldSchema) -> str:
    return f"v_{field.attribute}"


def _read_struct(source: Source, struct: StructSchema, schema: MessageSchema, version: int) -> None:
    runs = field_groups(struct.untagged(version))
    count_read = False
    for index, run in enumerate(runs):
        if is_fixed(run[0]):
            following = runs[index + 1][0] if index + 1 < len(runs) else None
            count_read = following is not None and _has_count_byte(following, schema, version)
            _read_run(source, run, with_count=count_read)
        else:
            _read_variable(source, run[0], schema, version, count_read=count_read, tagged=False)
            count_read = False
    if version in schema.flexible:
        _read_tags(source, struct, schema, version)


def _has_count_byte(field: FieldSchema, schema: MessageSchema, version: int) -> bool:
    return (field.is_array or not field.is_struct) and is_compact(field, schema, version)


def _read_run(source: Source, run: list[FieldSchema], with_count: bool = False) -> None:
    formats = "".join(FORMATS[field.type] for field in run) + ("B" if with_count else "")
    unpack, size = source.unpacker(formats)
    names = [_local(field) for field in run] + (["n"] if with_count else [])
    source.add(f"{', '.join(names)}, = {unpack}(b, p)")
    source.add(f"p += {size}")


def _read_variable(source: Source, field: FieldSchema, schema: MessageSchema, version: int, count_read: bool, tagged: bool) -> None:
    if field.is_struct and not field.is_array:
        _read_struct_field(source, field, version, tagged)
        return
    if field.is_array and field.type in ELEMENTS and is_compact(field, schema, version):
        _read_short_array(source, field, schema, version, count_read)
        return
    read_count(source, field, schema, version, count_read)
    target = _local(field)
    with source.block("if n < 0:"):
        source.add(f"{target} = None" if version in field.nullable else "raise null_where_illegal()")
    with source.block("else:"):
        if field.is_array:
            _read_array(source, field, schema, version, target)
        else:
            source.add("e = p + n")
            source.add(f"{target} = {_text_or_bytes(source, field)}")
            source.add("p = e")


def _text_or_bytes(source: Source, field: FieldSchema) -> str:
    if field.type != "string":
        return "b[p:e]"
    # `decode` fails at malformed UTF-8, and the plain reader takes over. A reader that counts has no plain reader behind it.
    return "kafka_text(b[p:e])" if source.arguments == _COUNTING else "b[p:e].decode()"


def _read_short_array(source: Source, field: FieldSchema, schema: MessageSchema, version: int, count_read: bool) -> None:
    """A compact array of a fixed width. Empty and short ones, which are nearly all, cost two comparisons."""
    table = f"elements_{field.type}"
    source.names[table] = ELEMENTS[field.type]
    target, size = _local(field), SIZES[field.type]
    if not count_read:
        source.add("n = b[p]")
        source.add("p += 1")
    with source.block("if n == 1:"):
        source.add(f"{target} = ()")
    with source.block(f"elif 1 < n <= {UNROLLED_COUNT_MAX + 1}:"):
        source.add("n -= 1")
        source.add(f"{target} = {table}[n](b, p)")
        source.add(f"p += {size} * n" if size > 1 else "p += n")
    with source.block("else:"):
        source.add("if n > 127: n, p = uvarint(b, p - 1)")
        source.add("n -= 1")
        with source.block("if n < 0:"):
            source.add(f"{target} = None" if version in field.nullable else "raise null_where_illegal()")
        with source.block("else:"):
            _spend(source, "n")
            source.add(f"{target} = {table}.unpack(b, p, n, end)")
            source.add(f"p += {size} * n")


def read_count(source: Source, field: FieldSchema, schema: MessageSchema, version: int, count_read: bool) -> None:
    """Add lines that leave a length in `n`, -1 for null, and its end in `p`."""
    if not is_compact(field, schema, version):
        size = 2 if field.type == "string" and not field.is_array else 4
        source.add(f"n, = unpack_{'h' if size == 2 else 'i'}(b, p)")
        source.add(f"p += {size}")
        return
    if not count_read:
        source.add("n = b[p]")
        source.add("p += 1")
    with source.block("if n > 127:"):
        source.add("n, p = uvarint(b, p - 1)")
        if field.type == "string" and not field.is_array:
            # Give up: the plain reader names the fault.
            source.add(f"if n > {STRING_MAX + 1}: raise ValueError")
    source.add("n -= 1")


def _read_array(source: Source, field: FieldSchema, schema: MessageSchema, version: int, target: str) -> None:
    if field.type in ELEMENTS:
        table = f"elements_{field.type}"
        source.names[table] = ELEMENTS[field.type]
        with source.block(f"if n <= {UNROLLED_COUNT_MAX}:"):
            source.add(f"{target} = {table}[n](b, p)")
        with source.block("else:"):
            _spend(source, "n")
            source.add(f"{target} = {table}.unpack(b, p, n, end)")
        source.add(f"p += {SIZES[field.type]} * n")
        return
    source.add("if n > end - p: raise DecodeError('an array runs past the end')")
    _spend(source, "n", 1 + len(schema.structs[field.type].fields) if field.is_struct else 1)
    source.add("items = []")
    with source.block("for _ in range(n):"):
        if field.is_struct:
            source.add(f"item, p = read_{field.type}({source.arguments})")
        else:
            _read_variable(source, field.element(), schema, version, count_read=False, tagged=False)
            source.add("item = v_item")
        source.add("items.append(item)")
    source.add(f"{target} = tuple(items)")


def _read_struct_field(source: Source, field: FieldSchema, version: int, tagged: bool) -> None:
    target = _local(field)
    call = f"{target}, p = read_{field.type}({source.arguments})"
    if version not in field.nullable:
        source.add(call)
        return
    source.add("n = b[p]")
    source.add("p += 1")
    with source.block("if n == 0:" if tagged else "if n == 255:"):
        source.add(f"{target} = None")
    with source.block("else:"):
        if tagged:
            source.add("if n > 127: n, p = uvarint(b, p - 1)")
        source.add(call)


def _read_tags(source: Source, struct: StructSchema, schema: MessageSchema, version: int) -> None:
    for field in struct.tagged(version):
        source.add(f"{_local(field)} = {_default(source, field)}")
    source.add("unknown = ()")

    def take(field: FieldSchema) -> None:
        if is_fixed(field):
            _read_run(source, [field])
        else:
            _read_variable(source, field, schema, version, count_read=False, tagged=True)

    def keep() -> None:
        _spend(source, "1", UNKNOWN_TAG_VALUES)
        source.add("if not unknown: unknown = []")
        source.add("unknown.append((tag, b[p : p + n]))")

    add_tag_loop(source, struct, version, take, keep)
    source.add("if unknown: unknown = tuple(unknown)")
