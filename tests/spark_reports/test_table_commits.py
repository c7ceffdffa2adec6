"""Commits to tables that have a log of their own, with tables that are lists of numbers: what needs no Spark."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from metashell.common.errors import UsageError
from metashell.common.option_parser import parse_command
from metashell.tables.export.workers import Workers
from metashell.tables.lake.append import AppendOptions, AppendReport, Processes, append_to_store
from metashell.tables.read_options import SPARK_REPORTS
from metashell.tables.stores import open_store
from spark_reports.export_job import is_done_without_spark
from spark_reports.table_commits import TableCommits
from spark_reports.table_logs import DeltaTables, TableState, back_at
from tests.tables.lake.lakes import SEGMENT, node, topics


class Commits(TableCommits):
    """Tables each of which is the list of the commits that it has."""

    def __init__(self) -> None:
        super().__init__(None, "delta", lambda lake_id: self)
        self.world: dict[str, list[int]] = {}

    def shown(self, table: str) -> str:
        return table

    def look(self, table: str) -> TableState | None:
        numbers = self.world.get(table)
        return None if numbers is None else TableState(True, max(numbers), str(len(numbers)), [])

    def has(self, table: str, number: int, base: str | None) -> bool:
        return number in self.world.get(table, ())

    def lost(self, table: str, look: TableState, last: int, rows: int) -> str:
        return "" if self.world[table][-1] >= last else back_at(self.world[table][-1], last)

    def write(self, table: str, number: int, frame: Any, *, resets: bool) -> None:
        self.world.setdefault(table, []).append(number)

    def _staged(self, store: Any, names: Any) -> Any:
        return SimpleNamespace(schema=[])

    def _nothing(self, tables: Any, table: str) -> Any:
        return None

    def _java(self) -> dict[str, Any]:
        return {"pid": os.getpid(), "machine": "", "started": ""}


class Lake:
    def __init__(self, folder: Path) -> None:
        self.source, self.out, self.commits = folder / "node", folder / "lake", Commits()
        self.log = node(self.source) / SEGMENT

    def export(self, count: int, **options: Any) -> AppendReport:
        """Export a log of so many records."""
        self.log.write_bytes(topics(0, count))
        asked = AppendOptions(**{"paths": (str(self.source),), "out": str(self.out), "jobs": 1, **options})
        with Workers(1, lambda: None, lambda: None) as workers:
            return append_to_store(open_store(str(self.out)), asked, Processes(workers), self.commits, purpose="test")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_a_table_that_was_emptied_has_the_later_overwrites_too(lake: Lake) -> None:
    lake.export(4, tables=("batches", "topic"))
    for number in (2, 3):
        lake.export(4, mode="overwrite", tables=("topic",))
        assert lake.commits.world == {table: [*range(1, number + 1)] for table in ("batches", "topic")}
    assert lake.export(6).rows == {"topic": 2}
    assert lake.export(6).rows == {}


def test_a_table_that_is_gone_or_ahead_is_noticed_where_nothing_is_new_for_it(lake: Lake) -> None:
    lake.export(4, tables=("batches", "topic"))
    away = lake.commits.world.pop("topic")
    with pytest.raises(
        UsageError, match=r"^topic: is gone, and the lake counts 4 rows in it: put it back, or write all anew with --mode ov"
    ):
        lake.export(4)
    lake.commits.world["topic"] = [*away, 7]
    with pytest.raises(UsageError, match=r"^topic: has commit 7 of this lake, whose ledger ends at 1"):
        lake.export(4)
    assert lake.commits.world == {"batches": [1], "topic": [1, 7]}


def test_an_overwrite_needs_no_table_that_is_gone(lake: Lake) -> None:
    lake.export(4, tables=("batches", "topic"))
    lake.commits.world.clear()
    assert lake.export(6, mode="overwrite", tables=("topic",)).rows == {"topic": 6}
    assert lake.export(8).rows == {"topic": 2}
    assert lake.commits.world == {"topic": [2, 3]}


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_overwrite_with_other_types_is_refused_before_spark_starts(lake: Lake, more: tuple[str, ...]) -> None:
    lake.export(4)

    def asked(*words: str) -> SimpleNamespace:
        common = ["--out", str(lake.out), "--format", "delta", "--mode", "overwrite"]
        return parse_command(SPARK_REPORTS, ["export", str(lake.source), *common, *words, *more])

    store = open_store(str(lake.out))
    assert is_done_without_spark(store, asked()) == bool(more)
    told = r"lake: tables of delta keep the types of their columns: overwrite without --old-columns, or name another --out$"
    with pytest.raises(UsageError, match=told):
        is_done_without_spark(store, asked("--old-columns"))


def test_a_version_of_delta_lake_is_lines_however_names_are_spelt() -> None:
    spark = MagicMock()
    lines = [
        '{"commitInfo":{"operation":"WRITE","userMetadata":"a\u2028b\u0085c"}}',
        '{"txn":{"appId":"metashell id topic","version":3}}',
        "",
    ]
    spark._jvm.org.apache.commons.io.IOUtils.toString.return_value = "\n".join(lines)
    assert DeltaTables(spark, "/lake", "id")._version("topic", 2) == (3, {})
