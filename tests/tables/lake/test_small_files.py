"""Small files are read together: the lake is the same as if each was read alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from metashell.tables.columns import reader
from metashell.tables.lake.layout import NO_VALUE, read_state
from metashell.tables.stores import open_store
from tests.tables.lake.lakes import DAY, SEGMENT, START, commits, expected, names, node, rows, run, segment, topics

pytestmark = pytest.mark.slow

CLUSTERS = ("a", "b", "c")


def fleet(top: Path, *, spoilt: bool = False) -> None:
    """Three clusters of three nodes, each with two segments of two days, and a coordinator's log."""
    for number, cluster in enumerate(CLUSTERS * 3):
        log = node(top / f"node{number}", number, cluster)
        (log / SEGMENT).write_bytes(topics(0, 6, time=START + number % 2 * DAY))
        (log / segment(6)).write_bytes(topics(6, 4, time=START + DAY))
        group = top / f"node{number}" / "__consumer_offsets-3"
        group.mkdir()
        (group / SEGMENT).write_bytes(commits(0, 3))
    if spoilt:
        path = top / "node4" / "__cluster_metadata-0" / segment(6)
        path.write_bytes(path.read_bytes()[:-1] + b"x")


def sources(out: Path) -> dict[str, tuple[str, ...]]:
    """For each file of the lake, the sources that its commit names, and whether these are the files that its rows name."""
    state = read_state(open_store(str(out)))
    found = {}
    for name, file in state.files.items():
        said = tuple(sorted(state.sources[number].path for number in file.sources))
        own = tuple(sorted(set(pq.read_table(out / name, columns=["file"]).column(0).to_pylist())))
        if f"date={NO_VALUE}" not in name:
            assert said == own, name
        found[file.folder] = said
    return found


@pytest.mark.parametrize("spoilt", [False, True])
def test_rows_and_their_sources_are_those_of_files_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoilt: bool) -> None:
    fleet(tmp_path / "fleet", spoilt=spoilt)
    alone: list[str] = []
    real = reader.read_piece

    def read_piece(piece: Any, options: Any) -> Any:
        alone.append(piece.path)
        return real(piece, options)

    monkeypatch.setattr(reader, "read_piece", read_piece)
    run(tmp_path / "joint", tmp_path / "fleet", on_error="skip")
    together = len(alone)
    assert together <= (18 if spoilt else 0)
    monkeypatch.setattr(reader, "FAILURES_MAX", 0)
    run(tmp_path / "alone", tmp_path / "fleet", on_error="skip")
    assert len(alone) - together == 27
    for table in ("topic", "batches", "offset_commit", *(["faults"] if spoilt else [])):
        found = rows(tmp_path / "joint", table)
        assert found == rows(tmp_path / "alone", table)
        assert found
    assert sources(tmp_path / "joint") == sources(tmp_path / "alone")
    assert run(tmp_path / "joint", tmp_path / "fleet").rows == {}


def test_what_is_cut_of_one_log_takes_nothing_of_the_others(tmp_path: Path) -> None:
    fleet(tmp_path / "fleet")
    run(tmp_path / "lake", tmp_path / "fleet")
    log = tmp_path / "fleet" / "node4" / "__cluster_metadata-0"
    (log / segment(6)).write_bytes(topics(6, 6, epoch=2, name="new"))
    run(tmp_path / "lake", tmp_path / "fleet", replaces=True)
    found = [row for row in rows(tmp_path / "lake") if "/node4/" in row["file"]]
    assert [row["name"] for row in found] == expected(0, 6) + expected(6, 6, "new")
    assert len(names(tmp_path / "lake")) == 8 * 10 + 12
