"""A streams group of members that do as they are told, in any order: no task runs twice, and the group comes to rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec import messages
from metashell.codec.codes import STREAMS_GROUP_HEARTBEAT
from metashell.groups.state import KindSettings, Settings
from metashell.groups.streams import NOT_DESCRIBED, STREAMS_GROUP, DescriptionEpochs
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.driven import Driven

Request = messages.StreamsGroupHeartbeatRequest
Running = dict[str, tuple[int, ...]]
SETTINGS = Settings(streams=KindSettings(assignors=("sticky",), assignment_interval_ms=0, standby_replicas=1))
TOPICS = KnownTopics([Topic(b"i" * 16, "in", ((),) * 4), Topic(b"j" * 16, "in2", ((),) * 3), Topic(b"l" * 16, "log", ((),) * 4)], 1)
TOPOLOGY = Request.Topology(
    epoch=1,
    subtopologies=(
        Request.Subtopology(subtopology_id="0", source_topics=("in",), state_changelog_topics=(Request.TopicInfo(name="log"),)),
        Request.Subtopology(subtopology_id="1", source_topics=("in2",)),
    ),
)
PROCESS = {"a": "P1", "b": "P1", "c": "P2", "d": "P3"}


class Member:
    """A client: it says what it runs, and does what it is told at its next heartbeat."""

    def __init__(self, driven: Driven, name: str) -> None:
        self.driven, self.name = driven, name
        self.epoch = 0
        self.active: Running = {}
        self.standby: Running = {}

    def _tasks(self, tasks: Running) -> tuple[Any, ...]:
        return tuple(Request.TaskIds(subtopology_id=id, partitions=partitions) for id, partitions in tasks.items())

    def beat(self) -> None:
        body = Request(group_id="g", member_id=self.name, member_epoch=self.epoch, warmup_tasks=())
        if self.epoch == 0:
            body.rebalance_timeout_ms, body.topology, body.process_id = 30_000, TOPOLOGY, PROCESS[self.name]
            body.active_tasks, body.standby_tasks = (), ()
        else:
            body.active_tasks, body.standby_tasks = self._tasks(self.active), self._tasks(self.standby)
        answer = self.driven.answers[self.driven.ask(STREAMS_GROUP_HEARTBEAT, 0, body, self.name)]
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        if answer.active_tasks is not None:
            self.active = {entry.subtopology_id: entry.partitions for entry in answer.active_tasks}
            self.standby = {entry.subtopology_id: entry.partitions for entry in answer.standby_tasks}

    def leave(self) -> None:
        body = Request(group_id="g", member_id=self.name, member_epoch=-1)
        assert self.driven.answers[self.driven.ask(STREAMS_GROUP_HEARTBEAT, 0, body)].error_code == 0


def run(orders: list[tuple[str, str]], driven: Driven) -> dict[str, Member]:
    members: dict[str, Member] = {}
    for order, name in orders:
        if order == "beat":
            members.setdefault(name, Member(driven, name)).beat()
        elif order == "leave" and name in members:
            members.pop(name).leave()
        elif order == "restart":
            driven.restart()
        check(members)
    return members


def check(members: dict[str, Member]) -> None:
    running = [(id, number) for member in members.values() for id, numbers in member.active.items() for number in numbers]
    assert len(running) == len(set(running)), "a task runs twice"


ORDERS = st.lists(st.tuples(st.sampled_from(["beat", "beat", "beat", "leave", "restart"]), st.sampled_from("abcd")), max_size=30)


@settings(max_examples=120, deadline=None)
@given(ORDERS)
def test_no_task_runs_twice_and_the_group_comes_to_rest(orders: list[tuple[str, str]]) -> None:
    driven = Driven(SETTINGS, TOPICS)
    members = run(orders, driven)
    for _ in range(5):
        for member in members.values():
            member.beat()
            check(members)
    if not members:
        return
    group = driven.shard.coordinator.state.groups["g"]
    assert isinstance(group, StreamsGroup) and group.state_name() == "Stable"
    for name, member in members.items():
        known, target = group.members[name], group.targets[name]
        assert known.assigned == target
        assert {(id, number) for id, numbers in member.active.items() for number in numbers} == target.active
    count = len(driven.shard.written)
    for member in members.values():
        member.beat()
    assert len(driven.shard.written) == count, "a group at rest writes nothing"


def test_a_member_that_keeps_its_tasks_too_long_is_removed() -> None:
    driven = Driven(replace(SETTINGS, streams=replace(SETTINGS.streams, session_timeout_ms=10**6)), TOPICS)
    first, second = Member(driven, "a"), Member(driven, "c")
    first.beat()
    second.beat()
    kept = first.active
    first.beat()
    first.active = kept
    driven.wait(29_000)
    first.beat()
    group = driven.shard.coordinator.state.groups["g"]
    assert isinstance(group, StreamsGroup)
    assert set(group.members) == {"a", "c"}
    driven.wait(1_000)
    assert set(group.members) == {"c"}
    for _ in range(3):
        second.beat()
    assert sum(len(numbers) for numbers in second.active.values()) == 7


def test_a_silent_member_is_removed_after_its_session() -> None:
    driven = Driven(SETTINGS, TOPICS)
    Member(driven, "a").beat()
    driven.wait(44_999)
    assert not driven.shard.coordinator.state.groups["g"].is_empty
    driven.wait(1)
    assert driven.shard.coordinator.state.groups["g"].is_empty


def test_what_a_plug_in_has_stored_stays_in_the_records_of_the_group() -> None:
    driven = Driven(SETTINGS, TOPICS)
    member = Member(driven, "a")
    member.beat()
    group = driven.shard.coordinator.state.groups["g"]
    assert isinstance(group, StreamsGroup) and group.described == NOT_DESCRIBED
    group.described = DescriptionEpochs(stored=2, failed=3)
    member.leave()
    (value,) = [record.value for record in driven.shard.written[-1].records if record.type == STREAMS_GROUP]
    assert (value.stored_description_topology_epoch, value.failed_description_topology_epoch) == (2, 3)
    driven.restart()
    again = driven.shard.coordinator.state.groups["g"]
    assert isinstance(again, StreamsGroup) and again.described == (2, 3)
    assert again.description(TOPICS).details["stored_description_topology_epoch"] == 2


def test_offsets_that_a_member_reports_stay_until_it_reports_others() -> None:
    driven = Driven(SETTINGS, TOPICS)
    member = Member(driven, "a")
    member.beat()
    group = driven.shard.coordinator.state.groups["g"]
    assert isinstance(group, StreamsGroup) and group.task_offsets == {}

    def offsets(*found: tuple[int, int]) -> tuple[Request.TaskOffset, ...]:
        return tuple(Request.TaskOffset(subtopology_id="0", partition=partition, offset=offset) for partition, offset in found)

    def report(**about: Any) -> int:
        body = Request(group_id="g", member_id="a", member_epoch=member.epoch, warmup_tasks=(), **about)
        body.active_tasks, body.standby_tasks = member._tasks(member.active), member._tasks(member.standby)
        code: int = driven.answers[driven.ask(STREAMS_GROUP_HEARTBEAT, 0, body, "a")].error_code
        return code

    for about, current, end in (
        ({"task_offsets": offsets((0, 5), (1, 6))}, {("0", 0): 5, ("0", 1): 6}, {}),
        ({"task_end_offsets": offsets((0, 9))}, {("0", 0): 5, ("0", 1): 6}, {("0", 0): 9}),
        ({}, {("0", 0): 5, ("0", 1): 6}, {("0", 0): 9}),
        ({"task_offsets": offsets((0, 7)), "task_end_offsets": ()}, {("0", 0): 7}, {}),
    ):
        assert report(**about) == 0
        assert (dict(group.task_offsets["a"].current), dict(group.task_offsets["a"].end)) == (current, end)
    assert report(task_offsets=offsets((0, 1), (0, 2))) == 42
    assert dict(group.task_offsets["a"].current) == {("0", 0): 7}
