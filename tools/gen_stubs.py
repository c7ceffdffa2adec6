#!/usr/bin/env python3
"""Writes metashell/codec/messages.pyi, what type checkers see of the classes made from schemas.

    tools/gen_stubs.py [--check]

With --check nothing is written; the status is 1 if the file is not what would be written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from metashell.codec.messages import FAMILIES  # noqa: E402
from metashell.codec.registry import message_names, message_type  # noqa: E402
from metashell.codec.schema import FieldSchema, MessageSchema, StructSchema  # noqa: E402

TARGET = ROOT / "metashell" / "codec" / "messages.pyi"
HEAD = """# Made by `tools/gen_stubs.py` from metashell/codec/schemas; do not edit.
from metashell.codec.compiler import Entity
"""
TYPES = {"bool": "bool", "float64": "float", "string": "str", "bytes": "bytes", "records": "bytes", "uuid": "bytes"}


def type_text(field: FieldSchema, owner: str) -> str:
    """The Python type of a field; arrays are read as tuples."""
    text = f"{owner}.{field.type}" if field.is_struct else TYPES.get(field.type, "int")
    if field.is_array:
        text = f"tuple[{text}, ...]"
    nullable = field.nullable.low <= field.nullable.high or field.default is None
    return f"{text} | None" if nullable else text


def struct_lines(struct: StructSchema, owner: str, indent: str) -> Iterator[str]:
    for field in struct.fields:
        yield f"{indent}{field.attribute}: {type_text(field, owner)}"
    yield f"{indent}unknown_tags: tuple[tuple[int, bytes], ...]"
    yield f"{indent}def __init__("
    yield f"{indent}    self,"
    for field in struct.fields:
        yield f"{indent}    {field.attribute}: {type_text(field, owner)} = ...,"
    yield f"{indent}    unknown_tags: tuple[tuple[int, bytes], ...] = ...,"
    yield f"{indent}) -> None: ..."


def message_lines(schema: MessageSchema) -> Iterator[str]:
    yield f"class {schema.name}(Entity):"
    for struct in schema.structs.values():
        yield f"    class {struct.name}(Entity):"
        yield from struct_lines(struct, schema.name, "        ")
        yield ""
    yield from struct_lines(schema, schema.name, "    ")
    yield ""


def text() -> str:
    lines = [HEAD]
    for family in FAMILIES:
        for name in message_names(family):
            lines.extend(message_lines(message_type(family, name).schema))
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    made = text()
    if "--check" in argv:
        return 0 if TARGET.exists() and TARGET.read_text() == made else 1
    TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
