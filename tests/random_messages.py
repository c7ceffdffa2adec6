"""Messages of any schema with random contents; what a field often holds that makes sense, a subclass says."""

from __future__ import annotations

import random
from typing import Any, ClassVar

from metashell.codec.registry import MessageType
from metashell.codec.schema import FieldSchema, StructSchema

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_COUNTS = (0, 1, 1, 1, 2, 3)


class RandomMessages:
    """Shape: of fields that `likely` knows, `likely_part` are drawn from there; nullable ones are null in `null_part` of the others."""

    strings: ClassVar[tuple[str, ...]]
    blobs: ClassVar[tuple[bytes, ...]]
    integers: ClassVar[tuple[int, ...]]
    likely_part: ClassVar[float]
    null_part: ClassVar[float]

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def likely(self, message: MessageType, struct: StructSchema, field: FieldSchema) -> tuple[Any, ...]:
        raise NotImplementedError

    def uuids(self) -> tuple[bytes, ...]:
        raise NotImplementedError

    def message(self, message: MessageType, version: int) -> Any:
        return self._struct(message, message.schema, message.cls, version)

    def _struct(self, message: MessageType, struct: StructSchema, make: Any, version: int) -> Any:
        made = make()
        for field in struct.at(version):
            if not field.is_tagged(version) or self._chance.random() < 0.5:
                setattr(made, field.attribute, self._value(message, struct, field, version))
        return made

    def _value(self, message: MessageType, struct: StructSchema, field: FieldSchema, version: int) -> Any:
        chance = self._chance
        likely = () if field.is_struct else self.likely(message, struct, field)
        if likely and chance.random() < self.likely_part:
            if field.is_array:
                return tuple(chance.sample(likely, min(len(likely), chance.choice((0, 1, 1, 2, 3, 3)))))
            return chance.choice(likely)
        if version in field.nullable and chance.random() < self.null_part:
            return None
        if field.is_array:
            return tuple(self._one(message, field, version) for _ in range(chance.choice(_COUNTS)))
        return self._one(message, field, version)

    def _one(self, message: MessageType, field: FieldSchema, version: int) -> Any:
        chance = self._chance
        if field.is_struct:
            return self._struct(message, message.schema.structs[field.type], message.structs[field.type], version)
        match field.type:
            case "string":
                return chance.choice(self.strings)
            case "bool":
                return chance.random() < 0.3
            case "float64":
                return chance.choice((0.0, 1.0, -1.0, 1e30, 0.5, float("nan"), float("inf"), 1000.0))
            case "bytes" | "records":
                return chance.choice(self.blobs)
            case "uuid":
                return chance.choice(self.uuids())
            case "uint16":
                return chance.choice((0, 1, 9092, 65535))
            case _:
                end = 1 << _BITS.get(field.type, 31)
                fitting = [number for number in (*self.integers, *self.integers, end - 1, -end) if -end <= number < end]
                return chance.choice(fitting)
