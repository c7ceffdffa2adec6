"""What is written as Parquet is read back as it was, by readers that know nothing of how it was encoded."""

from __future__ import annotations

import io
import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metashell.tables import ReadOptions, plan_splits, read_split, tables
from metashell.tables.export import parquet
from metashell.tables.export.parquet import ParquetTable
from tests.quick import quick
from tests.tables.logs import any_log


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[pa.RecordBatch]]:
    """All tables of three files of any content."""
    folder = tmp_path_factory.mktemp("logs")
    found: dict[str, list[pa.RecordBatch]] = {}
    for seed in range(3):
        path = folder / f"node-{seed}" / "00000000000000000000.log"
        path.parent.mkdir()
        path.write_bytes(any_log(random.Random(seed), batch_count=20))
        for split in plan_splits(str(path), log="metadata"):
            for name, batch in read_split(split, ReadOptions(tables=set(tables()), on_error="skip")):
                found.setdefault(name, []).append(batch)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("large_rows", quick([0, 1 << 30]), ids=["names-once-a-batch", "small-batches-together"])
def test_every_table_is_read_as_it_was(
    tmp_path: Path, batches: dict[str, list[pa.RecordBatch]], large_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "LARGE_ROWS", large_rows)
    assert len(batches) > 20
    for name, parts in batches.items():
        path = tmp_path / f"{name}.parquet"
        writer = ParquetTable(str(path), parts[0].schema.with_metadata({"told": "yes"}))
        half = (len(parts) + 1) // 2
        for group in filter(None, (parts[:half], parts[half:])):
            writer.write(group)
        writer.close()
        found = pq.read_table(path)
        want = pa.Table.from_batches(parts)
        assert [(field.name, field.metadata) for field in found.schema] == [(field.name, field.metadata) for field in want.schema], name
        assert found.schema.field("file").type == pa.string()
        assert found.cast(want.schema.with_metadata(found.schema.metadata)).equals(want), name
        assert pq.read_metadata(path).metadata[b"told"] == b"yes"
        if want.num_rows:
            counted = duckdb.connect().execute(f"select count(distinct file), count(*) from '{path}'").fetchall()
            assert counted == [(len(set(want.column("file").to_pylist())), want.num_rows)]


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "partition.parquet"
    ParquetTable(str(path), tables()["partition"]).close()
    found = pq.read_table(path)
    assert found.num_rows == 0
    assert found.schema.names == tables()["partition"].names
    assert found.schema.field("topic_id").metadata == {b"kafka": b"uuid"}


def test_a_table_in_an_opened_file_is_closed_once_and_the_file_stays_open() -> None:
    file = io.BytesIO()
    table = ParquetTable(file, tables()["partition"])
    table.close()
    whole = file.getvalue()
    table.close()
    assert file.getvalue() == whole


def test_queries_can_skip_by_offset_time_and_name(tmp_path: Path, batches: dict[str, list[pa.RecordBatch]]) -> None:
    path = tmp_path / "topic.parquet"
    writer = ParquetTable(str(path), batches["topic"][0].schema)
    writer.write(batches["topic"])
    writer.close()
    group = pq.read_metadata(path).row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at).is_stats_set for at in range(group.num_columns)}
    assert columns["offset"] and columns["timestamp"] and columns["name"] and columns["cluster_id"]
    assert not columns["topic_id"]
