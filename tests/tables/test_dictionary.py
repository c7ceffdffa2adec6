"""The data dictionary: every column has a meaning, and schemas carry it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetFile, read_schema

from metashell.cli.tables.export import main
from metashell.codec.releases import (
    CORDONED_DIRECTORIES_LEVEL,
    DELEGATION_TOKEN_LEVEL,
    DIRECTORY_ASSIGNMENT_LEVEL,
    ELR_LEVEL,
    IN_CONTROLLED_SHUTDOWN_LEVEL,
    NEWEST_RELEASE,
    REGISTER_CONTROLLER_LEVEL,
    SCRAM_LEVEL,
    ZK_MIGRATION_LEVEL,
    metadata_version_name,
    record_versions,
)
from metashell.demo import demo_directory
from metashell.disk.names import KNOWN_LOGS, LogKind
from metashell.quorum.controller.decision import TRANSACTIONS_LEVEL, partition_version
from metashell.tables.columns.typed_tables import typed_schema
from metashell.tables.dictionary import (
    NO_UNIT,
    SAME,
    STATE_TABLES,
    TIME,
    all_fields,
    dictionary_rows,
    lines_about,
    listed_columns,
    listed_tables,
    meaning_of,
)
from metashell.tables.reports.catalog import REPORTS
from metashell.tables.schemas import SPARK_ROW_METADATA, commented, spark_row_metadata, tables, tables_of_log
from metashell.tables.state.schemas import OLD_SCHEMAS, SCHEMAS

UNITS = {
    *(NO_UNIT, TIME, "ms", "h", "%", "bytes", "records", "batches", "partitions", "replicas", "brokers", "members", "changes", "commits"),
    *("deletions", "times", "iterations", "faults", "per key"),
}
OLD = {**tables(), **OLD_SCHEMAS}
WITHOUT_ROWS = {
    *("abort_transaction", "access_control", "fence_broker", "unfence_broker", "zk_migration_state", "faults"),
    *("consumer_group_partition_metadata", "legacy_offset_commit", "remote_partition_delete_metadata"),
    *("remote_log_segment_metadata", "remote_log_segment_metadata_update", "remote_log_segment_metadata_snapshot"),
}
"""Kafka 4.3 writes no such record, or has nothing to write it about in the clusters that the examples are from."""
SETTINGS = {"group.id"}
ALL = {**{name: typed_schema(name) for name in tables()}, **SCHEMAS}


def columns(table: str, schema: pa.Schema | None = None) -> Iterator[tuple[str, pa.Field, frozenset[str]]]:
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

    return walk(list(ALL[table] if schema is None else schema), "")


@pytest.mark.parametrize("table", ALL)
def test_every_column_has_a_meaning(table: str) -> None:
    for schema in (ALL[table], OLD[table]):
        assert [path for path, _, beside in columns(table, schema) if meaning_of(table, path, beside) is None] == []


@pytest.mark.parametrize("report", REPORTS)
def test_every_column_of_a_reports_answer_has_a_meaning(report: str) -> None:
    found = REPORTS[report].columns
    assert [name for name in found if meaning_of(report, name, found) is None] == []


def test_every_table_says_what_it_holds() -> None:
    said = [name for name, *_ in dictionary_rows("tables.tsv")]
    assert sorted(said) == sorted(ALL)
    assert set(STATE_TABLES) <= set(said)
    assert all(len(line) == 3 and all(line) for line in dictionary_rows("tables.tsv"))


def test_every_line_has_a_unit_and_a_meaning_and_is_of_use() -> None:
    lines = all_fields()
    assert all(line.meaning and line.meaning == line.meaning.strip() for line in lines)
    assert {line.unit for line in lines} <= {*UNITS, SAME}
    every = [(table, path) for table in ALL for schema in (ALL, OLD) for path, _, _ in columns(table, schema[table])]
    every += [(report.name, name) for report in REPORTS.values() for name in report.columns]
    used = {line for table, path in every for line in lines_about(table, path)}
    assert [line.pattern for line in lines if line not in used] == []
    assert len(dictionary_rows("fields.tsv")) == len(lines), "two lines about the same"


def test_a_meaning_that_names_another_column_names_one_that_is_there() -> None:
    """`Joins brokers.broker_id`; what begins with another word than a table's name is a setting or a version."""
    tables_of = {table: {path for path, _, _ in columns(table)} for table in ALL}
    named = {pair for line in all_fields() for pair in re.findall(r"\b([a-z_]+)[.]([a-z_]+)\b", f"{line.since} {line.meaning}")}
    named = {(table, column) for table, column in named if table in tables_of}
    assert len(named) > 10
    assert {f"{table}.{column}" for table, column in named if column not in tables_of[table]} <= SETTINGS


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


def test_every_table_has_examples_but_those_of_which_no_real_log_has_a_row() -> None:
    """`tests/test_generated.py` holds each example, so that none is missing where a log has one."""
    assert {table for table, columns in listed_columns().items() if not any(column.example for column in columns)} == WITHOUT_ROWS
    assert set(listed_columns()) == set(listed_tables())


def test_schemas_carry_the_meanings_and_are_else_the_same() -> None:
    for table, schema in ALL.items():
        made = commented(table, schema)
        assert made.equals(schema, check_metadata=False)
        assert all(b"comment" in field.metadata for field in made)
    ports = commented("register_broker", ALL["register_broker"]).field("end_points").type.item_type.field("port")
    assert ports.metadata[b"comment"] == b"port under which it is reached"


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


def test_since_follows_the_versions_that_a_metadata_version_writes() -> None:
    """`codec/releases.py` says it to the controller; the dictionary says the same to readers."""
    releases = {name: since.split(" ") for name, since, _ in dictionary_rows("tables.tsv")}
    levels = range(1, NEWEST_RELEASE.newest_level + 1)
    for table, version_of in (("register_broker", lambda level: record_versions(level).register_broker), ("partition", partition_version)):
        first = {version_of(level): level for level in reversed(levels)}
        assert releases[table] == [metadata_version_name(first[version]) for version in range(len(first))]
    assert releases["partition_change"] == releases["partition"]
    gates = {
        "broker_registration_change": (6, IN_CONTROLLED_SHUTDOWN_LEVEL, DIRECTORY_ASSIGNMENT_LEVEL, CORDONED_DIRECTORIES_LEVEL),
        "user_scram_credential": (SCRAM_LEVEL,),
        "delegation_token": (DELEGATION_TOKEN_LEVEL,),
        "register_controller": (REGISTER_CONTROLLER_LEVEL,),
        "begin_transaction": (TRANSACTIONS_LEVEL,),
        "clear_elr": (ELR_LEVEL,),
        "zk_migration_state": (ZK_MIGRATION_LEVEL,),
    }
    for table, found in gates.items():
        assert releases[table] == list(map(metadata_version_name, found)), table


@pytest.mark.parametrize("log", KNOWN_LOGS)
def test_each_version_of_a_record_says_since_when_it_is_written(log: LogKind) -> None:
    releases = {name: since.split(" ") for name, since, _ in dictionary_rows("tables.tsv")}
    for table in tables_of_log(log).values():
        assert len(releases[table.name]) == table.value.schema.versions.high + 1, table.name


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_exported_files_say_what_their_columns_mean(form: str, tmp_path: Path) -> None:
    """Tables of equal columns too, each in its own words, and whatever was exported before."""
    wanted = ["--tables", "partition,fence_broker,topic,remove_topic", "--format", form, "-q"]
    for more in (["--show-secrets"], []):
        assert main([demo_directory(), "--out", str(tmp_path / str(len(more))), *wanted, *more]) == 0
    path = tmp_path / "0" / f"topic.{form}"
    schema = read_schema(path) if form == "parquet" else pa.ipc.open_file(path).schema
    assert schema.field("name").metadata[b"comment"].startswith(b"name of the topic")
    assert schema.metadata[b"metashell.show_secrets"] == b"false"
    if form == "parquet":
        spark = json.loads(ParquetFile(path).metadata.metadata[SPARK_ROW_METADATA.encode()])
        types = {field["name"]: field["type"] for field in spark["fields"]}
        assert (types["topic_id"], types["timestamp"]) == ("binary", "timestamp")
        assert all(field["metadata"]["comment"] for field in spark["fields"])


def test_tables_of_equal_columns_have_their_own_comments() -> None:
    columns = pa.schema([("id", pa.uuid())])
    texts = [commented(table, columns).field("id").metadata for table in ("access_control_entry", "remove_access_control_entry")]
    assert texts[0] != texts[1]
    assert spark_row_metadata(columns) != spark_row_metadata(commented("access_control_entry", columns))
