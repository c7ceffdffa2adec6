"""Voter sets: membership by key, one change at a time, and equality."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.values import ReplicaKey
from metashell.quorum.raft.messages import RaftConfig
from metashell.quorum.raft.voters import Voter, VoterSet
from tests.quorum.raft.made import NO_VOTERS

AB = bytes(15) + b"\xab"
CD = bytes(15) + b"\xcd"


def voter(id: int, directory_id: bytes = AB, port: int = 9093) -> Voter:
    return Voter(ReplicaKey(id, directory_id), {"CONTROLLER": (f"h{id}", port)}, 0, 1)


THREE = VoterSet([voter(3), voter(1), voter(2)])


def test_ids_are_ascending_whatever_order_the_voters_came_in():
    assert THREE.ids == (1, 2, 3)


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half(count: int, majority: int):
    assert VoterSet(voter(id) for id in range(count)).majority_size == majority


@pytest.mark.parametrize(
    ("known", "asked", "expected"),
    [
        (ReplicaKey(1, AB), ReplicaKey(1, AB), True),
        (ReplicaKey(1, AB), ReplicaKey(1, CD), False),
        (ReplicaKey(1, AB), ReplicaKey(1), False),
        (ReplicaKey(1), ReplicaKey(1, CD), True),
        (ReplicaKey(1), ReplicaKey(1), True),
        (ReplicaKey(2, AB), ReplicaKey(1, AB), False),
    ],
)
def test_a_key_is_a_voter_if_the_directory_ids_agree_where_the_set_knows_one(known: ReplicaKey, asked: ReplicaKey, expected: bool):
    voters = VoterSet([Voter(known, {})])
    assert voters.is_voter(asked) is expected
    assert voters.is_only_voter(asked) is expected


def test_who_has_no_id_is_no_voter():
    assert not THREE.is_voter(None)


def test_a_voter_is_not_added_under_an_id_that_is_there():
    assert THREE.with_voter(voter(2, CD)) is None
    grown = THREE.with_voter(voter(4))
    assert grown is not None and grown.ids == (1, 2, 3, 4) and THREE.ids == (1, 2, 3)


def test_a_voter_is_removed_by_its_whole_key_and_the_last_one_never():
    assert THREE.without(ReplicaKey(2, CD)) is None
    assert THREE.without(ReplicaKey(2)) is None
    assert THREE.without(ReplicaKey(9, AB)) is None
    rest = THREE.without(ReplicaKey(2, AB))
    assert rest is not None and rest.ids == (1, 3)
    assert VoterSet([voter(1)]).without(ReplicaKey(1, AB)) is None


def test_an_update_needs_the_voter_and_by_id_takes_a_new_directory_too():
    assert THREE.updated(voter(2, CD)) is None
    assert THREE.updated(voter(4)) is None
    assert THREE.updated_by_id(voter(4)) is None
    moved = THREE.updated(voter(2, port=1))
    assert moved is not None and moved.endpoint(2, "CONTROLLER") == ("h2", 1) and moved != THREE
    other = THREE.updated_by_id(voter(2, CD))
    assert other is not None and other.keys[1] == ReplicaKey(2, CD)


def test_an_update_of_a_voter_without_directory_id_gives_it_one():
    static = VoterSet([Voter(ReplicaKey(1), {})])
    updated = static.updated(voter(1))
    assert updated is not None and updated.keys == (voter(1).key,) and static.keys == (ReplicaKey(1),)


def test_the_order_of_listeners_does_not_count_for_equality_and_endpoints_do():
    endpoints = {"A": ("h", 1), "B": ("h", 2)}
    one = VoterSet([Voter(ReplicaKey(1, AB), endpoints)])
    other = VoterSet([Voter(ReplicaKey(1, AB), dict(reversed(endpoints.items())))])
    assert one == other and hash(one) == hash(other)
    assert one != VoterSet([Voter(ReplicaKey(1, AB), {"A": ("h", 1)})])
    assert one != VoterSet([Voter(ReplicaKey(1, AB), endpoints, 0, 1)])


def test_the_static_set_has_one_endpoint_each_and_supports_level_0_only():
    config = RaftConfig(cluster_id="c", local=None, static_voters={2: ("b", 2), 1: ("a", 1)})
    voters = VoterSet.from_static(config)
    assert voters.ids == (1, 2) and voters.endpoint(2, "CONTROLLER") == ("b", 2) and voters.endpoint(2, "OTHER") is None
    assert voters.supports(0) and not voters.supports(1)
    assert voters.endpoints(3) == {} and voters.endpoint(3, "CONTROLLER") is None


def test_no_voters_have_no_majority():
    assert len(NO_VOTERS) == 0 and not NO_VOTERS.is_voter(ReplicaKey(1)) and NO_VOTERS.majority_size == 1


@given(st.sets(st.integers(0, 5), min_size=1), st.sets(st.integers(0, 5), min_size=1))
def test_sets_overlap_exactly_if_neither_has_two_that_the_other_lacks(left: set[int], right: set[int]):
    overlaps = VoterSet(map(voter, left)).overlaps(VoterSet(map(voter, right)))
    assert overlaps == (len(left - right) <= 1 and len(right - left) <= 1)


@given(st.sets(st.integers(0, 5), min_size=1), st.integers(0, 5))
def test_all_majorities_before_and_after_one_change_meet(ids: set[int], changed: int):
    before = VoterSet(map(voter, ids))
    after = before.without(ReplicaKey(changed, AB)) if changed in ids else before.with_voter(voter(changed))
    if after is None:
        return
    assert before.overlaps(after)
    union = len(set(before.ids) | set(after.ids))
    assert before.majority_size + after.majority_size > union
