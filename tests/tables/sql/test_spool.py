"""Tables that are put aside come back whole, and leave nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from metashell.tables import ReadOptions
from metashell.tables.sql import sources
from metashell.tables.sql.database import Scan

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


def test_rows_of_many_files_come_back_in_order(splits: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [rows(f"file-{number % 3}", number, number + 1) for number in range(20)]
    splits += [Rows(("partition", batch) for batch in batches[:7]), Rows([("topic", batches[0].slice(0, 0))])]
    splits += [Rows([("faults", rows("a", 0, 3))]), Rows(("partition", batch) for batch in batches[7:])]
    found, fault_count = sources.read_tables(splits, ReadOptions(), as_they_are)
    assert (list(found), fault_count) == (["partition"], 3)
    whole = pa.Table.from_batches(batches)
    assert found["partition"].table().to_pylist() == whole.to_pylist()
    monkeypatch.setattr(sources, "_MAPPED_BYTES_MAX", 4096)
    condition = pc.field("offset") > 17
    for columns, chosen in ((None, None), (["offset", "file"], None), ([], None), (None, condition), (["isr"], condition)):
        wanted = whole if chosen is None else whole.filter(chosen)
        for _ in range(2):
            scanned = found["partition"].scanned(Scan(columns, chosen, lambda _: None)).to_reader().read_all()
            assert scanned.num_rows == wanted.num_rows
            assert scanned.to_pylist() == wanted.select(wanted.column_names if columns is None else columns).to_pylist()
    assert not list(tmp_path.iterdir())


def test_what_is_left_unfinished_is_closed(splits: list[Any], tmp_path: Path) -> None:
    splits.append(Rows([("partition", rows("a", 0, 3)), ("no batch",)]))
    with pytest.raises(ValueError, match="unpack"):
        sources.read_tables(splits, ReadOptions(), as_they_are)
    assert not list(tmp_path.iterdir())
