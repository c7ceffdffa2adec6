"""What typed rows have to say, made from raw rows a value at a time: the rules of `tables.columns.typed_tables`, without Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from metashell.codec.consumer_protocol import read_assignment, read_subscription
from metashell.codec.schema import FieldSchema, MessageSchema
from metashell.common.errors import DecodeError
from metashell.common.values import directory_text, uuid_text
from metashell.tables.dictionary import BLOBS, CODES, MAPS
from metashell.tables.schemas import RecordTable

Row = dict[str, Any]
FIRST_MS, LAST_MS = -62135510400000, 253402214399999
"""2 January of year 1 and 30 December of year 9999: a day less than the calendar has, for readers in other time zones."""
DIRECTORIES = ("directories", "log_dirs", "cordoned_log_dirs")


def typed_row(table: RecordTable, raw: Row) -> Row:
    """The typed row of a raw one; times are numbers."""
    speaker = Speaker(table.name, is_consumer=raw.get("protocol_type", "consumer") == "consumer")
    count = len(table.schema) - len(table.columns)
    row = {name: raw[name] for name in table.schema.names[:count]}
    row["timestamp"] = time(raw["timestamp"], {-1})
    for column in table.columns:
        message = table.key if column.from_key else table.value
        assert message is not None
        row.update(speaker.said(column.name, raw[column.name], column.field, message.schema))
    return row


def time(value: int | None, none: set[int]) -> int | None:
    return None if value is None or value in none or not FIRST_MS <= value <= LAST_MS else value


class Speaker:
    """Says what the values of a record mean."""

    def __init__(self, table: str, *, is_consumer: bool) -> None:
        self.table = table
        self.is_consumer = is_consumer

    def said(self, path: str, value: Any, field: FieldSchema, schema: MessageSchema) -> Row:
        """The columns that a field becomes."""
        name = path.rpartition(".")[2]
        if not field.is_array:
            return self.one(path, value, field, schema)
        items = [self.one(path, item, field, schema) for item in value or ()]
        if path in MAPS.get(self.table, ()):
            return {name: None if value is None else list(dict(pair(item[name]) for item in items).items())}
        names = list(self.one(path, None, field, schema))
        return {key: None if value is None else [item[key] for item in items] for key in names}

    def one(self, path: str, value: Any, field: FieldSchema, schema: MessageSchema) -> Row:
        """The same of a field that is no array, or of an element."""
        name = path.rpartition(".")[2]
        if field.is_struct:
            if value is None:
                return {name: None}
            made: Row = {}
            for member in schema.structs[field.type].fields:
                own = member.attribute.rstrip("_")
                made.update(self.said(f"{path}.{own}", value[own], member, schema))
            return {name: made}
        if field.type == "uuid":
            text = directory_text if name in DIRECTORIES else uuid_text
            return {name: None if value is None else UUID(bytes=value), f"{name}_text": None if value is None else text(value)}
        if field.type == "int64" and "timestamp" in field.attribute:
            return {name: time(value, {-1, field.default if isinstance(field.default, int) else -1})}
        if path in CODES.get(self.table, {}):
            words, unsaid = CODES[self.table][path]
            return {name: value, f"{name}_name": None if value in (None, unsaid) else words.get(value, "UNKNOWN")}
        if path in BLOBS.get(self.table, {}):
            return {name: blob(BLOBS[self.table][path], value) if self.is_consumer else None, f"{name}_bytes": value}
        return {name: value}


def pair(members: Row) -> tuple[str, Any]:
    (_, key), *rest = members.items()
    return key, rest[0][1] if len(rest) == 1 else dict(rest)


def blob(kind: str, raw: bytes | None) -> Row | None:
    """By the reader that groups use, which gives partitions one by one."""
    try:
        if raw and kind == "subscription":
            said = read_subscription(raw)
            names = {"version": said.version, "topics": list(said.topics), "owned_partitions": by_topic(said.owned)}
            return {**names, "generation_id": said.generation, "rack_id": said.rack, "user_data": said.user_data}
        if raw:
            given = read_assignment(raw)
            return {"version": given.version, "assigned_partitions": by_topic(given.partitions), "user_data": given.user_data}
    except DecodeError:
        pass
    return None


def by_topic(partitions: Iterable[tuple[str, int]]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return list(found.items())


def settled(value: Any) -> Any:
    """A value without the order of maps, and without topics that have no partitions, which `blob` does not see."""
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return sorted((key, settled(item)) for key, item in value if item != [])
    if isinstance(value, list):
        return [settled(item) for item in value]
    return value
