"""Models log directories: they fail, come back empty, and brokers report which replica lies in which.

A broker with an empty disk does the following, as observed on Kafka 4.4.0: it registers with a new directory id, is unfenced, reports 50 ms
later where it recreates its replicas, and copies them. A partition whose last replica in sync was on that disk gets no leader by this.

Source: kafka.server.AssignmentsManager, kafka.log.LogManager (nextLogDirs), BrokerHeartbeatRequest.OfflineLogDirs; KIP-858.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

from metashell.codec import messages
from metashell.codec.releases import DIRECTORY_ASSIGNMENT_LEVEL
from metashell.common.values import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, uuid_text
from metashell.metadata.checks.partitions import is_online
from metashell.metadata.image import PartitionRegistration
from metashell.quorum.controller.decision import new_uuid
from metashell.rehearse.brokers import Fleet, ModelBroker
from metashell.rehearse.quorum import Clock, Quorum
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
