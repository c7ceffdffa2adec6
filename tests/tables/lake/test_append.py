"""Appending: each record is in a lake once, whatever is given how often, and under which path."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.tables.export import main
from metashell.common.errors import UsageError
from tests.tables.lake.lakes import SEGMENT, START, expected, left_over, names, node, rows, run, segment, topics


def test_what_an_operator_should_see_is_told_with_quiet_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, count in (("monday", 10), ("tuesday", 16)):
        (node(tmp_path / name) / SEGMENT).write_bytes(topics(0, count))
    run(tmp_path / "lake", tmp_path / "tuesday")
    assert main([str(tmp_path / "monday"), "--append", "--out", str(tmp_path / "lake"), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("metashell export: __cluster_metadata-0 of node 1 of quokka-cluster-1234567: ends at offset 9, the lake has it")
    assert err.count("\n") == 1


def test_loose_files_are_known_by_what_they_begin_with(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    (tmp_path / "x" / SEGMENT).write_bytes(topics(0, 10))
    (tmp_path / "y" / SEGMENT).write_bytes(topics(0, 14))
    run(tmp_path / "lake", tmp_path / "x" / SEGMENT)
    assert run(tmp_path / "lake", tmp_path / "y" / SEGMENT).rows["topic"] == 4
    (tmp_path / "y" / SEGMENT).write_bytes(topics(0, 4, time=START + 1))
    assert run(tmp_path / "lake", tmp_path / "y" / SEGMENT).rows["topic"] == 4


def test_a_log_that_is_cut_and_written_anew_is_refused(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 20))
    run(out, tmp_path / "node")
    for count in (2, 8, 10, 30):
        (log / SEGMENT).write_bytes(topics(0, 10) + topics(10, count, epoch=2, name="new"))
        before = names(out)
        # The first batch of a later epoch shows it, also where the log is shorter than it was.
        with pytest.raises(UsageError, match=rf"{SEGMENT}: offset 10: not what the lake has there.*--replace"):
            run(out, tmp_path / "node")
        assert names(out) == before
        assert left_over(out) == []
    report = run(out, tmp_path / "node", replaces=True)
    # Only what is known for sure stays: the first batch is an anchor.
    assert report.plan.notes == [
        "__cluster_metadata-0 of node 1 of quokka-cluster-1234567: differs from what the lake has from offset 2 on: "
        "that is removed, and written anew"
    ]
    assert names(out) == expected(0, 10) + expected(10, 30, "new")
    assert sum(row["count"] for row in rows(out, "batches")) == 40


def test_a_log_formatted_again_with_the_same_ids_is_refused(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 20))
    run(out, tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 4, name="other"))
    with pytest.raises(UsageError, match="offset 0: not what the lake has there"):
        run(out, tmp_path / "node")
    run(out, tmp_path / "node", replaces=True)
    assert names(out) == expected(0, 4, "other")


def test_replacing_never_removes_what_the_input_cannot_give_again(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 20))
    run(out, tmp_path / "node")
    (log / SEGMENT).unlink()
    (log / segment(16)).write_bytes(topics(16, 20, epoch=5, name="other"))
    with pytest.raises(UsageError, match=r"offsets 0 to 15 of .* would be lost"):
        run(out, log / segment(16), replaces=True)
    assert names(out) == expected(0, 20)


def test_another_disk_without_a_batch_to_compare_is_refused(tmp_path: Path) -> None:
    first, second = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
    log, out = node(tmp_path / "node", directory=first), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 10))
    run(out, tmp_path / "node")
    node(tmp_path / "node", directory=second)
    with (log / SEGMENT).open("ab") as file:
        file.write(topics(10, 2))
    assert run(out, tmp_path / "node").rows["topic"] == 2
    (log / SEGMENT).unlink()
    node(tmp_path / "node", directory=first)
    (log / segment(12)).write_bytes(topics(12, 4))
    with pytest.raises(UsageError, match=r"another directory\.id"):
        run(out, log / segment(12))
    assert run(out, log / segment(12), replaces=True).rows["topic"] == 4
