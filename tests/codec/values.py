"""Random values of any message, for property tests: drawn from the schema, so a new message needs no code here."""

from __future__ import annotations

import random
from typing import Any

from metashell.codec.registry import MessageType
from metashell.codec.schema import FieldSchema, StructSchema

INTEGER_BITS = {
    "int8": (8, True),
    "int16": (16, True),
    "uint16": (16, False),
    "int32": (32, True),
    "uint32": (32, False),
    "int64": (64, True),
}
TEXTS = ("", "a", "topic-1", "naïve ☃ 𝄞", 'quote " \\ back', "tab\tnew\nline\x01\x1f\x7f\u2028", "x" * 126, "y" * 127, "z" * 128, "w" * 300)
FLOATS = (0.0, -0.0, 1.0, 1.5, 1e7, 1e-3, 123456.789, 1e300, -2.5e-7)


class ValueMaker:
    """Makes objects of one message at one version; `plain_integers` keeps to values every library takes."""

    def __init__(self, message: MessageType, version: int, chance: random.Random) -> None:
        self.message = message
        self.version = version
        self.chance = chance

    def message_value(self, unknown_tags: bool = True) -> Any:
        return self._struct(self.message.schema, self.message.cls, depth=0, unknown_tags=unknown_tags)

    def _struct(self, struct: StructSchema, cls: Any, depth: int, unknown_tags: bool) -> Any:
        value = cls()
        for field in struct.at(self.version):
            if field.is_tagged(self.version) and self.chance.random() < 0.4:
                continue
            setattr(value, field.attribute, self._field(field, depth, unknown_tags))
        if unknown_tags and self.message.flexible(self.version) and self.chance.random() < 0.2:
            known = {field.tag for field in struct.fields}
            tags = [tag for tag in sorted(self.chance.sample((2, 9, 31, 127, 128, 9999), 2)) if tag not in known]
            value.unknown_tags = tuple((tag, self.chance.randbytes(self.chance.choice((0, 1, 5, 130)))) for tag in tags)
        return value

    def _field(self, field: FieldSchema, depth: int, unknown_tags: bool) -> Any:
        if self.version in field.nullable and self.chance.random() < 0.2:
            return None
        if field.is_array:
            most = 2 if field.is_struct and depth else 4
            count = self.chance.choice((0, 1, 2, most))
            if not field.is_struct and self.chance.random() < 0.05:
                count = self.chance.choice((17, 126, 127, 128, 200))
            return tuple(self._scalar(field, depth, unknown_tags) for _ in range(count))
        return self._scalar(field, depth, unknown_tags)

    def _scalar(self, field: FieldSchema, depth: int, unknown_tags: bool) -> Any:
        if field.is_struct:
            struct = self.message.schema.structs[field.type]
            return self._struct(struct, self.message.structs[field.type], depth + 1, unknown_tags)
        if field.type in INTEGER_BITS:
            return self.integer(field)
        match field.type:
            case "bool":
                return self.chance.random() < 0.5
            case "float64":
                return self.chance.choice(FLOATS)
            case "uuid":
                return self.chance.choice((bytes(16), bytes(15) + b"\1", self.chance.randbytes(16)))
            case "string":
                return self.chance.choice(TEXTS)
            case _:
                return self.chance.randbytes(self.chance.choice((0, 1, 16, 126, 127, 200)))

    def integer(self, field: FieldSchema) -> int:
        bits, signed = INTEGER_BITS[field.type]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return self.chance.choice((0, 1, 2, 127, low, high, self.chance.randint(low, high)))


def versions_of(message: MessageType) -> range:
    return range(message.versions[0], message.versions[1] + 1)
