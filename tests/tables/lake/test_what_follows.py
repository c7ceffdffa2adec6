"""Files that begin behind what a lake has: what may be missing between them, and which epochs may follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import LogCorruptError, UsageError
from tests.tables.lake.lakes import CLUSTER, SEGMENT, commits, expected, names, node, run, segment, topics
from tests.tables.lake.test_lake import checkpoint

LOG = f"__cluster_metadata-0 of node 1 of {CLUSTER}"


def only(folder: Path, base: int, data: bytes) -> Path:
    """A dump with one segment."""
    path = node(folder) / segment(base)
    path.write_bytes(data)
    return path


def test_a_hole_before_a_file_that_is_named_is_a_fault_as_before_its_folder(tmp_path: Path) -> None:
    out = tmp_path / "lake"
    run(out, only(tmp_path / "first", 0, topics(0, 10)))
    later = only(tmp_path / "later", 26, topics(26, 4))
    for given in (later, tmp_path / "later"):
        with pytest.raises(LogCorruptError, match="offsets 10 to 25 are missing"):
            run(out, given)
    # A checkpoint that the lake has stands for the first of them.
    (later.parent / "00000000000000000020-0000000001.checkpoint").write_bytes(checkpoint(4))
    run(out, later.parent / "00000000000000000020-0000000001.checkpoint")
    with pytest.raises(LogCorruptError, match="offsets 20 to 25 are missing"):
        run(out, later)
    (later.parent / "00000000000000000030-0000000001.checkpoint").write_bytes(checkpoint(4))
    run(out, later.parent / "00000000000000000030-0000000001.checkpoint")
    report = run(out, later)
    assert report.rows["topic"] == 4
    assert report.plan.notes == [f"{LOG}: offsets 10 to 25 are in no log any more: a checkpoint stands for them"]


def test_what_a_file_before_it_gave_in_the_same_run_is_no_hole(tmp_path: Path) -> None:
    out = tmp_path / "lake"
    run(out, only(tmp_path / "first", 0, topics(0, 10)))
    report = run(out, only(tmp_path / "second", 10, topics(10, 10)), only(tmp_path / "third", 20, topics(20, 10)))
    assert report.plan.notes == []
    assert names(out) == expected(0, 30)


@pytest.mark.parametrize("as_folder", [False, True])
def test_a_log_whose_epoch_falls_is_another_one(tmp_path: Path, as_folder: bool) -> None:
    out = tmp_path / "lake"
    run(out, only(tmp_path / "first", 0, topics(0, 10, epoch=5)))
    path = only(tmp_path / "second", 10, topics(10, 10, epoch=3))
    with pytest.raises(UsageError) as raised:
        run(out, path.parent if as_folder else path)
    assert str(raised.value) == (
        f"{path}: offset 10: epoch 3, and the lake has epoch 5 before it: the log was cut and written anew, or it is another log; "
        "--replace removes what differs and writes it anew"
    )
    with pytest.raises(UsageError, match="offsets 0 to 9 of __cluster_metadata-0"):
        run(out, path, replaces=True)
    path.write_bytes(topics(10, 10, epoch=5))
    assert run(out, path).rows["topic"] == 10


def test_a_file_that_grows_by_an_older_epoch_is_refused_unless_it_replaces(tmp_path: Path) -> None:
    out = tmp_path / "lake"
    run(out, path := only(tmp_path / "node", 0, topics(0, 10, epoch=5)))
    path.write_bytes(topics(0, 10, epoch=5) + topics(10, 10, epoch=3))
    with pytest.raises(UsageError, match="offset 10: epoch 3, and the lake has epoch 5 before it"):
        run(out, path)
    with pytest.raises(LogCorruptError):
        run(tmp_path / "other", path)
    run(out, path, replaces=True, on_error="skip")
    assert names(out) == expected(0, 20)


def test_two_inputs_of_which_the_later_one_has_the_older_epoch_are_named(tmp_path: Path) -> None:
    first, second = only(tmp_path / "first", 0, topics(0, 10, epoch=5)), only(tmp_path / "second", 10, topics(10, 10, epoch=3))
    with pytest.raises(UsageError) as raised:
        run(tmp_path / "lake", first, second)
    assert str(raised.value) == (
        f"{second}: offset 10: epoch 3, and {first} has epoch 5 before it: one of the two was cut off and written anew, where the higher "
        "epoch is the newer, or they are two logs: give only one of them"
    )


def test_segments_of_one_folder_are_judged_by_who_reads_them(tmp_path: Path) -> None:
    log = only(tmp_path / "node", 0, topics(0, 10, epoch=5)).parent
    (log / segment(10)).write_bytes(topics(10, 10, epoch=3))
    with pytest.raises(LogCorruptError, match="epoch"):
        run(tmp_path / "lake", tmp_path / "node")
    assert run(tmp_path / "skipping", tmp_path / "node", on_error="skip").rows["faults"] == 1
    assert names(tmp_path / "skipping") == expected(0, 20)


def test_epochs_of_a_coordinators_log_are_held_against_equal_offsets_only(tmp_path: Path) -> None:
    node(tmp_path / "node")
    log = tmp_path / "node" / "__consumer_offsets-0"
    log.mkdir()
    (log / SEGMENT).write_bytes(commits(0, 6, epoch=5))
    run(tmp_path / "lake", tmp_path / "node")
    (log / segment(6)).write_bytes(commits(6, 6, epoch=3))
    assert run(tmp_path / "lake", tmp_path / "node").rows["offset_commit"] == 6


def test_only_what_is_committed_is_read_where_that_is_wanted(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 10))
    report = run(out, tmp_path / "node", is_committed_only=True)
    assert (report.rows, report.plan.notes) == (
        {},
        [f"{LOG}: read up to offset 0, its newest checkpoint: what follows may not be committed"],
    )
    (log / "00000000000000000006-0000000001.checkpoint").write_bytes(checkpoint(4))
    assert run(out, tmp_path / "node", is_committed_only=True).rows["topic"] == 6
    assert run(out, tmp_path / "node", is_committed_only=True).rows == {}
    # What was never committed is cut off, and written anew: that is no contradiction.
    (log / SEGMENT).write_bytes(topics(0, 6) + topics(6, 8, epoch=2, name="new"))
    (log / "00000000000000000006-0000000001.checkpoint").rename(log / "00000000000000000010-0000000002.checkpoint")
    report = run(out, tmp_path / "node", is_committed_only=True)
    assert report.rows["topic"] == 4
    assert names(out) == [*expected(0, 6), *expected(6, 4, "new")]
    assert run(out, tmp_path / "node").rows["topic"] == 4
