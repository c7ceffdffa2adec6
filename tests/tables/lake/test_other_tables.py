"""A first commit to tables of another format that was interrupted: only exports to such tables complete or drop it.

Tables that have a log of their own are a list here: what is tested is which of them a commit goes into.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from metashell.common.errors import UsageError
from metashell.tables.export.workers import Workers
from metashell.tables.lake.append import FILES, AppendOptions, AppendReport, Processes, append_to_store, plan_only
from metashell.tables.lake.commit import Commits
from metashell.tables.lake.layout import PENDINGS, Pending, put_pending, read_commit
from metashell.tables.stores import Held, Store, open_store
from tests.tables.lake.dying import Died, Life, living
from tests.tables.lake.lakes import SEGMENT, expected, names, node, run, topics


class TablesOfDelta(Commits):
    """Tables that take the rows of each commit once."""

    table_format = "delta"
    can_rewrite = False
    divides = False

    def __init__(self) -> None:
        self.taken: dict[str, dict[str, int]] = {}

    def prepared(self, *words: Any) -> dict[str, Any]:
        return {"writer": "this one"}

    def may_finish(self, store: Store, pending: Pending) -> bool:
        assert pending.more["writer"]
        return pending.is_complete(store)

    def place(self, store: Store, held: Held, pending: Pending) -> None:
        self.taken[pending.commit.id] = pending.commit.rows


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    return tmp_path / "node"


def export(out: Path, source: Path, ways: Commits, life: Life) -> AppendReport:
    with Workers(1, lambda: None, lambda: None) as workers, living(life):
        options = AppendOptions(paths=(str(source),), out=str(out), jobs=1)
        return append_to_store(life.open(str(out)), options, Processes(workers), ways, purpose="test")


def test_only_its_own_tables_take_an_interrupted_first_commit(tmp_path: Path, source: Path) -> None:
    whole = Life()
    export(tmp_path / "whole", source, TablesOfDelta(), whole)
    made = next(number for number, step in enumerate(whole.steps) if PENDINGS in step)
    for ours, other in ((TablesOfDelta(), FILES), (FILES, TablesOfDelta())):
        for step in (made + 1, made + 2):
            out = tmp_path / f"{ours.table_format}-{step}"
            with pytest.raises(Died):
                export(out, source, ours, Life(step))
            before = sorted(out.rglob("*"))
            told = f"this lake is {ours.table_format}, not {other.table_format}: name another --out"
            with pytest.raises(UsageError, match=told):
                export(out, source, other, Life())
            with pytest.raises(UsageError, match=told):
                plan_only(AppendOptions(paths=(str(source),), out=str(out)), other.table_format)
            assert sorted(out.rglob("*")) == before
            report = export(out, source, ours, Life())
            assert (report.recovered, report.number) == ("an interrupted export was completed", 0)
            if isinstance(ours, TablesOfDelta):
                assert list(ours.taken.values()) == [{"batches": 2, "topic": 4}]
                ours.taken.clear()
            else:
                assert names(out) == expected(0, 4)


def test_what_came_too_late_for_its_number_is_removed_by_any_tables(tmp_path: Path, source: Path) -> None:
    """A writer to other tables that slept: when it wakes, somebody else has made the first commit."""
    run(tmp_path / "lake", source)
    export(tmp_path / "other", source, TablesOfDelta(), Life())
    late = read_commit(open_store(str(tmp_path / "other")), 1)
    assert late is not None
    shutil.rmtree(tmp_path / "other")
    put_pending(open_store(str(tmp_path / "lake")), late, [file.name for file in late.added])
    assert run(tmp_path / "lake", source).recovered == "an interrupted export was undone: another one came before it"
    assert names(tmp_path / "lake") == expected(0, 4)
