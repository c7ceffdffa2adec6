"""Epochs of offsets: what is known stays, and a log that was written anew shows at its first batch of another epoch."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import UsageError
from metashell.tables.lake.appends import LakeState, read_state
from metashell.tables.lake.log_state import Epochs
from metashell.tables.stores import open_store
from tests.tables.lake.lakes import SEGMENT, commits, names, node, run, segment, topics


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.randoms(),
)
def test_runs_say_what_was_seen_and_nothing_else_but_what_lies_between(
    steps: list[tuple[int, int]], seen: list[bool], random: Random
) -> None:
    """A log is runs of growing epochs; some are seen, in any order."""
    epoch, end, runs = 0, 0, []
    for grows, size in steps:
        epoch += grows
        runs.append((end, end + size, epoch))
        end += size
    chosen = [run for run, is_seen in zip(runs, seen, strict=False) if is_seen]
    random.shuffle(chosen)
    found = Epochs(chosen)
    truth = {offset: epoch for start, until, epoch in runs for offset in range(start, until)}
    for start, until, epoch in chosen:
        assert all(found.at(offset) == epoch for offset in range(start, until))
    assert all(found.at(offset) in (None, truth.get(offset)) for offset in range(-2, end + 2))
    listed = list(found)
    assert all(first[1] <= second[0] and first[2] < second[2] for first, second in pairwise(listed))
    assert list(Epochs(listed)) == listed
    found.remove_from(end // 2)
    assert all(found.at(offset) is None for offset in range(end // 2, end))
    assert all(found.at(offset) == epoch for start, until, epoch in chosen for offset in range(start, min(until, end // 2)))


def test_what_is_known_is_not_changed_and_the_oldest_is_forgotten() -> None:
    found = Epochs([(0, 10, 1), (20, 30, 3)])
    found.add(5, 25, 2)
    assert list(found) == [(0, 10, 1), (10, 20, 2), (20, 30, 3)]
    found.add(30, 31, -1)
    assert found.at(30) is None
    many = Epochs((number * 2, number * 2 + 1, number) for number in range(3000))
    assert (many.at(0), many.at(5998)) == (None, 2999)
    assert len(list(many)) == 1024


def test_what_does_not_grow_is_not_noted() -> None:
    found = Epochs([(0, 10, 1), (20, 30, 3)])
    for start, end, epoch in ((30, 40, 2), (12, 14, 4), (40, 50, 0)):
        found.add(start, end, epoch)
    assert list(found) == [(0, 10, 1), (20, 30, 3)]


@pytest.mark.parametrize("odd", [(1, 5, 2), (1, 2, 3, 1), (3, 3, 1)])
def test_a_log_whose_epochs_do_not_grow_is_the_same_log_again(tmp_path: Path, odd: tuple[int, ...]) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    whole = b"".join(topics(2 * at, 2, epoch=epoch) for at, epoch in enumerate(odd))
    twice = whole + topics(2 * len(odd) - 2, 2, epoch=9)
    for data in (whole, whole + topics(2 * len(odd), 2, epoch=max(odd)), twice):
        lake = Path(f"{out}-{len(data)}")
        (log / SEGMENT).write_bytes(data)
        run(lake, tmp_path / "node", on_error="skip")
        (log / segment(2)).write_bytes(data)
        shutil.copytree(tmp_path / "node", tmp_path / "copy", dirs_exist_ok=True)
        (log / segment(2)).unlink()
        assert run(lake, tmp_path / "node", tmp_path / "copy", on_error="skip").rows.get("topic", 0) == 0


def state(out: Path) -> LakeState:
    return read_state(open_store(str(out)))


def test_a_lake_knows_the_epochs_of_its_offsets_however_they_came(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4) + topics(4, 4, epoch=2))
    run(out, tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 4) + topics(4, 8, epoch=2) + topics(12, 2, epoch=5))
    run(out, tmp_path / "node")
    (log / segment(14)).write_bytes(topics(14, 4, epoch=5))
    run(out, tmp_path / "node")
    (known,) = state(out).logs.values()
    assert list(known.epochs) == [(0, 4, 1), (4, 12, 2), (12, 18, 5)]
    shutil.copytree(tmp_path / "node", tmp_path / "copy")
    (tmp_path / "copy" / "__cluster_metadata-0" / segment(14)).write_bytes(topics(14, 8, epoch=5) + topics(22, 2, epoch=6))
    run(out, tmp_path / "copy")
    (known,) = state(out).logs.values()
    assert list(known.epochs)[-1] == (22, 24, 6)
    assert len(names(out)) == 24


def test_a_log_that_was_cut_and_rolled_elsewhere_is_noticed(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 10))
    (log / segment(10)).write_bytes(topics(10, 10))
    run(out, tmp_path / "node")
    (log / segment(10)).unlink()
    (log / SEGMENT).write_bytes(topics(0, 6) + topics(6, 6, epoch=2, name="new"))
    (log / segment(12)).write_bytes(topics(12, 2, epoch=2, name="new"))
    before = names(out)
    with pytest.raises(UsageError, match=r"not what the lake has there.*--replace"):
        run(out, tmp_path / "node")
    assert names(out) == before
    run(out, tmp_path / "node", replaces=True)
    assert names(out) == [f"t{offset}" for offset in range(6)] + [f"new{offset}" for offset in range(6, 14)]


def test_a_coordinators_log_that_was_cut_and_is_shorter_is_noticed(tmp_path: Path) -> None:
    node(tmp_path / "node")
    shutil.rmtree(tmp_path / "node" / "__cluster_metadata-0")
    log, out = tmp_path / "node" / "__consumer_offsets-3", tmp_path / "lake"
    log.mkdir()
    (log / SEGMENT).write_bytes(commits(0, 20))
    run(out, tmp_path / "node")
    # An older copy, and one that compaction has thinned out, are the same log.
    for data in (commits(0, 9), commits(0, 0, offsets=range(0, 18, 3))):
        (log / SEGMENT).write_bytes(data)
        assert run(out, tmp_path / "node").rows == {}
    (log / SEGMENT).write_bytes(commits(0, 9) + commits(9, 3, epoch=4))
    with pytest.raises(UsageError, match="offset 9: not what the lake has there"):
        run(out, tmp_path / "node")
