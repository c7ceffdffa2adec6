"""Columns, objects and JSON text of any log are equal."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.registry import message_type
from metashell.tables import ReadOptions, plan_splits, read_split, tables
from metashell.tables.columns import record_tables
from metashell.tables.schemas import tables_of_log
from tests.quick import quick
from tests.tables.logs import Row, any_log, rows_by_objects

SEEDS = st.integers(0, 1 << 32)


def rows_by_columns(path: Path, log: str = "metadata", target_bytes: int = 1 << 30, **options: Any) -> dict[str, list[Row]]:
    """All tables of a log, checked against their schemas."""
    found: dict[str, list[Row]] = defaultdict(list)
    chosen = ReadOptions(**{"tables": set(tables()), "on_error": "skip", "show_secrets": True, **options})
    for split in plan_splits(str(path), target_bytes, log=log):
        for name, batch in read_split(split, chosen):
            assert batch.schema.equals(tables()[name]), name
            batch.validate(full=True)
            found[name] += batch.to_pylist()
    return found


def without_place(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in ("cluster_id", "file")}


def assert_columns_equal_objects(path: Path, log: str) -> None:
    by_columns, by_objects = rows_by_columns(path, log), rows_by_objects(path, log)
    assert [row["offset"] for row in by_columns["records"]][: len(by_objects["records"])] == [r["offset"] for r in by_objects["records"]]
    for table in tables_of_log(log).values():
        got = sorted((without_place(row) for row in by_columns[table.name]), key=lambda row: row["offset"])
        want = sorted(by_objects[table.name], key=lambda row: row["offset"])
        assert repr_rows(got[: len(want)]) == repr_rows(want), table.name


def repr_rows(rows: list[Row]) -> list[str]:
    # By text, because a NaN is not equal to itself.
    return [repr(sorted(row.items(), key=lambda item: item[0])) for row in rows]


@pytest.fixture(params=[1, 24], ids=["always-by-columns", "few-rows-by-objects"])
def rows_min(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(record_tables, "VECTOR_ROWS_MIN", request.param)
    return int(request.param)


@pytest.mark.parametrize("log", quick(["metadata", *COORDINATOR_LOGS], 2))
@given(seed=SEEDS)
def test_columns_are_equal_to_objects_over_any_log(log: str, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.mktemp("log") / "00000000000000000000.log"
    path.write_bytes(any_log(random.Random(seed), log))
    for few in (1, 24):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(record_tables, "VECTOR_ROWS_MIN", few)
            assert_columns_equal_objects(path, log)


@given(seed=SEEDS)
def test_columns_are_equal_to_objects_over_corrupt_logs(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path_factory.mktemp("log") / "00000000000000000000.log"
    data = bytearray(any_log(chance, batch_count=10))
    for _ in range(chance.choice((1, 1, 5))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_tables, "VECTOR_ROWS_MIN", 1)
        assert_columns_equal_objects(path, "metadata")


@given(seed=SEEDS)
def test_payloads_are_the_json_text_of_the_same_objects(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.mktemp("log") / "00000000000000000000.log"
    path.write_bytes(any_log(random.Random(seed)))
    found = rows_by_columns(path)
    names = {f"{table.name.upper()}_RECORD": table for table in tables_of_log("metadata").values()}
    rows = {(name, row["offset"]): row for name in METADATA_TABLES for row in found[name]}
    checked = 0
    for record in found["records"]:
        table = names.get(record["type"] or "")
        row = rows.get((table.name, record["offset"])) if table is not None else None
        if table is None or row is None or record["kind"] == "control":
            continue
        assert json.loads(record["payload"]) == json_of_row(table.value.name, row)
        checked += 1
    assert checked == sum(len(found[name]) for name in METADATA_TABLES)


TAKEN = {"offset", "epoch", "timestamp", "version", "file", "cluster_id"}
METADATA_TABLES = [table.name for table in tables_of_log("metadata").values()]


def json_of_row(name: str, row: Row) -> dict[str, Any]:
    """Kafka's JSON of a row, by way of an object made of it."""
    message = message_type("metadata", name)

    def made(cls: Any, values: Row, struct: Any) -> Any:
        built = {}
        for field in struct.fields:
            name = field.attribute.rstrip("_")
            value = values[f"value_{name}" if struct is message.schema and name in TAKEN else name]
            if field.is_struct and value is not None:
                inner = message.structs[field.type], message.schema.structs[field.type]
                value = tuple(made(inner[0], item, inner[1]) for item in value) if field.is_array else made(inner[0], value, inner[1])
            elif field.is_array and value is not None:
                value = tuple(value)
            built[field.attribute] = value
        return cls(**built)

    return message.to_json_value(made(message.cls, row, message.schema), row["version"])


def test_every_metadata_message_at_every_version_is_read_by_columns_or_left_to_objects(tmp_path: Path, rows_min: int) -> None:
    from metashell.codec.metadata_records import write_metadata_record
    from tests.codec.values import ValueMaker, versions_of

    chance = random.Random(7)
    for name in METADATA_TYPES.values():
        message = message_type("metadata", name)
        records = []
        for version in versions_of(message):
            for _ in range(40):
                value = write_metadata_record(ValueMaker(message, version, chance).message_value(), version)
                records.append(Record(len(records), 5, None, value))
        path = tmp_path / "00000000000000000000.log"
        path.write_bytes(write_batch(0, records, leader_epoch=1))
        assert_columns_equal_objects(path, "metadata")


def test_records_of_versions_that_cannot_be_are_read_as_objects_read_them(tmp_path: Path, rows_min: int) -> None:
    body = b"\x02a" + bytes(16) + b"\0"
    versions = (b"\xff\xff\xff\xff\x0f", b"\xff\xff\x03", b"\x05", b"\x81\x01", b"\xff\x7f")
    types = (b"\x02", b"\x03", b"\xff\x7f", b"\xff\xff\xff\xff\x0f")
    records = [Record(number, 5, None, b"\1" + words[0] + words[1] + body) for number, words in enumerate(product(types, versions))]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(write_batch(0, records, leader_epoch=1))
    assert_columns_equal_objects(path, "metadata")
    found = rows_by_columns(path)
    assert [row["version"] for row in found["records"]][:5] == [-1, None, 5, 129, 16383]
    assert {row["offset"] for row in found["faults"]}.isdisjoint(row["offset"] for row in found["topic"])
    assert len(found["faults"]) + len(found["topic"]) + len(found["partition"]) == len(records)


def test_a_record_that_is_too_odd_for_its_table_is_told_in_records(tmp_path: Path) -> None:
    """Without payloads bodies are not looked into; what the frame says is told all the same."""
    chance = random.Random(11)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(any_log(chance, batch_count=20))
    whole, short = (rows_by_columns(path, tables={"records"}, payloads=payloads)["records"] for payloads in (True, False))
    names = ("offset", "kind", "type", "version", "size")
    assert [[row[name] for name in names] for row in whole] == [[row[name] for name in names] for row in short]
    assert any(row["fault"] for row in whole)


def test_the_common_records_need_no_objects(tmp_path: Path) -> None:
    from metashell.tables.columns.column_reader import ColumnReader

    for name in ("PartitionRecord", "PartitionChangeRecord", "TopicRecord", "ConfigRecord", "NoOpRecord", "RemoveTopicRecord"):
        message = message_type("metadata", name)
        assert all(ColumnReader(message, version).is_possible for version in range(message.versions[0], message.versions[1] + 1)), name
    assert ColumnReader(message_type("offsets", "OffsetCommitValue"), 4).is_possible


def test_a_coordinators_record_that_is_too_short_is_one_fault_and_no_row(tmp_path: Path, rows_min: int) -> None:
    """What follows a short key looks like the rest of its type: a length of 1 as 2, no value as 1."""
    path = tmp_path / "00000000000000000000.log"
    odd = [(b"", None), (b"\0", None), (b"\0", b"x"), (b"\0\1", b"\0"), (None, b"\0\3"), (b"\0", b"\0\3")]
    records = [Record(offset, 5, key, value) for offset, (key, value) in enumerate(odd * 5)]
    path.write_bytes(write_batch(0, records, leader_epoch=1))
    found = rows_by_columns(path, "offsets")
    assert {name: len(rows) for name, rows in found.items() if rows} == {"records": 30, "faults": 30, "batches": 1}
    told = {row["offset"]: row["reason"] for row in found["faults"]}
    assert len(told) == 30
    for offset, (key, _) in enumerate(odd * 5):
        assert ("the record has no key" if key is None else "key or value are too short") in told[offset]
