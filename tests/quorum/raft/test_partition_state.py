"""Voters and kraft.version at every offset, against a replay of what is left of the log."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.common.values import ReplicaKey
from metashell.quorum.raft.partition_state import PartitionState
from metashell.quorum.raft.voters import ControlValue, KRaftVersion, LeaderChange, Voter, VoterSet


def voters(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(id, bytes([id]) * 16), {"CONTROLLER": ("h", id)}, 0, 1) for id in ids)


STATIC = VoterSet([Voter(ReplicaKey(7), {"CONTROLLER": ("s", 7)})])


def test_the_static_set_holds_until_the_log_names_voters_and_again_when_that_is_truncated():
    state = PartitionState(STATIC)
    assert state.voters is STATIC and state.voters_offset is None and not state.static_is_ignored
    assert state.apply(4, voters(1, 2))
    assert state.voters == voters(1, 2) and state.voters_offset == 4 and state.static_is_ignored
    assert state.truncate_new(4)
    assert state.voters is STATIC and state.voters_offset is None


def test_what_the_bootstrap_snapshot_names_lies_before_the_log():
    state = PartitionState(STATIC)
    state.load_snapshot(0, 1, voters(1))
    assert state.voters_offset == -1 and state.kraft_version == 1 and state.voters_at(-1) == voters(1)
    assert not state.voters_are_committed(None) and state.voters_are_committed(0)


def test_a_leader_change_is_not_of_the_quorums_state():
    state = PartitionState(STATIC)
    assert not state.apply(0, LeaderChange(leader_id=1, voters=(1,), granting=(1,)))
    assert state.voters is STATIC


def test_a_set_is_committed_when_the_high_watermark_has_passed_its_record():
    state = PartitionState(STATIC)
    state.apply(3, voters(1))
    state.apply(5, voters(1, 2))
    assert not state.voters_are_committed(5) and state.voters_are_committed(6)
    assert state.committed_voters(5) == voters(1) and state.committed_voters(6) == voters(1, 2)
    assert state.committed_voters(3) is STATIC


def test_a_set_two_steps_away_is_taken_and_counted():
    state = PartitionState(STATIC)
    state.apply(1, voters(1, 2, 3))
    state.apply(2, voters(1, 2, 3, 4))
    assert state.doubtful_changes == 0
    state.apply(3, voters(1, 2))
    assert state.doubtful_changes == 1 and state.voters == voters(1, 2)


def test_a_snapshot_forgets_all_and_a_level_0_snapshot_names_neither():
    state = PartitionState(STATIC)
    state.apply(1, KRaftVersion(1))
    state.apply(2, voters(1))
    state.load_snapshot(10, None, None)
    assert state.voters is STATIC and state.kraft_version == 0


CONTROLS = st.lists(
    st.one_of(
        st.sampled_from([KRaftVersion(0), KRaftVersion(1)]),
        st.sets(st.integers(1, 4), min_size=1).map(lambda ids: voters(*ids)),
    ),
    max_size=12,
)


@given(CONTROLS, st.lists(st.integers(0, 12), max_size=3), st.integers(0, 12), CONTROLS)
def test_any_truncations_leave_what_a_replay_of_the_rest_would(
    first: list[ControlValue], cuts: list[int], old: int, more: list[ControlValue]
):
    state = PartitionState(STATIC)
    log: list[ControlValue] = []

    def append(values: list[ControlValue]) -> None:
        for value in values:
            state.apply(len(log), value)
            log.append(value)

    append(first)
    for cut in cuts:
        state.truncate_new(cut)
        del log[cut:]
    append(more)
    state.truncate_old(old)
    replayed = PartitionState(STATIC)
    for offset, value in enumerate(log):
        replayed.apply(offset, value)
    assert (state.voters, state.voters_offset, state.kraft_version) == (replayed.voters, replayed.voters_offset, replayed.kraft_version)
    for offset in range(max(old - 1, 0), len(log) + 1):
        assert state.voters_at(offset) == replayed.voters_at(offset)
        assert state.kraft_version_at(offset) == replayed.kraft_version_at(offset)
