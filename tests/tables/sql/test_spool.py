"""Tables that are put aside come back whole, and leave nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metashell.tables import ReadOptions
from metashell.tables.sql import sources

SCHEMA = pa.schema([("cluster_id", pa.string()), ("file", pa.string()), ("offset", pa.int64()), ("isr", pa.list_(pa.int32()))])


def rows(file: str, first: int, count: int) -> pa.RecordBatch:
    columns = {
        "cluster_id": ["c"] * count,
        "file": [file] * count,
        "offset": list(range(first, first + count)),
        "isr": [None if number % 7 == 0 else [number, number + 1] for number in range(count)],
    }
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


class Rows(list[Any]):
    """A split that is a list of (table, batch) itself."""

    bytes = 1


@pytest.fixture
def splits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """No splits yet, which are `Rows`, and an empty folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sources, "read_split", lambda split, _: iter(split))
    return []


def as_they_are(name: str, batch: pa.RecordBatch) -> list[tuple[str, pa.RecordBatch]]:
    return [(name, batch)] if name != "faults" else []


def test_rows_of_many_files_come_back_in_order(splits: list[Any], tmp_path: Path) -> None:
    batches = [rows(f"file-{number % 3}", number, number + 1) for number in range(20)]
    splits += [Rows(("partition", batch) for batch in batches[:7]), Rows([("topic", batches[0].slice(0, 0))])]
    splits += [Rows([("faults", rows("a", 0, 3))]), Rows(("partition", batch) for batch in batches[7:])]
    found, fault_count = sources.read_tables(splits, ReadOptions(), as_they_are)
    assert (list(found), fault_count) == (["partition"], 3)
    assert found["partition"].to_pylist() == pa.Table.from_batches(batches).to_pylist()
    assert not list(tmp_path.iterdir())


def test_what_is_left_unfinished_is_closed(splits: list[Any], tmp_path: Path) -> None:
    splits.append(Rows([("partition", rows("a", 0, 3)), ("no batch",)]))
    with pytest.raises(ValueError, match="unpack"):
        sources.read_tables(splits, ReadOptions(), as_they_are)
    assert not list(tmp_path.iterdir())
