"""Groups: what brokers of each version are asked, what is asked again, and what the answers come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from metashell.cli.admin import groups
from metashell.cli.admin.client import Admin
from metashell.cli.admin.protocol import AdminError, UnsupportedError
from metashell.codec import messages
from metashell.codec.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    GROUP_ID_NOT_FOUND,
    NOT_COORDINATOR,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.common.errors import MetashellError
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, OffsetRow
from tests.cli.admin.recorder import Recorder

NEW = {9: (1, 10), 10: (0, 6), 16: (0, 5), 69: (0, 1)}


def admin(recorder: Recorder) -> Admin:
    return cast("Admin", recorder)


class Clock:
    """`pauses` are those that were made; time passes in them alone."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return sum(self.pauses)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(groups, "time", made)
    yield made


def listed(*ids: str, code: int = 0, kind: str = "") -> Any:
    made = messages.ListGroupsResponse
    return made(
        error_code=code, groups=tuple(made.ListedGroup(group_id=id, group_state="Stable", group_type=kind, protocol_type="p") for id in ids)
    )


def found_at(*nodes: tuple[str, int, int]) -> Any:
    made = messages.FindCoordinatorResponse
    return made(coordinators=tuple(made.Coordinator(key=key, node_id=node, error_code=code) for key, node, code in nodes))


def test_groups_of_all_brokers_are_listed_in_order_and_those_that_failed_named(clock: Clock) -> None:
    down = MetashellError("down")
    answers = {1: listed("c", "a"), 2: down, 3: listed(code=GROUP_AUTHORIZATION_FAILED), 4: listed(code=COORDINATOR_LOAD_IN_PROGRESS)}
    recorder = Recorder(answers, listed(code=COORDINATOR_NOT_AVAILABLE), listed("b", kind="consumer"), ids=(1, 2, 3, 4))
    found, failed = groups.list_groups(admin(recorder), ["Stable"], ["classic"])
    assert [(one.group_id, one.kind, one.state, one.protocol_type, one.coordinator) for one in found] == [
        ("a", "classic", "Stable", "p", 1),
        ("b", "consumer", "Stable", "p", 4),
        ("c", "classic", "Stable", "p", 1),
    ]
    assert failed[0] == (2, down) and str(failed[1][1]).startswith("broker 3: GROUP_AUTHORIZATION_FAILED")
    request = messages.ListGroupsRequest(states_filter=("Stable",), types_filter=("classic",))
    assert recorder.asked == [dict.fromkeys((1, 2, 3, 4), request), request, request]
    assert recorder.whom[1:] == [(4, None), (4, None)] and clock.pauses == [0.1]


@pytest.mark.parametrize(("states", "kinds", "raises"), [((), (), False), (("Stable",), (), True), ((), ("share",), True)])
def test_a_broker_that_is_too_old_for_a_filter_is_an_error(states: tuple[str, ...], kinds: tuple[str, ...], raises: bool) -> None:
    old = UnsupportedError("too old", api="ListGroups")
    recorder = Recorder({1: old}, ids=(1,))
    try:
        assert groups.list_groups(admin(recorder), states, kinds) == ([], [(1, old)]) and not raises
    except UnsupportedError:
        assert raises


def test_coordinators_are_asked_for_again_until_they_are_known(clock: Clock) -> None:
    recorder = Recorder(
        found_at(("a", 1, 0), ("b", -1, COORDINATOR_NOT_AVAILABLE), ("c", -1, GROUP_AUTHORIZATION_FAILED)),
        found_at(("b", -1, NOT_COORDINATOR)),
        found_at(("b", 2, 0)),
        ranges=NEW,
    )
    found = groups.find_coordinators(admin(recorder), ["a", "b", "c", "a"])
    assert (found["a"], found["b"], str(found["c"]).split(": ")[:2]) == (1, 2, ["c", "GROUP_AUTHORIZATION_FAILED"])
    assert [request.coordinator_keys for request in recorder.asked] == [("a", "b", "c"), ("b",), ("b",)]
    assert clock.pauses == [0.1, 0.1]


def test_a_coordinator_is_not_waited_for_longer_than_the_deadline(clock: Clock) -> None:
    recorder = Recorder(*[found_at(("a", -1, COORDINATOR_NOT_AVAILABLE))] * 100, ranges=NEW)
    assert isinstance(groups.find_coordinators(admin(recorder), ["a"])["a"], AdminError)
    # As many as fit into 4.301 s.
    assert len(clock.pauses) == 43 and len(recorder.asked) == 44
    recorder = Recorder(*[found_at(("a", 1, 0)), listed(code=NOT_COORDINATOR)] * 100, ranges=NEW)
    with pytest.raises(AdminError, match=r"^a: NOT_COORDINATOR"):
        groups.describe_group(admin(recorder), "a")
    assert len(clock.pauses) == 86


@pytest.mark.parametrize("high", [3, 4])
def test_old_brokers_are_asked_for_one_coordinator_at_a_time(high: int) -> None:
    one = messages.FindCoordinatorResponse
    old = (one(node_id=1), one(error_code=GROUP_AUTHORIZATION_FAILED, error_message="No."))
    recorder = Recorder(*(old if high < 4 else (found_at(("a", 1, 0), ("b", -1, GROUP_AUTHORIZATION_FAILED)),)), ranges={10: (0, high)})
    found = groups.find_coordinators(admin(recorder), ["a", "b"])
    assert found["a"] == 1 and isinstance(found["b"], AdminError) and found["b"].thing == "b"
    assert [request.key for request in recorder.asked] == (["a", "b"] if high < 4 else [""])


# ---- members

MADE = messages.DescribeGroupsResponse


def described(state: str = "Stable", *members: Any, code: int = 0, message: str | None = None) -> Any:
    group = MADE.DescribedGroup(
        group_id="g",
        error_code=code,
        error_message=message,
        group_state=state,
        protocol_type="consumer",
        protocol_data="range",
        members=members,
    )
    return MADE(groups=(group,))


def answers(kind: str, answer: Any) -> Recorder:
    return Recorder(found_at(("g", 3, 0)), listed("x", "g", kind=kind), found_at(("g", 3, 0)), answer, ranges=NEW)


@pytest.mark.parametrize("kind", ["", "classic", "of-the-future"])
def test_a_classic_group_is_described_by_its_coordinator(kind: str) -> None:
    member = MADE.DescribedGroupMember(member_id="m", group_instance_id="i", client_id="c", client_host="/h")
    recorder = answers(kind, described("Stable", member))
    found = groups.describe_group(admin(recorder), "g")
    summary = found.summary
    assert (summary.group_id, summary.kind, summary.state, summary.protocol_type, summary.members, summary.coordinator) == (
        ("g", "classic", "Stable", "consumer", 1, 3)
    )
    (one,) = found.members
    assert (found.assignor, one.member_id, one.instance_id, one.client_id, one.client_host) == ("range", "m", "i", "c", "/h")
    assert recorder.asked[3] == messages.DescribeGroupsRequest(groups=("g",)) and recorder.whom[1::2] == [(3, None)] * 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (described("Dead"), "GROUP_ID_NOT_FOUND"),
        (described(code=GROUP_ID_NOT_FOUND, message="Group g not found."), "GROUP_ID_NOT_FOUND: Group g not found."),
        (described(code=GROUP_AUTHORIZATION_FAILED), "GROUP_AUTHORIZATION_FAILED"),
    ],
)
def test_a_group_that_cannot_be_described_is_an_error(answer: Any, message: str) -> None:
    with pytest.raises(AdminError, match=f"^g: {message}"):
        groups.describe_group(admin(answers("classic", answer)), "g")


def test_a_group_that_is_dying_with_members_is_shown() -> None:
    assert groups.describe_group(admin(answers("classic", described("Dead", MADE.DescribedGroupMember(member_id="m")))), "g").members


def test_brokers_without_other_kinds_are_not_asked_for_the_kind() -> None:
    recorder = Recorder(found_at(("g", 3, 0)), described(), ranges={10: (0, 4)})
    assert groups.describe_group(admin(recorder), "g").summary.kind == "classic" and len(recorder.asked) == 2


PARTS = (("b", (2, 0)), ("a", (1,)))
SORTED = (("a", (1,)), ("b", (0, 2)))


def assignment(made: Any, parts: Any) -> Any:
    return made.Assignment(topic_partitions=tuple(made.TopicPartitions(topic_name=name, partitions=ids) for name, ids in parts))


@pytest.mark.parametrize(("member_type", "word"), [(0, "classic"), (1, "consumer"), (-1, "consumer")])
def test_a_consumer_group_has_what_its_members_own_and_are_to_own(member_type: int, word: str) -> None:
    made = messages.ConsumerGroupDescribeResponse
    member = made.Member(
        member_id="m",
        instance_id="i",
        rack_id="r",
        member_epoch=6,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=("b", "a"),
        subscribed_topic_regex="",
        assignment=assignment(made, PARTS),
        target_assignment=assignment(made, PARTS[:1]),
        member_type=member_type,
    )
    group = made.DescribedGroup(
        group_id="g", group_state="Stable", group_epoch=7, assignment_epoch=5, assignor_name="uniform", members=(member,)
    )
    found = groups.describe_group(admin(answers("consumer", made(groups=(group,)))), "g")
    assert found.members == (
        MemberDescription(
            member_id="m",
            member_type=word,
            client_id="c",
            client_host="/h",
            instance_id="i",
            rack="r",
            epoch=6,
            topics=("b", "a"),
            assigned=SORTED,
            target=(("b", (0, 2)),),
        ),
    )
    assert (found.summary.kind, found.summary.protocol_type, found.summary.epoch, found.assignment_epoch) == ("consumer", "consumer", 7, 5)
    assert (found.assignor, found.summary.members, found.summary.coordinator) == ("uniform", 1, 3)


def test_a_share_group_has_no_targets() -> None:
    made = messages.ShareGroupDescribeResponse
    member = made.Member(
        member_id="m",
        rack_id="r",
        member_epoch=6,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=("a",),
        assignment=assignment(made, PARTS),
    )
    group = made.DescribedGroup(group_id="g", group_state="Empty", group_epoch=7, assignment_epoch=5, assignor_name="", members=(member,))
    found = groups.describe_group(admin(answers("share", made(groups=(group,)))), "g")
    (one,) = found.members
    assert one == MemberDescription(
        member_id="m", member_type="share", client_id="c", client_host="/h", rack="r", epoch=6, topics=("a",), assigned=SORTED
    )
    assert (found.summary.kind, found.summary.protocol_type, found.assignor) == ("share", "share", None)


@pytest.mark.parametrize("is_classic", [False, True])
@pytest.mark.parametrize("has_topology", [False, True])
def test_a_streams_group_has_tasks(is_classic: bool, has_topology: bool) -> None:
    made = messages.StreamsGroupDescribeResponse
    tasks = lambda *parts: tuple(made.TaskIds(subtopology_id=name, partitions=ids) for name, ids in parts)  # noqa: E731
    member = made.Member(
        member_id="m",
        instance_id="i",
        rack_id="r",
        member_epoch=6,
        topology_epoch=4,
        process_id="p",
        client_id="c",
        client_host="/h",
        is_classic=is_classic,
        assignment=made.Assignment(active_tasks=tasks(*PARTS), standby_tasks=tasks(("1", (3, 2))), warmup_tasks=tasks(("2", (0,)))),
        target_assignment=made.Assignment(active_tasks=tasks(("0", (1,)))),
    )
    topology = made.Topology(epoch=9) if has_topology else None
    group = made.DescribedGroup(group_id="g", group_state="Stable", group_epoch=7, assignment_epoch=5, topology=topology, members=(member,))
    found = groups.describe_group(admin(answers("streams", made(groups=(group,)))), "g")
    (one,) = found.members
    assert one == MemberDescription(
        member_id="m",
        member_type="classic" if is_classic else "streams",
        client_id="c",
        client_host="/h",
        instance_id="i",
        rack="r",
        epoch=6,
        assigned=SORTED,
        target=(("0", (1,)),),
        details={"topology_epoch": 4, "process": "p", "standby": {"1": (2, 3)}, "warmup": {"2": (0,)}},
    )
    assert (found.summary.kind, found.details.get("topology_epoch")) == ("streams", 9 if has_topology else None)


# ---- offsets


@pytest.mark.parametrize(("high", "used"), [(7, 7), (8, 8), (9, 9), (10, 9)])
def test_offsets_are_asked_for_in_a_version_that_has_names(high: int, used: int) -> None:
    made, wanted = messages.OffsetFetchResponse, messages.OffsetFetchRequest
    if used < 8:
        part, topic = made.OffsetFetchResponsePartition, made.OffsetFetchResponseTopic
    else:
        part, topic = made.OffsetFetchResponsePartitions, made.OffsetFetchResponseTopics
    parts = (
        part(partition_index=1, committed_offset=7, committed_leader_epoch=2, metadata=None),
        part(partition_index=0, committed_offset=5),
    )
    topics = (topic(name="b", partitions=parts), topic(name="a", partitions=(part(partition_index=3, committed_offset=1, metadata="x"),)))
    answer = made(topics=topics) if used < 8 else made(groups=(made.OffsetFetchResponseGroup(group_id="g", topics=topics),))
    recorder = Recorder(found_at(("g", 3, 0)), answer, ranges={9: (1, high), 10: (0, 4)})
    rows = groups.committed_offsets(admin(recorder), "g")
    assert [(row.topic, row.partition, row.offset, row.leader_epoch, row.metadata) for row in rows] == [
        ("a", 3, 1, -1, "x"),
        ("b", 0, 5, -1, ""),
        ("b", 1, 7, 2, ""),
    ]
    one = wanted.OffsetFetchRequestGroup(group_id="g", topics=None)
    assert recorder.asked[1] == (wanted(groups=(one,)) if used >= 8 else wanted(group_id="g", topics=None))
    assert recorder.whom[1] == (3, used)


def test_an_offset_that_cannot_be_read_is_an_error() -> None:
    made = messages.OffsetFetchResponse
    part = made.OffsetFetchResponsePartitions(partition_index=1, error_code=UNKNOWN_TOPIC_OR_PARTITION)
    group = made.OffsetFetchResponseGroup(group_id="g", topics=(made.OffsetFetchResponseTopics(name="b", partitions=(part,)),))
    for answer, thing in ((group, "b-1"), (made.OffsetFetchResponseGroup(group_id="g", error_code=GROUP_AUTHORIZATION_FAILED), "g")):
        with pytest.raises(AdminError, match=f"^{thing}: "):
            groups.committed_offsets(admin(Recorder(found_at(("g", 3, 0)), made(groups=(answer,)), ranges=NEW)), "g")


@pytest.mark.parametrize(("kind", "count"), [("classic", 3), ("consumer", 3), ("share", 2), ("streams", 2)])
def test_rows_have_their_owner_and_what_is_owned_has_a_row(kind: str, count: int) -> None:
    member = MemberDescription(member_id="m", member_type=kind, client_id="c", client_host="/h", assigned=(("b", (0, 1)),))
    summary = GroupSummary(group_id="g", kind=kind, state="Stable", protocol_type="consumer")
    row = OffsetRow(group_id="g", topic="b", partition=1, offset=5)
    other = OffsetRow(group_id="g", topic="a", partition=0, offset=6)
    rows = groups.with_members([row, other], GroupDescription(summary=summary, members=(member,)))
    expected = [("a", 0, 6, None), ("b", 0, -1, "m"), ("b", 1, 5, "m")]
    assert [(one.topic, one.partition, one.offset, one.member_id or None) for one in rows] == [
        one for one in expected if count == 3 or one[2] >= 0
    ]


def test_the_ends_of_a_log_are_asked_of_its_leader_the_stable_one_first() -> None:
    made, told = messages.MetadataResponse, messages.ListOffsetsResponse

    def topic(name: str, *leaders: int) -> Any:
        parts = tuple(made.MetadataResponsePartition(partition_index=id, leader_id=leader) for id, leader in enumerate(leaders))
        return made.MetadataResponseTopic(name=name, partitions=parts)

    def ends(name: str, *rows: tuple[int, int, int]) -> Any:
        parts = tuple(told.ListOffsetsPartitionResponse(partition_index=id, offset=offset, error_code=code) for id, offset, code in rows)
        return told(topics=(told.ListOffsetsTopicResponse(name=name, partitions=parts),))

    metadata = made(topics=(topic("a", 1, 2, -1, 0, 1), topic("b", 1)))
    answers = {1: ends("a", (0, 0, 0), (4, -1, 0)), 2: MetashellError("down"), 0: ends("a", (3, 9, 6))}
    recorder = Recorder(metadata, {1: ends("a", (0, 0, 0))}, answers)
    found = groups.end_offsets(admin(recorder), [("a", id) for id in (4, 3, 2, 1, 0)])
    assert found == {("a", 0): groups.LogEnd(1, 0, 0)}
    wanted, asked = messages.ListOffsetsRequest, messages.MetadataRequest

    def request(isolation_level: int, *ids: int) -> Any:
        parts = tuple(wanted.ListOffsetsPartition(partition_index=id, timestamp=-1) for id in ids)
        return wanted(replica_id=-1, isolation_level=isolation_level, topics=(wanted.ListOffsetsTopic(name="a", partitions=parts),))

    assert recorder.asked == [
        asked(topics=(asked.MetadataRequestTopic(name="a"),), allow_auto_topic_creation=False),
        {1: request(1, 0, 4), 2: request(1, 1), 0: request(1, 3)},
        {1: request(0, 0, 4), 2: request(0, 1), 0: request(0, 3)},
    ]
    assert groups.end_offsets(admin(Recorder()), []) == {} and groups.with_ends(admin(Recorder()), []) == []
