"""Records of every type and version whose every text is one that stands nowhere else."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import MessageType, message_names, message_type
from metashell.codec.schema import StructSchema


class Needles:
    """Makes objects of any message whose every text and bytes field is a text that stands nowhere else."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}

    def next(self, place: str) -> str:
        needle = f"needle{len(self.made):05d}x"
        self.made[needle] = place
        return needle

    def body(self, message: MessageType, version: int, numbers: int = 1) -> Any:
        return self._struct(message, message.schema, version, numbers)

    def _struct(self, message: MessageType, struct: StructSchema, version: int, numbers: int) -> Any:
        made = message.structs[struct.name]()
        for field in struct.at(version):
            place = f"{message.name}.{struct.name}.{field.name} v{version}"
            value: Any
            if field.is_struct:
                value = self._struct(message, message.schema.structs[field.type], version, numbers)
            elif field.type == "string":
                value = self.next(place)
            elif field.type in ("bytes", "records"):
                value = self.next(place).encode()
            elif field.type.startswith(("int", "uint")) and field.name != "Version":
                value = numbers
            else:
                continue
            setattr(made, field.attribute, [value] if field.is_array else value)
        return made

    def found_in(self, data: bytes) -> set[str]:
        return {place for needle, place in self.made.items() if any(form in data for form in forms(needle.encode()))}


def forms(needle: bytes) -> Iterator[bytes]:
    yield needle
    yield needle.hex().encode()
    for shift in range(3):
        yield base64.b64encode(bytes(shift) + needle)[4:-4]


def every_record(needles: Needles) -> Iterator[bytes]:
    for name in message_names("metadata"):
        message = message_type("metadata", name)
        for version in range(message.versions[0], message.versions[1] + 1):
            # What a name is follows from numbers beside it: types of resources and of patterns.
            for number in (1, 2, 3, 4, 5, 6, 7, 16, 32):
                yield write_metadata_record(needles.body(message, version, number), version)
