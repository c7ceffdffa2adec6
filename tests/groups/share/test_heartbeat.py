"""Share groups: members, share state that comes late or not at all, deletion that waits for it."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.codes import DELETE_GROUPS, LIST_GROUPS, SHARE_GROUP_DESCRIBE, SHARE_GROUP_HEARTBEAT
from metashell.codec.error_codes import NONE, NOT_COORDINATOR, NOT_LEADER_OR_FOLLOWER, UNKNOWN_SERVER_ERROR
from metashell.groups.decision import DeleteShareState, InitializeShareState
from metashell.groups.share import ShareGroup
from metashell.groups.state import KindSettings, Settings
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.driven import Driven

T1 = b"t" * 16
SETTINGS = Settings(share=KindSettings(max_size=200, assignors=("simple",), assignment_interval_ms=0))
TOPICS = KnownTopics([Topic(T1, "t1", ((),) * 3)], 1)
ALL = {T1: (0, 1, 2)}


@pytest.fixture
def driven() -> Driven:
    """The share coordinator's answers are the test's."""
    found = Driven(SETTINGS, TOPICS)
    found.shard.has_share_coordinator = True
    return found


def beat(driven: Driven, member: str, epoch: int, names: tuple[str, ...] | None = None) -> Any:
    body = messages.ShareGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch, subscribed_topic_names=names)
    return driven.answers[driven.ask(SHARE_GROUP_HEARTBEAT, 1, body)]


def group(driven: Driven) -> ShareGroup:
    found = driven.shard.coordinator.state.groups["g"]
    assert isinstance(found, ShareGroup)
    return found


def perform(driven: Driven, is_ok: bool = True) -> None:
    effects, driven.shard.effects = driven.shard.effects, []
    for effect in effects:
        driven.take(driven.shard.effect_done(effect, is_ok, driven.now_ms))


def assigned(answer: Any) -> dict[bytes, tuple[int, ...]] | None:
    return None if answer.assignment is None else {topic.topic_id: topic.partitions for topic in answer.assignment.topic_partitions}


def delete(driven: Driven, *names: str) -> int:
    return driven.ask(DELETE_GROUPS, 2, messages.DeleteGroupsRequest(groups_names=names))


def test_partitions_are_assigned_once_their_state_is_there(driven: Driven) -> None:
    first = beat(driven, "a", 0, ("t1",))
    assert assigned(first) == {}
    assert driven.shard.effects == [InitializeShareState("g", ALL)]
    assert beat(driven, "a", first.member_epoch).assignment is None
    assert len(driven.shard.effects) == 1, "it is asked for once"
    perform(driven)
    assert assigned(beat(driven, "a", first.member_epoch)) == ALL


def test_state_that_does_not_come_is_asked_for_again_after_a_while(driven: Driven) -> None:
    epoch = beat(driven, "a", 0, ("t1",)).member_epoch
    driven.shard.effects.clear()
    driven.wait(29_999)
    beat(driven, "a", epoch)
    assert driven.shard.effects == []
    driven.wait(1)
    beat(driven, "a", epoch)
    assert driven.shard.effects == [InitializeShareState("g", ALL)]


def test_state_that_cannot_be_made_is_asked_for_at_the_next_heartbeat(driven: Driven) -> None:
    epoch = beat(driven, "a", 0, ("t1",)).member_epoch
    perform(driven, is_ok=False)
    beat(driven, "a", epoch)
    assert driven.shard.effects == [InitializeShareState("g", ALL)]


def test_state_for_a_group_that_is_gone_comes_to_nothing(driven: Driven) -> None:
    epoch = beat(driven, "a", 0, ("t1",)).member_epoch
    effect = driven.shard.effects.pop()
    beat(driven, "a", -1)
    delete(driven, "g")
    perform(driven)
    assert driven.shard.coordinator.state.groups == {}
    count = len(driven.shard.written)
    assert driven.shard.effect_done(effect, True, driven.now_ms) == []
    assert len(driven.shard.written) == count and epoch > 0


def test_a_group_is_deleted_when_its_state_is_gone_and_others_of_the_request_wait_with_it(driven: Driven) -> None:
    beat(driven, "a", 0, ("t1",))
    perform(driven)
    beat(driven, "a", -1)
    ticket = delete(driven, "g", "nobody")
    assert ticket not in driven.answers
    assert driven.shard.effects == [DeleteShareState("g", ALL)]
    perform(driven)
    assert {row.group_id: row.error_code for row in driven.answers[ticket].results} == {"g": NONE, "nobody": 69}
    listed = driven.answers[driven.ask(LIST_GROUPS, 5, messages.ListGroupsRequest())]
    assert listed.groups == ()


def test_a_group_whose_state_cannot_be_deleted_stays(driven: Driven) -> None:
    beat(driven, "a", 0, ("t1",))
    perform(driven)
    beat(driven, "a", -1)
    ticket = delete(driven, "g")
    perform(driven, is_ok=False)
    assert driven.answers[ticket].results[0].error_code == UNKNOWN_SERVER_ERROR
    assert group(driven).is_empty
    again = delete(driven, "g")
    perform(driven)
    assert driven.answers[again].results[0].error_code == NONE


def test_a_deletion_that_waits_is_answered_when_the_coordinator_goes(driven: Driven) -> None:
    beat(driven, "a", 0, ("t1",))
    perform(driven)
    beat(driven, "a", -1)
    ticket = delete(driven, "g")
    driven.take(driven.shard.coordinator.unloaded(driven.now_ms))
    assert driven.answers[ticket].results[0].error_code == NOT_COORDINATOR


def test_a_deletion_whose_first_record_cannot_be_written_is_answered(driven: Driven) -> None:
    beat(driven, "a", 0, ("t1",))
    perform(driven)
    beat(driven, "a", -1)
    driven.shard.error = NOT_LEADER_OR_FOLLOWER
    assert driven.answers[delete(driven, "g")].results[0].error_code == NOT_COORDINATOR
    driven.shard.error = 0
    assert driven.shard.coordinator.context.deletions == []


def test_a_member_whose_leave_cannot_be_written_is_removed_by_its_session(driven: Driven) -> None:
    beat(driven, "a", 0, ("t1",))
    driven.shard.error = NOT_LEADER_OR_FOLLOWER
    assert beat(driven, "a", -1).error_code == NOT_COORDINATOR
    driven.shard.error = 0
    assert not group(driven).is_empty
    driven.wait(45_000)
    assert group(driven).is_empty


def test_a_partition_may_be_with_several_members_and_none_is_left_out(driven: Driven) -> None:
    epochs = {name: beat(driven, name, 0, ("t1",)).member_epoch for name in "abcd"}
    perform(driven)
    for _ in range(3):
        epochs = {name: beat(driven, name, epoch).member_epoch for name, epoch in epochs.items()}
    held = {name: member.assigned for name, member in group(driven).members.items()}
    assert all(held.values()), "four members share three partitions"
    assert {number for partitions in held.values() for number in partitions[T1]} == {0, 1, 2}
    assert len(set(epochs.values())) == 1


def test_what_may_be_done_with_a_group_is_told_of_those_that_are_there(driven: Driven) -> None:
    beat(driven, "a", 0, ("t1",))
    for asks, known in ((True, True), (False, False)):
        body = messages.ShareGroupDescribeRequest(group_ids=("g", "nobody"), include_authorized_operations=asks)
        there, missing = driven.answers[driven.ask(SHARE_GROUP_DESCRIBE, 1, body)].groups
        assert (there.error_code, missing.error_code) == (NONE, 69)
        assert (there.authorized_operations != -(1 << 31), missing.authorized_operations) == (known, -(1 << 31))
