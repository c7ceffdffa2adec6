"""Assignors from a member's side: the user data of a join, the leader's assignment, and the reaction to an assignment.

Beside the four of Kafka's clients, `StreamsStrategy` is that of Kafka Streams: it chooses metadata versions as Kafka does (KIP-268) and
tasks by a simple rule of our own. Kafka's task assignor weighs lags and racks, and its order among equals depends on a salt of the JVM.
Here a member keeps its tasks up to its share, and the rest goes to whoever has least. One subtopology reads all topics, so task n has
partition n of each.
Source: org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from metashell.codec.consumer_protocol import Assignment, Partition, Subscription
from metashell.codec.java import string_hash_order
from metashell.codec.streams_assignment import LATEST_ASSIGNMENT_INFO_VERSION, NO_REBALANCE_MS, StreamsAssignment, TaskId
from metashell.groups.assignors import ClientMember
from metashell.groups.assignors.server import run_client_assignor
from metashell.groups.assignors.sticky import cooperative_user_data, sticky_user_data
from metashell.groups.members.version_probing import (
    EARLIEST_PROBEABLE,
    LATEST_OFFSET,
    LATEST_VERSIONS,
    LeaderVersions,
    SubscriptionInfo,
    answers_future_with_nothing,
    choose_next_version,
    choose_versions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    initial_version,
    supports_probing,
    task_assignment_error,
)
from metashell.groups.topics import Topics


class Joined(NamedTuple):
    """A member, for its leader."""

    subscription: Subscription
    instance_id: str | None = None


class Strategy(Protocol):
    """One entry of `partition.assignment.strategy`. It may have state."""

    @property
    def name(self) -> str: ...

    @property
    def is_cooperative(self) -> bool:
        """Return whether members may keep their partitions while they rejoin."""
        ...

    def user_data(self, topics: Collection[str]) -> bytes | None:
        """Return the user data of a subscription."""
        ...

    def assign(self, topics: Topics, members: Mapping[str, Joined]) -> Mapping[str, Assignment]:
        """Return the assignments that the leader sends. Errors: MetashellError, which the application gets."""
        ...

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        """Note this member's assignment. Returns the reason to rejoin at once, or None."""
        ...


class RangeStrategy:
    """Eager and without state: range and roundrobin."""

    name = "range"
    is_cooperative = False

    def user_data(self, topics: Collection[str]) -> bytes | None:
        return None

    def assign(self, topics: Topics, members: Mapping[str, Joined]) -> Mapping[str, Assignment]:
        """Assign with members in the order of java.util.HashMap, as in a Java leader."""
        wanted = {name: topics.named(name) for name in sorted({name for member in members.values() for name in member.subscription.topics})}
        racks = {name: topic.racks for name, topic in wanted.items() if topic is not None}
        given = run_client_assignor(
            self.name, {member_id: client_member(members[member_id]) for member_id in string_hash_order(members)}, racks
        )
        return {member_id: Assignment(tuple(partitions)) for member_id, partitions in given.items()}

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        return None


class RoundRobinStrategy(RangeStrategy):
    name = "roundrobin"


class StickyStrategy(RangeStrategy):
    """Eager. The user data have the earlier partitions, since the member owns none when it joins."""

    name = "sticky"

    def __init__(self) -> None:
        self._owned: tuple[Partition, ...] | None = None
        self._generation = -1

    def user_data(self, topics: Collection[str]) -> bytes | None:
        return None if self._owned is None else sticky_user_data(self._owned, self._generation)

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        self._owned, self._generation = given.partitions, generation
        return None


class CooperativeStickyStrategy(RangeStrategy):
    """The subscription itself has the owned partitions. The user data have the generation, for leaders that read old subscriptions."""

    name = "cooperative-sticky"
    is_cooperative = True

    def __init__(self) -> None:
        self._generation = -1

    def user_data(self, topics: Collection[str]) -> bytes | None:
        return cooperative_user_data(self._generation)

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        self._generation = generation
        return None


def strategies(names: Iterable[str]) -> list[Strategy]:
    """Return new strategies by name. Errors: KeyError for an unknown one."""
    known: dict[str, type[RangeStrategy]] = {
        made.name: made for made in (RangeStrategy, RoundRobinStrategy, StickyStrategy, CooperativeStickyStrategy)
    }
    return [known[name]() for name in names]


def client_member(joined: Joined) -> ClientMember:
    one = joined.subscription
    return ClientMember(
        topics=one.topics,
        owned=one.owned,
        generation=one.generation,
        user_data=one.user_data,
        instance_id=joined.instance_id,
        rack=one.rack,
    )


NEWEST_RELEASE = "4.4"


class StreamsStrategy:
    """See the module. Shape: `used` is the version of the next subscription; `version` is the newest that this code knows, one above
    the newest real one for simulated code of the future. `tasks` are the active ones that this member has.
    """

    name = "stream"

    def __init__(self, process_id: bytes, release: str = NEWEST_RELEASE, upgrade_from: str | None = None, is_future: bool = False) -> None:
        begins = initial_version(release, upgrade_from)
        self.release = release
        self.process_id = process_id
        self.version = LATEST_VERSIONS[release] + is_future
        self.used = begins.version + is_future
        self.is_cooperative = begins.is_cooperative
        self.tasks: tuple[TaskId, ...] = ()
        self.error_code = 0
        self.next_rebalance_ms = NO_REBALANCE_MS
        self._unique_field = 0

    # ---- follower

    def user_data(self, topics: Collection[str]) -> bytes:
        self._unique_field = (self._unique_field + 129) % 256 - 128
        layout = min(self.used, LATEST_ASSIGNMENT_INFO_VERSION)
        info = SubscriptionInfo(
            layout,
            max(layout, min(self.version, LATEST_ASSIGNMENT_INFO_VERSION)),
            self.process_id,
            dict.fromkeys(self.tasks, LATEST_OFFSET),
            unique_field=self._unique_field,
            error_code=self.error_code,
        )
        raw = encode_subscription(info)
        return _numbered(raw, self.used, self.version) if layout >= EARLIEST_PROBEABLE else raw

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        """Choose the next version from an assignment. Errors: ProbingError for an assignment that Kafka Streams did not write."""
        version, supported = read_versions(given.user_data or b"")
        info = decode_assignment(self._readable(given.user_data or b"", version))
        self.error_code = info.error_code
        self.next_rebalance_ms = NO_REBALANCE_MS
        if info.error_code:
            return None
        chosen = choose_next_version(self.used, self.version, version, supported if version >= EARLIEST_PROBEABLE else -1)
        self.used = chosen.used
        self.next_rebalance_ms = 0 if chosen.must_rejoin else info.next_rebalance_ms
        if len(info.active_tasks) != len(given.partitions):
            counts = f"partitions {len(given.partitions)} is not equal to the number of active taskIds {len(info.active_tasks)}"
            raise task_assignment_error(f"Number of assigned {counts}")
        self.tasks = tuple(dict.fromkeys(info.active_tasks))
        return "Scheduled probing rebalance" if chosen.must_rejoin else None

    def _readable(self, raw: bytes, version: int) -> bytes:
        """Return the version to encode with: simulated code of the future writes the newest real version."""
        if LATEST_ASSIGNMENT_INFO_VERSION < version <= self.version:
            return _numbered(raw, LATEST_ASSIGNMENT_INFO_VERSION, LATEST_ASSIGNMENT_INFO_VERSION)
        return raw

    # ---- leader

    def assign(self, topics: Topics, members: Mapping[str, Joined]) -> Mapping[str, Assignment]:
        """Errors: ProbingError for a subscription that does not decode, and of code that is older than probing for one of the future."""
        said = {member_id: read_versions(members[member_id].subscription.user_data or b"") for member_id in sorted(members)}
        for member_id, (used, _) in said.items():
            if used > self.version and not supports_probing(self.release):
                raise task_assignment_error(
                    f"Unable to decode subscription data: used version: {used}; latest supported version: {self.version}"
                )
            decode_subscription(self._readable(members[member_id].subscription.user_data or b"", used))
        chosen = choose_versions(self.version, said.values())
        if chosen.error_code:
            return {member_id: self._given((), chosen) for member_id in said}
        future = {member_id for member_id, (used, _) in said.items() if used > self.version}
        subscriptions = {member_id: members[member_id].subscription for member_id in said}
        if future and answers_future_with_nothing(self.release):
            return self._first_answer(subscriptions, future, chosen)
        return {
            member_id: self._given(partitions, chosen) for member_id, partitions in assign_tasks_by_share(topics, subscriptions).items()
        }

    def _first_answer(self, members: Mapping[str, Subscription], future: set[str], chosen: LeaderVersions) -> dict[str, Assignment]:
        """Assign as the first releases with probing: members of the future get nothing, and all others what they had."""
        return {
            member_id: self._given((), LeaderVersions(self.version, self.version))
            if member_id in future
            else self._given(tuple((topic, task.partition) for topic in one.topics for task in self._had(one)), chosen)
            for member_id, one in members.items()
        }

    def _had(self, subscription: Subscription) -> list[TaskId]:
        info = decode_subscription(self._readable(subscription.user_data or b"", read_versions(subscription.user_data or b"")[0]))
        return sorted(info.previous_tasks, key=lambda task: task.partition)

    def _given(self, partitions: Collection[Partition], chosen: LeaderVersions) -> Assignment:
        ordered = tuple(sorted(partitions))
        info = StreamsAssignment(
            min(chosen.version, LATEST_ASSIGNMENT_INFO_VERSION),
            min(chosen.commonly_supported, LATEST_ASSIGNMENT_INFO_VERSION),
            [TaskId(0, partition) for _, partition in ordered],
            error_code=chosen.error_code,
        )
        raw = encode_assignment(info)
        if chosen.version >= EARLIEST_PROBEABLE:
            raw = _numbered(raw, chosen.version, chosen.commonly_supported)
        return Assignment(ordered, raw)


def read_versions(user_data: bytes) -> tuple[int, int]:
    """Return the version, and the newest supported one: -1 in versions without it, or if the bytes end."""
    version = int.from_bytes(user_data[:4], "big", signed=True)
    supported = int.from_bytes(user_data[4:8], "big", signed=True) if len(user_data) >= 8 and version >= EARLIEST_PROBEABLE else -1
    return version, supported


def _numbered(raw: bytes, version: int, supported: int) -> bytes:
    return version.to_bytes(4, "big", signed=True) + supported.to_bytes(4, "big", signed=True) + raw[8:]


def assign_tasks_by_share(topics: Topics, members: Mapping[str, Subscription]) -> dict[str, tuple[Partition, ...]]:
    """Assign tasks: each member keeps what it owned or ran up to its share. A partition that another still owns is withheld (KIP-429)."""
    names = sorted({name for one in members.values() for name in one.topics})
    known = {name: topic for name in names if (topic := topics.named(name)) is not None}
    free = set(range(max((topic.partition_count for topic in known.values()), default=0)))
    most = -(-len(free) // len(members))
    mine: dict[str, list[int]] = {}
    for member_id, one in members.items():
        ran = dict.fromkeys((partition for _, partition in one.owned), 0) | dict.fromkeys(_ran(one), 0)
        mine[member_id] = [task for task in sorted(ran) if task in free][:most]
        free -= set(mine[member_id])
    for task in sorted(free):
        mine[min(mine, key=lambda member_id: (len(mine[member_id]), member_id))].append(task)
    owners = {partition: member_id for member_id, one in members.items() for partition in one.owned}
    return {
        member_id: tuple(
            (name, task)
            for name, topic in known.items()
            for task in sorted(tasks)
            if task < topic.partition_count and owners.get((name, task), member_id) == member_id
        )
        for member_id, tasks in mine.items()
    }


def _ran(subscription: Subscription) -> list[int]:
    raw = subscription.user_data or b""
    if read_versions(raw)[0] > LATEST_ASSIGNMENT_INFO_VERSION:
        return []
    return [task.partition for task in decode_subscription(raw).previous_tasks]
