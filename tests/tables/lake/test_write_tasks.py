"""What a task says of its errors and its rows: which folder is full, which sources rows are of, and their cluster and day."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.tables.lake.write_tasks import about_spool, by_cluster, by_day, columns_of, sources_of_rows, with_day
from tests.tables.lake.lakes import DAY


@pytest.mark.parametrize(
    ("about", "spool", "folder"),
    [
        ("/tmp/metashell-lake-x/rows", "/tmp/metashell-lake-x", "/tmp"),
        ("/tmp/metashell-lake-w/metashell-lake-x/rows", "/tmp/metashell-lake-w/metashell-lake-x", "/tmp"),
        ("/data/node/x.log", "/tmp/metashell-lake-x", None),
        ("/tmp/metashell-lake-x/rows", "", None),
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
    for other in (UsageError("x", "/tmp/metashell-lake-x"), MetashellError("/tmp/metashell-lake-x")):
        assert about_spool(other, spool) is other


def test_rows_are_of_the_sources_that_they_name_and_a_fault_of_none_is_of_all() -> None:
    rows = pa.RecordBatch.from_pydict({"file": ["b", "a", "b"]})
    assert list(sources_of_rows(rows, {"a": 1, "b": 2, "c": 3})) == [2, 1]
    assert list(sources_of_rows(rows, {"a": 1, "c": 3})) == [1, 3]
    assert list(sources_of_rows(rows, {"x": 9})) == [9]


TIMES = [None, -1, 0, DAY - 1, DAY, -DAY, -DAY - 2, 1 << 62, -(1 << 62), 5 * DAY + 7, 0]
DAYS = ["", "", "1970-01-01", "1970-01-01", "1970-01-02", "1969-12-31", "1969-12-30", "", "", "1970-01-06", "1970-01-01"]


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("ms", "UTC")])
def test_rows_are_divided_by_their_clusters_and_their_days_in_their_order(kind: pa.DataType) -> None:
    clusters = pa.array(["b", "a", "b", "a", "b", "b", "a", "a", "b", "a", "b"]).dictionary_encode()
    batch = pa.RecordBatch.from_arrays(
        [clusters, pa.array(range(len(TIMES))), pa.array(TIMES, kind)], names=["cluster_id", "offset", "timestamp"]
    )
    found = {}
    for cluster, rows in by_cluster(batch):
        assert "cluster_id" not in rows.schema.names
        for day, part in by_day(rows):
            assert (cluster, day) not in found
            found[cluster, day] = part.column("offset").to_pylist()
    wanted: dict[tuple[str, str], list[int]] = {}
    for offset, (cluster, day) in enumerate(zip(clusters.to_pylist(), DAYS, strict=True)):
        wanted.setdefault((cluster, day), []).append(offset)
    assert found == wanted
    assert with_day(batch).column("date").to_pylist() == [date.fromisoformat(day) if day else None for day in DAYS]
    timeless = batch.drop_columns(["timestamp"])
    assert [day for day, _ in by_day(timeless)] == [""]
    assert with_day(timeless).column("date").to_pylist() == [None] * len(TIMES)
    assert [cluster for cluster, _ in by_cluster(batch.slice(0, 1))] == ["b"]


def test_the_columns_of_a_table_are_those_that_readers_see() -> None:
    schema = pa.schema([("file", pa.dictionary(pa.int32(), pa.string())), ("id", pa.uuid()), ("at", pa.timestamp("ms", "UTC"))])
    assert columns_of(schema) == {"file": "string", "id": "extension<arrow.uuid>", "at": "timestamp[ms, tz=UTC]"}
