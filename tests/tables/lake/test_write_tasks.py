"""What a task says of its errors and its rows: which folder is full, which logs rows are of, and their month."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.tables.columns.typed_arrays import EARLIEST_MS, LATEST_MS
from metashell.tables.lake.log_state import LogKey
from metashell.tables.lake.write_tasks import Statistics, about_spool, by_month, with_logs
from tests.tables.lake.lakes import DAY


@pytest.mark.parametrize(
    ("about", "spool", "folder"),
    [
        ("/scratch/metashell-lake-x/rows", "/scratch/metashell-lake-x", "/scratch"),
        ("/scratch/metashell-lake-w/metashell-lake-x/rows", "/scratch/metashell-lake-w/metashell-lake-x", "/scratch"),
        ("/data/node/x.log", "/scratch/metashell-lake-x", None),
        ("/scratch/metashell-lake-x/rows", "", None),
    ],
)
def test_an_error_of_a_temporary_file_names_the_folder_that_holds_such_files(about: str, spool: str, folder: str | None) -> None:
    error = PathError(f"{about}: No space left on device", about)
    told = about_spool(error, spool)
    if folder is None:
        assert told is error
    else:
        assert str(told) == f"{folder}: No space left on device (the folder for temporary files; TMPDIR names another)"
        assert isinstance(told, PathError) and told.argument == folder
    for other in (UsageError("x", "/scratch/metashell-lake-x"), MetashellError("/scratch/metashell-lake-x")):
        assert about_spool(other, spool) is other


def test_rows_are_of_the_logs_of_their_files_and_a_fault_of_none_is_of_the_only_one() -> None:
    one, two = LogKey("c", "1", "__cluster_metadata-0"), LogKey("", "", "x@1")
    rows = pa.RecordBatch.from_pydict({"cluster_id": ["c", "c", ""], "file": ["a", "b", "a"], "log": ["k", "k", "k"]})
    found = with_logs(rows, {"a": one, "b": two})
    assert found.schema.names == ["cluster_id", "node_id", "log", "file", "log_kind"]
    assert found.column("node_id").to_pylist() == [1, None, 1]
    assert found.column("log").to_pylist() == [one.log, two.log, one.log]
    assert with_logs(rows, {"x": one}).column("log").to_pylist() == [one.log] * 3
    assert with_logs(rows, {"x": one, "b": two}).column("log").to_pylist() == [None, two.log, None]


TIMES = [None, 0, 31 * DAY - 1, 31 * DAY, -1, EARLIEST_MS, LATEST_MS, 0, 31 * DAY]
MONTHS = [None, "1970-01", "1970-01", "1970-02", "1969-12", "0001-01", "9999-12", "1970-01", "1970-02"]


def test_rows_are_divided_by_their_months_in_their_order_and_the_statistics_are_of_all_of_them() -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array(range(len(TIMES))), pa.array(TIMES, pa.timestamp("ms", "UTC"))], names=["offset", "timestamp"]
    )
    found = {month: rows.column("offset").to_pylist() for month, rows in by_month(batch)}
    wanted: dict[str | None, list[int]] = {}
    for offset, month in enumerate(MONTHS):
        wanted.setdefault(month, []).append(offset)
    assert found == wanted
    assert [month for month, _ in by_month(batch.slice(1, 2))] == ["1970-01"]
    assert list(by_month(batch.slice(0, 0))) == []
    bounds = Statistics()
    bounds.add(batch.slice(0, 3))
    bounds.add(batch.slice(3, 2))
    assert json.loads(bounds.text(5)) == {
        "numRecords": 5,
        "minValues": {"offset": 0, "timestamp": "1969-12-31T23:59:59.999Z"},
        "maxValues": {"offset": 4, "timestamp": "1970-02-01T00:00:00.000Z"},
        "nullCount": {"offset": 0, "timestamp": 1},
    }
