"""Exported Parquet in Spark's own reader: ids with the UUID annotation are read, wherever they are, and columns have comments."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from typing import Any
from uuid import UUID

import pytest
from pyarrow import parquet

from metashell.cli.tables.export import main
from metashell.demo import demo_directory
from tests.cli.conftest import ROOT

pytestmark = pytest.mark.slow

LOGS = ROOT / "tests" / "golden" / "kafka" / "4.3.1" / "main" / "data" / "stopped"
TABLES = ("topic", "register_broker", "consumer_group_current_member_assignment")


def test_spark_reads_ids_of_parquet_files_and_shows_comments(spark: Any, tmp_path: Path) -> None:
    assert main([str(LOGS), "--out", str(tmp_path), "--tables", ",".join(TABLES), "-q"]) == 0
    for table in TABLES:
        written = parquet.read_table(tmp_path / f"{table}.parquet").to_pylist()
        rows = spark.read.parquet(str(tmp_path / f"{table}.parquet")).collect()
        assert [_hex_ids(row.asDict(recursive=True)) for row in rows] == list(map(_hex_ids, written))


def test_spark_reads_days_of_one_table_together_and_finds_an_id(spark: Any, tmp_path: Path) -> None:
    assert main([str(LOGS), "--out", str(tmp_path / "made"), "--tables", "topic", "-q"]) == 0
    for day in ("2026-11-22", "2026-11-23"):
        (tmp_path / "lake" / f"date={day}").mkdir(parents=True)
        copyfile(tmp_path / "made" / "topic.parquet", tmp_path / "lake" / f"date={day}" / "part-1.parquet")
    merged = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "lake"))
    topic = parquet.read_table(tmp_path / "made" / "topic.parquet", columns=["name", "topic_id"]).to_pylist()[0]
    found = merged.where(f"topic_id = X'{topic['topic_id'].hex}'").select("name").distinct().collect()
    assert [row.name for row in found] == [topic["name"]]
    merged.createOrReplaceTempView("merged")
    comments = {row.col_name: row.comment for row in spark.sql("describe merged").collect()}
    assert comments["topic_id"].startswith("id of the topic")
    assert comments["date"] is None


def _hex_ids(value: Any) -> Any:
    """A row with ids as Spark and pyarrow both have them; maps as dicts, without times, which they show differently."""
    if isinstance(value, dict):
        return {name: _hex_ids(item) for name, item in value.items() if name != "timestamp"}
    if isinstance(value, list):
        pairs = value and all(isinstance(item, tuple) for item in value)
        return {key: _hex_ids(item) for key, item in value} if pairs else [_hex_ids(item) for item in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    return value.hex if isinstance(value, UUID) else value


@pytest.mark.parametrize(
    ("table", "column", "comment"),
    [
        ("partition_change", "leader", "the new leader; -1: none"),
        ("partitions", "eligible_leader_replicas", "replicas out of sync that still have every committed record"),
        ("register_broker", "end_points", "listeners of the node by name"),
    ],
)
def test_describe_shows_what_columns_of_the_source_mean(spark: Any, table: str, column: str, comment: str) -> None:
    loaded = spark.read.format("kafka_metadata").option("table", table).load(demo_directory())
    loaded.createOrReplaceTempView("described")
    comments = {row.col_name: row.comment for row in spark.sql("describe described").collect()}
    assert comments[column].startswith(comment)
    assert all(comments.values())
