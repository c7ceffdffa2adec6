"""The plain export of Spark: a folder for each table, written whole or not at all, and read by whoever reads Parquet."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from metashell.common.errors import LogCorruptError, MetashellError, UsageError
from metashell.demo import demo_directory
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions, ExportReport
from metashell.tables.stores import Store, open_store
from spark_reports import main as command
from spark_reports import plain_export, session
from spark_reports.plain_export import SUCCESS, WORK, ExportTask, export_plain
from tests.spark_reports.lakes import Here, one_by_one
from tests.tables.lake.lakes import SEGMENT, expected, node, segment, topics

# pyspark itself warns: of sockets that it closes late, and of what it will call otherwise.
pytestmark = pytest.mark.filterwarnings("ignore")


def plain(spark: Any, out: Path | str, *paths: Path, overwrites: bool = False, split_bytes: int = 0, **options: Any) -> ExportReport:
    asked = ExportOptions(**{"paths": tuple(map(str, paths)), "out": str(out), **options})
    return export_plain(spark, asked, overwrites=overwrites, split_bytes=split_bytes)


def tables(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables, of each in one order."""
    found = {path.name.removesuffix(".parquet"): pq.read_table(path).to_pylist() for path in sorted(out.glob("*.parquet"))}
    return {table: sorted(rows, key=lambda row: (row["file"], row["offset"], str(row))) for table, rows in found.items()}


def names(out: Path) -> list[str]:
    return [row["name"] for row in tables(out)["topic"]]


def listed(out: Path) -> list[str]:
    return sorted(path.name for path in out.iterdir() if path.name != ".metashell-lock")


@pytest.mark.slow
def test_spark_writes_the_rows_that_metashell_export_writes_and_any_reader_finds_them(spark: Any, tmp_path: Path) -> None:
    demo = Path(demo_directory())
    out = tmp_path / "out"
    report = plain(spark, out, demo, split_bytes=5000)
    assert report.split_count > 2
    whole = export(ExportOptions(paths=(str(demo),), out=str(tmp_path / "here"), jobs=1))
    assert report.rows == whole.rows
    assert tables(out) == tables(tmp_path / "here")
    assert listed(out) == [SUCCESS, *(f"{table}.parquet" for table in sorted(tables(tmp_path / "here")))]
    assert json.loads((out / SUCCESS).read_text()) == {"rows": report.rows}
    assert len(list((out / "partition.parquet").iterdir())) > 1
    count = report.rows["partition"]
    assert spark.read.parquet(str(out / "partition.parquet")).count() == count
    assert duckdb.sql(f"select count(*) from '{out}/partition.parquet/*.parquet'").fetchall() == [(count,)]


def test_a_fault_ends_the_export_with_its_place_and_leaves_nothing(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "out"
    data = bytearray(topics(0, 20))
    data[len(data) // 2 + 70] ^= 1
    (log / SEGMENT).write_bytes(data)
    with pytest.raises(LogCorruptError, match=rf"{SEGMENT}: offset 10: .*CRC"):
        plain(Here(), out, tmp_path / "node", split_bytes=500)
    assert not out.exists()
    out.mkdir()
    with pytest.raises(LogCorruptError):
        plain(Here(), out, tmp_path / "node", split_bytes=500)
    assert listed(out) == []
    assert plain(Here(), out, tmp_path / "node", split_bytes=500, on_error="skip").rows == {"batches": 9, "faults": 1, "topic": 18}


def test_what_is_there_is_refused_unless_it_is_overwritten(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    (node(tmp_path / "new") / SEGMENT).write_bytes(topics(0, 4, name="new"))
    out = tmp_path / "out"
    plain(Here(), out, tmp_path / "node", tables=("config", "topic"))
    assert listed(out) == [SUCCESS, "config.parquet", "faults.parquet", "topic.parquet"]
    with pytest.raises(UsageError, match=rf"^{out}: has tables already: --mode overwrite writes it anew, "):
        plain(Here(), out, tmp_path / "new")
    assert names(out) == expected(0, 6)
    (out / "notes.txt").write_text("kept")
    plain(Here(), out, tmp_path / "new", overwrites=True, tables=("topic",))
    assert listed(out) == [SUCCESS, "faults.parquet", "notes.txt", "topic.parquet"]
    assert names(out) == expected(0, 4, "new")
    # What nobody knows is not replaced.
    foreign = out / "topic.parquet" / "own.parquet"
    foreign.write_bytes(b"of a user")
    with pytest.raises(UsageError, match=rf"^{foreign}: is there already, and no export has written it"):
        plain(Here(), out, tmp_path / "new", overwrites=True)
    export(ExportOptions(paths=(str(tmp_path / "node"),), out=str(tmp_path / "other"), jobs=1))
    with pytest.raises(UsageError, match="has an export of metashell"):
        plain(Here(), tmp_path / "other", tmp_path / "new", overwrites=True)


class Died(BaseException):
    """The process is gone."""


class DyingStore:
    """A store whose process dies before step `last`: nothing happens from then on, not even what a handler of errors would do."""

    def __init__(self, store: Store, steps: list[str], last: int) -> None:
        self._store, self._steps, self._last = store, steps, last

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return found if name not in ("put", "put_file", "move", "remove", "remove_below") else partial(self._step, name, found)

    def move_all(self, moves: Any) -> None:
        for move in moves:
            self.move(*move)

    def _step(self, name: str, work: Any, *words: Any) -> Any:
        if 0 <= self._last <= len(self._steps):
            raise Died(name)
        self._steps.append(f"{name} {words[0]}")
        return work(*words)


def test_a_driver_that_dies_at_any_step_leaves_no_export_that_says_it_is_whole_and_the_next_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old", "new"):
        (node(tmp_path / name) / SEGMENT).write_bytes(topics(0, 4, name=name))
    plain(Here(), tmp_path / "base", tmp_path / "old")
    old = tables(tmp_path / "base")
    monkeypatch.setattr("os.fsync", lambda descriptor: None)

    def overwrite(out: Path, last: int = -1) -> list[str]:
        steps: list[str] = []
        with monkeypatch.context() as patch:
            patch.setattr(plain_export, "open_store", lambda place, **more: DyingStore(open_store(place, **more), steps, last))
            plain(Here(), out, tmp_path / "new", overwrites=True, tables=("topic",))
        return steps

    shutil.copytree(tmp_path / "base", tmp_path / "whole")
    steps = overwrite(tmp_path / "whole")
    new = tables(tmp_path / "whole")
    assert new != old and list(new) == ["faults", "topic"]
    seen = set()
    for last, step in enumerate(steps):
        out = tmp_path / f"died-{last}"
        shutil.copytree(tmp_path / "base", out)
        with pytest.raises(Died):
            overwrite(out, last)
        if (out / SUCCESS).exists():
            found = tables(out)
            assert found in (old, new), step
            seen.add(found == new)
        overwrite(out)
        assert tables(out) == new, step
        assert listed(out) == [SUCCESS, "faults.parquet", "topic.parquet"]
    assert seen == {False, True}


def test_an_attempt_that_is_lost_repeated_or_late_leaves_no_row(tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 6))
    (log / segment(6)).write_bytes(topics(6, 6))
    late: list[ExportTask] = []

    def twice(work: ExportTask, tasks: Sequence[Any]) -> list[Any]:
        late.append(work)
        first = [work(task) for task in tasks]
        # Of an executor that was killed in the middle.
        (tmp_path / "out" / work.work / "x" / "topic.parquet").mkdir(parents=True)
        (tmp_path / "out" / work.work / "x" / "topic.parquet" / "part-00000.parquet.7.part").write_bytes(b"half")
        again = [work(task) for task in tasks]
        assert not {*first[0].files} & {*again[0].files}
        return again

    assert plain(Here(twice), tmp_path / "out", tmp_path / "node", split_bytes=300).rows["topic"] == 12
    assert names(tmp_path / "out") == expected(0, 12)
    assert late[0]((0, None)) is None  # type: ignore[arg-type]
    assert WORK not in listed(tmp_path / "out")


def test_an_executor_with_files_or_a_folder_of_its_own_is_noticed(tmp_path: Path) -> None:
    log = node(tmp_path / "node") / SEGMENT
    log.write_bytes(topics(0, 6))

    def elsewhere(work: ExportTask, tasks: Sequence[Any]) -> list[Any]:
        found = one_by_one(work, tasks)
        for name in found[0].files:
            (tmp_path / "out" / name).unlink()
        return found

    with pytest.raises(MetashellError, match="lies on another machine for it: name an --out that all machines share"):
        plain(Here(elsewhere), tmp_path / "out", tmp_path / "node")

    def without_input(work: ExportTask, tasks: Sequence[Any]) -> list[Any]:
        log.unlink()
        return one_by_one(work, tasks)

    with pytest.raises(MetashellError, match=rf"^{log}: No such file or directory \(on {gethostname()}\)$"):
        plain(Here(without_input, "spark://far:7077"), tmp_path / "out", tmp_path / "node")
    assert not (tmp_path / "out").exists()


def test_an_interrupt_ends_the_tasks_before_their_work_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    ended: list[int] = []
    monkeypatch.setattr(session, "end_workers", lambda: ended.append(len(list(tmp_path.glob(f"out/{WORK}/*/going")))))

    def interrupted(*_: Any) -> list[Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plain(Here(interrupted), tmp_path / "out", tmp_path / "node")
    assert ended == [1]
    assert not (tmp_path / "out").exists()


def test_the_command_refuses_before_spark_starts_and_prints_its_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: pytest.fail("Spark was started"))
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    out = tmp_path / "out"
    plain(Here(), out, tmp_path / "node")
    words = ["export", str(tmp_path / "node"), "--out", str(out)]
    for more, said in (
        ([], f"{out}: has tables already"),
        (["--dry-run"], "--dry-run goes with --mode append and --format delta"),
    ):
        assert command.main([*words, *more]) == 2
        assert said in capsys.readouterr().err
    here: Any = Here()
    here.stop = lambda: None
    here.sparkContext = here
    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: here)
    assert command.main([*words, "--mode", "overwrite", "--table", "topic"]) == 0
    assert capsys.readouterr() == (f"{'topic':<40} {6:>12}\n", "")


@pytest.mark.slow
def test_an_export_into_a_store_has_what_one_into_a_folder_has(s3: str, tmp_path: Path) -> None:
    demo, out = Path(demo_directory()), f"{s3}/out"
    for mode in (False, True):
        rows = plain(Here(), out, demo, overwrites=mode, split_bytes=20_000).rows
    assert rows == plain(Here(), tmp_path / "here", demo, split_bytes=20_000).rows
    store = open_store(out)
    for file in store.files():
        (tmp_path / "there" / file.name).parent.mkdir(parents=True, exist_ok=True)
        store.get_file(file.name, str(tmp_path / "there" / file.name))
    assert listed(tmp_path / "there") == listed(tmp_path / "here")
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
