"""Kafka Streams' assignor as a member has it: versions as Kafka chooses them, tasks by a plain rule of our own.

Kafka's task assignor weighs lags and racks, and its choice among equals hangs on an order that the JVM salts. Here a member keeps its
tasks up to its share, and the rest goes to whoever has least. One subtopology reads all topics, so task n has partition n of each.

Source: org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor; KIP-268.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from metashell.codec.blobs.consumer_protocol import Assignment, Partition, Subscription
from metashell.codec.blobs.streams_assignment import LATEST_VERSION, NO_REBALANCE_MS, StreamsAssignment, TaskId
from metashell.groups.members.strategy import Joined
from metashell.groups.probing.assignment_info import decode_assignment, encode_assignment
from metashell.groups.probing.errors import task_assignment_error
from metashell.groups.probing.releases import LATEST_VERSIONS, answers_future_with_nothing, begin, probes
from metashell.groups.probing.subscription_info import LATEST_OFFSET, SubscriptionInfo, decode_subscription, encode_subscription
from metashell.groups.probing.versions import EARLIEST_PROBEABLE, Chosen, choose, follow
from metashell.groups.topics import Topics

NEWEST_RELEASE = "4.4"


class StreamsStrategy:
    """See the module. Shape: `used` is the version of the next subscription; `version` is the newest that this code knows, one above
    the newest real one for simulated code of the future. `tasks` are the active ones that this member has.
    """

    name = "stream"

    def __init__(self, process_id: bytes, release: str = NEWEST_RELEASE, upgrade_from: str | None = None, is_future: bool = False) -> None:
        begins = begin(release, upgrade_from)
        self.release = release
        self.process_id = process_id
        self.version = LATEST_VERSIONS[release] + is_future
        self.used = begins.version + is_future
        self.is_cooperative = begins.is_cooperative
        self.tasks: tuple[TaskId, ...] = ()
        self.error_code = 0
        self.next_rebalance_ms = NO_REBALANCE_MS
        self._unique_field = 0

    # As a follower.

    def user_data(self, topics: Collection[str]) -> bytes:
        self._unique_field = (self._unique_field + 129) % 256 - 128
        layout = min(self.used, LATEST_VERSION)
        info = SubscriptionInfo(
            layout,
            max(layout, min(self.version, LATEST_VERSION)),
            self.process_id,
            dict.fromkeys(self.tasks, LATEST_OFFSET),
            unique_field=self._unique_field,
            error_code=self.error_code,
        )
        raw = encode_subscription(info)
        return _numbered(raw, self.used, self.version) if layout >= EARLIEST_PROBEABLE else raw

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        """Errors: ProbingError for an assignment that is none of ours."""
        version, supported = numbers(given.user_data or b"")
        info = decode_assignment(self._readable(given.user_data or b"", version))
        self.error_code = info.error_code
        self.next_rebalance_ms = NO_REBALANCE_MS
        if info.error_code:
            return None
        chosen = follow(self.used, self.version, version, supported if version >= EARLIEST_PROBEABLE else -1)
        self.used = chosen.used
        self.next_rebalance_ms = 0 if chosen.must_rejoin else info.next_rebalance_ms
        if len(info.active_tasks) != len(given.partitions):
            counts = f"partitions {len(given.partitions)} is not equal to the number of active taskIds {len(info.active_tasks)}"
            raise task_assignment_error(f"Number of assigned {counts}")
        self.tasks = tuple(dict.fromkeys(info.active_tasks))
        return "Scheduled probing rebalance" if chosen.must_rejoin else None

    def _readable(self, raw: bytes, version: int) -> bytes:
        """Bytes of simulated code are those of the newest real version."""
        if LATEST_VERSION < version <= self.version:
            return _numbered(raw, LATEST_VERSION, LATEST_VERSION)
        return raw

    # As the leader.

    def assign(self, topics: Topics, members: Mapping[str, Joined]) -> Mapping[str, Assignment]:
        """Errors: ProbingError for a subscription that does not decode, and of code that is older than probing for one of the future."""
        said = {member_id: numbers(members[member_id].subscription.user_data or b"") for member_id in sorted(members)}
        for member_id, (used, _) in said.items():
            if used > self.version and not probes(self.release):
                raise task_assignment_error(
                    f"Unable to decode subscription data: used version: {used}; latest supported version: {self.version}"
                )
            decode_subscription(self._readable(members[member_id].subscription.user_data or b"", used))
        chosen = choose(self.version, said.values())
        if chosen.error_code:
            return {member_id: self._given((), chosen) for member_id in said}
        future = {member_id for member_id, (used, _) in said.items() if used > self.version}
        subscriptions = {member_id: members[member_id].subscription for member_id in said}
        if future and answers_future_with_nothing(self.release):
            return self._first_answer(subscriptions, future, chosen)
        return {member_id: self._given(partitions, chosen) for member_id, partitions in shares(topics, subscriptions).items()}

    def _first_answer(self, members: Mapping[str, Subscription], future: set[str], chosen: Chosen) -> dict[str, Assignment]:
        """As the first release that probed: nothing for those of the future, and for all others what they had."""
        return {
            member_id: self._given((), Chosen(self.version, self.version))
            if member_id in future
            else self._given(tuple((topic, task.partition) for topic in one.topics for task in self._had(one)), chosen)
            for member_id, one in members.items()
        }

    def _had(self, subscription: Subscription) -> list[TaskId]:
        info = decode_subscription(self._readable(subscription.user_data or b"", numbers(subscription.user_data or b"")[0]))
        return sorted(info.previous_tasks, key=lambda task: task.partition)

    def _given(self, partitions: Collection[Partition], chosen: Chosen) -> Assignment:
        ordered = tuple(sorted(partitions))
        info = StreamsAssignment(
            min(chosen.version, LATEST_VERSION),
            min(chosen.commonly_supported, LATEST_VERSION),
            [TaskId(0, partition) for _, partition in ordered],
            error_code=chosen.error_code,
        )
        raw = encode_assignment(info)
        if chosen.version >= EARLIEST_PROBEABLE:
            raw = _numbered(raw, chosen.version, chosen.commonly_supported)
        return Assignment(ordered, raw)


def numbers(user_data: bytes) -> tuple[int, int]:
    """The version, and the newest supported one: -1 in versions that do not say it, or where the bytes end."""
    version = int.from_bytes(user_data[:4], "big", signed=True)
    supported = int.from_bytes(user_data[4:8], "big", signed=True) if len(user_data) >= 8 and version >= EARLIEST_PROBEABLE else -1
    return version, supported


def _numbered(raw: bytes, version: int, supported: int) -> bytes:
    return version.to_bytes(4, "big", signed=True) + supported.to_bytes(4, "big", signed=True) + raw[8:]


def shares(topics: Topics, members: Mapping[str, Subscription]) -> dict[str, tuple[Partition, ...]]:
    """Tasks for members: each keeps what it owned or ran up to its share. What another member still owns is withheld (KIP-429)."""
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
    if numbers(raw)[0] > LATEST_VERSION:
        return []
    return [task.partition for task in decode_subscription(raw).previous_tasks]
