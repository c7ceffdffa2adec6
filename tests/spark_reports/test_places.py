"""What the column `file` says of a row, on Spark: the same as in Python."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.tables.reports.catalog import checkpoint_end, in_checkpoint, with_places
from tests.tables.reports.test_catalog import CHECKPOINTS, LOGS, SEGMENTS

pytestmark = pytest.mark.slow


def test_spark_places_rows_as_python_does(spark: Any) -> None:
    files = [*CHECKPOINTS, *SEGMENTS, *LOGS]
    spark.createDataFrame([(file, 7) for file in files], "file string, log_offset bigint").createOrReplaceTempView("placed_files")
    question = (
        "select file, log_of(file) as log, in_checkpoint(file) as is_state, position_of(file, log_offset) as position from placed_files"
    )
    found = spark.sql(with_places(question)).collect()
    assert {(row.file, row.is_state, row.position) for row in found} == {
        (file, in_checkpoint(file), 2 * checkpoint_end(file) if in_checkpoint(file) else 15) for file in files
    }
    assert {row.file: row.log for row in found}.items() >= LOGS.items()
