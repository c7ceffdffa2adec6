"""Models followers and log directories.

Followers catch up after a time, and their leaders ask the controller to add them to the ISR.

A copy is no faster than the replication throttles in the metadata (KIP-73): a replica is throttled if the topic lists it and its broker
has a rate.

Log directories fail, come back empty, and brokers report which replica lies in which. A broker with an empty disk does the following, as
observed on Kafka 4.4.0: it registers with a new directory id, is unfenced, reports 50 ms later where it recreates its replicas, and copies
them. A partition whose last replica in sync was on that disk gets no leader by this.

Source: kafka.cluster.Partition (maybeExpandIsr), kafka.server.AlterPartitionManager, kafka.server.ReplicationQuotaManager;
kafka.server.AssignmentsManager, kafka.log.LogManager (nextLogDirs), BrokerHeartbeatRequest.OfflineLogDirs; KIP-858."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Final, NamedTuple

from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE, THROTTLE_RATES, THROTTLED_REPLICAS, TOPIC_RESOURCE
from metashell.codec.releases import DIRECTORY_ASSIGNMENT_LEVEL
from metashell.common.values import MIGRATING_DIRECTORY, NO_LEADER, UNASSIGNED_DIRECTORY, uuid_text
from metashell.metadata.checks.partitions import is_online
from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from metashell.quorum.controller.decision import new_uuid
from metashell.quorum.controller.partition_change import without
from metashell.rehearse.brokers import Fleet, ModelBroker
from metashell.rehearse.outcome import Copied
from metashell.rehearse.quorum import Action, Clock, Quorum
from metashell.rehearse.steps import Assumptions
from metashell.rehearse.trouble import PartitionKey

_ASSIGN_KEY: Final = 73
_AFTER_START_MS: Final = 50
_AFTER_CREATION_MS: Final = 250


class Directories:
    """Tracks the replicas that are lost with a disk, and the directories of new ones.

    Shape: `gone` are replicas, (partition, broker) each, whose directory has failed: they are not recreated. `emptied` are those whose
    directory came back empty: they copy everything, and if one of them is elected, records are lost.
    """

    def __init__(self, quorum: Quorum, fleet: Fleet, clock: Clock, chance: Random) -> None:
        self._quorum = quorum
        self._fleet = fleet
        self._clock = clock
        self._chance = chance
        self._unplaced: dict[int, dict[PartitionKey, None]] = {}
        self._planned: set[int] = set()
        self.gone: set[tuple[PartitionKey, int]] = set()
        self.emptied: set[tuple[PartitionKey, int]] = set()

    def fail(self, id: int, directory: bytes) -> bool:
        """Let a log directory of a broker fail; return whether the broker has another one, and so stays alive."""
        broker = self._fleet.brokers[id]
        known = broker.registration
        broker.failed = (*broker.failed, directory)
        broker.registration = known._replace(directories=tuple(one for one in known.directories if one != directory))
        self._fleet.add_event(f"log directory {uuid_text(directory)} of broker {id} fails", id)
        self.gone.update((key, id) for key, _ in self._replicas_in(broker, (directory,)))
        return bool(broker.registration.directories)

    def empty(self, id: int, chosen: tuple[bytes, ...]) -> None:
        """Empty directories of a dead broker, all of them if none is named; they get new ids."""
        broker = self._fleet.brokers[id]
        known = (*broker.registration.directories, *broker.failed)
        old = chosen or known
        lost = {(key, id) for key, _ in self._replicas_in(broker, () if set(old) >= set(known) else old)}
        self.gone -= lost
        self.emptied |= lost
        kept = tuple(one for one in broker.registration.directories if one not in old)
        broker.failed = tuple(one for one in broker.failed if one not in old)
        broker.registration = broker.registration._replace(directories=(*(new_uuid(self._chance) for _ in old), *kept))
        # The marker of a clean shutdown was on the disk too.
        broker.was_clean = False
        self._fleet.add_event(f"broker {id} has an empty disk", id)

    def _replicas_in(self, broker: ModelBroker, directories: tuple[bytes, ...]) -> list[tuple[PartitionKey, PartitionRegistration]]:
        """The partitions with a replica of a broker in these directories; in any directory if none is named."""
        found = []
        for one in self._quorum.changes().with_replica(broker.id):
            if one is not None:
                topic, partition_id, partition = one
                if broker.id in partition.replicas and (not directories or _directory_of(partition, broker.id) in directories):
                    found.append(((topic.id, partition_id), partition))
        return found

    # ---- reports of brokers

    def report_partition(self, key: PartitionKey, partition: PartitionRegistration, delay_ms: int = _AFTER_CREATION_MS) -> None:
        """Plan reports of brokers about a partition that changed."""
        if self._quorum.controller.state.level < DIRECTORY_ASSIGNMENT_LEVEL:
            return
        for id, directory in zip(partition.replicas, partition.directories, strict=True):
            broker = self._fleet.brokers.get(id)
            if broker is not None and (key, id) not in self.gone and _is_unplaced(broker, directory):
                self._unplaced.setdefault(id, {})[key] = None
                if id in self._fleet.serving:
                    self._plan(id, delay_ms)

    def on_serving(self, id: int) -> None:
        """A broker was unfenced: let it recreate its missing replicas."""
        for key, broker in self.emptied:
            if broker == id and (partition := self._quorum.controller.state.partition(*key)) is not None:
                self.report_partition(key, partition, _AFTER_START_MS)
        if self._unplaced.get(id):
            self._plan(id, _AFTER_START_MS)

    def _plan(self, id: int, delay_ms: int) -> None:
        if id not in self._planned:
            self._planned.add(id)
            self._clock.after(delay_ms, lambda: self._assign(id))

    def _assign(self, id: int) -> None:
        """Report new replicas to the controller: each in the directory with the fewest replicas."""
        self._planned.discard(id)
        if id not in self._fleet.serving:
            return
        if not self._quorum.is_active:
            self._quorum.when_active(lambda: self._plan(id, 0))
            return
        broker = self._fleet.brokers[id]
        there = broker.registration.directories
        counts = Counter(dict.fromkeys(there, 0))
        if len(there) > 1:
            counts.update(directory for _, one in self._replicas_in(broker, there) for directory in (_directory_of(one, id),))
        wanted: dict[bytes, dict[bytes, list[int]]] = {}
        for topic_id, partition_id in self._unplaced.pop(id, ()):
            partition = self._quorum.controller.state.partition(topic_id, partition_id)
            if partition is not None and id in partition.replicas and _is_unplaced(broker, _directory_of(partition, id)):
                chosen = min(there, key=counts.__getitem__)
                counts[chosen] += 1
                wanted.setdefault(chosen, {}).setdefault(topic_id, []).append(partition_id)
        if wanted:
            self._quorum.send_request(_ASSIGN_KEY, 0, _request(broker, wanted), f"AssignReplicasToDirs of broker {id}")


def _directory_of(partition: PartitionRegistration, id: int) -> bytes:
    return partition.directories[partition.replicas.index(id)]


def _is_unplaced(broker: ModelBroker, directory: bytes) -> bool:
    """Return whether a broker must report the directory of a replica; a replica in a failed directory stays there."""
    known = broker.registration
    if not known.directories or directory == MIGRATING_DIRECTORY or directory in broker.failed:
        return False
    return directory == UNASSIGNED_DIRECTORY or not is_online(directory, known)


def _request(broker: ModelBroker, wanted: dict[bytes, dict[bytes, list[int]]]) -> messages.AssignReplicasToDirsRequest:
    made = messages.AssignReplicasToDirsRequest
    return made(
        broker_id=broker.id,
        broker_epoch=broker.epoch,
        directories=tuple(
            made.DirectoryData(
                id=directory,
                topics=tuple(
                    made.TopicData(topic_id=topic_id, partitions=tuple(made.PartitionData(partition_index=one) for one in sorted(found)))
                    for topic_id, found in topics.items()
                ),
            )
            for directory, topics in wanted.items()
        ),
    )


_ALTER_PARTITION_KEY: Final = 56
_ALTER_PARTITION_VERSION: Final = 3
_READY: Final = -1
_TICK_MS: Final = 1000
"""New replicas of one broker that are complete within the same second join the ISR with one request."""


class _Copy(NamedTuple):
    """The copy of a new replica: the bytes that it had, the bytes that it fetches, and the time from begin to end."""

    had_bytes: int
    lacking_bytes: int
    from_ms: int
    until_ms: int

    def bytes_at(self, now_ms: int) -> int:
        if now_ms >= self.until_ms:
            return self.had_bytes + self.lacking_bytes
        return self.had_bytes + self.lacking_bytes * max(0, now_ms - self.from_ms) // (self.until_ms - self.from_ms)


class Replication:
    """Tracks the replicas that are behind, and until when. A partition without a leader has none: the next leader decides what they lack.

    Shape: `_behind` has for each broker its replicas that will get in sync: the time at which they have caught up, or _READY for those that
    only wait for a leader. `stuck` are replicas that were not in sync at the beginning, and stay so. `held` are new replicas that a
    throttle nearly stops, with its bytes a second.
    """

    def __init__(
        self, quorum: Quorum, fleet: Fleet, clock: Clock, assumptions: Assumptions, sizes: Sizes, directories: Directories
    ) -> None:
        self._quorum = quorum
        self._directories = directories
        self._fleet = fleet
        self._clock = clock
        self._assumptions = assumptions
        self._sizes = sizes
        self._behind: dict[int, dict[PartitionKey, int]] = {}
        self._due: dict[tuple[int, int], list[PartitionKey]] = {}
        self._copies: dict[tuple[int, PartitionKey], _Copy] = {}
        self._receiving_until_ms: dict[int, int] = {}
        self._sending_until_ms: dict[int, int] = {}
        self._waiting: dict[int, list[Action]] = {}
        self.stuck: set[tuple[PartitionKey, int]] = set()
        self.held: dict[str, int] = {}
        self.throttle_bytes: int | None = None
        self.copied: dict[tuple[int, bool], Copied] = {}

    def is_in_sync(self, broker: int) -> bool:
        return not self._behind.get(broker)

    def when_in_sync(self, broker: int, action: Action) -> None:
        """Run an action when all replicas of a serving broker that can get in sync are in sync."""
        if self.is_in_sync(broker):
            action()
        else:
            self._waiting.setdefault(broker, []).append(action)

    @property
    def behind_count(self) -> int:
        """The number of replicas that wait for data or for a leader."""
        return sum(map(len, self._behind.values()))

    def forget(self, broker: int) -> None:
        """Stop the replicas of a broker; the data that it has copied stays on its disk."""
        self._waiting.pop(broker, None)
        self._receiving_until_ms.pop(broker, None)
        now_ms = self._clock.now_ms
        for key in self._behind.pop(broker, ()):
            copy = self._copies.get((broker, key))
            if copy is not None:
                self._copies[broker, key] = _Copy(copy.bytes_at(now_ms), 0, now_ms, now_ms)

    def join(self, broker: int) -> None:
        """Start the replicas of a broker that serves again; they fetch the data that they lack."""
        model = self._fleet.brokers[broker]
        assumed = self._assumptions
        away_ms = self._clock.now_ms - model.away_ms
        ready_ms = self._clock.now_ms + max(assumed.catch_up_min_ms, away_ms * assumed.catch_up_percent // 100)
        count = 0
        new: list[tuple[str, PartitionKey, int]] = []
        for found in self._quorum.changes().with_replica(broker):
            if found is None:
                continue
            topic, partition_id, partition = found
            key = topic.id, partition_id
            if broker in partition.replicas and broker not in partition.isr and (key, broker) not in self._directories.gone:
                self.stuck.discard((key, broker))
                if self._is_new(broker, key, partition):
                    new.append((topic.name, key, partition.leader))
                elif partition.leader != NO_LEADER:
                    count += 1
                    self._plan(broker, key, ready_ms)
        for name, key, leader in sorted(new):
            self._copy(broker, key, name, leader)
        self._count(broker, count, None, is_catch_up=True)

    def follow_partition(self, key: PartitionKey, topic: TopicImage, partition: PartitionRegistration) -> None:
        """Follow a change of a partition."""
        isr = partition.isr
        if self._directories.emptied:
            self._directories.emptied.difference_update((key, id) for id in isr if id != partition.leader)
        if self._behind:
            for id in tuple(self._behind):
                if id in isr or id not in partition.replicas or _is_forlorn(id, partition):
                    self._leave(id, key)
        if len(isr) == len(partition.replicas):
            return
        for id in partition.replicas:
            if id in isr or id not in self._fleet.serving or _is_forlorn(id, partition):
                continue
            if (key, id) in self.stuck or (key, id) in self._directories.gone:
                continue
            ready_ms = self._behind.get(id, {}).get(key)
            if ready_ms is None:
                if id in self._fleet.joining:
                    # `join` is called right after this.
                    continue
                if self._is_new(id, key, partition):
                    self._copy(id, key, topic.name, partition.leader)
                else:
                    self._plan(id, key, self._clock.now_ms + self._assumptions.catch_up_min_ms)
            elif ready_ms == _READY and partition.leader in self._fleet.serving:
                self._plan(id, key, self._clock.now_ms + self._assumptions.catch_up_min_ms)

    def _is_new(self, id: int, key: PartitionKey, partition: PartitionRegistration) -> bool:
        """Return whether a replica has no data yet: a reassignment adds it, or its disk is empty."""
        return id in partition.adding_replicas or ((key, id) in self._directories.emptied and partition.leader != NO_LEADER)

    def look_removed(self, topic_id: bytes) -> None:
        """Forget the replicas of a deleted topic."""
        for broker, behind in list(self._behind.items()):
            for key in [key for key in behind if key[0] == topic_id]:
                self._leave(broker, key)

    def _leave(self, broker: int, key: PartitionKey) -> None:
        """Note that a replica is no longer behind."""
        behind = self._behind[broker]
        if behind.pop(key, None) is not None and not behind:
            del self._behind[broker]
            for action in self._waiting.pop(broker, []):
                # Scheduled, not called: the batch that caused this is still being followed.
                self._clock.after(0, action)

    def _plan(self, broker: int, key: PartitionKey, ready_ms: int) -> None:
        self._behind.setdefault(broker, {})[key] = ready_ms
        due = self._due.get((broker, ready_ms))
        if due is None:
            due = self._due[broker, ready_ms] = []
            self._clock.at(ready_ms, lambda: self._catch_up(broker, ready_ms))
        due.append(key)

    def _copy(self, broker: int, key: PartitionKey, topic: str, leader: int) -> None:
        """Let a new replica fetch its partition after the other copies of its broker.

        A throttle also limits the bytes that the leader sends to all followers together (leader.replication.throttled.rate). A copy that
        would take longer than the rehearsal waits never ends.
        """
        size_bytes = self._sizes.of(topic, key[1])
        whole_bytes = self._assumptions.partition_bytes if size_bytes is None else size_bytes
        known = self._copies.get((broker, key))
        if known is None:
            self._count(broker, 1, size_bytes, is_catch_up=False)
        lacking_bytes = max(0, whole_bytes - (0 if known is None else known.had_bytes))
        taken, sent = self._throttle(OF_FOLLOWERS, topic, key[1], broker), self._throttle(OF_LEADERS, topic, key[1], leader)
        lowest = min((rate for rate in (taken, sent) if rate is not None), default=None)
        if lowest is not None and lacking_bytes * 1000 > lowest * self._assumptions.patience_ms:
            self.stuck.add((key, broker))
            self.held[f"{topic}-{key[1]} on broker {broker}"] = lowest
            return
        rate = self._assumptions.copy_rate if taken is None else min(self._assumptions.copy_rate, taken)
        from_ms, until_ms = self._take_turn(self._receiving_until_ms, broker, lacking_bytes, rate)
        if sent is not None:
            from_ms, sent_ms = self._take_turn(self._sending_until_ms, leader, lacking_bytes, sent)
            until_ms = max(until_ms, sent_ms)
        self._copies[broker, key] = _Copy(whole_bytes - lacking_bytes, lacking_bytes, from_ms, until_ms)
        self._plan(broker, key, max(-(-until_ms // _TICK_MS) * _TICK_MS, self._clock.now_ms + self._assumptions.commit_ms))

    def _throttle(self, side: int, topic: str, partition_id: int, broker: int) -> int | None:
        """The lower of the limits in the step and in the metadata."""
        limits = (self.throttle_bytes, throttle_of(self._quorum.image, side, topic, partition_id, broker))
        return min((limit for limit in limits if limit is not None), default=None)

    def _take_turn(self, until_ms: dict[int, int], broker: int, size_bytes: int, rate: int) -> tuple[int, int]:
        """Queue some bytes after the present work of a broker; return begin and end."""
        from_ms = max(self._clock.now_ms, until_ms.get(broker, 0))
        until_ms[broker] = from_ms + -(-size_bytes * 1000 // max(1, rate))
        return from_ms, until_ms[broker]

    def _count(self, broker: int, partitions: int, size_bytes: int | None, *, is_catch_up: bool) -> None:
        if not partitions:
            return
        known = self.copied.get((broker, is_catch_up))
        if known is None:
            self.copied[broker, is_catch_up] = Copied(broker, partitions, size_bytes, is_catch_up)
            return
        total = None if known.size_bytes is None or size_bytes is None else known.size_bytes + size_bytes
        self.copied[broker, is_catch_up] = Copied(broker, known.partitions + partitions, total, is_catch_up)

    def _catch_up(self, broker: int, ready_ms: int) -> None:
        """Let leaders add replicas that have caught up to the ISR."""
        keys = self._due.pop((broker, ready_ms), [])
        if not self._quorum.is_active:
            # Leaders repeat the request until a controller responds.
            self._due[broker, ready_ms] = keys
            self._quorum.when_active(lambda: self._catch_up(broker, ready_ms))
            return
        behind = self._behind.get(broker, {})
        by_leader: dict[int, list[tuple[PartitionKey, PartitionRegistration]]] = {}
        for key in keys:
            if behind.get(key) != ready_ms:
                continue
            partition = self._quorum.controller.state.partition(*key)
            if partition is None or broker in partition.isr or broker not in partition.replicas:
                self._leave(broker, key)
            elif partition.leader not in self._fleet.serving or not self._can_grow(partition):
                behind[key] = _READY
            else:
                by_leader.setdefault(partition.leader, []).append((key, partition))
        for leader, wanted in sorted(by_leader.items()):
            self._alter_partitions(leader, [(key, partition, (*partition.isr, broker)) for key, partition in wanted])

    def _can_grow(self, partition: PartitionRegistration) -> bool:
        return partition.leader != NO_LEADER and all(id in self._fleet.serving for id in partition.isr)

    def shrink(self, broker: int) -> None:
        """Let leaders remove a broker from their ISRs that has fetched nothing for too long."""
        by_leader: dict[int, list[tuple[PartitionKey, PartitionRegistration, tuple[int, ...]]]] = {}
        for found in self._quorum.changes().in_isr(broker):
            if found is None:
                continue
            topic, partition_id, partition = found
            if partition.leader != broker and partition.leader in self._fleet.serving:
                wanted = (topic.id, partition_id), partition, without(partition.isr, broker)
                by_leader.setdefault(partition.leader, []).append(wanted)
        for leader, asked in sorted(by_leader.items()):
            self._alter_partitions(leader, asked)

    def _alter_partitions(self, leader: int, wanted: list[tuple[PartitionKey, PartitionRegistration, tuple[int, ...]]]) -> None:
        """Send one AlterPartition request of a leader."""
        made = messages.AlterPartitionRequest
        brokers = self._fleet.brokers
        topics: dict[bytes, list[messages.AlterPartitionRequest.PartitionData]] = {}
        for (topic_id, partition_id), partition, isr in wanted:
            one = made.PartitionData(
                partition_index=partition_id,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                new_isr_with_epochs=tuple(made.BrokerState(broker_id=id, broker_epoch=brokers[id].epoch) for id in isr),
            )
            topics.setdefault(topic_id, []).append(one)
        body = made(
            broker_id=leader,
            broker_epoch=brokers[leader].epoch,
            topics=tuple(made.TopicData(topic_id=topic_id, partitions=tuple(asked)) for topic_id, asked in topics.items()),
        )
        self._quorum.send_request(_ALTER_PARTITION_KEY, _ALTER_PARTITION_VERSION, body, f"AlterPartition of broker {leader}")

    def why_behind(self, broker: int) -> str:
        """The replicas of a serving broker that never get in sync, and why, as a text."""
        waiting: list[tuple[str, int, int]] = []
        for topic_id, partition_id in self._behind.get(broker, ()):
            topic = self._quorum.image.topics.by_id.get(topic_id)
            partition = self._quorum.controller.state.partition(topic_id, partition_id)
            if topic is not None and partition is not None:
                waiting.append((topic.name, partition_id, partition.leader))
        if not waiting:
            return "it is not in sync"
        topic_name, number, leader = min(waiting)
        more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        why = "which nobody leads" if leader == NO_LEADER else f"whose leader {leader} does not serve"
        if leader in self._fleet.serving:
            why = "in whose ISR is a broker that does not serve"
        return f"it is not in sync in {topic_name}-{number}{more}, {why}"


def _is_forlorn(broker: int, partition: PartitionRegistration) -> bool:
    """Return whether a replica has no leader to follow. A new replica keeps the data that it has copied, and waits."""
    return partition.leader == NO_LEADER and broker not in partition.adding_replicas


class Sizes:
    """The bytes of a replica of each partition, by topic and number; empty if no sizes are known."""

    def __init__(self, by_partition: Mapping[tuple[str, int], int] | None = None) -> None:
        self.by_partition = {} if by_partition is None else by_partition
        self.are_known = by_partition is not None

    def of(self, topic: str, partition: int) -> int | None:
        """None for a partition whose size is not known."""
        return self.by_partition.get((topic, partition))


_NOTHING: Final[Mapping[str, str]] = {}
OF_LEADERS, OF_FOLLOWERS = 0, 1


def throttle_of(image: MetadataImage, side: int, topic: str, partition_id: int, broker: int) -> int | None:
    """The most bytes a second that a broker sends (OF_LEADERS) or fetches (OF_FOLLOWERS) of a partition; None without a throttle."""
    configs = image.configs
    listed = configs.get((TOPIC_RESOURCE, topic), _NOTHING).get(THROTTLED_REPLICAS[side], "")
    entries = {entry.strip() for entry in listed.split(",")}
    if not entries & {"*", f"{partition_id}:{broker}"}:
        return None
    for name in (str(broker), ""):
        text = configs.get((BROKER_RESOURCE, name), _NOTHING).get(THROTTLE_RATES[side], "").strip()
        if text.isascii() and text.isdigit():
            return int(text)
    return None
