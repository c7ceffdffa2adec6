"""Readers that we did not write find in a lake what was written: deltalake, pyarrow, DuckDB, polars and pandas."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
from deltalake import DeltaTable

from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from metashell.tables.lake.status import optimize_lake
from metashell.tables.stores import open_store
from tests.quick import quick
from tests.tables.lake.lakes import CLUSTER, DAY, SEGMENT, START, node, run, topics

COUNT = 12
CLUSTERS = (CLUSTER, "a/b=c%2F'ü")


@pytest.fixture(scope="module", params=quick(["appended", "optimized"], 1))
def lake(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Two clusters that grew over three months."""
    folder = tmp_path_factory.mktemp("readers")
    for count in (4, COUNT):
        for number, cluster in enumerate(CLUSTERS):
            in_properties = cluster.replace("ü", "\\u00fc")
            (node(folder / "in" / str(number), cluster=in_properties) / SEGMENT).write_bytes(topics(0, count, step=8 * DAY))
        run(folder / "lake", folder / "in", tables=("topic", "batches"))
    if request.param == "optimized":
        assert {name: after for name, _, after in optimize_lake(open_store(str(folder / "lake")))}["topic"] == 1
    return folder / "lake"


Facts = list[tuple[str, int, str, bytes, int]]
WANTED: Facts = sorted(
    (cluster, offset, f"t{offset}", offset.to_bytes(16, "big"), START + offset * 8 * DAY) for cluster in CLUSTERS for offset in range(COUNT)
)


def by_deltalake(lake: Path) -> Facts:
    rows = DeltaTable(str(lake / "topic")).to_pyarrow_table().to_pylist()
    return [(row["cluster_id"], row["offset"], row["name"], row["topic_id"], _ms(row["timestamp"])) for row in rows]


def by_duckdb(lake: Path) -> Facts:
    topic = DeltaTable(str(lake / "topic")).to_pyarrow_dataset()
    found = duckdb.connect().register("topic", topic).execute('select cluster_id, "offset", name, topic_id, epoch_ms(timestamp) from topic')
    return [tuple(row) for row in found.fetchall()]


def by_polars(lake: Path) -> Facts:
    found = polars.scan_delta(str(lake / "topic")).select("cluster_id", "offset", "name", "topic_id", "timestamp").collect()
    return [(*row[:4], _ms(row[4])) for row in found.rows()]


def by_pandas(lake: Path) -> Facts:
    frame = DeltaTable(str(lake / "topic")).to_pandas()
    times = [_ms(time) for time in frame["timestamp"]]
    return list(zip(frame["cluster_id"], map(int, frame["offset"]), frame["name"], frame["topic_id"], times, strict=True))


def _ms(at: Any) -> int:
    return round(at.timestamp() * 1000)


@pytest.mark.parametrize("read", [by_deltalake, by_duckdb, by_polars, by_pandas])
def test_other_readers_find_every_row(lake: Path, read: Callable[[Path], Facts]) -> None:
    assert sorted(read(lake)) == WANTED


def test_the_statistics_skip_no_file_that_has_a_wanted_row(lake: Path) -> None:
    topic = DeltaTable(str(lake / "topic")).to_pyarrow_dataset()
    database = duckdb.connect().register("topic", topic)
    for at, column in ((1, '"offset"'), (4, "epoch_ms(timestamp)"), (0, "cluster_id")):
        for value in {row[at] for row in WANTED}:
            for sign, holds in (("<", operator.lt), ("=", operator.eq), (">", operator.gt)):
                found = database.execute(f"select count(*) from topic where {column} {sign} ?", [value]).fetchone()
                assert found == (sum(holds(row[at], value) for row in WANTED),), (column, sign, value)


def test_a_divided_table_is_read_by_its_months(lake: Path) -> None:
    months = {"2026-09": 2, "2026-10": 4, "2026-11": 4, "2026-12": 2}
    found = polars.scan_delta(str(lake / "batches")).group_by("month").len().collect()
    assert sum(count for _, count in found.rows()) == 2 * sum(months.values()) // 2
    paths = {uri.partition("month=")[2][:7] for uri in DeltaTable(str(lake / "batches")).file_uris()}
    assert paths == {month for month, _ in found.rows()}


def test_an_export_and_a_lake_hold_the_same_rows(lake: Path, tmp_path: Path) -> None:
    export(ExportOptions(paths=(str(lake.parent / "in"),), out=str(tmp_path), tables=("topic",), jobs=1))
    database = duckdb.connect()
    names = [name for name, *_ in database.execute(f"describe select * from '{tmp_path}/topic.parquet'").fetchall() if name != "topic_id"]
    columns = ", ".join(f'"{name}"' for name in names)
    ours = database.execute(f"select {columns} from '{tmp_path}/topic.parquet' order by all").fetchall()
    database.register("topic", DeltaTable(str(lake / "topic")).to_pyarrow_dataset())
    assert ours == database.execute(f"select {columns} from topic order by all").fetchall()
    assert len(ours) == 2 * COUNT
