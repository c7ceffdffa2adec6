"""The data source and the jobs on a real Spark, compared with `metashell.tables` and DuckDB on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from metashell.tables import ReadOptions, plan_splits, read_split, tables
from metashell.tables.columns.typed_tables import spark_batch, spark_schema, typed_schema
from metashell.tables.reports import REPORTS
from metashell.tables.reports.local import run_local
from metashell.tables.state.clusters import read_state
from metashell.tables.state.tables import spark_state_schema, state_table
from tests.golden_cases import SUBSET_ROOT
from tests.groups.golden import read_rows
from tests.groups.log.written_logs import golden_batches, write_log
from tests.tables.reports.logs import ABORTED, SEGMENT, node, topic, value, write_checkpoint, write_segment

# pyspark itself warns: of sockets that it closes late, and of what it will call otherwise.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
GOLDEN = Path(__file__).parents[1] / "golden"
STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
LOG = STOPPED / "node-2/d1/__cluster_metadata-0/00000000000000000000.log"


def here(path: Path, table: str) -> pa.Table:
    """A table as `metashell.tables` reads it in this process."""
    batches = [batch for split in plan_splits(str(path)) for name, batch in read_split(split, ReadOptions(tables={table})) if name == table]
    return pa.Table.from_batches(batches, schema=tables()[table])


def on_spark(path: Path, table: str) -> pa.Table:
    """The same with the types that Spark gets."""
    options = ReadOptions(tables={table}, columns="typed")
    batches = [spark_batch(batch) for split in plan_splits(str(path)) for name, batch in read_split(split, options) if name == table]
    return pa.Table.from_batches(batches, schema=spark_schema(table))


def lake_offsets(out: Path, table: str) -> list[int]:
    """The offsets of the rows of a Delta table."""
    found: list[int] = DeltaTable(str(out / table)).to_pyarrow_table(columns=["offset"]).column("offset").to_pylist()
    return found


def in_order(table: pa.Table) -> list[str]:
    return sorted(str(row) for row in table.to_pylist())


@pytest.mark.parametrize("table", ["partition", "batches", "config", "register_broker"])
def test_a_load_gives_the_rows_of_columns_under_the_same_names(spark: Any, table: str) -> None:
    frame = spark.read.format("kafka_metadata").option("table", table).load(str(LOG))
    assert frame.columns == typed_schema(table).names
    assert in_order(frame.toArrow()) == in_order(on_spark(LOG, table))
    old = spark.read.format("kafka_metadata").option("table", table).option("oldColumns", "true").load(str(LOG))
    assert old.columns == tables()[table].names
    assert in_order(old.toArrow()) == in_order(here(LOG, table))


def test_one_file_is_cut_into_many_tasks_and_no_record_is_lost_or_doubled(spark: Any) -> None:
    frame = spark.read.format("kafka_metadata").option("table", "batches").option("splitBytes", "2000").load(str(LOG))
    assert frame.rdd.getNumPartitions() > 3
    assert in_order(frame.toArrow()) == in_order(on_spark(LOG, "batches"))


def test_many_small_files_share_few_tasks(spark: Any, tmp_path: Path) -> None:
    for number in range(200):
        folder = tmp_path / f"node-{number}" / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        shutil.copy(LOG, folder / LOG.name)
    frame = spark.read.format("kafka_metadata").option("table", "topic").option("columns", "name").load(str(tmp_path))
    assert frame.rdd.getNumPartitions() < 20
    assert frame.count() == 200 * here(LOG, "topic").num_rows


@pytest.mark.parametrize("table", ["partitions", "brokers", "voters"])
def test_the_state_has_each_thing_once_on_spark_as_on_duckdb(spark: Any, table: str) -> None:
    frame = spark.read.format("kafka_metadata").option("table", table).option("oldColumns", "true").load(str(STOPPED))
    here = state_table(table, read_state([str(STOPPED)]), columns="raw")
    assert frame.columns == here.column_names
    assert in_order(frame.toArrow()) == in_order(here)
    some = spark.read.format("kafka_metadata").option("table", table).schema(f"{frame.columns[0]} string").load(str(STOPPED))
    assert (some.columns, some.count()) == (frame.columns[:1], here.num_rows)
    assert spark.read.format("kafka_metadata").option("table", table).load(str(STOPPED)).columns == spark_state_schema(table).names


def test_only_the_columns_that_are_asked_for_come(spark: Any) -> None:
    frame = spark.read.format("kafka_metadata").option("table", "topic").option("columns", "name, offset").load(str(LOG))
    assert frame.columns == ["name", "offset"]
    assert frame.toArrow().column("name").to_pylist() == here(LOG, "topic").column("name").to_pylist()


def test_every_report_answers_on_spark_what_it_answers_on_duckdb(spark: Any) -> None:
    from spark_reports.report_job import run_on_spark

    reports = list(REPORTS.values())
    paths = [str(STOPPED), str(SUBSET_ROOT / "3.9.2/main/data/stopped")]
    expected = run_local(reports, paths).tables
    answered = {report.name: answer for report, answer in run_on_spark(spark, reports, paths)}
    assert list(answered) == list(REPORTS)
    for name, answer in answered.items():
        assert answer.num_rows, name
        assert answer.equals(expected[name]), name


def test_what_has_not_happened_is_in_no_answer_of_spark_either(spark: Any, tmp_path: Path) -> None:
    """Aborted metadata, transactions without an end, the log of a leader that was cut off, a checkpoint that lacks a topic, commits."""
    from spark_reports.report_job import run_on_spark

    write_segment(node(tmp_path, 1), [*topic("t", 1, 1, 2), *ABORTED, *topic("gone", 2, 1)])
    for name in ("open", "gap"):
        folder = node(tmp_path / name)
        (folder.parent / "meta.properties").write_text(f"version=1\ncluster.id={name}\nnode.id=1\n")
        write_segment(folder, [*topic(f"{name}-before", 3, 1), value("BeginTransaction"), *topic(f"{name}-within", 4, 1)])
    behind = tmp_path / "gap" / "node-2" / folder.name
    shutil.copytree(folder.parent, behind.parent)
    (behind / SEGMENT).unlink()
    write_checkpoint(behind, 60, topic("gap-before", 3, 1))
    write_segment(behind, topic("gap-later", 5, 1), first=60)
    write_checkpoint(node(tmp_path, 2), 100, topic("t", 1, 1, 2))
    golden = read_rows(GOLDEN / "groups" / "classic" / "offsets.jsonl.gz")
    write_log(tmp_path / "groups", [batch for scenario in golden for batch in golden_batches(scenario)[:9]])
    paths = [str(tmp_path), str(GOLDEN / "cut-off-leader")]
    reports = [REPORTS[name] for name in ("topic_history", "replica_skew", "group_commits")]
    expected = run_local(reports, paths).tables
    for report, answered in run_on_spark(spark, reports, paths):
        assert answered.num_rows
        assert answered.equals(expected[report.name]), report.name
    names = {row["name"] for row in expected["topic_history"].to_pylist()}
    assert {"open-before", "gap-within", "gap-later"} <= names
    assert "open-within" not in names


def test_a_stream_takes_what_was_appended_into_several_tables_and_resumes(spark: Any, tmp_path: Path) -> None:
    from spark_reports.session import error_from
    from spark_reports.stream_job import start_stream

    data = LOG.read_bytes()
    ends = [row["position"] + row["size"] for row in here(LOG, "batches").to_pylist()]
    folder = tmp_path / "in" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    grown, out = folder / LOG.name, tmp_path / "out"
    grown.write_bytes(data[: ends[9] + 11])

    def offsets(table: str) -> list[int]:
        return sorted(lake_offsets(out, table))

    def run() -> None:
        query = start_stream(spark, [str(tmp_path / "in")], str(out), ["batches", "topic"], interval="0 seconds")
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    run()
    assert len(offsets("batches")) == 10
    first = [str(path) for path in out.rglob("*.parquet")]
    # A micro-batch that was broken off before its commit: no reader sees what it wrote.
    shutil.copy(first[0], f"{first[0]}.parquet")
    grown.write_bytes(data)
    run()
    for table in ("batches", "topic"):
        assert offsets(table) == sorted(here(grown, table).column("offset").to_pylist())
    # Spark was killed before it knew that the last micro-batch was done: its commits are in the tables already.
    (last, *_) = sorted((out / "_progress" / "commits").glob("[0-9]*"), key=lambda path: -int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    run()
    for table in ("batches", "topic"):
        assert offsets(table) == sorted(here(grown, table).column("offset").to_pylist())
    damaged = bytearray(data)
    damaged[200] ^= 1
    (tmp_path / "in" / "1" / "__cluster_metadata-0").mkdir(parents=True)
    (tmp_path / "in" / "1" / "__cluster_metadata-0" / LOG.name).write_bytes(damaged)
    with pytest.raises(Exception, match="CRC") as caught:
        run()
    message = str(error_from(caught.value))
    assert f"in/1/__cluster_metadata-0/{LOG.name}: offset 3" in message
    assert "\n" not in message


def test_a_stream_says_that_damage_stops_it_and_keeps_what_it_has(spark: Any, tmp_path: Path) -> None:
    from spark_reports.stream_job import start_stream

    data = bytearray(LOG.read_bytes())
    ends = [row["position"] + row["size"] for row in here(LOG, "batches").to_pylist()]
    data[ends[9] + 8 : ends[9] + 12] = (5).to_bytes(4, "big")
    folder = tmp_path / "in" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder / LOG.name).write_bytes(data)
    said: list[str] = []
    query = start_stream(spark, [str(tmp_path / "in")], str(tmp_path / "out"), ["batches"], interval="0 seconds", say=said.append)
    try:
        query.processAllAvailable()
        (folder / LOG.name).write_bytes(data + data[: ends[0]])
        query.processAllAvailable()
    finally:
        query.stop()
    (note,) = said
    assert note.startswith(f"{folder / LOG.name}: byte {ends[9]}: batch length 5 is below 14, ")
    assert note.endswith(": nothing from here on is read before the segment is rolled")
    assert len(lake_offsets(tmp_path / "out", "batches")) == 10


@pytest.mark.parametrize(
    ("has_length", "more", "said"),
    [
        (False, (), "nothing from here on is read before the segment is rolled"),
        (True, ("--on-error", "skip"), "spark-reports: micro-batch 0: left out: 1 corrupt or unknown place"),
    ],
)
def test_a_stream_of_once_that_left_something_out_ends_with_a_status(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    has_length: bool,
    more: tuple[str, ...],
    said: str,
) -> None:
    from spark_reports import main as command

    data = bytearray(LOG.read_bytes())
    row = here(LOG, "batches").to_pylist()[3]
    if has_length:
        data[row["position"] + row["size"] - 1] ^= 1
    else:
        data[row["position"] + 8 : row["position"] + 12] = bytes(4)
    folder = tmp_path / "in" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder / LOG.name).write_bytes(data)
    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    words = ["stream", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--once", "--table", "batches", *more]
    assert command.main(words) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2].endswith(said) and lines[-1] == "spark-reports: left out: 1 corrupt or unknown place"


def test_an_unknown_table_is_told_in_one_line_with_the_known_ones(spark: Any) -> None:
    from spark_reports.session import error_from

    with pytest.raises(Exception, match="unknown table unheard_of") as caught:
        spark.read.format("kafka_metadata").option("table", "unheard_of").load(str(LOG))
    message = str(error_from(caught.value))
    assert message.startswith("unknown table unheard_of; there are ")
    assert "\n" not in message


def test_a_corrupt_file_is_told_in_one_line_with_its_place(spark: Any, tmp_path: Path) -> None:
    from spark_reports.session import error_from

    data = bytearray(LOG.read_bytes())
    data[200] ^= 1
    (tmp_path / LOG.name).write_bytes(data)
    frame = spark.read.format("kafka_metadata").option("table", "topic").load(str(tmp_path / LOG.name))
    with pytest.raises(Exception, match="CRC") as caught:
        frame.count()
    message = str(error_from(caught.value))
    assert f"{LOG.name}: offset 3" in message
    assert "\n" not in message
    from spark_reports.report_job import run_on_spark

    with pytest.raises(Exception, match="CRC") as caught:
        list(run_on_spark(spark, [REPORTS["topic_history"]], [str(tmp_path / LOG.name)]))
    assert str(error_from(caught.value)) == message
    skipped = spark.read.format("kafka_metadata").option("table", "faults").option("onError", "skip").load(str(tmp_path / LOG.name))
    assert [row["offset"] for row in skipped.collect()] == [3]


def test_pages_and_status_tell_how_much_was_skipped(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from spark_reports import main as command

    data = bytearray(LOG.read_bytes())
    data[200] ^= 1
    (tmp_path / LOG.name).write_bytes(data)
    words = ["broker_sessions", str(tmp_path / LOG.name), "--out", str(tmp_path / "out"), "--format", "html", "--on-error", "skip"]
    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    assert command.main(words) == 1
    assert capsys.readouterr().err == "spark-reports: left out: 1 corrupt or unknown place\n"
    assert "Left out: 1 corrupt or unknown place." in (tmp_path / "out" / "broker_sessions.html").read_text()
    assert run_local([REPORTS["broker_sessions"]], [str(tmp_path / LOG.name)], on_error="skip").fault_count == 1
