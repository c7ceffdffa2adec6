"""The small text files beside a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import LogCorruptError
from metashell.common.values import METADATA_TOPIC_ID
from metashell.disk import properties
from metashell.disk.state_files import EpochEntry, PartitionOffset, read_leader_epochs, read_partition_offsets, read_topic_id


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    return tmp_path / "some-checkpoint"


def test_leader_epochs_are_read_in_order(small_file: Path) -> None:
    small_file.write_text("0\n2\n1 0\n4 35\n")
    assert read_leader_epochs(str(small_file)) == (EpochEntry(1, 0), EpochEntry(4, 35))


def test_offsets_of_partitions_are_read_in_order(small_file: Path) -> None:
    small_file.write_text("0\n2\norders 0 17\nwith.dots_and-dashes 12 0\n")
    assert read_partition_offsets(str(small_file)) == (PartitionOffset("orders", 0, 17), PartitionOffset("with.dots_and-dashes", 12, 0))


def test_an_empty_file_has_no_entries(small_file: Path) -> None:
    small_file.write_bytes(b"")
    assert read_leader_epochs(str(small_file)) == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1\n0\n", "Unrecognised version of the checkpoint file: 1"),
        ("0\n", "cut off"),
        ("0\n2\n1 0\n", "Expected 2 entries in checkpoint file, but found only 1"),
        ("0\n1\n1 zero\n", "offset 4: Malformed line in checkpoint file: '1 zero'"),
        ("0\n1\n1 0 0\n", "Malformed line"),
        ("zero\n1\n1 0\n", "Malformed line"),
        ("\0\0\0\0", "Malformed line"),
        ("\1\x0b\0 the secret of somebody", r"offset 0: Malformed line in checkpoint file: \[redacted\]$"),
    ],
)
def test_a_broken_checkpoint_is_told_in_kafkas_words(small_file: Path, text: str, reason: str) -> None:
    small_file.write_text(text)
    with pytest.raises(LogCorruptError, match=reason):
        read_leader_epochs(str(small_file))


def test_the_topic_id_of_a_partition_is_read(small_file: Path) -> None:
    small_file.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    assert read_topic_id(str(small_file)) == METADATA_TOPIC_ID


@pytest.mark.parametrize("text", ["", "version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", "version: 0\ntopic_id: short", "version: 0"])
def test_broken_partition_metadata_is_told(small_file: Path, text: str) -> None:
    small_file.write_text(text)
    with pytest.raises(LogCorruptError):
        read_topic_id(str(small_file))


def test_a_file_too_large_to_be_one_is_not_read_whole(small_file: Path, monkeypatch) -> None:
    monkeypatch.setattr(properties, "SIZE_MAX", 10)
    small_file.write_text("0\n" * 10)
    with pytest.raises(LogCorruptError, match="larger than 10 bytes"):
        read_leader_epochs(str(small_file))


def test_all_text_files_of_the_golden_clusters_are_read(full_golden: Path) -> None:
    readers = {
        "leader-epoch-checkpoint": read_leader_epochs,
        "partition.metadata": read_topic_id,
        "recovery-point-offset-checkpoint": read_partition_offsets,
        "replication-offset-checkpoint": read_partition_offsets,
    }
    for name, reader in readers.items():
        files = sorted(full_golden.glob(f"*/*/data/*/node-*/**/{name}"))
        assert files
        for file in files:
            reader(str(file))
