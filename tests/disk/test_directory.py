"""Finding a metadata directory, and what lies in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.directory import MetadataDirectory
from metashell.disk.inputs import find_metadata


def test_the_directory_is_found_at_and_below_the_path(directory) -> None:
    folder = directory({"00000000000000000000.log": b""})
    assert find_metadata(str(folder)) == str(folder)
    assert find_metadata(str(folder.parent)) == str(folder)
    assert find_metadata(str(folder.parent.parent)) == str(folder)


def test_several_directories_below_the_path_are_named_rather_than_one_chosen(tmp_path: Path) -> None:
    for node in ("node-1", "node-2"):
        folder = tmp_path / node / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        (folder / "00000000000000000000.log").write_bytes(b"")
    with pytest.raises(UsageError, match=r"several metadata directories.*node-1.*node-2") as caught:
        find_metadata(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_copy_under_another_name_is_accepted(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(b"")
    assert find_metadata(str(folder)) == str(folder)


@pytest.mark.parametrize("name", ["server.log", "00000000000000000000.log.deleted", "00000000000000000000.index"])
def test_a_directory_without_metadata_is_the_operators_mistake(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(UsageError, match=f"^{tmp_path}: no metadata log here"):
        find_metadata(str(tmp_path))


def test_a_bootstrap_checkpoint_is_used_where_there_is_nothing_else(directory) -> None:
    folder = directory({})
    bootstrap = folder.parent / "bootstrap.checkpoint"
    bootstrap.write_bytes(b"")
    assert find_metadata(str(folder.parent)) == str(bootstrap)
    assert find_metadata(str(folder)) == str(bootstrap)
    (folder / "00000000000000000000.log").write_bytes(b"")
    assert find_metadata(str(folder.parent)) == str(folder)


def test_segments_are_listed_by_offset_and_checkpoints_newest_first(directory) -> None:
    names = (
        "00000000000000000100.log",
        "00000000000000000000.log",
        "00000000000000000020.log.gz",
        "00000000000000000020.log",
        "00000000000000000050.log.deleted",
        "00000000000000000090-0000000001.checkpoint",
        "00000000000000000080-0000000002.checkpoint",
        "00000000000000000099-0000000003.checkpoint.deleted",
        "00000000000000000099-0000000003-xyz.checkpoint.part",
        "leader-epoch-checkpoint",
    )
    opened = MetadataDirectory(str(directory(dict.fromkeys(names, b""))))
    listing = opened.list()
    assert [(segment.base_offset, segment.name) for segment in listing.segments] == [(0, names[1]), (20, names[3]), (100, names[0])]
    assert [checkpoint.snapshot_id for checkpoint in listing.checkpoints] == [OffsetAndEpoch(80, 2), OffsetAndEpoch(90, 1)]
    assert [segment.base_offset for segment in listing.segments_from(20)] == [20, 100]
    assert [segment.base_offset for segment in listing.segments_from(19)] == [0, 20, 100]
    assert [segment.base_offset for segment in listing.segments_from(5000)] == [100]
    opened.close()
