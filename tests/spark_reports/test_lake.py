"""The export of Spark: a lake that both tools add to, written whole or not at all, and read by whoever reads Parquet."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from socket import gethostname
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metashell.common.errors import LogCorruptError, MetashellError, UsageError
from metashell.common.option_parser import parse_command
from metashell.tables.export.job import export
from metashell.tables.export.parquet import ParquetTable
from metashell.tables.export.plan import ExportOptions
from metashell.tables.lake.append import FILES, AppendOptions, job_of, plan_of
from metashell.tables.lake.layout import WORK, read_format, read_state
from metashell.tables.lake.ledger import LakeState
from metashell.tables.lake.plan import Task
from metashell.tables.read_options import SPARK_REPORTS
from metashell.tables.schemas import commented
from metashell.tables.splits import Piece, Split
from metashell.tables.stores import open_store
from metashell.tables.stores.local import LocalStore
from spark_reports import export_job
from spark_reports import main as command
from spark_reports.export_job import SparkTasks, WriteTask, require_fitting
from tests.spark_reports.lakes import Here, on_spark, one_by_one
from tests.tables.lake.dying import Died, Life, living
from tests.tables.lake.lakes import DAY, SEGMENT, expected, left_over, names, node, rows, run, segment, topics
from tests.tables.lake.test_crashes import everything

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
    assert everything(out) == everything(tmp_path / "once")
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
    assert everything(tmp_path / "lake") == everything(tmp_path / "once")


def test_tasks_fit_the_input() -> None:
    def task(size: int, count: int = 1) -> Task:
        return Task(Split((Piece(path="x", log=None, cluster_id="", start=0, end=size, size=size),) * count), (0,) * count)

    tasks = SparkTasks(None)
    mib = 1 << 20
    assert tasks.balanced([]) == []
    assert tasks.balanced([task(mib)] * 3) == [task(mib, 3)]
    assert len(tasks.balanced([task(8 * mib)] * 128)) == 64
    assert {each.split.bytes for each in tasks.balanced([task(8 * mib)] * 1024)} == {32 * mib}
    assert SparkTasks(None, is_balanced=False).balanced([task(mib)] * 3) == [task(mib)] * 3


def test_what_is_there_is_refused_unless_a_mode_is_given(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    out = tmp_path / "lake"
    assert on_spark(Here(), out, tmp_path / "node", mode="error").number == 1
    for place in (out, tmp_path / "plain", tmp_path / "other"):
        if place == tmp_path / "plain":
            export(ExportOptions(paths=(str(tmp_path / "node"),), out=str(place), jobs=1))
        elif place == tmp_path / "other":
            (place / "table=topic").mkdir(parents=True)
            (place / "table=topic" / "part-00000.parquet").write_bytes(b"of an older release")
        modes = ("error",) if place == out else ("error", "append", "overwrite")
        before = sorted(place.rglob("*"))
        for mode in modes:
            with pytest.raises(
                UsageError, match=rf"^{place}.*: (is a lake already: --mode append adds|has a plain export|is there already)"
            ):
                on_spark(Here(), place, tmp_path / "node", mode=mode)
        assert sorted(place.rglob("*")) == before


def test_an_overwrite_leaves_the_rows_and_the_form_of_its_own(spark: Any, tmp_path: Path) -> None:
    for name in ("old", "new"):
        (node(tmp_path / name, cluster=name) / SEGMENT).write_bytes(topics(0, 10, name=name))
    out = tmp_path / "lake"
    run(out, tmp_path / "old")
    lake_id = read_format(open_store(str(out))).id  # type: ignore[union-attr]
    report = on_spark(spark, out, tmp_path / "new", mode="overwrite", tables=("topic",), show_secrets=True)
    assert (report.rows, report.removed, report.number) == ({"topic": 10}, {"batches": 5, "topic": 10}, 2)
    assert names(out) == expected(0, 10, "new")
    assert [path.name for path in sorted(out.iterdir())] == ["_metashell", "table=topic"]
    made = read_format(open_store(str(out)))
    assert made is not None and (made.id, made.tables, made.show_secrets) == (lake_id, ("topic",), True)
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
    assert [path.name for path in out.iterdir()] == ["_metashell"]
    assert on_spark(Here(), out, tmp_path / "old", mode="overwrite").rows == {"batches": 3, "topic": 6}


def test_an_interrupt_ends_the_tasks_and_leaves_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    ended = []
    monkeypatch.setattr(export_job, "end_workers", lambda: ended.append(list(tmp_path.glob(f"lake/{WORK}/*/going"))))

    def interrupted(*_: Any) -> list[Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_spark(Here(interrupted), tmp_path / "lake", tmp_path / "node")
    # They are ended before their work is removed.
    assert [len(found) for found in ended] == [1]
    assert not (tmp_path / "lake").exists()


def test_a_driver_that_dies_at_any_step_of_an_overwrite_leaves_the_old_rows_or_the_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old", "new"):
        (node(tmp_path / name, cluster=name) / SEGMENT).write_bytes(topics(0, 4, name=name, step=DAY // 2))
    run(tmp_path / "base", tmp_path / "old")
    old = everything(tmp_path / "base")

    def overwrite(out: Path, life: Life) -> None:
        monkeypatch.setattr(export_job, "open_store", life.open)
        with living(life):
            on_spark(Here(), out, tmp_path / "new", mode="overwrite", tables=("topic",))

    shutil.copytree(tmp_path / "base", tmp_path / "whole")
    life = Life()
    overwrite(tmp_path / "whole", life)
    new = everything(tmp_path / "whole")
    assert list(new) == ["topic"]
    outcomes = []
    for last in range(len(life.steps)):
        out = tmp_path / f"died-{last}"
        shutil.copytree(tmp_path / "base", out)
        with pytest.raises(Died):
            overwrite(out, Life(last))
        with open_store(str(out)).lock("test") as held:
            FILES.recover(open_store(str(out)), held)
        found = everything(out)
        assert found in (old, new), life.steps[last]
        outcomes.append(found == new)
        assert left_over(out) == [], life.steps[last]
        # The form goes with the rows, so the next append says what does not fit.
        assert read_format(open_store(str(out))).tables == (("topic",) if found == new else None)  # type: ignore[union-attr]
    assert outcomes == sorted(outcomes) and len(set(outcomes)) == 2


def test_a_driver_that_dies_at_any_step_of_an_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(tmp_path / "base", tmp_path / "node", tables=("topic",))
    (log / SEGMENT).write_bytes(topics(0, 8))

    def add(out: Path, life: Life) -> None:
        monkeypatch.setattr(export_job, "open_store", life.open)
        with living(life):
            on_spark(Here(), out, tmp_path / "node", target_size=1 << 20)

    shutil.copytree(tmp_path / "base", tmp_path / "whole")
    life = Life()
    add(tmp_path / "whole", life)
    wanted = everything(tmp_path / "whole")
    assert [row["name"] for row in wanted["topic"]] == expected(0, 8)
    assert len(list((tmp_path / "whole").glob("table=topic/*/*/*"))) == 1
    for last in range(len(life.steps)):
        out = tmp_path / f"died-{last}"
        shutil.copytree(tmp_path / "base", out)
        with pytest.raises(Died):
            add(out, Life(last))
        # The other tool goes on.
        run(out, tmp_path / "node", target_size=1 << 20)
        assert everything(out) == wanted, life.steps[last]
        assert left_over(out) == [], life.steps[last]


def test_a_fault_ends_the_export_with_its_place_and_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    data = bytearray(topics(0, 20))
    data[len(data) // 2 + 70] ^= 1
    (log / SEGMENT).write_bytes(data)
    with pytest.raises(LogCorruptError, match=rf"{SEGMENT}: offset 10: .*CRC"):
        on_spark(spark, out, tmp_path / "node", split_bytes=500)
    assert not out.exists()
    for count in ({"batches": 9, "faults": 1, "topic": 18}, {}):
        assert on_spark(spark, out, tmp_path / "node", on_error="skip", split_bytes=500).rows == count
    assert left_over(out) == []


def test_a_task_that_is_done_twice_counts_once_and_one_that_is_late_does_nothing(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    options = AppendOptions(paths=(str(tmp_path / "node"),), out=str(tmp_path / "lake"))
    (task,) = plan_of(options, options.wanted(""), LakeState()).tasks
    made: list[Any] = []

    def twice(work: WriteTask, tasks: Sequence[tuple[int, Task]]) -> list[Any]:
        made.extend(work(tasks[0]) for _ in range(2))
        return [made[-1]]

    assert on_spark(Here(twice), tmp_path / "lake", tmp_path / "node").rows == {"batches": 3, "topic": 6}
    first, second = ({file.staged for file in result.written} for _, result in made)
    assert first and second and not first & second
    assert names(tmp_path / "lake") == expected(0, 6)
    assert left_over(tmp_path / "lake") == []
    # Its work was removed: nobody wants its rows.
    assert WriteTask(job_of(options, options.wanted(""), "gone"), f"{WORK}/gone/going")((0, task)) == (0, None)
    assert left_over(tmp_path / "lake") == []


def test_files_are_put_together_by_appends_and_where_it_is_asked_for(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 40))
    out = tmp_path / "lake"

    def merged(mode: str, **more: Any) -> tuple[int, int]:
        return on_spark(Here(), out, tmp_path / "node", mode=mode, tables=("topic",), split_bytes=250, **more).merged

    assert merged("error") == (0, 0)
    assert len(read_state(open_store(str(out))).files) > 8
    assert merged("overwrite") == (0, 0)
    count = len(read_state(open_store(str(out))).files)
    assert merged("append") == (count, 1)
    assert merged("overwrite", target_size=1 << 20) == (count, 1)
    assert names(out) == expected(0, 40)


def test_an_executor_with_a_folder_of_its_own_is_noticed_before_anything_counts(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))

    def elsewhere(work: WriteTask, tasks: Sequence[tuple[int, Task]]) -> list[Any]:
        found = one_by_one(work, tasks)
        for _, result in found:
            for file in result.written:
                (tmp_path / "lake" / file.staged).unlink()
        return found

    with pytest.raises(MetashellError, match=rf"^{tmp_path / 'lake'}.*\.part: is not there, .* lies on another machine"):
        on_spark(Here(elsewhere), tmp_path / "lake", tmp_path / "node")
    assert not [name for name in left_over(tmp_path / "lake") if not name.startswith(f"{WORK}/")]
    assert run(tmp_path / "lake", tmp_path / "node").rows == {"batches": 3, "topic": 6}


def test_a_late_task_that_writes_while_its_folder_is_removed_does_not_spoil_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    kept = LocalStore.remove_below

    def remove_below(store: LocalStore, folder: str) -> None:
        if folder != WORK:
            (tmp_path / "lake" / folder / "late.part").write_bytes(b"late")
            raise MetashellError(f"{store.shown_name(folder)}: Directory not empty")
        kept(store, folder)

    monkeypatch.setattr(LocalStore, "remove_below", remove_below)
    assert run(tmp_path / "lake", tmp_path / "node").number == 1
    (left,) = left_over(tmp_path / "lake")
    assert left.endswith("late.part")
    assert run(tmp_path / "lake", tmp_path / "node").rows == {}
    assert left_over(tmp_path / "lake") == []
    assert names(tmp_path / "lake") == expected(0, 6)


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
    (task,) = plan_of(options, options.wanted(""), LakeState()).tasks
    (_, first), (_, second) = runner.write([task], job)
    assert str(first.error) == f"{log}: was changed while it was read, so nothing is added: try it again (on {gethostname()})"
    assert str(second.error) == f"{log}: No such file or directory (on {gethostname()})"


def test_a_task_that_cannot_go_on_is_one_line_and_what_was_committed_stays(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    for end in (2, 4):
        (log / SEGMENT).write_bytes(topics(0, end))
        run(out, tmp_path / "node", tables=("topic",))
    gone = sorted(out.glob("table=topic/*/*/*.parquet"))[0]
    kept = gone.rename(tmp_path / "kept")
    (log / SEGMENT).write_bytes(topics(0, 6))
    with pytest.raises(MetashellError, match=rf"^{gone}: cannot be read: .*; what is new was added as commit 3 before, small files stay"):
        on_spark(Here(), out, tmp_path / "node", target_size=1 << 20)
    kept.rename(gone)
    assert run(out, tmp_path / "node", target_size=1 << 20).merged == (3, 1)
    assert names(out) == expected(0, 6)
    assert left_over(out) == []


HOSTILE = ("été 東京", "a=b%2Fc", "0012", "x:y?*[z]", "{q}^'", "%%HIVE%", "a b.")


def test_spark_duckdb_and_pyarrow_read_the_same_rows_of_a_lake(spark: Any, tmp_path: Path) -> None:
    out = tmp_path / "lake"
    for number, cluster in enumerate(HOSTILE):
        (node(tmp_path / "in" / str(number), number, cluster) / SEGMENT).write_bytes(topics(0, 4, step=DAY, time=-1 if number == 6 else 1))
    run(out, tmp_path / "in", tables=("topic",))
    # Files of an older release, of which some columns did not exist yet.
    for file in sorted(out.glob("table=topic/*/*/*.parquet"))[::2]:
        older = pq.ParquetFile(file).read().drop_columns(["topic_id_text", "epoch"])
        with closing(ParquetTable(str(file), commented("topic", older.schema))) as writer:
            writer.write(older.to_batches())
    state = out / "_metashell" / "commits" / "00000001.json"
    said = json.loads(state.read_text())
    said["added"] = [[name, count, (out / name).stat().st_size, sources] for name, count, _, sources in said["added"]]
    state.write_text(json.dumps(said))
    for number in range(2):
        with (tmp_path / "in" / str(number) / "__cluster_metadata-0" / SEGMENT).open("ab") as grown:
            grown.write(topics(4, 2, time=1))
    on_spark(spark, out, tmp_path / "in", target_size=1 << 20)
    columns = pq.read_schema(max(out.glob("table=topic/*/*/*"), key=lambda path: path.name))
    schema = pa.schema([*columns, ("cluster_id", pa.string()), ("date", pa.string())])
    wanted = [
        (row["cluster_id"], row["date"], row["offset"], row["name"], row["epoch"], row["topic_id"].bytes, row["topic_id_text"])
        for row in rows(out, schema=schema)
    ]
    assert len(wanted) == 4 * len(HOSTILE) + 4
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    try:
        frame = spark.read.option("mergeSchema", True).parquet(str(out / "table=topic"))
        chosen = frame.select("cluster_id", "date", "offset", "name", "epoch", "topic_id", "topic_id_text").toArrow()
    finally:
        spark.conf.unset("spark.sql.sources.partitionColumnTypeInference.enabled")
    found = [tuple(row.values()) for row in chosen.to_pylist()]
    key = repr
    assert sorted(found, key=key) == sorted(wanted, key=key)
    answer = duckdb.sql(
        f"""select cluster_id, date, "offset", name, epoch, topic_id, topic_id_text from read_parquet('{out}/table=topic/**/*.parquet',
        hive_partitioning=true, union_by_name=true, hive_types_autocast=false)"""
    ).fetchall()
    assert sorted([(*row[:5], row[5].bytes, row[6]) for row in answer], key=key) == sorted(wanted, key=key)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("timeline", "in", "--out", "out", "--mode", "append"), "--mode goes with the job export"),
        (("stream", "in", "--out", "out", "--dry-run"), "--dry-run goes with the job export"),
        (("export", "in", "--out", "out", "--once"), "--once goes with the job stream"),
        (("timeline", "in", "--out", "out", "--once"), "--once goes with the job stream"),
        (("timeline", "in", "--out", "out", "--table", "topic"), "--table goes with the jobs export and stream"),
        (("all", "in", "--out", "out", "--old-columns"), "--old-columns goes with the jobs export and stream"),
        (("stream", "in", "--out", "out", "--format", "csv"), "--format csv: a stream writes Parquet"),
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
    words = ["export", str(tmp_path / "node"), "--out", str(out), "--mode"]
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
    assert command.main([*words, "append", "--target-file-size", "2G"]) == 2
    assert "--target-file-size: at most 1G" in capsys.readouterr().err
    assert names(out) == expected(0, 6)


def test_what_the_command_prints(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:

    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 6))
    words = ["export", str(tmp_path / "n[o]de"), "--out", str(out), "--table", "topic"]
    table = "topic                                               6\n"
    for more, printed in (
        ([], table),
        (["--mode", "append"], "nothing new: the lake has all of 1 file already\n"),
        (["--mode", "overwrite"], f"{table}added as commit 2\nremoved 6 rows that were there\n"),
    ):
        assert command.main([*words, *more]) == 0
        assert capsys.readouterr() == (printed, "")
