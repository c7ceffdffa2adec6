"""Spark reads the column chunks that we make ourselves, with both of its readers, and skips by their bounds and dictionaries."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from metashell.tables.columns.typed_arrays import file_batch
from tests.tables.any_tables import COLUMNS, any_batch
from tests.tables.export.test_column_chunks import values, written_table

pytestmark = pytest.mark.slow

NO_IDS = [name for name in COLUMNS if name not in ("id", "one_id", "maybe_id", "no_id", "directories", "empty_ids")]
TIMES = ("timestamp", "maybe_time", "one_time")


@pytest.mark.parametrize("is_vectorized", [True, False])
def test_columns_of_every_shape_are_read_as_they_were(spark: Any, tmp_path: Path, is_vectorized: bool) -> None:
    rng = random.Random(3)
    path = tmp_path / "any.parquet"
    # The reader by rows refuses Parquet's UUIDs, of which it knows nothing.
    names = list(COLUMNS) if is_vectorized else NO_IDS
    groups = [[file_batch(any_batch(rng, size, names)) for size in group] for group in ([1500, 700], [3], [1200])]
    want = values(written_table(path, groups))
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", str(is_vectorized).lower())
    spark.conf.set("spark.sql.parquet.enableNestedColumnVectorizedReader", str(is_vectorized).lower())
    try:
        frame = spark.read.parquet(str(path))
        rows = frame.select(*[name for name in want if name not in TIMES], *[frame[name].cast("double") for name in TIMES]).collect()
        for name in want:
            assert [plain(row[name]) for row in rows] == [wanted(name, value) for value in want[name]], name
        for condition in (
            "node = 3",
            "node = 17",
            "word = 'RECOVERED'",
            "epoch = 8",
            "epoch = 7",
            "partition > 399",
            "nothing is not null",
        ):
            found = frame.where(condition).count()
            assert found == sum(1 for at in range(len(rows)) if holds(condition, want, at)), condition
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
        spark.conf.unset("spark.sql.parquet.enableNestedColumnVectorizedReader")


def holds(condition: str, want: dict[str, list[Any]], at: int) -> bool:
    name, sign, value = condition.split(" ", 2)
    found = want[name][at]
    if value == "not null":
        return found is not None
    return bool(found > int(value) if sign == ">" else str(found) == value.strip("'"))


def plain(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.asDict() if hasattr(value, "asDict") else value


def wanted(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in TIMES:
        return value.timestamp()
    if name == "entries":
        return dict(value)
    return value.bytes if hasattr(value, "bytes") else value
