"""Compaction leaves empty segments in logs of coordinators (KAFKA-9157): every command reads them, and none of the metadata log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.cli.main import main
from metashell.common.errors import LogCorruptError
from metashell.tables import ReadOptions, plan_splits, read_split
from metashell.tables.sql.query import query
from tests.tables.lake.lakes import commits, node, rows, run, segment, topics


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The directory of a broker: a log whose first segment and one in its middle were emptied."""
    node(tmp_path / "node").rmdir()
    log = tmp_path / "node" / "__consumer_offsets-3"
    log.mkdir()
    for base, data in ((0, b""), (14, commits(14, 3)), (20, b""), (30, commits(30, 1))):
        (log / segment(base)).write_bytes(data)
    return tmp_path / "node"


def offsets(path: Path) -> list[int]:
    return [
        offset
        for split in plan_splits(str(path))
        for table, batch in read_split(split, ReadOptions(tables=["offset_commit"]))
        for offset in batch.column("offset").to_pylist()
        if table == "offset_commit"
    ]


def test_an_emptied_segment_is_no_fault(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert offsets(folder) == [14, 15, 16, 30]
    assert list(query('select count(*) from offset_commit where "offset" > 14', [str(folder)]).rows) == [[3]]
    emptied = folder / "__consumer_offsets-3" / segment(20)
    for words in (["dump-log", str(folder)], ["verify", str(folder)], ["dump-log", str(emptied)], ["verify", str(emptied)]):
        assert main(words) == 0, (words, capsys.readouterr())


def test_an_emptied_segment_is_nothing_new_for_a_lake(folder: Path, tmp_path: Path) -> None:
    add: Any = run
    for place in (str(folder), f"file://{folder}"):
        out = tmp_path / f"lake-{len(place)}"
        assert add(out, place, tables=("offset_commit",)).number == 1
        assert [row["offset"] for row in rows(out, "offset_commit")] == [14, 15, 16, 30]
        assert add(out, place).number == 0
    # Emptied since.
    (folder / "__consumer_offsets-3" / segment(14)).write_bytes(b"")
    assert run(tmp_path / f"lake-{len(str(folder))}", folder).number == 0


def test_an_empty_segment_of_the_metadata_log_is_a_fault(tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    (log / segment(0)).write_bytes(topics(0, 4))
    (log / segment(4)).write_bytes(b"")
    (log / segment(6)).write_bytes(topics(6, 2))
    with pytest.raises(LogCorruptError, match=r"the file is empty|offsets 4 to 5 are missing"):
        offsets(tmp_path / "node")
