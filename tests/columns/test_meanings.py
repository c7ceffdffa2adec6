"""The data dictionary: every column has a meaning, and schemas carry it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest

from metashell.columns.meanings.comments import commented, spark_row_metadata
from metashell.columns.meanings.companions import meaning_of
from metashell.columns.meanings.fields import NO_UNIT, TIME, all_fields, rows
from metashell.columns.names import STATE_TABLES
from metashell.columns.schemas import tables
from metashell.columns.state.schemas import SCHEMAS
from metashell.reports.catalog import REPORTS

UNITS = {
    NO_UNIT,
    TIME,
    "ms",
    "h",
    "bytes",
    "records",
    "batches",
    "partitions",
    "replicas",
    "members",
    "changes",
    "commits",
    "deletions",
} | {
    "times",
    "faults",
    "per key",
}
ALL = {**tables(), **SCHEMAS}


def columns(table: str) -> Iterator[tuple[str, pa.Field, frozenset[str]]]:
    """Every column of a table and every field of its structs: its path, itself, and the names beside it."""

    def walk(fields: list[pa.Field], prefix: str) -> Iterator[tuple[str, pa.Field, frozenset[str]]]:
        names = frozenset(field.name for field in fields)
        for field in fields:
            yield prefix + field.name, field, names
            kind = field.type
            while pa.types.is_list(kind) or pa.types.is_map(kind):
                kind = kind.item_type if pa.types.is_map(kind) else kind.value_type
            if pa.types.is_struct(kind):
                yield from walk(list(kind), f"{prefix}{field.name}.")

    return walk(list(ALL[table]), "")


@pytest.mark.parametrize("table", ALL)
def test_every_column_has_a_meaning(table: str) -> None:
    assert [path for path, _, beside in columns(table) if meaning_of(table, path, beside) is None] == []


@pytest.mark.parametrize("report", REPORTS)
def test_every_column_of_a_reports_answer_has_a_meaning(report: str) -> None:
    found = REPORTS[report].columns
    assert [name for name in found if meaning_of(report, name, found) is None] == []


def test_every_table_says_what_it_holds() -> None:
    said = [name for name, *_ in rows("tables.tsv")]
    assert sorted(said) == sorted(ALL)
    assert set(STATE_TABLES) <= set(said)
    assert all(len(line) == 3 and all(line) for line in rows("tables.tsv"))


def test_every_line_has_a_unit_and_a_meaning_and_is_of_use() -> None:
    lines = all_fields()
    assert all(line.meaning and line.meaning == line.meaning.strip() for line in lines)
    assert {line.unit for line in lines} <= UNITS
    used = {meaning_of(table, path, beside) for table in ALL for path, _, beside in columns(table)}
    used |= {meaning_of(report.name, name, ()) for report in REPORTS.values() for name in report.columns}
    assert [line.pattern for line in lines if line not in used] == []
    assert len(rows("fields.tsv")) == len(lines), "two lines about the same"


def test_what_counts_or_lasts_or_is_a_time_has_a_unit() -> None:
    endings = {
        "_ms": "ms",
        "_timestamp": TIME,
        "timestamp": TIME,
        "_timestamp_ms": TIME,
        "size": "bytes",
        "_bytes": "bytes",
        "_timeout": "ms",
    }
    for table in ALL:
        for path, field, beside in columns(table):
            name = path.rpartition(".")[2]
            line = meaning_of(table, path, beside)
            found = [unit for ending, unit in endings.items() if name.endswith(ending)]
            assert line is not None
            if pa.types.is_integer(field.type) and found:
                assert line.unit in found, f"{table}.{path}"
            if pa.types.is_timestamp(field.type):
                assert line.unit == TIME, f"{table}.{path}"


def test_schemas_carry_the_meanings_and_are_else_the_same() -> None:
    for table, schema in ALL.items():
        made = commented(table, schema)
        assert made.equals(schema, check_metadata=False)
        assert all(b"comment" in field.metadata for field in made)
    ports = commented("register_broker", ALL["register_broker"]).field("end_points").type.value_type.field("port")
    assert ports.metadata[b"comment"] == b"advertised port"


def test_sparks_schema_in_a_footer_has_uuids_as_binary_and_the_comments() -> None:
    inner = pa.struct([pa.field("id", pa.uuid()), pa.field("at", pa.timestamp("ms", "UTC"))])
    schema = pa.schema([pa.field("topic_id", pa.uuid()), ("ids", pa.list_(inner)), ("levels", pa.map_(pa.string(), pa.int16()))])
    fields = json.loads(spark_row_metadata(commented("topic", schema)))["fields"]
    assert [field["name"] for field in fields] == ["topic_id", "ids", "levels"]
    assert fields[0]["type"] == "binary"
    assert fields[0]["metadata"]["comment"].startswith("id of the topic")
    element = fields[1]["type"]["elementType"]
    assert [field["type"] for field in element["fields"]] == ["binary", "timestamp"]
    assert fields[2]["type"] == {"type": "map", "keyType": "string", "valueType": "short", "valueContainsNull": True}
    assert all(json.loads(spark_row_metadata(schema)) for schema in ALL.values())
