"""Readers that we did not write find in the files of a lake, and of an export, what was written: DuckDB, pandas and pyarrow."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pytest

from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from tests.tables.lake.lakes import CLUSTER, DAY, SEGMENT, START, node, run, topics

COUNT = 12


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters that grew over three days; files of one day were put together."""
    folder = tmp_path_factory.mktemp("readers")
    for count in (4, COUNT):
        for number, cluster in enumerate((CLUSTER, "a/b=c")):
            (node(folder / "in" / str(number), cluster=cluster) / SEGMENT).write_bytes(topics(0, count, step=DAY // 4))
        run(folder / "lake", folder / "in", tables=("topic",), target_size=1 << 20)
    return folder / "lake"


Facts = list[tuple[str, str, int, str, int]]
WANTED: Facts = sorted(
    (cluster, f"2026-09-{21 + (START % DAY + offset * DAY // 4) // DAY}", offset, f"t{offset}", START + offset * DAY // 4)
    for cluster in (CLUSTER, "a/b=c")
    for offset in range(COUNT)
)


def by_duckdb(lake: Path) -> Facts:
    files = f"read_parquet('{lake}/table=topic/**/*.parquet', hive_partitioning = true, hive_types = {{'date': varchar}})"
    found = duckdb.connect().execute(f'select cluster_id, date, "offset", name, epoch_ms(timestamp) from {files} order by all').fetchall()
    return [tuple(row) for row in found]


def by_pandas(lake: Path) -> Facts:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed, which reads our tables here")
    frame = pandas.read_parquet(lake / "table=topic")
    times = frame["timestamp"].astype("int64")
    return sorted(zip(frame["cluster_id"].astype(str), frame["date"].astype(str), frame["offset"], frame["name"], times, strict=True))


def by_pyarrow(lake: Path) -> Facts:
    table = ds.dataset(lake / "table=topic", partitioning="hive").to_table()
    rows: list[dict[str, Any]] = table.to_pylist()
    return sorted((row["cluster_id"], row["date"], row["offset"], row["name"], round(row["timestamp"].timestamp() * 1000)) for row in rows)


@pytest.mark.parametrize("reader", [by_duckdb, by_pandas, by_pyarrow])
def test_a_reader_of_folders_finds_each_record_once_in_its_cluster_and_day(lake: Path, reader: Any) -> None:
    assert reader(lake) == WANTED


def test_what_duckdb_decides_by_the_bounds_of_columns_is_what_a_scan_finds(lake: Path) -> None:
    """What a lake's footers say of its columns is true: conditions that a reader decides by them find what a scan finds."""
    files = f"read_parquet('{lake}/table=topic/**/*.parquet', hive_partitioning = true, hive_types = {{'date': varchar}})"
    database = duckdb.connect()
    is_so = {"<": operator.lt, "<=": operator.le, "=": operator.eq, ">": operator.gt, ">=": operator.ge}
    for _, _, *values in WANTED[:COUNT]:
        for at, (column, value) in enumerate(zip(('"offset"', "name", "epoch_ms(timestamp)"), values, strict=True)):
            for sign, holds in is_so.items():
                found = database.execute(f"select count(*) from {files} where {column} {sign} ?", [value]).fetchone()
                assert found == (sum(holds(row[2 + at], value) for row in WANTED),), (column, sign, value)


def test_an_export_and_a_lake_hold_the_same_rows(lake: Path, tmp_path: Path) -> None:
    export(ExportOptions(paths=(str(lake.parent / "in"),), out=str(tmp_path), tables=("topic",), jobs=1))
    database = duckdb.connect()
    names = [name for name, *_ in database.execute(f"describe select * from '{tmp_path}/topic.parquet'").fetchall()]
    columns = ", ".join(f'"{name}"' for name in names)
    ours = database.execute(f"select {columns} from '{tmp_path}/topic.parquet' order by all").fetchall()
    files = f"read_parquet('{lake}/table=topic/**/*.parquet', hive_partitioning = true)"
    assert ours == database.execute(f"select {columns} from {files} order by all").fetchall()
    assert len(ours) == 2 * COUNT
