"""What becomes of a classic group when its record cannot be written."""

from __future__ import annotations

import pytest

from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    NONE,
    NOT_COORDINATOR,
    NOT_ENOUGH_REPLICAS,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from metashell.groups.classic.group import ClassicGroup, ClassicState
from tests.groups.driven import Driven


def group_of(driven: Driven, group_id: str = "g") -> ClassicGroup:
    group = driven.shard.coordinator.state.groups[group_id]
    assert isinstance(group, ClassicGroup)
    return group


@pytest.fixture
def driven() -> Driven:
    return Driven()


@pytest.fixture
def two(driven: Driven) -> tuple[Driven, str, str]:
    """A group that completes: the leader and a follower, both joined."""
    first = driven.answers[driven.enter(client="a")].member_id
    second_ticket = driven.enter(client="b")
    driven.join(member_id=first, client="a")
    second = driven.answers[second_ticket].member_id
    assert group_of(driven).state is ClassicState.COMPLETING
    return driven, group_of(driven).leader or "", second if group_of(driven).leader == first else first


def test_everybody_who_waits_for_an_assignment_hears_that_it_was_not_written(two: tuple[Driven, str, str]) -> None:
    driven, leader, follower = two
    waiting = driven.sync("g", follower, 2)
    driven.shard.error = NOT_ENOUGH_REPLICAS
    own = driven.sync("g", leader, 2, {leader: b"1", follower: b"2"})
    assert [driven.answers[ticket].error_code for ticket in (waiting, own)] == [COORDINATOR_NOT_AVAILABLE] * 2
    group = group_of(driven)
    assert group.state is ClassicState.PREPARING
    assert [member.assignment for member in group.members.values()] == [b"", b""]
    assert driven.beat("g", follower, 2) == REBALANCE_IN_PROGRESS


def test_after_an_assignment_that_was_not_written_the_group_comes_to_the_next_generation(two: tuple[Driven, str, str]) -> None:
    driven, leader, follower = two
    driven.shard.error = NOT_ENOUGH_REPLICAS
    driven.sync("g", leader, 2, {leader: b"1", follower: b"2"})
    driven.shard.error = NONE
    tickets = [driven.join(member_id=member_id) for member_id in (leader, follower)]
    assert [driven.answers[ticket].generation_id for ticket in tickets] == [3, 3]


def test_a_group_whose_first_record_was_not_written_is_not_there(driven: Driven) -> None:
    driven.shard.error = NOT_ENOUGH_REPLICAS
    answer = driven.answers[driven.join()]
    assert (answer.error_code, answer.member_id) == (COORDINATOR_NOT_AVAILABLE, "")
    assert "g" not in driven.shard.coordinator.state.groups
    driven.shard.error = NONE
    driven.wait(60_000)
    assert driven.shard.written == []
    assert driven.answers[driven.enter()].generation_id == 1


def test_a_static_member_whose_return_was_not_written_is_the_one_before(driven: Driven) -> None:
    old = driven.answers[driven.join(instance_id="i")].member_id
    driven.sync("g", old, 1, {old: b"1"}, instance_id="i")
    driven.shard.error = NOT_ENOUGH_REPLICAS
    answer = driven.answers[driven.join(instance_id="i", protocols=(("range", b"new"),))]
    assert (answer.error_code, answer.member_id, answer.generation_id) == (COORDINATOR_NOT_AVAILABLE, "", 1)
    group = group_of(driven)
    assert (list(group.members), group.leader, group.static_members) == ([old], old, {"i": old})
    assert group.members[old].protocols[0].metadata == b""
    assert driven.beat("g", old, 1, instance_id="i") == NONE


def test_a_static_member_that_came_back_fences_the_one_before(driven: Driven) -> None:
    old = driven.answers[driven.join(instance_id="i")].member_id
    driven.sync("g", old, 1, {old: b"1"}, instance_id="i")
    new = driven.answers[driven.join(instance_id="i")].member_id
    assert driven.beat("g", old, 1, instance_id="i") == FENCED_INSTANCE_ID
    assert driven.beat("g", new, 1, instance_id="i") == NONE
    assert driven.answers[driven.sync("g", new, 1, instance_id="i")].assignment == b"1"


def test_a_leave_that_was_not_written_is_refused_and_the_member_is_gone_all_the_same(driven: Driven) -> None:
    member_id = driven.answers[driven.enter()].member_id
    driven.sync("g", member_id, 1, {member_id: b"1"})
    driven.shard.error = NOT_ENOUGH_REPLICAS
    ticket = driven.tickets + 1
    with pytest.raises(ValueError, match="not enough values"):
        (_,) = driven.leave("g", (member_id, None))
    assert driven.answers[ticket].error_code == COORDINATOR_NOT_AVAILABLE
    assert group_of(driven).is_empty
    driven.restart()
    assert list(group_of(driven).members) == [member_id]


def test_a_join_that_waits_is_told_when_its_coordinator_goes(driven: Driven) -> None:
    driven.enter(client="a")
    waiting = driven.enter(client="b")
    assert waiting not in driven.answers
    driven.restart()
    assert driven.answers[waiting].error_code == NOT_COORDINATOR


def test_a_group_that_had_not_been_assigned_anything_is_empty_for_the_next_coordinator(driven: Driven) -> None:
    member_id = driven.answers[driven.enter()].member_id
    driven.restart()
    assert group_of(driven).is_empty
    assert driven.beat("g", member_id, 1) == UNKNOWN_MEMBER_ID


def test_members_that_the_next_coordinator_does_not_hear_of_are_gone_after_their_session(driven: Driven) -> None:
    member_id = driven.answers[driven.enter()].member_id
    driven.sync("g", member_id, 1, {member_id: b"1"})
    driven.restart()
    driven.wait(29_000)
    assert driven.beat("g", member_id, 1) == NONE
    driven.wait(30_000)
    assert (group_of(driven).state, group_of(driven).generation) == (ClassicState.EMPTY, 2)
