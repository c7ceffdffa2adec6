"""Inputs of one run that contradict each other: both are named, with the offset, whether the lake is new or not."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.disk.inputs import InputFile
from metashell.disk.names import METADATA
from metashell.tables.lake.input_conflicts import Batches, BatchJudge, InputConflicts, LakeGaps, changed_input_error, seal_of
from metashell.tables.lake.log_state import Anchor, Coverage, LogKey, LogState
from metashell.tables.splits import Piece
from tests.tables.lake.lakes import SEGMENT, commits, node, run, topics

ANOTHER = "one of the two is damaged, was cut off and written anew, or is another log: give only one of them"
EPOCHS = "one of the two was cut off and written anew, where the higher epoch is the newer, or they are two logs: give only one of them"


def told(out: Path, *paths: Path, replaces: bool = False) -> str:
    with pytest.raises(UsageError) as raised:
        run(out, *paths, replaces=replaces)
    return str(raised.value)


def copies(folder: Path, one: bytes, other: bytes, directories: tuple[str, str] = ("", "")) -> tuple[Path, Path]:
    """Two copies of one node's metadata log."""
    for name, data, directory in zip(("one", "other"), (one, other), directories, strict=True):
        (node(folder / name, directory=directory) / SEGMENT).write_bytes(data)
    return folder / "one" / "__cluster_metadata-0" / SEGMENT, folder / "other" / "__cluster_metadata-0" / SEGMENT


def partition(folder: Path, data: bytes, topic_id: str = "") -> Path:
    node(folder)
    log = folder / "__consumer_offsets-0"
    log.mkdir()
    (log / SEGMENT).write_bytes(data)
    if topic_id:
        (log / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}", "utf-8")
    return log / SEGMENT


@pytest.mark.parametrize("replaces", [False, True])
def test_a_log_that_was_cut_and_written_anew_in_another_copy_is_named_with_both_epochs(tmp_path: Path, replaces: bool) -> None:
    one, other = copies(tmp_path, topics(0, 20), topics(0, 10) + topics(10, 10, epoch=4, name="new"))
    said = told(tmp_path / "lake", tmp_path / "one", tmp_path / "other", replaces=replaces)
    assert said == f"{other}: offset 10: epoch 4, and {one} has epoch 1 there: {EPOCHS}"
    assert not (tmp_path / "lake" / "appends").exists()


def test_another_batch_of_the_same_epoch_is_named(tmp_path: Path) -> None:
    one, other = copies(tmp_path, topics(0, 20), topics(0, 20, name="other"))
    said = told(tmp_path / "lake", tmp_path / "one", tmp_path / "other")
    assert re.fullmatch(f"{other}: offset \\d+: another batch than {one} has there: {ANOTHER}", said)


def test_inputs_behind_what_the_lake_has_are_named_and_the_lake_is_not(tmp_path: Path) -> None:
    one, other = copies(tmp_path, topics(0, 10), topics(0, 10))
    run(tmp_path / "lake", tmp_path / "one")
    one.write_bytes(topics(0, 20))
    other.write_bytes(topics(0, 10) + topics(10, 10, epoch=2))
    for replaces in (False, True):
        said = told(tmp_path / "lake", tmp_path / "one", tmp_path / "other", replaces=replaces)
        assert said == f"{other}: offset 10: epoch 2, and {one} has epoch 1 there: {EPOCHS}"
    assert "not what the lake has there" in told(tmp_path / "lake", copies(tmp_path / "more", b"", topics(0, 20, name="x"))[1])


@pytest.mark.parametrize("replaces", [False, True])
def test_two_topics_of_one_name_are_named_with_their_ids(tmp_path: Path, replaces: bool) -> None:
    one = partition(tmp_path / "one", commits(0, 6), "AAAAAAAAAAAAAAAAAAAAAQ")
    other = partition(tmp_path / "other", commits(0, 9), "AAAAAAAAAAAAAAAAAAAAAg")
    said = told(tmp_path / "lake", tmp_path / "one", tmp_path / "other", replaces=replaces)
    assert said == (
        f"{other}: topic id AAAAAAAAAAAAAAAAAAAAAg, and {one} has topic id AAAAAAAAAAAAAAAAAAAAAQ: the topic was created anew between "
        "them: give only one of them"
    )


def test_two_disks_that_nothing_shows_to_have_one_log_are_named(tmp_path: Path) -> None:
    one, other = copies(tmp_path, topics(0, 10), topics(30, 10), ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"))
    said = told(tmp_path / "lake", one, other)
    assert said == (
        f"{other}: directory.id AAAAAAAAAAAAAAAAAAAAAg, and {one} has directory.id AAAAAAAAAAAAAAAAAAAAAQ, and nothing shows that both "
        "have the same log: give only one of them, or both with --replace"
    )
    assert run(tmp_path / "lake", one, other, replaces=True).rows["topic"] == 20


def test_a_compressed_file_of_which_another_input_has_a_part_is_named_with_it(tmp_path: Path) -> None:
    one, _ = copies(tmp_path, topics(0, 10), b"")
    packed = node(tmp_path / "other") / f"{SEGMENT}.gz"
    (packed.parent / SEGMENT).unlink()
    packed.write_bytes(gzip.compress(topics(0, 20)))
    said = told(tmp_path / "lake", tmp_path / "one", packed)
    assert said == f"{packed}: {one} has a part of it, and a compressed file is read as a whole: unpack it, or give only one of them"


def test_the_file_that_gave_an_offset_is_named_or_the_last_one_before_it() -> None:
    key, given = LogKey("c", "1", "l"), InputConflicts()
    for path, spans, directory in (("a", [(0, 10)], ""), ("b", [(10, 20)], "B"), ("c", [], "C"), ("d", [(30, 40)], "D")):
        given.add(key, path, LogState(offsets=Coverage(spans), directory=directory))
    given.add(LogKey("c", "2", "l"), "e", LogState(offsets=Coverage([(0, 99)]), directory="E"))
    assert [given.at(key, offset) for offset in (0, 9, 10, 20, 30, 39, 40)] == ["a", "a", "b", "", "d", "d", ""]
    assert [given.before(key, offset) for offset in (9, 10, 19, 20, 29, 39, 40)] == ["", "a", "a", "b", "b", "b", "d"]
    assert [given.elsewhere(key, directory) for directory in ("", "B", "X")] == [("", ""), ("c", "C"), ("b", "B")]


def test_the_batches_that_a_lake_lacks_come_in_runs_with_their_epochs() -> None:
    now = LogState(offsets=Coverage([(2, 4)]))
    gaps = LakeGaps(now, BatchJudge(InputFile("x", METADATA, "c"), now))
    a, b, c, d = Anchor(0, 1, 1, 1), Anchor(2, 3, 1, 2), Anchor(4, 5, 1, 3), Anchor(7, 9, 2, 4)
    for start, end, batch in ((0, 10, a), (10, 20, b), (20, 30, c), (30, 45, d)):
        gaps.visit(start, end, batch)
    assert gaps.runs == [(0, 10, a, a, 0), (20, 45, c, d, 30)]
    assert (gaps.first, gaps.last, gaps.position, gaps.reached, gaps.known) == (a, d, 30, 10, 2)
    assert list(gaps.epochs) == [(0, 6, 1), (7, 10, 2)]
    gaps.visit(45, 50, Anchor(10, 10, 1, 5))
    assert (list(gaps.epochs), gaps.reached) == ([], 11)  # a log whose epochs fall is damaged


WHOLE = topics(0, 4)
HELD = ((0, Anchor(0, 1, 1, int.from_bytes(WHOLE[17:21], "big"))),)


@pytest.mark.parametrize(
    ("now", "version", "batches", "is_changed"),
    [
        (WHOLE, "", (), False),  # nothing is known of it
        (WHOLE, "same", (), False),
        (WHOLE, "other", (), True),
        (WHOLE, "other", HELD, False),  # it only grew
        (WHOLE, "", HELD, False),
        (topics(0, 4, name="x"), "other", HELD, True),
        (topics(0, 4, name="x"), "same", HELD, False),
        (b"", "other", HELD, True),
        (None, "other", HELD, False),  # read, and gone since
    ],
)
def test_a_file_is_changed_when_it_is_another_one_and_lacks_a_batch_that_was_planned(
    tmp_path: Path, now: bytes | None, version: str, batches: Batches, is_changed: bool
) -> None:
    path = tmp_path / SEGMENT
    if now is not None:
        path.write_bytes(now)
    file = InputFile(str(path), METADATA, "c")
    seal = (seal_of(file) if version == "same" else version, batches)
    piece = Piece(path=str(path), log=METADATA, cluster_id="c", start=0, end=len(WHOLE), size=len(WHOLE), seal=seal)
    found = changed_input_error([piece, piece])
    assert (None if found is None else str(found)) == (
        f"{path}: was changed while it was read, so nothing is added: try it again" if is_changed else None
    )
