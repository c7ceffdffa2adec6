"""Columns that say what they are, on Spark: the same from the source and from an export, whatever a log holds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from metashell.columns.export.options import ExportOptions
from metashell.columns.export.run import export
from tests.columns.logs import any_log

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
