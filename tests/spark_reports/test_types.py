"""Columns that say what they are, on Spark: the same from the source and from an export, whatever a log holds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from tests.tables.logs import any_log

pytestmark = pytest.mark.slow

TABLES = {"metadata": ("partition", "register_broker", "batches"), "offsets": ("offset_commit", "group_metadata")}


@pytest.mark.parametrize("log", TABLES)
def test_the_source_and_an_export_agree_over_a_log_of_anything(spark: Any, tmp_path: Path, log: Any) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(any_log(random.Random(11), log, batch_count=25))
    out = tmp_path / "out"
    export(ExportOptions(paths=(str(path),), out=str(out), log=log, on_error="skip", jobs=1, tables=TABLES[log]))
    for table in TABLES[log]:
        options = {"table": table, "onError": "skip", "log": log}
        here = spark.read.format("kafka_metadata").options(**options).load(str(path))
        there = spark.read.parquet(str(out / f"{table}.parquet"))
        assert here.dtypes == there.dtypes
        rows = sorted(map(repr, here.collect()))
        assert rows == sorted(map(repr, there.collect())) and rows, table
        types = dict(here.dtypes)
        assert types["timestamp"] == "timestamp" and types.get("topic_id", "binary") == "binary"
    old = spark.read.format("kafka_metadata").options(**options, oldColumns="true").load(str(path))
    assert dict(old.dtypes)["timestamp"] == "bigint" and old.count() == len(rows)


def test_columns_that_are_never_null_say_so_unless_another_schema_is_given(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql.types import StructType

    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(any_log(random.Random(7), batch_count=10))
    load = spark.read.format("kafka_metadata").options(table="partition", onError="skip")
    frame = load.load(str(path))
    assert {field.name for field in frame.schema if field.nullable} == {"timestamp", "eligible_leader_replicas", "last_known_elr"}
    assert not frame.schema["replicas"].dataType.containsNull
    rows = sorted(map(repr, frame.collect()))
    loose = StructType.fromJson(frame.schema.jsonValue())
    for field in loose:
        field.nullable = True
    loose["replicas"].dataType.containsNull = True
    given = load.schema(loose).load(str(path))
    assert all(field.nullable for field in given.schema) and given.schema["replicas"].dataType.containsNull
    assert sorted(map(repr, given.collect())) == rows and rows
    some = load.schema("offset long, isr array<int>").load(str(path))
    assert sorted(map(tuple, some.collect())) == sorted((row["offset"], row["isr"]) for row in frame.collect())
