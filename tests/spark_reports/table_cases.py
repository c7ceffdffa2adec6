"""Tests of tables of Delta Lake and Iceberg, which `test_table_formats.py` runs on a Spark that has them.

Tasks run in this process: what is tested is what comes after them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from metashell.common.errors import MetashellError, UsageError
from metashell.tables.export.workers import Workers
from metashell.tables.lake.append import AppendOptions, AppendReport, Processes, append_to_store
from metashell.tables.lake.layout import read_state
from metashell.tables.stores import open_store
from spark_reports.table_commits import TableCommits, _kind, _started
from spark_reports.table_logs import DeltaTables, IcebergTables
from tests.spark_settings import spark_session
from tests.tables.lake.dying import Died
from tests.tables.lake.lakes import DAY, SEGMENT, expected, node, run, topics

pytestmark = pytest.mark.filterwarnings("ignore")
FORMATS = ("delta", "iceberg")
TABLES = ("batches", "topic")
SOAKS = bool(os.environ.get("METASHELL_SOAK"))
ICEBERG = pytest.mark.parametrize("lake", FORMATS if SOAKS else ["iceberg"], indirect=True)
"""For what is much the same for both: Iceberg's writes take half the time. `METASHELL_SOAK=1` runs all with both."""


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from spark_reports.table_commits import settings_for

    settings = {
        **settings_for("delta", os.environ["TABLE_JARS"]),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.stats.collect": "false",
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
        "spark.driver.memory": "1g",
    }
    with spark_session(**settings) as session:
        yield session


class Lake:
    """A lake with tables of a format, in a folder whose name needs care."""

    def __init__(self, spark: Any, table_format: str, folder: Path) -> None:
        self.spark = spark
        self.table_format = table_format
        self.out = folder / "a lake[1]{ü}"
        self.source = folder / "node"
        self.log = node(self.source)
        self.opened: Any = None

    def tables(self, lake_id: str) -> Any:
        made = DeltaTables if self.table_format == "delta" else IcebergTables
        self.opened = made(self.spark, str(self.out), lake_id)
        return self.opened

    def export(self, *paths: Path, **options: Any) -> AppendReport:
        with Workers(1, lambda: None, lambda: None) as workers:
            asked = AppendOptions(
                **{"paths": tuple(map(str, paths or [self.source])), "out": str(self.out), "jobs": 1, "tables": TABLES, **options}
            )
            ways = TableCommits(self.spark, self.table_format, self.tables)
            return append_to_store(open_store(str(self.out)), asked, Processes(workers), ways, purpose="test")

    def read(self, table: str = "topic") -> Any:
        if self.table_format == "delta":
            return self.spark.read.format("delta").load(f"file:{self.out}/{table}")
        return self.spark.read.format("iceberg").load(f"file:{self.out}/{table}")

    def names(self) -> list[str]:
        return [row["name"] for row in sorted(self.read().select("offset", "name").collect())]

    def left_over(self) -> list[str]:
        own = self.out / "_metashell"
        return sorted(str(path.relative_to(own)) for path in own.rglob("*") if path.is_file())


@pytest.fixture(params=FORMATS)
def lake(spark: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake(spark, request.param, tmp_path)


def test_rows_are_those_of_parquet_and_what_is_there_is_not_added_again(lake: Lake) -> None:
    whole = topics(0, 20, step=DAY // 8)
    (lake.log / SEGMENT).write_bytes(whole[: len(whole) // 2])
    assert lake.export().rows == {"batches": 5, "topic": 10}
    assert lake.export().rows == {}
    (lake.log / SEGMENT).write_bytes(whole)
    assert lake.export().rows == {"batches": 5, "topic": 10}
    assert lake.left_over() == ["commits/00000001.json", "commits/00000002.json", "format.json"]
    assert read_state(open_store(str(lake.out))).rows == {"batches": 10, "topic": 20}

    plain = lake.out.parent / "plain"
    run(plain, lake.source, tables=TABLES)
    for table in TABLES:
        other = lake.spark.read.option("mergeSchema", True).parquet(f"file:{plain}/table={table}")
        assert {field.name: _kind(field) for field in lake.read(table).schema} == {field.name: _kind(field) for field in other.schema}
        found = [tuple(row) for row in lake.read(table).select(*other.columns).collect()]
        assert sorted(map(repr, found)) == sorted(repr(tuple(row)) for row in other.collect())
    comments = {field.name: field.metadata.get("comment") for field in lake.read().schema}
    assert comments["topic_id_text"] and comments["cluster_id"]
    for other_tool in (lambda: run(lake.out, lake.source), lambda: Lake(lake.spark, "parquet", lake.out.parent).export()):
        with pytest.raises(UsageError, match=f"this lake is {lake.table_format}, not parquet"):
            other_tool()


_STEPS = {("iceberg", "first"), ("iceberg", "second"), ("iceberg", "written"), ("iceberg", "committed"), ("delta", "second")}


@contextmanager
def dying(lake: Lake, monkeypatch: pytest.MonkeyPatch, step: str) -> Iterator[None]:
    """A run that ends there, as if it was killed: nothing that follows is done."""
    with monkeypatch.context() as patch:
        if step in ("first", "written", "second"):
            made = DeltaTables if lake.table_format == "delta" else IcebergTables
            real, count = made.write, 0

            def write(self: Any, *words: Any, **more: Any) -> None:
                nonlocal count
                count += 1
                if (count, step) in ((1, "first"), (2, "second")):
                    raise Died(step)
                real(self, *words, **more)
                if (count, step) == (2, "written"):
                    raise Died(step)

            patch.setattr(made, "write", write)
        else:
            patch.setattr("metashell.tables.lake.commit._tidy", lambda *words: (_ for _ in ()).throw(Died(step)))
        with pytest.raises(Died):
            yield


@pytest.mark.parametrize(
    ("lake", "step"),
    [(name, step) for name in FORMATS for step in ("first", "second", "written", "committed") if SOAKS or (name, step) in _STEPS],
    indirect=["lake"],
)
def test_a_commit_that_is_interrupted_is_completed_once(lake: Lake, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    (lake.log / SEGMENT).write_bytes(topics(0, 4))
    if step != "first":
        lake.export()
    (lake.log / SEGMENT).write_bytes(topics(0, 8))
    with dying(lake, monkeypatch, step):
        lake.export()
    (lake.log / SEGMENT).write_bytes(topics(0, 10))
    report = lake.export()
    assert report.recovered == "an interrupted export was completed"
    assert report.rows == {"batches": 1, "topic": 2}
    assert lake.names() == expected(0, 10)
    assert lake.read("batches").count() == 5
    assert [name for name in lake.left_over() if not name.startswith("commits/")] == ["format.json"]


def test_an_overwrite_leaves_its_own_rows_only(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    # As a session may be set: then Spark's tables of files keep the partitions that do not come.
    lake.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    (lake.log / SEGMENT).write_bytes(topics(0, 4))
    lake.export()
    other = node(lake.out.parent / "other", cluster="0123")
    (other / SEGMENT).write_bytes(topics(0, 6, name="n"))
    with dying(lake, monkeypatch, "second"):
        lake.export(other.parent, mode="overwrite", tables=("topic",))
    report = lake.export(other.parent, tables=None)
    assert (report.recovered, report.rows) == ("an interrupted export was completed", {})
    lake.export(other.parent, mode="overwrite", tables=("topic",))
    assert lake.export(other.parent, tables=None).rows == {}
    assert lake.names() == expected(0, 6, "n")
    assert {row["cluster_id"] for row in lake.read().collect()} == {"0123"}
    assert lake.read("batches").count() == 0
    assert read_state(open_store(str(lake.out))).rows == {"topic": 6}
    lake.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


@ICEBERG
def test_tables_that_are_not_as_the_lake_left_them_are_refused_before_anything_is_written(lake: Lake) -> None:
    (lake.log / SEGMENT).write_bytes(topics(0, 4))
    lake.export()
    kept = lake.out.parent / "kept"
    shutil.copytree(lake.out / "_metashell", kept)
    (lake.log / SEGMENT).write_bytes(topics(0, 8))
    lake.export()

    def refused(text: str) -> None:
        before = lake.left_over()
        (lake.log / SEGMENT).write_bytes(topics(0, 12))
        with pytest.raises(MetashellError, match=text):
            lake.export()
        assert lake.left_over() == before

    newer = lake.out.parent / "newer"
    shutil.move(lake.out / "_metashell", newer)
    shutil.copytree(kept, lake.out / "_metashell")
    refused("batches: has commit 2 of this lake, whose ledger ends at 1")
    shutil.rmtree(lake.out / "_metashell")
    with pytest.raises(UsageError, match="is there already, and no ledger says what it holds"):
        lake.export()
    shutil.copytree(newer, lake.out / "_metashell")
    shutil.move(lake.out / "topic", lake.out.parent / "away")
    refused("topic: is gone, and the lake counts 8 rows in it")
    stranger = Lake(lake.spark, lake.table_format, lake.out.parent / "stranger")
    (stranger.log / SEGMENT).write_bytes(topics(0, 4))
    stranger.export()
    shutil.copytree(stranger.out / "topic", lake.out / "topic")
    refused("topic: is there already, and this lake has not made it")


def put_back(lake: Lake, number: int) -> None:
    """Make the table `topic` what it was after a commit of the lake; 0: as it was before the first."""
    place = f"{lake.out}/topic"
    if lake.table_format == "delta":
        lake.spark.sql(f"restore table delta.`{place}` to version as of {number - 1}")
        return
    loaded = lake.opened._loaded("topic")
    (snapshot,) = [one.snapshotId() for one in map(loaded.snapshots().__getitem__, range(loaded.snapshots().size())) if said(one) == number]
    loaded.manageSnapshots().setCurrentSnapshot(snapshot).commit()


def said(snapshot: Any) -> int:
    return int(snapshot.summary().get("metashell.commit").rpartition(":")[2])


def test_a_table_that_was_put_back_between_exports_is_noticed(lake: Lake) -> None:
    for count in (4, 8):
        (lake.log / SEGMENT).write_bytes(topics(0, count))
        lake.export(tables=("topic",))
    put_back(lake, 1)
    assert lake.names() == expected(0, 4)
    told = (
        r"/topic: was put back to what it was after commit 1 of this lake, which wrote to it until 2: put it forward again, or write all "
        r"anew with --mode overwrite$"
    )
    before = lake.left_over()
    with pytest.raises(UsageError, match=told):  # also where nothing is new
        lake.export(tables=("topic",))
    assert lake.left_over() == before
    put_back(lake, 2)
    assert lake.export(tables=("topic",)).rows == {}
    put_back(lake, 1)
    lake.export(mode="overwrite", tables=("topic",))
    assert lake.export(tables=("topic",)).rows == {}
    assert lake.names() == expected(0, 8)


def test_a_table_of_delta_lake_that_was_put_back_to_a_time_is_noticed(spark: Any, tmp_path: Path) -> None:
    lake = Lake(spark, "delta", tmp_path)
    for count in (4, 8):
        (lake.log / SEGMENT).write_bytes(topics(0, count))
        lake.export(tables=("topic",))
    place = f"{lake.out}/topic"
    times = {row["version"]: row["timestamp"] for row in spark.sql(f"describe history delta.`{place}`").collect()}
    for version, told in ((0, "was put back to an earlier time, and has 4 rows, where the lake counts 8"), (1, "")):
        spark.sql(f"restore table delta.`{place}` to timestamp as of '{times[version]}'")
        assert lake.opened.lost("topic", lake.opened.look("topic"), 2, 8) == told


def test_what_others_do_to_a_table_is_no_loss(lake: Lake) -> None:
    for count in (4, 8):
        (lake.log / SEGMENT).write_bytes(topics(0, count))
        lake.export(tables=("topic",))
    frame = lake.read().limit(1)
    for is_old in (False, True):
        if lake.table_format == "delta":
            frame.write.format("delta").mode("append").save(f"file:{lake.out}/topic")
        else:
            frame.writeTo(lake.opened._name("topic")).append()
        assert lake.opened.lost("topic", lake.opened.look("topic"), 2, 8) == ""
        if not is_old:
            forget(lake)


def forget(lake: Lake) -> None:
    """Take away what tells the past of the table `topic`, as cleaning does after weeks."""
    if lake.table_format == "delta":
        log = lake.spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(lake.spark._jsparkSession, f"file:{lake.out}/topic")
        log.checkpoint()
        for version in (0, 1):
            (lake.out / "topic" / "_delta_log" / f"{version:020d}.json").unlink()
    else:
        lake.opened._loaded("topic").expireSnapshots().expireOlderThan(1 << 62).retainLast(1).commit()


@ICEBERG
def test_parts_that_cannot_be_read_are_no_commit_whatever_the_session_ignores(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    real = TableCommits.place

    def place(self: TableCommits, *words: Any) -> None:
        for part in (lake.out / "_metashell" / "work").rglob("*.part"):
            data = part.read_bytes()
            footer = int.from_bytes(data[-8:-4], "little") + 8
            part.write_bytes(data[:4] + bytes(len(data) - 4 - footer) + data[-footer:])
        real(self, *words)

    (lake.log / SEGMENT).write_bytes(topics(0, 4))
    lake.spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    with monkeypatch.context() as patch, pytest.raises(Exception, match="part"):
        patch.setattr(TableCommits, "place", place)
        lake.export()
    lake.spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    assert not [name for name in lake.left_over() if name.startswith("commits/")]


@ICEBERG
def test_a_log_that_was_cut_is_refused_with_replace_too(lake: Lake) -> None:
    (lake.log / SEGMENT).write_bytes(topics(0, 8))
    lake.export()
    (lake.log / SEGMENT).write_bytes(topics(0, 4) + topics(4, 6, epoch=2, name="u"))
    with pytest.raises(UsageError, match="offset"):
        lake.export()
    with pytest.raises(UsageError, match=r"rows of .* tables are not replaced: --mode overwrite writes all anew"):
        lake.export(replaces=True)
    assert lake.names() == expected(0, 8)


@ICEBERG
def test_parts_that_are_gone_are_said_where_a_table_has_the_commit_and_undone_where_none_has(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake.log / SEGMENT).write_bytes(topics(0, 4))

    def interrupted(step: str) -> None:
        with dying(lake, monkeypatch, step):
            lake.export()
        for part in (lake.out / "_metashell" / "work").rglob("*.part"):
            part.unlink()

    interrupted("first")
    report = lake.export()
    assert report.recovered == "an interrupted export was undone: not all of its files were there"
    assert lake.names() == expected(0, 4)
    (lake.log / SEGMENT).write_bytes(topics(0, 8))
    interrupted("second")
    for _ in range(2):
        with pytest.raises(MetashellError, match=r"\d.part: is gone, and table topic has not got its rows of commit 2 yet"):
            lake.export()


@ICEBERG
def test_another_java_that_may_still_write_is_waited_for(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    (lake.log / SEGMENT).write_bytes(topics(0, 4))
    monkeypatch.setattr("spark_reports.table_commits._WAIT_S", 0.1)
    with dying(lake, monkeypatch, "first"), monkeypatch.context() as patch:
        patch.setattr(TableCommits, "_java", as_another(TableCommits._java, os.getpid()))
        lake.export()
    with pytest.raises(MetashellError, match=rf"process {os.getpid()} on .* was interrupted, and its Java still runs: end it first"):
        lake.export()
    (pending,) = (lake.out / "_metashell" / "pending").iterdir()
    pending.write_text(pending.read_text().replace('"started":"', '"started":"1'))
    assert lake.export().recovered == "an interrupted export was completed"
    assert lake.names() == expected(0, 4)


def as_another(real: Callable[[Any], dict[str, Any]], process_id: int) -> Callable[[Any], dict[str, Any]]:
    return lambda self: {**real(self), "pid": process_id, "started": _started(process_id)}


def test_snapshots_that_were_rolled_back_during_an_interrupted_commit_are_said(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(spark, "iceberg", tmp_path)
    for count in (4, 8):
        (lake.log / SEGMENT).write_bytes(topics(0, count))
        lake.export()
    (lake.log / SEGMENT).write_bytes(topics(0, 12))
    with dying(lake, monkeypatch, "second"):
        lake.export()
    loaded = lake.opened._loaded("topic")
    loaded.manageSnapshots().rollbackTo(loaded.currentSnapshot().parentId()).commit()
    with pytest.raises(MetashellError, match="topic: an export to it was interrupted, and its snapshots were rolled back or expired since"):
        lake.export()


@ICEBERG
def test_columns_that_tables_lack_are_added_and_other_types_are_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older version of metashell knew nothing of a column."""
    from metashell.tables.lake import write_tasks

    real = write_tasks.with_day
    (lake.log / SEGMENT).write_bytes(topics(0, 4))
    with monkeypatch.context() as patch:
        patch.setattr(
            write_tasks, "with_day", lambda batch: real(batch.drop_columns(["topic_id_text"] if "name" in batch.schema.names else []))
        )
        lake.export()
    assert "topic_id_text" not in lake.read().columns
    (lake.log / SEGMENT).write_bytes(topics(0, 6))
    lake.export()
    found = [tuple(row) for row in lake.read().select("offset", "topic_id_text").collect()]
    assert [offset for offset, text in sorted(found) if text is None] == [0, 1, 2, 3] and len(found) == 6
    (lake.log / SEGMENT).write_bytes(topics(0, 8))
    with monkeypatch.context() as patch:
        kinds = cycle("abc")
        patch.setattr("spark_reports.table_commits._kind", lambda field: next(kinds))
        with pytest.raises(UsageError, match=r"batches: column \w+ is \w there, and \w in this version of metashell"):
            lake.export()


def test_tables_of_a_catalog(spark: Any, tmp_path: Path) -> None:
    class InCatalog(Lake):
        def tables(self, lake_id: str) -> Any:
            return IcebergTables(self.spark, str(self.out), lake_id, "prod.kafka")

    for key, value in {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": f"file:{tmp_path}/house"}.items():
        spark.conf.set(f"spark.sql.catalog.prod{key}", value)
    lake = InCatalog(spark, "iceberg", tmp_path)
    (lake.log / SEGMENT).write_bytes(topics(0, 4))
    lake.export()
    (lake.log / SEGMENT).write_bytes(topics(0, 6))
    lake.export()
    assert spark.table("prod.kafka.topic").count() == 6
    assert sorted(path.name for path in lake.out.iterdir()) == ["_metashell"]
    shutil.rmtree(lake.out)
    with pytest.raises(UsageError, match=r"prod\.kafka\.batches: is there already, and this lake has not made it"):
        lake.export()
    with pytest.raises(MetashellError, match="Spark has no catalog nope"):
        IcebergTables(spark, str(tmp_path), "id", "nope.kafka")
