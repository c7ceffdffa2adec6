"""Logs of any content for property tests, and what objects say of them: the judge of the columns."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record, RecordBatch
from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.metadata_records import UnknownRecord, read_metadata_record, write_metadata_record
from metashell.codec.primitives import encode_uvarint
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.disk.files import open_file
from metashell.disk.segment import BatchFault, Tail, read_batches
from metashell.tables.dictionary import OUTCOME_TABLES, key_table_name, record_table_name
from tests.codec.values import ValueMaker, versions_of

Row = dict[str, Any]
LEADER_CHANGE = (b"\0\0\0\2", bytes.fromhex("0000000000010102000000010001010000000100"))


COMMIT = (b"\0\0\0\1", b"\0\0\0\0\0\3")
ABORT = (b"\0\0\0\0", b"\0\0\0\0\0\3")


def any_log(chance: random.Random, log: str = "metadata", batch_count: int = 6) -> bytes:
    """Batches of any codec with records of any kind, valid and not."""
    make = metadata_record if log == "metadata" else coordinator_record
    data, offset = b"", chance.choice((0, 7, 1 << 40))
    others: list[tuple[bytes | None, bytes | None]] = []
    for _ in range(batch_count):
        time = chance.choice((0, 1_760_000_000_000, -1))
        offset += chance.choice((0, 0, 3))
        count = chance.choice((1, 2, 5, 40, 150))
        is_control = chance.random() < 0.15
        producer_id = chance.choice((-1, 0, 7, 8)) if log == "offsets" else -1
        is_transactional = log == "offsets" and producer_id >= 0 and chance.random() < 0.7
        marker = chance.choice((COMMIT, ABORT)) if log == "offsets" else COMMIT
        records = []
        for _ in range(count):
            time += chance.choice((0, 1, 63, 64, 100_000))
            key, value = (LEADER_CHANGE if log == "metadata" else marker) if is_control else make(chance, log)
            if not is_control:
                others.append((key, value))
                key, value = chance.choice(others) if chance.random() < 0.2 else (key, value)  # some are there twice
            headers = (("h", b"v"),) if chance.random() < 0.02 else ()
            records.append(Record(offset, time, key, value, headers))
            offset += chance.choice((1, 1, 1, 2))
        data += write_batch(
            records[0].offset,
            records,
            leader_epoch=chance.choice((0, 5)),
            codec_id=chance.choice((0, 0, 0, 1, 2, 3, 4)),
            is_control=is_control,
            producer_id=producer_id,
            is_transactional=is_transactional,
            is_log_append_time=chance.random() < 0.2,
        )
    return data


def metadata_record(chance: random.Random, log: str) -> tuple[bytes | None, bytes | None]:
    """A record of the metadata log: mostly good, of few types so that they come in groups."""
    kind = chance.random()
    if kind < 0.02:
        return None, chance.choice((None, b"", b"\1", b"\1\3", chance.randbytes(9), b"\0\x02\0" + chance.randbytes(5)))
    if kind < 0.04:
        return None, b"\1" + encode_uvarint(chance.choice((13, 99, 300))) + b"\0" + chance.randbytes(4)
    often = (2, 3, 3, 3, 5, 5, 4, 11)
    name = METADATA_TYPES[chance.choice(often) if kind < 0.9 else chance.choice(list(METADATA_TYPES))]
    message = message_type("metadata", name)
    version = chance.choice(versions_of(message))
    value = write_metadata_record(ValueMaker(message, version, chance).message_value(unknown_tags=chance.random() < 0.3), version)
    if kind < 0.06:
        value = damaged(chance, value)
    return (b"key" if chance.random() < 0.01 else None), value


def damaged(chance: random.Random, data: bytes) -> bytes:
    """Bytes with one of them changed, or cut off, or with some behind."""
    at = chance.randrange(len(data))
    return chance.choice((data[:at], data + b"\0", data[:at] + bytes((data[at] ^ 1 << chance.randrange(8),)) + data[at + 1 :]))


def coordinator_record(chance: random.Random, log: str) -> tuple[bytes | None, bytes | None]:
    """A record of a coordinator's log, sometimes a tombstone or nonsense."""
    known = COORDINATOR_LOGS[log]
    if chance.random() < 0.03:
        return chance.choice((None, b"", b"\0", b"\0\x63", chance.randbytes(7))), chance.choice((None, b"", chance.randbytes(5)))
    type_id = chance.choice([*known.values, *[1, 1, 1, 2] * 5]) if log == "offsets" else chance.choice(list(known.values))
    key_message, value_message = known.key_message(type_id), known.value_message(type_id)
    assert key_message is not None and value_message is not None
    key = type_id.to_bytes(2, "big") + key_message.write(ValueMaker(key_message, 0, chance).message_value(False), 0)
    if chance.random() < 0.2:
        return key, None
    version = chance.choice(versions_of(value_message))
    body = value_message.write(ValueMaker(value_message, version, chance).message_value(chance.random() < 0.3), version)
    value = version.to_bytes(2, "big") + body
    return (damaged(chance, key) if chance.random() < 0.02 else key), (damaged(chance, value) if chance.random() < 0.02 else value)


def plain(value: Any) -> Any:
    """An object's value as pyarrow gives it back."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if hasattr(value, "__slots__") and not isinstance(value, bytes):
        return {name.rstrip("_"): plain(getattr(value, name)) for name in value.__slots__ if name != "unknown_tags"}
    return value


def wrapped(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def rows_by_objects(path: Path, log: str = "metadata") -> dict[str, list[Row]]:
    """What the tables of a log have to hold, from codec's objects alone, up to where its framing breaks."""
    found: dict[str, list[Row]] = defaultdict(list)
    held: dict[int, list[Row]] = defaultdict(list)
    with open_file(str(path)) as file:
        for item in read_batches(file):
            if isinstance(item, BatchFault):
                if isinstance(item, Tail):
                    break
                continue
            try:
                for record in item.records():
                    add_record(found, log, item, record, held)
            except DecodeError:
                continue
    return found


def add_record(found: dict[str, list[Row]], log: str, batch: RecordBatch, record: Record, held: dict[int, list[Row]]) -> None:
    """Add a record to the rows of its table; `held` are rows of transactions whose marker has not come, by producer."""
    producer_id = batch.header.producer_id
    place = {"offset": record.offset, "epoch": batch.header.leader_epoch, "timestamp": wrapped(record.timestamp)}
    found["records"].append(place)
    if batch.header.is_control:
        if log == "offsets":
            for each in held.pop(producer_id, ()):
                each["outcome"] = "aborted" if record.key == ABORT[0] else "committed"
        return
    row = metadata_row(record) if log == "metadata" else coordinator_row(log, record)
    if row is not None:
        found[row[0]].append({**place, **row[1]})
        if row[0] in OUTCOME_TABLES:
            in_transaction = batch.header.is_transactional
            outcome = {"producer_id": producer_id, "transactional": in_transaction, "outcome": "open" if in_transaction else "committed"}
            found[row[0]][-1].update(outcome)
            if in_transaction:
                held[producer_id].append(found[row[0]][-1])


def metadata_row(record: Record) -> tuple[str, Row] | None:
    try:
        read = read_metadata_record(record.value or b"")
    except DecodeError:
        return None
    if isinstance(read.body, UnknownRecord) or read.family != "metadata":
        return None
    row: Row = {"version": read.version}
    return record_table_name(type(read.body).__name__), {**row, **renamed(plain(read.body), row)}


def coordinator_row(log: str, record: Record) -> tuple[str, Row] | None:
    known = COORDINATOR_LOGS[log]
    key, value = record.key, record.value
    if key is None or len(key) < 2 or (value is not None and len(value) < 2):
        return None
    type_id = int.from_bytes(key[:2], "big", signed=True)
    key_message, value_message = known.key_message(type_id), known.value_message(type_id)
    if key_message is None or value_message is None:
        return None
    row: Row = {"version": None, "tombstone": value is None}
    try:
        row.update(plain(key_message.read(key, 0, 2)))
        names = [field.attribute for field in value_message.schema.fields]
        body: Row = dict.fromkeys(names)
        if value is not None:
            version = int.from_bytes(value[:2], "big", signed=True)
            if version not in versions_of(value_message):
                return None
            row["version"] = version
            body = plain(value_message.read(value, version, 2))
    except DecodeError:
        return None
    return key_table_name(known.keys[type_id]), {**row, **renamed(body, row)}


def renamed(values: Row, row: Row) -> Row:
    """Fields under the names of their columns: those that the envelope or the key has too are told apart."""
    taken = {"offset", "epoch", "timestamp", "file", "cluster_id", *row}
    return {f"value_{name}" if name in taken else name: value for name, value in values.items()}
