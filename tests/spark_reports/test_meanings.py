"""Parquet files of ours in Spark's own reader: ids with the UUID annotation are read, and columns have comments."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyarrow import parquet

from metashell.columns.meanings.comments import SPARK_ROW_METADATA, commented, spark_row_metadata

IDS = [UUID(int=number) for number in (1, 1 << 127)]


def _file(path: Path, at: pa.DataType) -> None:
    """A file as exports write it: ids at the top, in a list, and in a list of structs."""
    ids = pa.array([id.bytes for id in IDS], pa.uuid())
    each = pa.array([0, 1, 2], pa.int32())
    inner = pa.StructArray.from_arrays([ids, pa.array([[1], [2]], pa.list_(pa.int32()))], ["topic_id", "partitions"])
    lists = [pa.ListArray.from_arrays(each, ids), pa.ListArray.from_arrays(each, inner)]
    arrays = [ids, *lists, pa.array([0, 1], at), pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int16()))]
    made = pa.table(arrays, ["topic_id", "log_dirs", "topic_partitions", "timestamp", "features"])
    schema = commented("register_broker", made.schema)
    path.parent.mkdir(parents=True)
    parquet.write_table(made.cast(schema).replace_schema_metadata({SPARK_ROW_METADATA: spark_row_metadata(schema)}), path)


def test_spark_reads_ids_of_parquet_files_and_shows_comments(spark: Any, tmp_path: Path) -> None:
    for day in ("2026-11-22", "2026-11-23"):
        _file(tmp_path / f"date={day}" / "part-1.parquet", pa.timestamp("ms", "UTC"))
    rows = spark.read.parquet(str(tmp_path)).orderBy("date", "timestamp").collect()
    assert [bytes(row.topic_id) for row in rows] == [id.bytes for id in IDS] * 2
    assert [bytes(row.log_dirs[0]) for row in rows] == [id.bytes for id in IDS] * 2
    assert [bytes(row.topic_partitions[0].topic_id) for row in rows] == [id.bytes for id in IDS] * 2
    assert rows[0].features == {"a": 1}
    merged = spark.read.option("mergeSchema", "true").parquet(str(tmp_path))
    assert merged.where("topic_id = X'80000000000000000000000000000000'").count() == 2
    merged.createOrReplaceTempView("merged")
    comments = {row.col_name: row.comment for row in spark.sql("describe merged").collect()}
    assert comments["topic_id"].startswith("id of the topic")
    assert comments["date"] is None
