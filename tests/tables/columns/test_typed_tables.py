"""Columns that say what they are: they say what the raw ones hold, whatever that is, and every reader finds their types."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.consumer_protocol import Assignment, Subscription, assignment_bytes, subscription_bytes
from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.common.values import time_text, uuid_text
from metashell.tables import ReadOptions, plan_splits, read_split, tables
from metashell.tables.columns import record_tables, typed_tables
from metashell.tables.columns.typed_arrays import file_schema, row_values
from metashell.tables.columns.typed_tables import (
    plain_batch,
    spark_batch,
    spark_schema,
    sql_batch,
    stored_schema,
    typed_batch,
    typed_schema,
    typed_table,
)
from metashell.tables.dictionary import CODES, COMMON_TABLES, log_of_table, table_names
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from metashell.tables.schemas import common_schema, tables_of_log
from metashell.tables.sql.query import query
from tests.golden_cases import SUBSET_ROOT
from tests.tables.logs import any_log
from tests.tables.typed_rows import FIRST_MS, LAST_MS, Row, settled, typed_row

NAME = "00000000000000000000.log"
EXTREME = [-(1 << 63), FIRST_MS - 1, FIRST_MS, -2, -1, 0, 1, LAST_MS, LAST_MS + 1, (1 << 63) - 1]


def raw_batches(path: Path, log: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    options = ReadOptions(tables=set(tables()), on_error="skip", show_secrets=True)
    for split in plan_splits(str(path), 1 << 30, log=log):
        yield from read_split(split, options)


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a typed batch; times are numbers, which no calendar limits."""
    plain = plain_batch(batch)
    for at, field in enumerate(plain.schema):
        if pa.types.is_timestamp(field.type):
            plain = plain.set_column(at, field.name, plain.column(at).cast(pa.int64()))
    return list(plain.to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("log", ["metadata", *COORDINATOR_LOGS])
@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=15, deadline=None)
def test_typed_columns_say_what_raw_ones_hold_over_any_log(log: str, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.mktemp("log") / NAME
    path.write_bytes(any_log(random.Random(seed), log, batch_count=8))
    known = {table.name: table for table in tables_of_log(log).values()}
    database = duckdb.connect()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_tables, "VECTOR_ROWS_MIN", random.Random(seed).choice((1, 24)))
        for name, raw in raw_batches(path, log):
            found = typed_batch(name, raw)
            found.validate(full=True)
            assert found.schema.equals(stored_schema(name)) and plain_batch(found).schema.equals(typed_schema(name))
            if name in known:
                want = [typed_row(known[name], row) for row in raw.to_pylist()]
                assert repr(settled(rows_of(found))) == repr(settled(want)), name
            for_spark = spark_batch(found)
            for_spark.validate(full=True)
            assert for_spark.schema.equals(spark_schema(name))
            assert len(list(row_values(found))) == raw.num_rows
            database.register("found", pa.Table.from_batches([sql_batch(found)]))
            assert database.sql("select * from found").to_arrow_table().num_rows == raw.num_rows


@pytest.mark.parametrize("log", ["metadata", *COORDINATOR_LOGS])
def test_batches_together_are_what_each_is_alone(log: str, tmp_path: Path) -> None:
    found: dict[str, list[pa.RecordBatch]] = {}
    for seed in range(2):
        path = tmp_path / str(seed) / NAME
        path.parent.mkdir()
        path.write_bytes(any_log(random.Random(seed), log, batch_count=8))
        for name, raw in raw_batches(path, log):
            found.setdefault(name, []).append(raw)
    assert any(len(batches) > 1 for batches in found.values())
    for name, batches in found.items():
        together = [row for batch in typed_table(name, batches).to_batches() for row in rows_of(batch)]
        assert repr(settled(together)) == repr(settled([row for batch in batches for row in rows_of(typed_batch(name, batch))])), name


@pytest.mark.parametrize("seed", range(2))
def test_ids_have_the_text_that_the_json_of_a_record_has(tmp_path: Path, seed: int) -> None:
    path = tmp_path / NAME
    path.write_bytes(any_log(random.Random(seed), batch_count=10))
    texts: dict[int, Row] = {}
    checked = 0
    for name, raw in raw_batches(path, "metadata"):
        rows = rows_of(typed_batch(name, raw))
        if name == "records":
            texts = {row["offset"]: json.loads(row["payload"]) for row in rows if row["payload"] and row["fault"] is None}
    for name, raw in raw_batches(path, "metadata"):
        if name in ("topic", "remove_topic", "partition", "partition_change") and texts:
            for row in rows_of(typed_batch(name, raw)):
                shown = texts.get(row["offset"], {})
                if "topicId" in shown:
                    assert row["topic_id_text"] == shown["topicId"]
                    checked += 1
    assert checked > 20


def group_batch(members: list[Row], protocol_type: str | None = "consumer") -> pa.RecordBatch:
    schema = tables()["group_metadata"]
    return pa.RecordBatch.from_pylist([{"protocol_type": protocol_type, "members": members}], schema=schema)


def decoded(subscription: bytes, assignment: bytes, protocol_type: str | None = "consumer") -> Row:
    member = {"member_id": "m", "subscription": subscription, "assignment": assignment}
    (row,) = rows_of(typed_batch("group_metadata", group_batch([member], protocol_type)))
    found: Row = row["members"][0]
    return found


SAID = subscription_bytes(Subscription(("a", "b"), b"data", (("a", 0), ("a", 1), ("b", 7)), 5, "rack-1"))
GIVEN = assignment_bytes(Assignment((("a", 0), ("b", 7))))


def test_subscriptions_and_assignments_are_decoded() -> None:
    found = decoded(SAID, GIVEN)
    assert found["subscription"] == {
        "version": 3,
        "topics": ["a", "b"],
        "owned_partitions": [("a", [0, 1]), ("b", [7])],
        "generation_id": 5,
        "rack_id": "rack-1",
        "user_data": b"data",
    }
    assert found["assignment"] == {"version": 3, "assigned_partitions": [("a", [0]), ("b", [7])], "user_data": None}
    assert (found["subscription_bytes"], found["assignment_bytes"]) == (SAID, GIVEN)


@pytest.mark.parametrize("said", [b"", b"\0", b"\xff\xff", SAID[:-1], b"\0\x09" + b"\xff" * 9, b"\0\0\x7f\xff\xff\xff"])
def test_what_does_not_decode_is_null_beside_its_bytes(said: bytes) -> None:
    found = decoded(said, said)
    assert found["subscription"] is None and found["assignment"] is None
    assert found["subscription_bytes"] == said == found["assignment_bytes"]


@pytest.mark.parametrize("protocol_type", ["connect", "", None])
def test_blobs_of_other_protocols_are_not_read_as_consumers(protocol_type: str | None) -> None:
    assert decoded(SAID, GIVEN, protocol_type)["subscription"] is None


def test_bytes_that_a_later_release_appends_do_not_disturb() -> None:
    assert decoded(b"\0\x09" + SAID[2:] + b"more", GIVEN)["subscription"]["version"] == 9


@given(st.lists(st.binary(max_size=40), max_size=4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_blob_fails(blobs: list[bytes], has_version: bool) -> None:
    for blob in blobs:
        decoded(b"\0\x01" + blob if has_version else blob, blob)


def test_times_that_no_calendar_has_are_null() -> None:
    schema = tables()["offset_commit"]
    rows = [{"timestamp": ms, "commit_timestamp": ms, "expire_timestamp": None} for ms in EXTREME]
    raw = pa.RecordBatch.from_pylist(rows, schema=schema)
    for batch in (raw, raw.slice(3, 6), raw.slice(0, 0)):
        found = typed_batch("offset_commit", batch)
        want = [ms if ms != -1 and FIRST_MS <= ms <= LAST_MS else None for ms in batch.column("timestamp").to_pylist()]
        assert [row["timestamp"] for row in rows_of(found)] == want == [row["commit_timestamp"] for row in rows_of(found)]
        assert found.column("expire_timestamp").null_count == len(found)
    shown = list(row_values(found.select(["timestamp"]))) + list(row_values(typed_batch("offset_commit", raw).select(["timestamp"])))
    assert shown == [[None if ms in (-1, *EXTREME[:2], *EXTREME[-2:]) else time_text(ms)] for ms in EXTREME]


def test_codes_without_a_word_are_unknown_and_those_that_say_nothing_null() -> None:
    raw = pa.RecordBatch.from_pylist(
        [{"leader_recovery_state": code} for code in (-128, -1, 0, 1, 2, 127, None)], tables()["partition_change"]
    )
    found = typed_batch("partition_change", raw).column("leader_recovery_state_name").to_pylist()
    assert found == ["UNKNOWN", None, "RECOVERED", "RECOVERING", "UNKNOWN", "UNKNOWN", None]
    protocol = [{"end_points": [{"name": "L", "security_protocol": code}]} for code in (-32768, -256, 0, 3, 256, 259, 32767)]
    brokers = rows_of(typed_batch("register_broker", pa.RecordBatch.from_pylist(protocol, tables()["register_broker"])))
    names = [row["end_points"][0][1]["security_protocol_name"] for row in brokers]
    assert names == ["UNKNOWN", "UNKNOWN", "PLAINTEXT", "SASL_SSL", "UNKNOWN", "UNKNOWN", "UNKNOWN"]


def test_a_key_that_comes_twice_has_its_last_value() -> None:
    entities = [
        [{"entity_type": key, "entity_name": value} for key, value in pairs] for pairs in ([("a", "1"), ("b", None), ("a", "2")], [])
    ]
    raw = pa.RecordBatch.from_pylist([{"entity": entities[0]}, {"entity": None}, {"entity": entities[1]}], tables()["client_quota"])
    for start, count in ((0, 3), (1, 2), (0, 1)):
        found = typed_batch("client_quota", raw.slice(start, count))
        found.validate(full=True)
        want = [[("b", None), ("a", "2")], None, []][start : start + count]
        assert found.column("entity").to_pylist() == want
    assert next(row_values(typed_batch("client_quota", raw).select(["entity"]))) == [{"b": None, "a": "2"}]


def test_only_wanted_columns_are_made() -> None:
    raw = pa.RecordBatch.from_pylist([{"topic_id": bytes(16), "name": "t"}], tables()["topic"])
    assert "version" not in typed_batch("topic", raw, {"topic_id_text", "name"}).schema.names


# --- which columns these are ---------------------------------------------------------------------------------------------

COUNTS = {"version", "magic", "feature_level", "producer_epoch", "next_producer_epoch", "client_transaction_version", "replication_factor"}
COUNTS |= {"delivery_count", "min_supported_version", "max_supported_version"}


def leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if pa.types.is_list(kind):
        yield from leaves(path, kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from leaves(f"{path}.{field.name}", field.type)
    else:
        yield path, kind


def test_every_small_number_is_a_code_with_words_or_known_to_count_something() -> None:
    for table, schema in tables().items():
        small = [path for field in schema for path, kind in leaves(field.name, field.type) if kind in (pa.int8(), pa.int16())]
        left = [path for path in small if path.rpartition(".")[2] not in COUNTS and path not in CODES.get(table, {})]
        assert all("copartition_groups" in path for path in left), f"{table}: {left}"


def test_every_time_is_a_time_and_nothing_else_is() -> None:
    times = {f"{table}.{field.name}" for table in table_names() for field in typed_schema(table) if pa.types.is_timestamp(field.type)} - {
        f"{table}.timestamp" for table in table_names()
    }
    assert times == {
        "batches.base_timestamp",
        *(f"delegation_token.{name}" for name in ("issue_timestamp", "max_timestamp", "expiration_timestamp")),
        "legacy_offset_commit.commit_timestamp",
        "offset_commit.commit_timestamp",
        "offset_commit.expire_timestamp",
        "group_metadata.current_state_timestamp",
        *(f"{kind}_group_target_assignment_metadata.assignment_timestamp" for kind in ("consumer", "share", "streams")),
        "consumer_group_regular_expression.value_timestamp",
        "transaction_log.transaction_last_update_timestamp_ms",
        "transaction_log.transaction_start_timestamp_ms",
        "share_snapshot.create_timestamp",
        "share_snapshot.write_timestamp",
        "remote_log_segment_metadata.max_timestamp_ms",
        "remote_log_segment_metadata.event_timestamp_ms",
        "remote_log_segment_metadata_update.event_timestamp_ms",
        "remote_partition_delete_metadata.event_timestamp_ms",
        "remote_log_segment_metadata_snapshot.max_timestamp_ms",
        "remote_log_segment_metadata_snapshot.event_timestamp_ms",
    }
    others = [(field.name, field.type) for table in table_names() for field in tables()[table] if "time" in field.name]
    assert {name for name, kind in others if kind == pa.int64()} == {name.partition(".")[2] for name in times} | {"timestamp"}


def test_names_of_columns_are_unique() -> None:
    for table in table_names():
        names = typed_schema(table).names
        assert len(names) == len(set(names)), table
        assert table in COMMON_TABLES or log_of_table(table)
    assert typed_tables.schema_of("topic", "raw") == tables()["topic"]
    assert typed_schema("faults").names == common_schema("faults").names


# --- other readers -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of anything, with every table as Parquet and as Arrow."""
    folder = tmp_path_factory.mktemp("export")
    (folder / NAME).write_bytes(any_log(random.Random(7), batch_count=60))
    for form in ("parquet", "arrow"):
        out = str(folder / form)
        export(ExportOptions(paths=(str(folder / NAME),), out=out, form=form, tables=tuple(table_names()), on_error="skip", jobs=1))
    return folder


def test_pyarrow_reads_the_types_and_the_values_that_were_written(exported: Path) -> None:
    seen = 0
    for path in sorted((exported / "parquet").glob("*.parquet")):
        found, other = pq.read_table(path), pa.ipc.open_file(exported / "arrow" / f"{path.stem}.arrow").read_all()
        want = file_schema(typed_schema(path.stem))
        assert found.schema.equals(want) and other.schema.equals(want), path.stem
        assert found.equals(other), path.stem
        # An id that is a dictionary would be written as an empty column, without an error.
        for field in pq.read_schema(path):
            if field.type == pa.uuid():
                texts = found.column(f"{field.name}_text").to_pylist()
                assert [None if id is None else uuid_text(id.bytes) for id in found.column(field.name).to_pylist()] == texts
                seen += len(texts)
    assert seen > 50


def test_duckdb_reads_ids_times_and_maps_as_such(exported: Path) -> None:
    database = duckdb.connect()
    described = {
        (path.stem, name): kind
        for path in (exported / "parquet").glob("*.parquet")
        for name, kind, *_ in database.sql(f"describe select * from '{path}'").fetchall()
    }
    assert described["partition", "topic_id"] == "UUID" and described["partition", "directories"] == "BLOB[]"
    assert described["partition", "timestamp"] == "TIMESTAMP WITH TIME ZONE"
    assert described["register_broker", "features"].startswith("MAP(VARCHAR, STRUCT(")
    found = pq.read_table(exported / "parquet" / "topic.parquet").to_pylist()[0]
    where = f"select count(*) from '{exported}/parquet/topic.parquet' where topic_id = '{found['topic_id']}'"
    assert (
        database.sql(where).fetchall()
        == database.sql(where.partition(" where")[0] + f" where topic_id_text = '{found['topic_id_text']}'").fetchall()
    )


@pytest.mark.slow
def test_pandas_reads_every_table_and_every_value(exported: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed, which reads our tables here")
    export(ExportOptions(paths=(str(SUBSET_ROOT / "4.3.1/main/data/stopped"),), out=str(tmp_path / "parquet"), jobs=1))
    seen = {"uuid.UUID": 0, "datetime64[ms, UTC]": 0, "map": 0, "list": 0, "struct": 0, "null": 0}
    for path in sorted(path for folder in (exported, tmp_path) for path in (folder / "parquet").glob("*.parquet")):
        table, frame = pq.read_table(path), pandas.read_parquet(path)
        assert list(frame.columns) == table.column_names and len(frame) == table.num_rows
        for field in table.schema:
            found, want = frame[field.name], table.column(field.name).to_pylist()
            for number, (value, other) in enumerate(zip(found, want, strict=True)):
                assert is_same(value, other), (path.stem, field.name, number, value, other)
            if pa.types.is_timestamp(field.type):
                assert str(found.dtype) == "datetime64[ms, UTC]", (path.stem, field.name)
                seen["datetime64[ms, UTC]"] += len(want)
            seen["uuid.UUID"] += sum(isinstance(value, UUID) for value in found)
            for kind in ("map", "list", "struct"):
                seen[kind] += is_of(kind, field.type) and any(want)
            seen["null"] += None in want
    assert min(seen.values()) > 0, seen


def is_of(kind: str, type: pa.DataType) -> bool:
    """Whether a type is of a kind, or its elements are."""
    return getattr(pa.types, f"is_{kind}")(type) or (pa.types.is_list(type) and is_of(kind, type.value_type))


def is_same(value: Any, want: Any, is_inner: bool = False) -> bool:
    """Whether pandas gives what was written: what is missing is its NaN, NaT or None, lists are arrays, numbers beside a gap are floats,
    and ids in structs are 16 bytes.
    """
    if want is None:
        return value is None or bool(value != value)
    if isinstance(want, dict):
        return value.keys() == want.keys() and all(is_same(value[name], want[name], True) for name in want)
    if isinstance(want, list | tuple):
        return len(value) == len(want) and all(is_same(one, other, True) for one, other in zip(value, want, strict=True))
    if isinstance(want, UUID) and is_inner:
        return bool(value == want.bytes)
    return bool(value == (float(want) if isinstance(value, float) else want))


def test_csv_and_json_lines_say_the_same(exported: Path, tmp_path: Path) -> None:
    for form in ("csv", "jsonl"):
        export(
            ExportOptions(
                paths=(str(exported / NAME),),
                out=str(tmp_path / form),
                form=form,
                tables=("topic", "register_broker"),
                on_error="skip",
                jobs=1,
            )
        )
    for table in ("topic", "register_broker"):
        lines = [json.loads(line) for line in (tmp_path / "jsonl" / f"{table}.jsonl").read_text().split("\n")[:-1]]
        want = pq.read_table(exported / "parquet" / f"{table}.parquet").to_pylist()
        assert len(lines) == len(want) > 0
        id = "topic_id" if table == "topic" else "incarnation_id"
        assert [UUID(line[id]) for line in lines] == [row[id] for row in want]
        assert duckdb.sql(f"select count(*) from '{tmp_path}/csv/{table}.csv'").fetchall() == [(len(want),)]


@pytest.mark.slow
def test_sql_answers_over_a_log_of_anything(exported: Path) -> None:
    for table in table_names():
        if log_of_table(table) in (None, "metadata") and table != "faults":
            rows: list[Any] = list(query(f"select * from {table}", [str(exported / NAME)], on_error="skip").rows)
            path = exported / "parquet" / f"{table}.parquet"
            assert len(rows) == (pq.read_metadata(path).num_rows if path.exists() else 0)
