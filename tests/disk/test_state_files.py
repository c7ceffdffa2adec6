"""The election state file."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import LogCorruptError
from metashell.common.values import METADATA_TOPIC_ID, uuid_from_text
from metashell.disk import properties
from metashell.disk.file_system import Disk
from metashell.disk.state_files import (
    DurableTo,
    EpochEntry,
    PartitionOffset,
    QuorumState,
    RecoveryPoint,
    read_leader_epochs,
    read_partition_offsets,
    read_quorum_state,
    read_recovery_point,
    read_topic_id,
)


def state_of(path: Path, text: str | bytes) -> QuorumState:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_quorum_state(str(path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "quorum-state"


def test_version_0_names_leader_and_voters(path: Path) -> None:
    text = (
        '{"clusterId":"","leaderId":1,"leaderEpoch":5,"votedId":-1,"appliedOffset":0,'
        '"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
    )
    assert state_of(path, text) == QuorumState(leader_epoch=5, leader_id=1, current_voters=(1, 2))


def test_version_1_names_the_directory_that_was_voted_for(path: Path) -> None:
    text = '{"leaderId":-1,"leaderEpoch":6,"votedId":2,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAqw","data_version":1}'
    voted = uuid_from_text("AAAAAAAAAAAAAAAAAAAAqw")
    assert state_of(path, text) == QuorumState(leader_epoch=6, voted_id=2, voted_directory_id=voted, data_version=1)


def test_absent_keys_are_nobody(path: Path) -> None:
    assert state_of(path, '{"data_version":1}') == QuorumState(leader_epoch=-1, data_version=1)


def test_a_missing_file_is_the_state_before_any_election(path: Path) -> None:
    assert read_quorum_state(str(path)) == QuorumState(leader_epoch=0, leader_id=-1, voted_id=-1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the file is empty"),
        ('{"data_version":1,', "the JSON is cut off"),
        ('{"data_version":1}}', "no JSON from character 18 on"),
        ("{x}", "no JSON from character 1 on"),
        (b"\xff{}", "byte 0 is not UTF-8"),
        ("[]", "not a JSON object"),
        ("{}", "data_version is missing"),
        ('{"data_version":2}', "data_version 2 is not known"),
        ('{"data_version":1,"leaderId":"one"}', "leaderId 'one' is not a number"),
        ('{"data_version":1,"votedDirectoryId":"x"}', "uuid text"),
        ('{"data_version":0,"currentVoters":[3]}', "currentVoters is not a list of objects"),
        ('{"data_version":0,"currentVoters":3}', "currentVoters is not a list of objects"),
        ('{"data_version":1,"votedDirectoryId":3}', "votedDirectoryId 3 is not a text"),
        ("[" * 100_000, "JSON nested too deeply"),
    ],
)
def test_what_is_no_quorum_state_is_one_line_that_names_the_file(path: Path, text: str | bytes, reason: str) -> None:
    with pytest.raises(LogCorruptError) as caught:
        state_of(path, text)
    assert str(caught.value).startswith(f"{path}: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=40))
def test_any_bytes_give_a_state_or_a_corrupt_file(tmp_path_factory, data: bytes) -> None:
    with contextlib.suppress(LogCorruptError):
        state_of(tmp_path_factory.getbasetemp() / "any-quorum-state", data)


def test_the_cut_off_leader_thinks_that_it_leads() -> None:
    folder = Path(__file__).parent.parent / "golden" / "cut-off-leader"
    sides = [read_quorum_state(str(folder / side / "__cluster_metadata-0" / "quorum-state")) for side in ("leader", "majority")]
    assert [(side.leader_id, side.leader_epoch) for side in sides] == [(1, 1), (2, 2)]


# ---- the small text files beside a log


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


def test_all_text_files_of_the_golden_clusters_are_read(golden: Path) -> None:
    readers = {
        "leader-epoch-checkpoint": read_leader_epochs,
        "partition.metadata": read_topic_id,
        "recovery-point-offset-checkpoint": read_partition_offsets,
        "replication-offset-checkpoint": read_partition_offsets,
    }
    for name, reader in readers.items():
        files = sorted(golden.glob(f"*/*/data/*/node-*/**/{name}"))
        assert files
        for file in files:
            reader(str(file))


# ---- how far a log was durable: what the file says between the steps of a change


@pytest.fixture
def point(tmp_path: Path):
    made = RecoveryPoint(Disk(), str(tmp_path), [(3, 0)], 20)
    yield made
    made.close()


def test_a_log_that_begins_anew_claims_nothing_until_its_old_files_are_gone(tmp_path: Path, point: RecoveryPoint) -> None:
    assert read_recovery_point(str(tmp_path)) == DurableTo(20, 3)
    before, after = point.begin_at(10, 5)
    before()
    assert read_recovery_point(str(tmp_path)) == DurableTo(0, 0)
    after()
    assert read_recovery_point(str(tmp_path)) == DurableTo(10, 5)


def test_a_cut_lowers_it_before_the_files_are_cut(tmp_path: Path, point: RecoveryPoint) -> None:
    before = point.cut(7)
    assert read_recovery_point(str(tmp_path)) == DurableTo(20, 3)
    before()
    assert read_recovery_point(str(tmp_path)) == DurableTo(7, 3)
