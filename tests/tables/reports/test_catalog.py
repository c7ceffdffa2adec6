"""Which files are checkpoints, and where what they hold stands: the same in Python and in SQL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from metashell.tables.reports.catalog import checkpoint_end, in_checkpoint, with_places
from metashell.tables.reports.local import DUCKDB_MACROS
from metashell.tables.sql.database import Database

NAME = "00000000000000000063-0000000002.checkpoint"
CHECKPOINTS = (
    f"/data/{NAME}",
    NAME,
    f"/data/{NAME}.gz",
    "/data/bootstrap.checkpoint",
    f"s3://bucket/data/{NAME}",
    f"s3://bucket/data/{NAME}?endpoint_override=http://127.0.0.1:5000",
    f"/of.checkpoints/a\nb/{NAME}",
    f"/data/00000000000000000100-0000000001.checkpoint.d/{NAME}",
    f"s3://bucket/00000000000000000100-0000000001.checkpoint/{NAME}?endpoint_override=http://h/00000000000000000100-0000000001.checkpoint",
)
SEGMENTS = (
    "/data/00000000000000000000.log",
    "/of.checkpoints/00000000000000000000.log",
    f"/{NAME}/00000000000000000000.log",
    "s3://bucket/of.checkpoint/0.log?endpoint_override=http://127.0.0.1:5000",
    "s3://bucket/0.log?endpoint_override=http://the.checkpoint/5000",
    "",
)


@pytest.mark.parametrize("file", [*CHECKPOINTS, *SEGMENTS])
def test_a_files_name_says_whether_it_is_a_checkpoint(file: str) -> None:
    rows = pa.table({"file": [file], "log_offset": pa.array([7], pa.int64())})
    question = "select in_checkpoint(file) as is_state, position_of(file, log_offset) as position from files"
    _, found = Database({"files": rows}, DUCKDB_MACROS).ask(with_places(question))
    is_state = file in CHECKPOINTS
    position = 2 * checkpoint_end(file) if is_state else 15
    assert in_checkpoint(file) == is_state
    assert [row for batch in found for row in batch.to_pylist()] == [{"is_state": is_state, "position": position}]
    assert position in (15, 0 if "bootstrap" in file else 126)


LOGS = {
    "/data/topic-1/00000000000000000000.log": "topic-1",
    "/what?/topic-1/00000000000000000000.log": "topic-1",
    "s3://bucket/node/topic-1/00000000000000000000.log": "topic-1",
    "s3://bucket/node/topic-1/00000000000000000000.log?endpoint_override=127.0.0.1:5000&scheme=http": "topic-1",
    "s3://bucket/node/topic-1/00000000000000000000.log?endpoint_override=http://127.0.0.1:5000": "topic-1",
    "s3://bucket/node/topic-1/00000000000000000000.log?endpoint_override=http://127.0.0.1:5000/a/b.log": "topic-1",
    "00000000000000000000.log": "",
}


@pytest.mark.parametrize("file", LOGS)
def test_a_files_folder_says_which_log_it_is_of(file: str) -> None:
    rows = pa.table({"file": [file]})
    _, found = Database({"files": rows}, DUCKDB_MACROS).ask(with_places("select log_of(file) as log from files"))
    assert [row["log"] for batch in found for row in batch.to_pylist()] == [LOGS[file]]
