"""Changes of many partitions at once: what fencing, unfencing, leaving and losing a directory do to them.

Source: org.apache.kafka.controller.ReplicationControlManager.generateLeaderAndIsrUpdates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from metashell.checks.partitions import is_leaderless, is_online, is_unpreferred
from metashell.codec.metadata_version import DIRECTORY_ASSIGNMENT_LEVEL
from metashell.controller.partitions.change import Election, PartitionChange, without
from metashell.controller.partitions.hints import PartitionKey
from metashell.controller.records import elr_enabled, partition_version
from metashell.controller.state import State, partition_of
from metashell.controller.steps import PIECE, Steps
from metashell.image import PartitionRegistration, TopicImage
from metashell.image.loss import VersionedRecord
from metashell.values import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY

NOBODY: Final = -1
Found = tuple[TopicImage, int, PartitionRegistration]


class Changes:
    """Makes partition changes for one decision, all on the image that it began with.

    None among the partitions and records that it iterates over is a place to rest.
    """

    def __init__(self, state: State) -> None:
        image = state.image
        self._state = state
        self._brokers = image.cluster.brokers
        self._active: dict[int, bool] = {}
        self.level = state.level
        self.elr_enabled = elr_enabled(image)
        self.version = partition_version(self.level)
        self.rules = state.rules
        self._first_counts: dict[bytes, int] = {}

    def is_active(self, broker_id: int) -> bool:
        """Whether a broker may be in ISRs and lead: registered, not fenced, not in controlled shutdown."""
        known = self._active.get(broker_id)
        if known is None:
            broker = self._brokers.get(broker_id)
            known = self._active[broker_id] = broker is not None and not broker.fenced and not broker.in_controlled_shutdown
        return known

    def default_directory(self, broker_id: int) -> bytes:
        """The directory of a new replica on a broker, before the broker says where it put it."""
        if self.level < DIRECTORY_ASSIGNMENT_LEVEL:
            return MIGRATING_DIRECTORY
        broker = self._brokers.get(broker_id)
        if broker is None:
            return UNASSIGNED_DIRECTORY
        if not broker.directories:
            return MIGRATING_DIRECTORY
        return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED_DIRECTORY

    def change(
        self, topic: TopicImage, partition_id: int, partition: PartitionRegistration, adding: int = NOBODY, removing: int = NOBODY
    ) -> PartitionChange:
        """A change of one partition, in which broker `adding` counts as active and `removing` as gone."""

        def is_acceptable(id: int) -> bool:
            if id == removing or not (id == adding or self.is_active(id)):
                return False
            return self._is_online(id, partition)

        return PartitionChange(
            partition,
            topic.id,
            partition_id,
            is_acceptable=is_acceptable,
            level=self.level,
            min_isr=self._min_isr(topic, partition_id, partition),
            elr_enabled=self.elr_enabled,
            default_directory=self.default_directory,
        )

    def _min_isr(self, topic: TopicImage, partition_id: int, partition: PartitionRegistration) -> int:
        """The fewest replicas in sync, at most as many as the topic's first partition has."""
        wanted = self.rules.min_isr(topic.name)
        if wanted <= 1:
            return wanted
        count = len(partition.replicas) if partition_id == 0 else self._first_counts.get(topic.id)
        if count is None:
            first = partition_of(topic, 0)
            count = self._first_counts[topic.id] = wanted if first is None else len(first.replicas)
        return min(wanted, count)

    def _is_online(self, broker_id: int, partition: PartitionRegistration) -> bool:
        if broker_id not in partition.replicas:
            return False
        directory = partition.directories[partition.replicas.index(broker_id)]
        broker = self._brokers.get(broker_id)
        return broker is not None and is_online(directory, broker)

    def record(self, change: PartitionChange) -> list[VersionedRecord]:
        """The change's record at its version, if it is one."""
        made = change.record()
        return [] if made is None else [(made, self.version)]

    def removals(self, partitions: Iterable[Found | None], broker_id: int, *, is_unclean: bool = False) -> Iterator[VersionedRecord | None]:
        """Take a broker out of the ISR of partitions, electing where it led. An unclean one lost data and leaves the ELR too."""
        for found in partitions:
            if found is None:
                yield None
                continue
            topic, partition_id, partition = found
            change = self.change(topic, partition_id, partition, removing=broker_id)
            change.isr = without(partition.isr, broker_id)
            if is_unclean:
                change.unclean_replicas = (broker_id,)
            if self.rules.allows_unclean(topic.name):
                change.election = Election.UNCLEAN
            yield from self.record(change)

    def elections_for(self, broker_id: int) -> Iterator[VersionedRecord | None]:
        """Let a broker that comes back lead what nobody leads."""
        for found in self.leaderless():
            if found is None:
                yield None
                continue
            topic, partition_id, partition = found
            change = self.change(topic, partition_id, partition, adding=broker_id)
            if self.rules.allows_unclean(topic.name):
                change.election = Election.UNCLEAN
            yield from self.record(change)

    def leaderless(self) -> Iterator[Found | None]:
        """Every partition that nobody leads."""
        return self._those(self._state.hints.leaderless, is_leaderless)

    def unpreferred(self) -> Iterator[Found | None]:
        """Every partition that another than its first replica leads."""
        return self._those(self._state.hints.unpreferred, is_unpreferred)

    def _those(self, hints: dict[PartitionKey, None], is_meant: Callable[[PartitionRegistration], bool]) -> Iterator[Found | None]:
        """The partitions that hints name and that are what they hint at; the others are dropped from the hints where that is safe."""
        wrong: list[PartitionKey] = []
        try:
            for key, found in self._looked_up(hints):
                if found is not None and is_meant(found[2]):
                    yield found
                elif key is None:
                    yield None
                else:
                    wrong.append(key)
        finally:
            self._state.drop_hints(hints, wrong)

    def in_isr(self, broker_id: int) -> Iterator[Found | None]:
        """The partitions in whose ISR a broker is."""
        return (found for found in self.with_replica(broker_id) if found is None or broker_id in found[2].isr)

    def in_elr(self, broker_id: int) -> Iterator[Found | None]:
        return (found for found in self.with_replica(broker_id) if found is None or broker_id in found[2].elr)

    def leads_any(self, broker_id: int) -> Steps[bool]:
        for found in self.with_replica(broker_id):
            if found is None:
                yield
            elif found[2].leader == broker_id:
                return True
        return False

    def with_replica(self, broker_id: int) -> Iterator[Found | None]:
        """The partitions that have, or lately had, a replica on a broker."""
        return (found for key, found in self._looked_up(self._state.hints.of_broker(broker_id)) if found is not None or key is None)

    def _looked_up(self, keys: Iterable[PartitionKey]) -> Iterator[tuple[PartitionKey | None, Found | None]]:
        """Each of some partitions as it is at the tip, None for one that there is not; (None, None) is a place to rest."""
        by_id = self._state.image.topics.by_id
        last_id, topic = b"", None
        for number, key in enumerate(keys, 1):
            topic_id, partition_id = key
            if topic_id != last_id:
                last_id, topic = topic_id, by_id.get(topic_id)
            partition = None if topic is None else partition_of(topic, partition_id)
            if topic is None or partition is None:
                yield key, None
            else:
                yield key, (topic, partition_id, partition)
            if not number % PIECE:
                yield None, None
