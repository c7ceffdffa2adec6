"""An append is there whole and once: killed at each of its commits, beside another one, answered falsely, and after a power cut."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable

from metashell.common.errors import MetashellError
from metashell.tables.lake import appends, delta
from metashell.tables.lake.append import AppendOptions, plan_only
from metashell.tables.lake.appends import WHOLE_EVERY, LakeState, read_state
from metashell.tables.lake.delta import LOG
from metashell.tables.lake.status import Checked, check_lake, lake_status, optimize_lake, vacuum_lake
from metashell.tables.stores import open_store
from tests.running import command_line
from tests.tables.lake.lakes import DAY, SEGMENT, expected, left_over, names, node, rows, run, topics

TABLES = ("batches", "control", "topic")


class Died(BaseException):
    """The process ends here."""


@contextmanager
def at_commits(do: Callable[[int, str], None], after: Callable[[int, str], None] = lambda number, name: None) -> Iterator[list[str]]:
    """Call `do` before each commit and `after` behind it, with its number and its table."""
    real, seen = delta.commit_change, []

    def commit(store: Any, name: str, *words: Any, **more: Any) -> None:
        number = len(seen)
        seen.append(name)
        do(number, name)
        real(store, name, *words, **more)
        after(number, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta, "commit_change", commit)
        patch.setattr(appends, "commit_change", commit)
        yield seen


def dying(at: int) -> Callable[[int, str], None]:
    def die(number: int, _: str) -> None:
        if number == at:
            raise Died

    return die


def grown(place: Path, count: int) -> Path:
    (node(place / "node") / SEGMENT).write_bytes(topics(0, count, step=DAY // 4))
    return place / "node"


def test_an_append_that_is_killed_at_any_commit_is_completed_or_never_was(tmp_path: Path) -> None:
    run(tmp_path / "first", grown(tmp_path, 6), tables=TABLES)
    with at_commits(lambda number, name: None) as seen:
        shutil.copytree(tmp_path / "first", tmp_path / "whole")
        run(tmp_path / "whole", grown(tmp_path, 10))
    assert seen == ["appends", "batches", "topic", "appends"]
    for at in range(len(seen)):
        for is_before in (True, False):
            out = tmp_path / f"{at}-{is_before}"
            shutil.copytree(tmp_path / "first", out)
            source = grown(tmp_path, 10)
            with pytest.raises(Died), at_commits(*((dying(at),) if is_before else (lambda number, name: None, dying(at)))):
                run(out, source)
            is_made = (at, is_before) != (0, True)
            state = read_state(open_store(str(out)))
            assert state.number == 1 + is_made
            # Each table has the append whole, or not at all.
            has = {"topic": len(rows(out)), "batches": len(rows(out, "batches"))}
            assert has["topic"] in (6, 10) and has["batches"] in (3, 5)
            lacking = lake_status(open_store(str(out))).lacking
            assert lacking == tuple(table for table, count in (("batches", 3), ("topic", 6)) if is_made and has[table] == count)
            kinds = {found.kind for found in check_lake(open_store(str(out)), Checked())}
            assert kinds == ({"append"} if lacking else set())
            planned = plan_only(AppendOptions(paths=(str(source),), out=str(out)))
            assert bool(planned.plan.tasks) != is_made
            assert planned.recovered == ("an interrupted export is there: the next one completes it" if lacking else "")
            report = run(out, grown(tmp_path, 12))
            is_open = is_made and (at, is_before) != (3, False)
            assert report.recovered == ("append 2 was interrupted, and was completed" if is_open else "")
            assert report.rows == {"topic": 2 if is_made else 6, "batches": 1 if is_made else 3}
            assert names(out) == expected(0, 12)
            assert left_over(out) == []
            assert not list(check_lake(open_store(str(out)), Checked()))


def test_of_two_appends_at_a_time_each_record_is_there_once(tmp_path: Path) -> None:
    """Another append comes whole between any two steps of one: of the same log, or of another one."""
    for is_same in (True, False):
        for at in range(4):
            place = tmp_path / f"{is_same}-{at}"
            out = place / "lake"
            run(out, grown(place, 4), tables=TABLES)
            other = place / "node" if is_same else place / "other"
            if not is_same:
                (node(other, 2) / SEGMENT).write_bytes(topics(0, 6, name="o"))

            def come(number: int, _: str, at: int = at, out: Path = out, other: Path = other) -> None:
                if number == at:
                    with pytest.MonkeyPatch.context() as patch:
                        patch.setattr(delta, "commit_change", REAL)
                        patch.setattr(appends, "commit_change", REAL)
                        run(out, other)

            grown(place, 10)
            with at_commits(come):
                report = run(out, place / "node")
            wanted = expected(0, 10) + ([] if is_same else expected(0, 6, "o"))
            assert sorted(names(out)) == sorted(wanted), (is_same, at)
            assert bool(report.rows) == (not is_same or at > 0)
            assert not list(check_lake(open_store(str(out)), Checked()))
            assert lake_status(open_store(str(out))).lacking == ()


REAL = delta.commit_change


@pytest.mark.slow
@pytest.mark.parametrize("is_same", [True, False])
def test_of_two_appends_to_a_store_at_a_time_each_record_is_there_once(s3: str, tmp_path: Path, is_same: bool) -> None:
    """The store refuses the second commit of one version, by its condition."""
    for at in range(3):
        out = f"{s3}/{at}"
        run(out, grown(tmp_path, 4), tables=TABLES)
        other = tmp_path / ("node" if is_same else "other")
        if not is_same:
            (node(other, 2) / SEGMENT).write_bytes(topics(0, 6, name="o"))

        def come(number: int, _: str, at: int = at, out: str = out, other: Path = other) -> None:
            if number == at:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(delta, "commit_change", REAL)
                    patch.setattr(appends, "commit_change", REAL)
                    run(out, other)

        grown(tmp_path, 10)
        with at_commits(come):
            run(out, tmp_path / "node")
        assert sorted(names(out)) == sorted(expected(0, 10) + ([] if is_same else expected(0, 6, "o")))
        assert not list(check_lake(open_store(out), Checked()))


@pytest.mark.slow
def test_an_append_to_a_store_that_is_killed_at_any_commit_is_completed(s3: str, tmp_path: Path) -> None:
    for at in range(4):
        out = f"{s3}/killed-{at}"
        with pytest.raises(Died), at_commits(lambda number, name: None, dying(at)):
            run(out, grown(tmp_path, 6), tables=TABLES)
        run(out, grown(tmp_path, 8), tables=TABLES)
        assert names(out) == expected(0, 8)
        assert not list(check_lake(open_store(out), Checked()))


@pytest.mark.slow
def test_errors_of_a_store_are_one_line_without_keys(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = str(grown(tmp_path, 4))
    bucket = s3.removeprefix("s3://")
    for place, said in (
        (f"{s3}-none/lake", f"the bucket {bucket}-none does not exist"),
        (f"s3://AKIAKEY:topsecret@{bucket}/lake?endpoint_override=127.0.0.1:9&scheme=http", "cannot be reached"),
    ):
        with pytest.raises(MetashellError) as error:
            run(place, Path(source))
        assert said in str(error.value) and "topsecret" not in str(error.value) and "\n" not in str(error.value)


def test_files_that_an_optimize_replaced_do_not_come_back_with_a_late_commit(tmp_path: Path) -> None:
    """A writer sleeps before it commits to a table; another one completes its append, and makes one file of all."""
    out = tmp_path / "lake"
    run(out, grown(tmp_path, 4), tables=TABLES)

    def come(number: int, _: str) -> None:
        if number == 2:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(delta, "commit_change", REAL)
                patch.setattr(appends, "commit_change", REAL)
                run(out, grown(tmp_path, 12))
            assert {name: count for name, _, count in optimize_lake(open_store(str(out)))}["topic"] == 1

    grown(tmp_path, 8)
    with at_commits(come):
        run(out, tmp_path / "node")
    assert names(out) == expected(0, 12)


def test_two_optimizes_at_a_time_lose_nothing(tmp_path: Path) -> None:
    out = tmp_path / "lake"
    for count in (4, 8):
        run(out, grown(tmp_path, count), tables=TABLES)
    store = open_store(str(out))
    table = DeltaTable(str(out / "topic"))
    files = delta.active_files(table, "topic")
    list(optimize_lake(store))
    with pytest.raises(delta.ConflictError):
        delta.replace_files(store, "topic", table, files, [files[0]._replace(name="topic/part-other.parquet")])
    assert names(out) == expected(0, 8)


def test_an_append_whose_answer_was_lost_is_not_made_twice(tmp_path: Path) -> None:
    """A store acknowledges the commit, the network loses that, and the client finds its own commit when it tries again."""
    out = tmp_path / "lake"
    run(out, grown(tmp_path, 4), tables=TABLES)
    for error in (delta.ConflictError("taken"), MetashellError("lake: timed out")):

        def lose(number: int, _: str, error: MetashellError = error) -> None:
            if number == 0:
                raise error

        count = len(names(out)) + 4
        grown(tmp_path, count)
        with at_commits(lambda number, name: None, lose):
            if isinstance(error, delta.ConflictError):
                run(out, tmp_path / "node")
            else:
                with pytest.raises(MetashellError, match="timed out"):
                    run(out, tmp_path / "node")
        run(out, tmp_path / "node")
        assert names(out) == expected(0, count)
        assert not list(check_lake(open_store(str(out)), Checked()))


def test_an_append_that_fails_removes_its_files_and_keeps_those_of_others(tmp_path: Path) -> None:
    out = tmp_path / "lake"
    run(out, grown(tmp_path, 4), tables=TABLES)
    before = sorted(out.rglob("*"))

    def fail(number: int, _: str) -> None:
        raise MetashellError("lake: No space left on device")

    with pytest.raises(MetashellError, match="No space left"), at_commits(fail):
        run(out, grown(tmp_path, 8))
    assert sorted(out.rglob("*")) == before


def test_a_file_of_an_append_that_somebody_removed_is_one_line(tmp_path: Path) -> None:
    out = tmp_path / "lake"
    run(out, grown(tmp_path, 4), tables=TABLES)
    with pytest.raises(Died), at_commits(dying(1)):
        run(out, grown(tmp_path, 8))
    (lost,) = [name for name in left_over(out) if name.startswith("topic/")]
    (out / lost).unlink()
    for _ in range(2):
        with pytest.raises(MetashellError, match=rf"^{out}/{lost}: is not there, and append 2 has it: it was removed, or lies"):
            run(out, tmp_path / "node")
    assert names(out) == expected(0, 4)
    assert len(rows(out, "batches")) == 4


@pytest.mark.parametrize("table", ["appends", "topic", "batches"])
def test_a_commit_that_a_power_cut_tore_is_made_again(tmp_path: Path, table: str) -> None:
    out = tmp_path / "lake"
    run(out, grown(tmp_path, 4), tables=TABLES)
    torn = {"appends": 1, "batches": 1, "topic": 2}[table]
    with pytest.raises(Died), at_commits(lambda number, name: None, dying({"appends": 0}.get(table, torn))):
        run(out, grown(tmp_path, 8))
    newest = max((out / table / LOG).glob("*.json"))
    whole = newest.read_bytes()
    for left in (b"", whole[: len(whole) // 2], bytes(len(whole))):
        newest.write_bytes(left)
        (out / table / LOG / f"{newest.stem}.checkpoint.parquet").write_bytes(b"PAR1" + bytes(90))
        shutil.copytree(out, tmp_path / "copy")
        run(tmp_path / "copy", tmp_path / "node")
        assert names(tmp_path / "copy") == expected(0, 8)
        assert not [found for found in check_lake(open_store(str(tmp_path / "copy")), Checked()) if found.is_fault]
        shutil.rmtree(tmp_path / "copy")


def test_many_appends_are_summed_up_and_the_history_stays(tmp_path: Path) -> None:
    out, store = tmp_path / "lake", open_store(str(tmp_path / "lake"))
    for count in range(1, WHOLE_EVERY + 3):
        run(out, grown(tmp_path, 2 * count), tables=("topic",))
        state = read_state(store)
        assert state.number == count and state.rows == {"topic": 2 * count}
    assert names(out) == expected(0, 2 * WHOLE_EVERY + 4)
    assert [append.number for append in state.appends] == list(range(1, WHOLE_EVERY + 3))
    (log,) = state.logs.values()
    assert list(log.offsets) == [(0, 2 * WHOLE_EVERY + 4)]
    # The sum took the place of what it is the sum of.
    assert len(delta.active_files(DeltaTable(str(out / "appends")), "appends")) == 3
    again = LakeState()
    for append in state.appends:
        again.add(append)
    assert again.logs == state.logs


def test_a_table_that_was_put_back_to_an_earlier_version_is_found(tmp_path: Path) -> None:
    out = tmp_path / "lake"
    for count in (4, 8):
        run(out, grown(tmp_path, count), tables=TABLES)
    shutil.rmtree(out / "topic")
    found = [(each.kind, each.name) for each in check_lake(open_store(str(out)), Checked())]
    assert found == [("missing", "topic")]


def test_upkeep_keeps_every_row_and_vacuum_what_is_young(tmp_path: Path) -> None:
    out, store = tmp_path / "lake", open_store(str(tmp_path / "lake"))
    for count in (4, 8, 12):
        run(out, grown(tmp_path, count), tables=TABLES)
    before = {table: rows(out, table) for table in TABLES}
    assert list(optimize_lake(store)) == [("batches", 3, 1), ("topic", 3, 1)]
    assert list(optimize_lake(store)) == []
    (out / "topic" / "part-left.parquet").write_bytes(b"PAR1")
    assert {table: rows(out, table) for table in TABLES} == before
    stray = left_over(out)
    assert len(stray) == 7, stray
    assert list(vacuum_lake(store)) == [] and left_over(out) == stray
    assert [found.is_fault for found in check_lake(store, Checked())] == [False] * len(
        [name for name in stray if not name.startswith("appends")]
    )
    with pytest.raises(MetashellError, match=r"^--grace: at least 1 hour"):
        list(vacuum_lake(store, grace_hours=0))
    for name in stray:
        os.utime(out / name, (0, 0))
    # What an optimize replaced is kept as long as the log of the table says: from when it was replaced.
    assert list(vacuum_lake(store, is_dry=True)) == [("topic", ["part-left.parquet"])]
    assert len(left_over(out)) == 7
    assert list(vacuum_lake(store)) == [("topic", ["part-left.parquet"])]
    assert len(left_over(out)) == 6
    run(out, grown(tmp_path, 14))
    assert {table: rows(out, table)[: len(kept)] for table, kept in before.items()} == before


def test_a_log_that_was_cut_is_replaced_in_every_table_by_one_commit_each(tmp_path: Path) -> None:
    for at in range(5):
        place = tmp_path / str(at)
        out, log = place / "lake", node(place / "node")
        for node_id in (1, 2):
            (node(place / "node", node_id) / SEGMENT).write_bytes(topics(0, 8, name=f"n{node_id}-"))
            run(out, place / "node", tables=TABLES)
        (log / SEGMENT).write_bytes(topics(0, 4, name="n2-") + topics(4, 8, epoch=2, name="new"))
        if at < 4:
            with pytest.raises(Died), at_commits(dying(at)):
                run(out, place / "node", replaces=True)
            assert len(rows(out)) in (16, 20)
        run(out, place / "node", replaces=True)
        wanted = [*expected(0, 8, "n1-"), *expected(0, 4, "n2-"), *expected(4, 8, "new")]
        assert sorted(names(out)) == sorted(wanted)
        assert len(rows(out, "batches")) == 4 + 2 + 4
        assert not [found for found in check_lake(open_store(str(out)), Checked()) if found.is_fault]


def command(out: str, *paths: Path) -> list[str]:
    return command_line("metashell.cli.tables.export", "--append", "--quiet", "--jobs", "2", "--out", out, *map(str, paths))


@pytest.mark.slow
def test_a_command_that_is_killed_again_and_again(tmp_path: Path) -> None:
    out, chance = tmp_path / "lake", Random(16)
    for day in range(3):
        source = grown(tmp_path, 40 * (day + 1))
        for _ in range(3):
            started = subprocess.Popen(command(str(out), source), stderr=subprocess.DEVNULL)
            try:
                # Most of its life is start-up.
                started.wait(0.3 + chance.random())
            except subprocess.TimeoutExpired:
                started.send_signal(signal.SIGKILL)
                started.wait()
        subprocess.run(command(str(out), source), check=True, timeout=120)
        assert names(out) == expected(0, 40 * (day + 1))
        assert not [found for found in check_lake(open_store(str(out)), Checked()) if found.is_fault]
