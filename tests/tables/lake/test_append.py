"""Appending: each record is in a lake once, whatever is given how often, and under which path."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metashell.cli.tables.export import main
from metashell.common.errors import UsageError
from tests.tables.lake.lakes import DAY, SEGMENT, START, commits, expected, left_over, names, node, rows, run, segment, topics


def test_a_log_that_grows_is_added_to(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 10))
    report = run(out, tmp_path / "node")
    assert report.rows == {"topic": 10, "batches": 5}
    assert names(out) == expected(0, 10)
    with (log / SEGMENT).open("ab") as file:
        file.write(topics(10, 7, time=START + DAY))
    report = run(out, tmp_path / "node")
    assert report.rows == {"topic": 7, "batches": 4}
    assert names(out) == expected(0, 17)
    assert {row["date"] for row in rows(out)} == {"2026-09-21", "2026-09-22"}
    assert left_over(out) == []


def test_the_same_input_again_adds_nothing(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 10))
    run(out, tmp_path / "node")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert run(out, tmp_path / "node", tmp_path / "node").rows == {}
    assert run(out, log / SEGMENT).rows == {}
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    shutil.copytree(tmp_path / "node", tmp_path / "copy")
    assert run(out, tmp_path / "copy", tmp_path / "node").rows == {}


def test_two_copies_in_one_run_count_once_and_the_longer_one_is_used(tmp_path: Path) -> None:
    for name, count in (("monday", 10), ("tuesday", 16)):
        (node(tmp_path / name) / SEGMENT).write_bytes(topics(0, count))
    assert run(tmp_path / "lake", tmp_path / "monday", tmp_path / "tuesday").rows["topic"] == 16
    assert names(tmp_path / "lake") == expected(0, 16)
    assert run(tmp_path / "other", tmp_path / "tuesday", tmp_path / "monday").rows["topic"] == 16


def test_an_older_dump_adds_nothing_and_says_where_it_ends(tmp_path: Path) -> None:
    for name, count in (("monday", 10), ("tuesday", 16)):
        (node(tmp_path / name) / SEGMENT).write_bytes(topics(0, count))
    run(tmp_path / "lake", tmp_path / "tuesday")
    report = run(tmp_path / "lake", tmp_path / "monday")
    assert report.rows == {}
    assert report.plan.notes == ["__cluster_metadata-0 of node 1 of quokka-cluster-1234567: ends at offset 9, the lake has it up to 15"]
    assert names(tmp_path / "lake") == expected(0, 16)


def test_what_an_operator_should_see_is_told_with_quiet_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, count in (("monday", 10), ("tuesday", 16)):
        (node(tmp_path / name) / SEGMENT).write_bytes(topics(0, count))
    run(tmp_path / "lake", tmp_path / "tuesday")
    assert main([str(tmp_path / "monday"), "--append", "--out", str(tmp_path / "lake"), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("metashell export: __cluster_metadata-0 of node 1 of quokka-cluster-1234567: ends at offset 9, the lake has it")
    assert err.count("\n") == 1


def test_nodes_and_clusters_are_kept_apart(tmp_path: Path) -> None:
    for name, node_id, cluster in (("a1", 1, "a"), ("a2", 2, "a"), ("b1", 1, "b")):
        (node(tmp_path / "in" / name, node_id, cluster) / SEGMENT).write_bytes(topics(0, 4))
    assert run(tmp_path / "lake", tmp_path / "in").rows["topic"] == 12
    assert [row["cluster_id"] for row in rows(tmp_path / "lake")] == ["a"] * 8 + ["b"] * 4
    assert run(tmp_path / "lake", tmp_path / "in").rows == {}


def test_segments_that_are_rolled_and_removed(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 10))
    (log / segment(10)).write_bytes(topics(10, 4))
    run(out, tmp_path / "node")
    (log / segment(10)).write_bytes(topics(10, 10))
    (log / segment(20)).write_bytes(topics(20, 6))
    assert run(out, tmp_path / "node").rows["topic"] == 12
    (log / SEGMENT).unlink()
    (log / segment(26)).write_bytes(topics(26, 2))
    assert run(out, tmp_path / "node").rows["topic"] == 2
    assert names(out) == expected(0, 28)


def test_another_roll_of_the_same_log_adds_what_is_missing(tmp_path: Path) -> None:
    (node(tmp_path / "a") / SEGMENT).write_bytes(topics(0, 10))
    (node(tmp_path / "b") / SEGMENT).write_bytes(topics(0, 6))
    (node(tmp_path / "b") / segment(6)).write_bytes(topics(6, 10))
    run(tmp_path / "lake", tmp_path / "a")
    assert run(tmp_path / "lake", tmp_path / "b").rows["topic"] == 6
    assert names(tmp_path / "lake") == expected(0, 16)


def test_loose_files_are_known_by_what_they_begin_with(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    (tmp_path / "x" / SEGMENT).write_bytes(topics(0, 10))
    (tmp_path / "y" / SEGMENT).write_bytes(topics(0, 14))
    run(tmp_path / "lake", tmp_path / "x" / SEGMENT)
    assert run(tmp_path / "lake", tmp_path / "y" / SEGMENT).rows["topic"] == 4
    (tmp_path / "y" / SEGMENT).write_bytes(topics(0, 4, time=START + 1))
    assert run(tmp_path / "lake", tmp_path / "y" / SEGMENT).rows["topic"] == 4


def test_a_torn_tail_waits_for_its_rest(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    whole = topics(0, 20)
    for size in range(len(whole) - 260, len(whole) + 1, 13):
        (log / SEGMENT).write_bytes(whole[:size])
        run(out, tmp_path / "node")
    (log / SEGMENT).write_bytes(whole)
    run(out, tmp_path / "node")
    assert names(out) == expected(0, 20)
    assert not (out / "table=faults").exists()


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


def test_compaction_of_a_coordinators_log_adds_no_row_twice(tmp_path: Path) -> None:
    node(tmp_path / "node")
    shutil.rmtree(tmp_path / "node" / "__cluster_metadata-0")
    log, out = tmp_path / "node" / "__consumer_offsets-3", tmp_path / "lake"
    log.mkdir()
    (log / SEGMENT).write_bytes(commits(0, 10))
    (log / segment(10)).write_bytes(commits(10, 6))
    assert run(out, tmp_path / "node").rows["offset_commit"] == 16
    (log / SEGMENT).write_bytes(commits(0, 0, offsets=range(0, 15, 4), time=START + 5))
    (log / segment(10)).unlink()
    (log / segment(15)).write_bytes(commits(15, 5))
    assert run(out, tmp_path / "node").rows["offset_commit"] == 4
    assert [row["offset"] for row in sorted(rows(out, "offset_commit"), key=lambda row: row["offset"])] == list(range(20))
    (log / SEGMENT).write_bytes(commits(0, 0, offsets=range(17), epoch=9))
    with pytest.raises(UsageError, match="not what the lake has there"):
        run(out, tmp_path / "node")
