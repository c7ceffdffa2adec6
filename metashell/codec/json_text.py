"""Makes straight-line writers of JSON text from a schema: `json(buf, start, end) -> str`, straight from bytes.

The text is that of Kafka's message converters (schema order, names with a small first letter, no tagged fields at their default). No
object is made. Bounded memos map the bytes of recurring parts (lists of replicas and directories, names, whole tails of tagged fields) to
their text, so most of a log is a few slices and dictionary hits.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as struct_error
from typing import Any

from metashell.codec.code_writer import (
    SIZES,
    Source,
    add_tag_loop,
    default_of,
    field_groups,
    is_compact,
    is_fixed,
    new_source,
    used_structs,
)
from metashell.codec.compiler import read_count
from metashell.codec.java import STRING_TEXTS, bool_text, bytes_text, double_json
from metashell.codec.schema import FORMATS, FieldSchema, MessageSchema, StructSchema
from metashell.common.values import UUID_TEXTS

JsonReader = Callable[[bytes, int, int], str]
MEMO_LIMIT = 1 << 14
MEMO_KEY_SIZE_MAX = 512


class ListTexts(dict[bytes, str]):
    """A bounded memo from the bytes of an array's elements to its JSON text."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.size = Struct(">" + form).size
        self.form = form

    def __missing__(self, raw: bytes) -> str:
        if self.form == "16s":
            items = [f'"{UUID_TEXTS[raw[at : at + 16]]}"' for at in range(0, len(raw), 16)]
        else:
            values = Struct(f">{len(raw) // self.size}{self.form}").unpack(raw)
            form = {"?": bool_text, "d": double_json}.get(self.form, str)
            items = [form(value) for value in values]
        text = f"[{','.join(items)}]"
        if len(raw) <= MEMO_KEY_SIZE_MAX and len(raw) % self.size == 0:
            if len(self) >= MEMO_LIMIT:
                self.clear()
            self[raw] = text
        return text


LIST_TEXTS = {name: ListTexts(form) for name, form in FORMATS.items()}


def make_json_reader(schema: MessageSchema, version: int, read: Callable[[bytes, int, int], Any], make: Callable[[str], Any]) -> JsonReader:
    """Make `json(buf, start, end) -> str` for one version of a message.

    `read` makes the object where the straight lines give up; `make` makes a struct of defaults by name.
    Errors: `json` raises DecodeError for anything but exactly one message.
    """

    def slow(buf: bytes, begin: int, end: int) -> str:
        return object_json(read(buf, begin, end), schema, version, make)

    source = new_source(
        {
            "slow": slow,
            "struct_error": struct_error,
            "U": UUID_TEXTS,
            "S": STRING_TEXTS,
            "double_json": double_json,
            "bytes_text": bytes_text,
        }
    )
    for struct in used_structs(schema, version):
        with source.block(f"def json_{struct.name}(b, p, end):"):
            text = _struct_text(source, struct, schema, version, make)
            source.add(f"return {text}, p")
    with source.block("def json(b, p, end):"):
        source.add("begin = p")
        with source.block("try:"):
            text = _struct_text(source, schema, schema, version, make)
            with source.block("if p == end:"):
                source.add(f"return {text}")
        with source.block("except (IndexError, ValueError, struct_error, DecodeError):"):
            source.add("pass")
        source.add("return slow(b, begin, end)")
    names = source.execute(f"json {schema.name} {version}")
    whole: JsonReader = names["json"]
    return _with_tail_memo(schema, version, whole)


def _with_tail_memo(schema: MessageSchema, version: int, whole: JsonReader) -> JsonReader:
    """If a message is a run of fixed fields and then only tagged ones, keep a memo of the tail's text by its bytes."""
    runs = field_groups(schema.untagged(version))
    if len(runs) != 1 or not is_fixed(runs[0][0]) or not schema.tagged(version):
        return whole
    run = runs[0]
    if schema.at(version)[: len(run)] != run:
        return whole
    source = new_source({"U": UUID_TEXTS, "S": STRING_TEXTS, "double_json": double_json, "memo": {}, "whole": whole})
    unpack, size = source.unpacker("".join(FORMATS[field.type] for field in run))
    head = ",".join(f'"{field.json_name}":{_fixed_text(field)}' for field in run)
    with source.block("def json(b, p, end):"):
        source.add(f"tail = b[p + {size} : end]")
        source.add("text = memo.get(tail)")
        with source.block("if text is None:"):
            source.add("text = whole(b, p, end)")
            with source.block(f"if len(tail) <= {MEMO_KEY_SIZE_MAX}:"):
                source.add(f"if len(memo) >= {MEMO_LIMIT}: memo.clear()")
                source.add(f"{', '.join('v_' + field.attribute for field in run)}, = {unpack}(b, p)")
                source.add(f"memo[tail] = text[len(f'{{{{{head}') :]")
            source.add("return text")
        source.add(f"{', '.join('v_' + field.attribute for field in run)}, = {unpack}(b, p)")
        source.add(f"return f'{{{{{head}{{text}}'")
    reader: JsonReader = source.execute(f"json {schema.name} {version} by tail")["json"]
    return reader


def _struct_text(source: Source, struct: StructSchema, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> str:
    """Add lines that read a struct and leave its end in `p`; return the expression of its text."""
    runs = field_groups(struct.untagged(version))
    for run in runs:
        if is_fixed(run[0]):
            unpack, size = source.unpacker("".join(FORMATS[field.type] for field in run))
            source.add(f"{', '.join('v_' + field.attribute for field in run)}, = {unpack}(b, p)")
            source.add(f"p += {size}")
        else:
            _variable_text(source, run[0], schema, version, tagged=False)
    if version in schema.flexible:
        _tags_text(source, struct, schema, version, make)
    fields = struct.at(version)
    if not fields:
        return "'{}'"
    first_is_tagged = fields[0].is_tagged(version)
    parts = []
    for index, field in enumerate(fields):
        if field.is_tagged(version):
            parts.append(f"{{t_{field.attribute}}}")
        else:
            comma = "," if index or first_is_tagged else ""
            name = f"{field.json_name}SizeInBytes" if field.type == "records" else field.json_name
            parts.append(f'{comma}"{name}":{_fixed_text(field) if is_fixed(field) else f"{{v_{field.attribute}}}"}')
    joined = "".join(parts)
    if first_is_tagged:
        return f"'{{' + f'{joined}'[1:] + '}}'"
    return f"f'{{{{{joined}}}}}'"


def _fixed_text(field: FieldSchema) -> str:
    """The part of an f-string for a field of a fixed width, whose value is in its local variable."""
    local = f"v_{field.attribute}"
    if field.type == "uuid":
        return f'"{{U[{local}]}}"'
    if field.type == "bool":
        return f'{{"true" if {local} else "false"}}'
    if field.type == "float64":
        return f"{{double_json({local})}}"
    return f"{{{local}}}"


def _variable_text(source: Source, field: FieldSchema, schema: MessageSchema, version: int, tagged: bool) -> None:
    """Add lines that leave the JSON text of a field in its local variable."""
    target = f"v_{field.attribute}"
    if field.is_struct and not field.is_array:
        call = f"{target}, p = json_{field.type}(b, p, end)"
        if version not in field.nullable:
            source.add(call)
            return
        source.add("n = b[p]")
        source.add("p += 1")
        source.add(f"if n == {0 if tagged else 255}: {target} = 'null'")
        source.add(f"else: {call}")
        return
    if field.is_array and field.type in FORMATS and is_compact(field, schema, version):
        source.names["texts_" + field.type] = LIST_TEXTS[field.type]
        source.add("n = b[p]")
        with source.block("if n == 1:"):
            source.add(f"{target} = '[]'")
            source.add("p += 1")
        with source.block(f"elif 1 < n < {min(127 // SIZES[field.type] + 2, 128)}:"):
            source.add("p += 1")
            source.add(f"e = p + {SIZES[field.type]} * n - {SIZES[field.type]}")
            source.add(f"{target} = texts_{field.type}[b[p:e]]")
            source.add("p = e")
        with source.block("else:"):
            _counted_text(source, field, schema, version, target)
        return
    _counted_text(source, field, schema, version, target)


def _counted_text(source: Source, field: FieldSchema, schema: MessageSchema, version: int, target: str) -> None:
    read_count(source, field, schema, version, count_read=False)
    with source.block("if n < 0:"):
        source.add(f"{target} = 'null'" if version in field.nullable else "raise null_where_illegal()")
    with source.block("else:"):
        if not field.is_array:
            source.add("e = p + n")
            form = {"string": "S[b[p:e]]", "bytes": "bytes_text(b[p:e])", "records": "n"}[field.type]
            source.add(f"{target} = {form}")
            source.add("p = e")
        elif field.type in FORMATS:
            source.names["texts_" + field.type] = LIST_TEXTS[field.type]
            source.add(f"e = p + {SIZES[field.type]} * n")
            source.add("if e > end: raise DecodeError('an array runs past the end')")
            source.add(f"{target} = texts_{field.type}[b[p:e]]")
            source.add("p = e")
        else:
            source.add("if n > end - p: raise DecodeError('an array runs past the end')")
            source.add("items = []")
            with source.block("for _ in range(n):"):
                if field.is_struct:
                    source.add(f"item, p = json_{field.type}(b, p, end)")
                else:
                    _counted_text(source, field.element(), schema, version, "item")
                source.add("items.append(item)")
            source.add(f"{target} = f'[{{\",\".join(items)}}]'")


def _tags_text(source: Source, struct: StructSchema, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> None:
    for field in struct.tagged(version):
        source.add(f"t_{field.attribute} = ''")
    add_tag_loop(source, struct, version, lambda field: _tag_text(source, field, schema, version, make))


def _tag_text(source: Source, field: FieldSchema, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> None:
    target = f"v_{field.attribute}"
    if is_fixed(field):
        unpack, size = source.unpacker(FORMATS[field.type])
        source.add(f"{target}, = {unpack}(b, p)")
        source.add(f"p += {size}")
        source.add(f"{target} = f'{_fixed_text(field)}'")
    else:
        _variable_text(source, field, schema, version, tagged=True)
    default = value_json(field, default_of(field, make), schema, version, make)
    source.add(f"t_{field.attribute} = '' if {target} == {default!r} else f',\"{field.json_name}\":{{{target}}}'")


def object_json(value: Any, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> str:
    """The JSON text of an object, by a walk over its schema: the slow path, and the reference for the fast one in tests."""
    return _object_text(value, schema, schema, version, make)


def _object_text(value: Any, struct: StructSchema, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> str:
    parts = []
    for field in struct.at(version):
        text = value_json(field, getattr(value, field.attribute), schema, version, make)
        if field.is_tagged(version) and text == value_json(field, default_of(field, make), schema, version, make):
            continue
        name = f"{field.json_name}SizeInBytes" if field.type == "records" else field.json_name
        parts.append(f'"{name}":{text}')
    return f"{{{','.join(parts)}}}"


def value_json(field: FieldSchema, value: Any, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> str:
    """The JSON text of one field's value."""
    if value is None:
        return "null"
    if field.is_array:
        return f"[{','.join(_scalar_json(field, item, schema, version, make) for item in value)}]"
    return _scalar_json(field, value, schema, version, make)


def _scalar_json(field: FieldSchema, value: Any, schema: MessageSchema, version: int, make: Callable[[str], Any]) -> str:
    if field.is_struct:
        return _object_text(value, schema.structs[field.type], schema, version, make)
    match field.type:
        case "string":
            return STRING_TEXTS[value.encode()]
        case "bytes":
            return bytes_text(value)
        case "records":
            return str(len(value))
        case "uuid":
            return f'"{UUID_TEXTS[value]}"'
        case "bool":
            return bool_text(value)
        case "float64":
            return double_json(value)
        case _:
            return str(value)
