"""What a record is shown as is one rule: dump-log, export, SQL and Spark give the same type, version, text and fault for the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from metashell.cli.inspect import dump_log
from metashell.cli.tables import export, sql
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.registry import message_type
from spark_reports.source import KafkaMetadataSource
from tests.inspect.dump.making import metadata, topic
from tests.running import run_main

Pair = tuple[bytes | None, bytes | None]
Shown = dict[int, tuple[Any, Any, Any, Any]]
"""Offset -> type, version, data as JSON value, fault."""

LOG_NAME = "00000000000000000000.log"
SECRET = metadata("UserScramCredentialRecord", name="alice", salt=b"salty", stored_key=b"stored", server_key=b"server")
TOPIC = topic("orders")


def framed(type_id: int, version: int, body: bytes) -> bytes:
    return bytes((1, type_id, version)) + body


METADATA: list[Pair] = [
    (None, TOPIC),
    (None, SECRET),
    (None, metadata("ConfigRecord", resource_type=4, resource_name="1", name="ssl.key.password", value="hunter2")),
    (None, framed(99, 0, b"a type of a later release")),
    (None, framed(99, 7, b"x")),
    (None, b"\1\xe3\0\0" + bytes(20)),  # a type that takes two bytes in the frame
    (None, framed(2, 9, TOPIC[3:])),  # a version of a later release
    (None, framed(2, 9, TOPIC[3:] + b"more of it")),
    (None, TOPIC[:-3]),
    (None, SECRET[:-3]),
    (None, framed(2, 0, b"")),
    (None, b"\5\5\5"),
    (None, b"no frame, but longer than what is harmless"),
    (None, b""),
    (None, None),
    (None, b"\0\2\0\1a"),  # frames of the KIP
    (None, b"\0\x63\0of a type that the KIP has not"),
]
REMOTE: list[Pair] = [
    (None, framed(99, 0, b"a type of a later release")),
    (None, framed(0, 0, b"cut off")),
    (None, b"no frame, but longer than what is harmless"),
    (None, None),
]


def int16(value: int) -> bytes:
    return value.to_bytes(2, "big", signed=True)


def commit(partition: int) -> bytes:
    return int16(1) + message_type("offsets", "OffsetCommitKey").write(
        message_type("offsets", "OffsetCommitKey").cls(group="g", topic="t", partition=partition), 0
    )


OFFSETS: list[Pair] = [
    (commit(1), None),
    (commit(2), int16(3) + b"\1"),
    (commit(3), int16(99) + b"a version of a later release"),
    (commit(4), b"\0"),
    (int16(77) + b"a type of a later release", int16(0) + b"and its value"),
    (int16(77) + b"without a value", None),
    (commit(5)[:-2], int16(3) + b"a key that is cut off"),
    (b"\0", b"\0\1x"),
    (None, b"a record without a key"),
]
LOGS = {"__cluster_metadata-0": METADATA, "__remote_log_metadata-0": REMOTE, "__consumer_offsets-0": OFFSETS}


def log_of(pairs: Sequence[Pair]) -> bytes:
    """A log with a record a batch: what one holds says nothing about the others."""
    return b"".join(write_batch(offset, [Record(offset, 1, key, value)], leader_epoch=0) for offset, (key, value) in enumerate(pairs))


def shown_by_dump_log(path: Path, flags: Sequence[str]) -> Shown:
    flag = {"__cluster_metadata-0": "--cluster-metadata-decoder", "__remote_log_metadata-0": "--remote-log-metadata-decoder"}
    decoder = flag.get(path.parent.name, "--offsets-decoder")
    text = run_main(dump_log.main, [decoder, *flags, str(path)], cwd=path.parent).stdout
    found: Shown = {}
    for row in map(json.loads, text.splitlines()):
        # In the JSON text of tables bytes that do not decode stand in place of the object.
        key, value = row.get("key_hex", row.get("key")), row.get("data_hex", row["data"])
        data = {"key": key, "value": value} if decoder == "--offsets-decoder" else value
        found[row["offset"]] = (row["type"], row["version"], data, row.get("fault"))
    return found


def rows_of(rows: Sequence[dict[str, Any]]) -> Shown:
    found: Shown = {}
    for row in rows:
        payload = None if row["payload"] is None else json.loads(row["payload"])
        found[row["offset"]] = (row["type"], row["version"], payload, row["fault"])
    return found


def shown_by_export(path: Path, flags: Sequence[str]) -> Shown:
    out = path.parent.parent / f"out-{len(flags)}"
    run_main(export.main, ["--out", str(out), "--tables", "records", "--on-error", "skip", *flags, str(path.parent)], cwd=path.parent)
    return rows_of(pyarrow.parquet.read_table(out / "records.parquet").to_pylist())


def shown_by_sql(path: Path, flags: Sequence[str]) -> Shown:
    query = 'select "offset", type, version, payload, fault from records'
    text = run_main(sql.main, [query, str(path.parent), "-o", "jsonl", "--on-error", "skip", *flags], cwd=path.parent).stdout
    return rows_of([json.loads(line) for line in text.splitlines()])


def shown_by_spark(path: Path, flags: Sequence[str]) -> Shown:
    """The reader of the data source, which Spark calls in its tasks."""
    source = KafkaMetadataSource({"path": str(path.parent), "onError": "skip", "showSecrets": str(bool(flags)).lower()})
    reader = source.reader(source.schema())
    return rows_of([row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()])


OTHERS: list[Callable[[Path, Sequence[str]], Shown]] = [shown_by_export, shown_by_sql, shown_by_spark]


@pytest.mark.parametrize("flags", [[], ["--show-secrets"]], ids=["redacted", "clear"])
@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.__name__.removeprefix("shown_by_"))
def test_every_command_shows_the_same_of_the_same_bytes(
    tmp_path: Path, log: str, flags: list[str], other: Callable[[Path, Sequence[str]], Shown]
) -> None:
    path = tmp_path / log / LOG_NAME
    path.parent.mkdir()
    path.write_bytes(log_of(LOGS[log]))
    expected = shown_by_dump_log(path, flags)
    assert expected.keys() == set(range(len(LOGS[log])))
    assert other(path, flags) == expected


def test_an_unknown_type_has_its_number_in_its_name_in_every_log(tmp_path: Path) -> None:
    for log, pairs in LOGS.items():
        path = tmp_path / log / LOG_NAME
        path.parent.mkdir()
        path.write_bytes(log_of(pairs))
        names = {row[0] for row in shown_by_dump_log(path, []).values() if row[0] is not None}
        assert names & {"UNKNOWN_RECORD_99", "UNKNOWN_RECORD_77"}
