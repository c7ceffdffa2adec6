"""A lake that Spark writes is the one that `metashell export --append` writes: by the same plan, tasks and commits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest

from metashell.common.errors import LogCorruptError, MetashellError, UsageError
from metashell.common.option_parser import parse_command
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from metashell.tables.lake.append import AppendOptions, job_of, plan_of
from metashell.tables.lake.appends import read_state
from metashell.tables.lake.log_state import LogKey
from metashell.tables.lake.plan import Task
from metashell.tables.read_options import SPARK_REPORTS
from metashell.tables.splits import Piece, Split
from metashell.tables.stores import open_store
from spark_reports import main as command
from spark_reports.export_job import SparkTasks, WriteTask, require_fitting
from tests.spark_reports.lakes import Here, on_spark, one_by_one
from tests.tables.lake.lakes import DAY, SEGMENT, expected, left_over, names, node, rows, run, segment, topics

# pyspark itself warns: of sockets that it closes late, and of what it will call otherwise.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_both_tools_in_turn_add_to_one_lake(spark: Any, tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    whole = topics(0, 40, step=DAY // 15)
    for end in (1, 2, 3, 4):
        (log / SEGMENT).write_bytes(whole[: len(whole) * end // 4])
        first, second = (on_spark, run) if end % 2 else (run, on_spark)
        words = [(spark, out), (out,)] if end % 2 else [(out,), (spark, out)]
        assert first(*words[0], tmp_path / "node").rows == {"batches": 5, "topic": 10}
        assert second(*words[1], tmp_path / "node").rows == {}
    assert read_state(open_store(str(out))).number == 4
    run(tmp_path / "once", tmp_path / "node")
    for table in ("batches", "topic"):
        assert rows(out, table) == rows(tmp_path / "once", table)
    assert left_over(out) == []
    with pytest.raises(UsageError, match="this lake hides secrets"):
        on_spark(spark, out, tmp_path / "node", show_secrets=True)


def test_many_tasks_write_what_one_does(spark: Any, tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 60, step=DAY // 20))
    (log / segment(60)).write_bytes(topics(60, 20))
    report = on_spark(spark, tmp_path / "lake", tmp_path / "node", split_bytes=1000)
    assert report.rows == {"batches": 40, "topic": 80}
    assert len(report.plan.tasks) > 4
    run(tmp_path / "once", tmp_path / "node")
    for table in ("batches", "topic"):
        assert rows(tmp_path / "lake", table) == rows(tmp_path / "once", table)


def test_tasks_fit_the_input() -> None:
    def task(size: int, count: int = 1) -> Task:
        pieces = (Piece(path="x", log=None, cluster_id="", start=0, end=size, size=size),) * count
        return Task(Split(pieces), (LogKey("", "", "x"),) * count)

    tasks = SparkTasks(None)
    mib = 1 << 20
    assert tasks.balanced([]) == []
    assert tasks.balanced([task(mib)] * 3) == [task(mib, 3)]
    assert len(tasks.balanced([task(8 * mib)] * 128)) == 64
    assert {each.split.bytes for each in tasks.balanced([task(8 * mib)] * 1024)} == {32 * mib}
    assert SparkTasks(None, is_balanced=False).balanced([task(mib)] * 3) == [task(mib)] * 3


def test_what_is_there_is_refused_unless_a_mode_is_given(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    out, plain = tmp_path / "lake", tmp_path / "plain"
    assert on_spark(Here(), out, tmp_path / "node", mode="error").number == 1
    export(ExportOptions(paths=(str(tmp_path / "node"),), out=str(plain), jobs=1))
    for place, modes in ((out, ("error",)), (plain, ("error", "append", "overwrite"))):
        before = sorted(place.rglob("*"))
        for mode in modes:
            with pytest.raises(UsageError, match=rf"^{place}.*: (is a lake already: --mode append adds|has a plain export)"):
                on_spark(Here(), place, tmp_path / "node", mode=mode)
        assert sorted(place.rglob("*")) == before


def test_an_overwrite_leaves_the_rows_and_the_form_of_its_own(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (node(tmp_path / name, cluster=name) / SEGMENT).write_bytes(topics(0, 10, name=name))
    out, spark = tmp_path / "lake", Here()
    run(out, tmp_path / "old")
    before = read_state(open_store(str(out))).form
    report = on_spark(spark, out, tmp_path / "new", mode="overwrite", tables=("topic",), show_secrets=True)
    assert (report.rows, report.removed, report.number) == ({"topic": 10}, {"batches": 5, "topic": 10}, 2)
    assert names(out) == expected(0, 10, "new") and rows(out, "batches") == []
    made = read_state(open_store(str(out))).form
    assert before is not None and made is not None
    assert (made.id, made.tables, made.show_secrets) == (before.id, ("topic",), True)
    # The same again, and what both tools make of it.
    assert on_spark(spark, out, tmp_path / "new", mode="overwrite", tables=("topic",), show_secrets=True).rows == {"topic": 10}
    assert run(out, tmp_path / "new", show_secrets=True).rows == {}
    assert on_spark(spark, out, tmp_path / "old", show_secrets=True).rows == {"topic": 10}
    assert [row["name"] for row in rows(out)] == expected(0, 10, "new") + expected(0, 10, "old")


def test_an_overwrite_that_fails_changes_nothing_and_one_without_rows_leaves_none(tmp_path: Path) -> None:
    for name, data in (("old", topics(0, 6)), ("bad", topics(0, 6)[:-1] + b"x")):
        (node(tmp_path / name) / SEGMENT).write_bytes(data)
    out = tmp_path / "lake"
    run(out, tmp_path / "old")
    with pytest.raises(LogCorruptError, match="CRC"):
        on_spark(Here(), out, tmp_path / "bad", mode="overwrite")
    assert names(out) == expected(0, 6)
    assert left_over(out) == []
    report = on_spark(Here(), out, tmp_path / "old", mode="overwrite", tables=("config",))
    assert (report.rows, report.removed, report.number) == ({}, {"batches": 3, "topic": 6}, 2)
    assert rows(out) == rows(out, "batches") == []


def test_a_fault_ends_the_export_with_its_place_and_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    data = bytearray(topics(0, 20))
    data[len(data) // 2 + 70] ^= 1
    (log / SEGMENT).write_bytes(data)
    with pytest.raises(LogCorruptError, match=rf"{SEGMENT}: offset 10: .*CRC"):
        on_spark(spark, out, tmp_path / "node", split_bytes=500)
    assert [path for path in out.rglob("*") if path.is_file()] == []
    for count in ({"batches": 9, "faults": 1, "topic": 18}, {}):
        assert on_spark(spark, out, tmp_path / "node", on_error="skip", split_bytes=500).rows == count
    assert left_over(out) == []


def test_a_task_that_is_done_twice_counts_once_and_one_that_is_late_does_nothing(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    options = AppendOptions(paths=(str(tmp_path / "node"),), out=str(tmp_path / "lake"))
    (task,) = plan_of(options, options.wanted(""), {}).tasks
    made: list[Any] = []

    def twice(work: WriteTask, tasks: Sequence[tuple[int, Task]]) -> list[Any]:
        made.extend(work(tasks[0]) for _ in range(2))
        return [made[-1]]

    assert on_spark(Here(twice), tmp_path / "lake", tmp_path / "node").rows == {"batches": 3, "topic": 6}
    first, second = ({file.name for file in result.files} for _, result in made)
    assert first and second and not first & second
    assert names(tmp_path / "lake") == expected(0, 6)
    # No table names what the first one wrote.
    assert set(left_over(tmp_path / "lake")) == first
    # Its driver has ended: nobody wants its rows.
    assert WriteTask(job_of(options, options.wanted(""), "gone"), "appends/going-gone")((0, task)) == (0, None)


def test_an_executor_with_a_folder_of_its_own_is_noticed_before_anything_counts(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))

    def elsewhere(work: WriteTask, tasks: Sequence[tuple[int, Task]]) -> list[Any]:
        found = one_by_one(work, tasks)
        for _, result in found:
            for file in result.files:
                (tmp_path / "lake" / file.name).unlink()
        return found

    with pytest.raises(MetashellError, match=rf"^{tmp_path / 'lake'}.*\.parquet: is not there, .* lies on another machine"):
        on_spark(Here(elsewhere), tmp_path / "lake", tmp_path / "node")
    assert left_over(tmp_path / "lake") == []
    assert run(tmp_path / "lake", tmp_path / "node").rows == {"batches": 3, "topic": 6}


def test_an_executor_with_files_of_its_own_is_noticed(tmp_path: Path) -> None:
    log = node(tmp_path / "node") / SEGMENT
    log.write_bytes(topics(0, 6))
    options = AppendOptions(paths=(str(tmp_path / "node"),), out=str(tmp_path / "lake"))

    def on_another_machine(work: WriteTask, tasks: Sequence[Any]) -> list[Any]:
        log.write_bytes(topics(0, 6, name="u"))
        found = [work(tasks[0])]
        log.unlink()
        open_store(options.out).put(work.going, b"")
        return [*found, work(tasks[0])]

    runner = SparkTasks(Here(on_another_machine, "spark://far:7077"))
    job = job_of(options, options.wanted(""), "x")
    (task,) = plan_of(options, options.wanted(""), {}).tasks
    (_, first), (_, second) = runner.write([task], job)
    assert str(first.error) == f"{log}: was changed while it was read, so nothing is added: try it again (on {gethostname()})"
    assert str(second.error) == f"{log}: No such file or directory (on {gethostname()})"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("timeline", "in", "--out", "out", "--mode", "append"), "--mode goes with the job export"),
        (("stream", "in", "--out", "out", "--dry-run"), "--dry-run goes with the job export"),
        (("export", "in", "--out", "out", "--once"), "--once goes with the job stream"),
        (("timeline", "in", "--out", "out", "--once"), "--once goes with the job stream"),
        (("timeline", "in", "--out", "out", "--table", "topic"), "--table goes with the jobs export and stream"),
        (("stream", "in", "--out", "out", "--format", "csv"), "--format csv: a stream writes tables of delta"),
        (("export", "in", "--out", "out", "--format", "csv"), "--format csv: an export writes parquet or delta"),
        (("export", "in", "--out", "out", "--format", "iceberg"), "'iceberg' is not one of parquet, csv, csv-raw, json, html, delta"),
        (
            ("export", "in", "--out", "out", "--format", "parquet", "--mode", "append"),
            "--format parquet: what appends makes tables of delta",
        ),
        (("export", "in", "--out", "out", "--replace"), "--replace goes with --mode append"),
        (("export", "in", "--out", "out", "--mode", "overwrite", "--replace"), "--replace goes with --mode append"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        require_fitting(parse_command(SPARK_REPORTS, list(words)))


def test_a_lake_that_does_not_fit_is_refused_and_a_plan_is_made_before_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("Spark is not needed")

    monkeypatch.setattr("spark_reports.main.open_session", never)
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 6))
    words = ["export", str(tmp_path / "node"), "--out", str(out), "--format", "delta", "--mode"]
    assert command.main([*words, "append", "--dry-run"]) == 0
    assert not out.exists()
    assert "nothing      0 to 5" in capsys.readouterr().out
    run(out, tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 8))
    for mode, said in (
        ("append", "0 to 5       6 to 7"),
        ("overwrite", "0 to 5       0 to 7"),
        ("overwrite", ", 9 rows to remove; nothing was written"),
    ):
        assert command.main([*words, mode, "--dry-run"]) == 0
        assert said in capsys.readouterr().out
    for mode, said in (("error", "is a lake already"), ("append", "hides secrets")):
        assert command.main([*words, mode, "--show-secrets"]) == 2
        assert said in capsys.readouterr().err
    assert names(out) == expected(0, 6)


def test_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Session:
        sparkContext = Here()  # noqa: N815 - Spark's name

        def stop(self) -> None: ...

    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: Session())
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 6))
    words = ["export", str(tmp_path / "n[o]de"), "--out", str(out), "--table", "topic", "--format", "delta"]
    table = "topic                                               6\n"
    for more, printed in (
        ([], table),
        (["--mode", "append"], "nothing new: the lake has all of 1 file already\n"),
        (["--mode", "overwrite"], f"{table}added as append 2\nremoved 6 rows that were there\n"),
    ):
        assert command.main([*words, *more]) == 0
        assert capsys.readouterr() == (printed, "")


def test_spark_reads_what_it_wrote(spark: Any, tmp_path: Path) -> None:
    """Without the jars of Delta, by the files that the table's log names."""
    from metashell.tables.lake.delta import active_files, open_table

    out = tmp_path / "lake"
    for number in range(3):
        (node(tmp_path / "in" / str(number), number, f"c{number}") / SEGMENT).write_bytes(topics(0, 4, step=DAY))
    on_spark(spark, out, tmp_path / "in", tables=("topic",))
    table = open_table(open_store(str(out)), "topic")
    assert table is not None
    found = spark.read.parquet(*(str(out / file.name) for file in active_files(table, "topic")))
    read = {json.dumps([row.cluster_id, row.node_id, row.log, row.offset, row.name, row.topic_id.hex()]) for row in found.collect()}
    wanted = [[f"c{at}", at, "__cluster_metadata-0", offset, f"t{offset}", f"{offset:032x}"] for at in range(3) for offset in range(4)]
    assert read == set(map(json.dumps, wanted))
