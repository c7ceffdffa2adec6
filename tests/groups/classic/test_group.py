"""Classic groups: rules that no golden conversation shows, and batches that cannot be written."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.codes import CONSUMER_GROUP_HEARTBEAT
from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    INVALID_REQUEST,
    NONE,
    NOT_COORDINATOR,
    NOT_ENOUGH_REPLICAS,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from metashell.codec.messages import GroupMetadataKey, GroupMetadataValue
from metashell.groups.classic.group import ClassicGroup, ClassicState, session_key
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard, Written
from metashell.groups.coordinator.replay import make_state, replay
from metashell.groups.decision import Place, Record
from metashell.groups.state import Settings
from metashell.groups.topics import KnownTopics
from tests.groups.driven import Driven, SeededChance

Member = GroupMetadataValue.MemberMetadata


def record(*members: Member, protocol_type: str = "consumer", state_ms: int = 5) -> Record:
    value = GroupMetadataValue(
        protocol_type=protocol_type, generation=7, protocol="range", leader="m0", current_state_timestamp=state_ms, members=members
    )
    return Record(2, GroupMetadataKey(group="g"), value, 3)


def folded(*records: Record) -> ClassicGroup:
    state = make_state()
    for offset, one in enumerate(records):
        replay(state, one, Place(offset))
    group = state.groups["g"]
    assert isinstance(group, ClassicGroup)
    return group


def test_members_without_a_rebalance_timeout_have_their_session_timeout() -> None:
    group = folded(record(Member(member_id="m0", session_timeout=9000, rebalance_timeout=-1)))
    assert (group.rebalance_timeout_ms, group.state, group.generation) == (9000, ClassicState.STABLE, 7)


def test_a_group_is_subscribed_to_what_its_members_say() -> None:
    blobs = [subscription_bytes(Subscription((topic,), version=version)) for topic, version in (("t", 0), ("u", 3))]
    group = folded(record(*(Member(member_id=f"m{at}", subscription=blob) for at, blob in enumerate(blobs))))
    assert [group.is_subscribed(topic) for topic in ("t", "u", "v")] == [True, True, False]


@pytest.mark.parametrize("blob", [b"", b"\0", b"\xff\xff\0\0", b"\0\0\0\0\0\2\0\1t", b"nonsense of any length"])
def test_offsets_are_kept_where_a_subscription_does_not_decode(blob: bytes) -> None:
    group = folded(record(Member(member_id="m0", subscription=blob)))
    assert group.subscribed is None and group.is_subscribed("t")
    assert group.description(KnownTopics()).members[0].member_id == "m0"


def test_other_protocol_types_are_subscribed_to_nothing() -> None:
    group = folded(record(Member(member_id="m0"), protocol_type="connect"))
    assert not group.is_subscribed("t") and group.expiry_base_ms(3) is None


@pytest.mark.parametrize(("state_ms", "base_ms"), [(5, 5), (-1, 3)])
def test_offsets_of_an_empty_group_count_from_when_it_became_empty(state_ms: int, base_ms: int) -> None:
    assert folded(record(state_ms=state_ms)).expiry_base_ms(3) == base_ms


def test_a_tombstone_removes_the_group_and_another_one_nothing() -> None:
    state = make_state()
    tombstone = Record(2, GroupMetadataKey(group="g"))
    for offset, one in enumerate((record(Member(member_id="m0")), tombstone, tombstone)):
        replay(state, one, Place(offset))
    assert not state.groups and not state.findings


def test_a_group_that_is_larger_than_is_now_allowed_rebalances_and_keeps_those_who_come_first() -> None:
    driven = Driven(Settings(max_size=2))
    three = record(*(Member(member_id=f"m{at}", session_timeout=9000, rebalance_timeout=9000) for at in range(3)))
    driven.shard = type(driven.shard)(
        GroupCoordinator(driven.settings, driven.chance, KnownTopics()), [Written(0, 0, (three,))], driven.now_ms
    )
    group = driven.shard.coordinator.state.groups["g"]
    assert group.state_name() == "PreparingRebalance"
    protocols = (("range", b""),)
    tickets = [driven.join(member_id=f"m{at}", protocols=protocols, session_ms=9000, rebalance_ms=9000) for at in range(3)]
    assert driven.answers[tickets[2]].error_code == 81
    driven.wait(9000)
    assert {driven.answers[ticket].generation_id for ticket in tickets[:2]} == {8}


def test_a_member_that_names_a_protocol_twice_does_not_stop_its_group() -> None:
    driven = Driven()
    assert driven.answers[driven.enter(protocols=(("range", b"1"), ("range", b"2")))].protocol_name == "range"


def test_a_join_that_is_sent_again_is_answered_once() -> None:
    """The first one never is: its client gave up."""
    driven = Driven()
    first = driven.answers[driven.enter(client="a")].member_id
    second = driven.answers[driven.join(client="b")].member_id
    tickets = [driven.join(member_id=second, client="b") for _ in range(2)]
    driven.join(member_id=first, client="a")
    assert [ticket in driven.answers for ticket in tickets] == [False, True]


def test_a_new_member_that_waits_too_long_is_removed_and_told() -> None:
    """Its client may be gone: nothing else would ever end its wait, when another member holds the rebalance up."""
    driven = Driven()
    first = driven.answers[driven.enter(client="a", rebalance_ms=900_000, session_ms=1_800_000)].member_id
    waiting = driven.enter(client="b", rebalance_ms=900_000)
    for _ in range(10):
        driven.wait(29_000)
        driven.beat("g", first, 1)
    assert waiting not in driven.answers
    driven.wait(11_000)
    assert driven.answers[waiting].error_code == UNKNOWN_MEMBER_ID


def test_a_commit_keeps_a_session() -> None:
    driven = Driven()
    member_id = driven.answers[driven.enter()].member_id
    driven.sync("g", member_id, 1, {member_id: b"1"})
    context = driven.shard.coordinator.context
    driven.wait(20_000)
    context.state.groups["g"].committed(member_id, context.timers, driven.now_ms)
    driven.wait(20_000)
    assert driven.beat("g", member_id, 1) == 0


def test_nothing_is_due_in_a_shard_without_groups() -> None:
    shard = Shard(GroupCoordinator(Settings(), SeededChance(), KnownTopics()))
    assert {key[0] for key in shard.coordinator.context.timers} == {"expire-group-metadata"}


def test_a_known_id_at_an_empty_consumer_group_makes_kafka_forget_the_group() -> None:
    """Watched on a real 4.3.1: no record is written, and the next group of that name begins without tombstones."""
    driven = Driven()
    joining = messages.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, rebalance_timeout_ms=9000, subscribed_topic_names=("t",), topic_partitions=()
    )
    driven.ask(CONSUMER_GROUP_HEARTBEAT, 1, joining)
    driven.ask(CONSUMER_GROUP_HEARTBEAT, 1, messages.ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=-1))
    written = len(driven.shard.written)
    assert driven.answers[driven.join(member_id="somebody")].error_code == UNKNOWN_MEMBER_ID
    assert (len(driven.shard.written), driven.shard.coordinator.state.groups) == (written, {})
    driven.join()
    assert [record.type for record in driven.shard.written[-1].records] == [2]
    driven.restart()
    assert driven.shard.coordinator.state.groups["g"].type == "classic"


@pytest.mark.parametrize("version", [3, 9])
def test_a_member_id_that_no_answer_could_hold_is_not_made(version: int) -> None:
    driven = Driven()
    assert driven.answers[driven.join(client="c" * 32_767, version=version)].error_code == INVALID_REQUEST
    assert [record.type for record in driven.shard.written[0].records] == [2] and driven.shard.coordinator.state.groups["g"].is_empty


def test_what_is_never_answered_is_named() -> None:
    """Kafka loses these too: a join that was sent again, and the sync of a member that somebody removes."""
    driven = Driven()
    first = driven.answers[driven.enter(client="a")].member_id
    second = driven.answers[driven.join(client="b")].member_id
    lost = driven.join(member_id=second, client="b")
    driven.join(member_id=second, client="b")
    assert driven.shard.dropped == [lost]
    driven.join(member_id=first, client="a")
    group = driven.shard.coordinator.state.groups["g"]
    assert isinstance(group, ClassicGroup)
    follower = next(id for id in group.members if id != group.leader)
    tickets = [driven.sync("g", follower, group.generation) for _ in range(2)]
    assert driven.leave("g", (follower, None)) == [0]
    assert driven.shard.dropped == [lost, *tickets] and not driven.answers.keys() & driven.shard.dropped


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


def test_who_was_given_an_id_and_leaves_without_joining_leaves_nothing_behind(driven: Driven) -> None:
    given = driven.answers[driven.join()].member_id
    assert group_of(driven).pending_joins == {given} and session_key("g", given) in driven.shard.coordinator.context.timers
    assert driven.leave("g", (given, None)) == [NONE]
    assert not group_of(driven).pending_joins and session_key("g", given) not in driven.shard.coordinator.context.timers
    assert driven.leave("g", (given, None)) == [UNKNOWN_MEMBER_ID]
