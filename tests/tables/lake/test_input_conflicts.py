"""Inputs of one run that contradict each other: both are named, with the offset, whether the lake is new or not."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from metashell.common.errors import UsageError
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
    assert not (tmp_path / "lake" / "_metashell" / "commits").exists()


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
