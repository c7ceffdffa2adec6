"""The election state file."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import LogCorruptError
from metashell.common.values import uuid_from_text
from metashell.disk.state_files import QuorumState, read_quorum_state


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
    folder = Path(__file__).parent.parent.parent / "golden" / "cut-off-leader"
    sides = [read_quorum_state(str(folder / side / "__cluster_metadata-0" / "quorum-state")) for side in ("leader", "majority")]
    assert [(side.leader_id, side.leader_epoch) for side in sides] == [(1, 1), (2, 2)]
