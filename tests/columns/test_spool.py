"""Tables that are put aside come back whole, and leave nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from metashell.columns.sql.spool import Spools

SCHEMA = pa.schema([("cluster_id", pa.string()), ("file", pa.string()), ("offset", pa.int64()), ("isr", pa.list_(pa.int32()))])


def rows(file: str, first: int, count: int) -> pa.RecordBatch:
    columns = {
        "cluster_id": ["c"] * count,
        "file": [file] * count,
        "offset": list(range(first, first + count)),
        "isr": [None if number % 7 == 0 else [number, number + 1] for number in range(count)],
    }
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def test_rows_of_many_files_come_back_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    batches = [rows(f"file-{number % 3}", number, number + 1) for number in range(20)]
    with Spools() as spools:
        for batch in batches:
            spools.add("partition", batch)
        spools.add("topic", batches[0].slice(0, 0))
        found = spools.tables()
    assert list(found) == ["partition"]
    assert found["partition"].to_pylist() == pa.Table.from_batches(batches).to_pylist()
    assert not list(tmp_path.iterdir())


def test_what_is_left_unfinished_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyError), Spools() as spools:
        spools.add("partition", rows("a", 0, 3))
        raise KeyError
    assert not list(tmp_path.iterdir())
