"""Log directories of the modelled brokers: they fail, come back empty, and brokers tell the controller which replica lies in which.

Source: kafka.server.AssignmentsManager, kafka.log.LogManager (nextLogDirs), BrokerHeartbeatRequest.OfflineLogDirs; KIP-858. What a broker
with an empty disk does was seen on a real 4.4.0: it registers with a new directory id, is unfenced, says 50 ms later where it makes the
replicas anew, and copies them; a partition whose last replica in sync it held gets no leader by that.
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
    """Which replicas are lost with a disk, and where brokers put new ones.

    Shape: `gone` are replicas, (partition, broker) each, whose directory has failed: nobody makes them anew. `emptied` are those whose
    directory came back empty: they copy everything, and whoever elects one loses records.
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
        """A log directory of a broker fails; whether the broker has another one, and so lives on."""
        broker = self._fleet.brokers[id]
        known = broker.registration
        broker.failed = (*broker.failed, directory)
        broker.registration = known._replace(directories=tuple(one for one in known.directories if one != directory))
        self._fleet.tell(f"log directory {uuid_text(directory)} of broker {id} fails", id)
        self.gone.update((key, id) for key, _ in self._replicas_in(broker, (directory,)))
        return bool(broker.registration.directories)

    def empty(self, id: int, chosen: tuple[bytes, ...]) -> None:
        """Directories of a dead broker, all without one, are empty from now on, and have new ids."""
        broker = self._fleet.brokers[id]
        known = (*broker.registration.directories, *broker.failed)
        old = chosen or known
        lost = {(key, id) for key, _ in self._replicas_in(broker, () if set(old) >= set(known) else old)}
        self.gone -= lost
        self.emptied |= lost
        kept = tuple(one for one in broker.registration.directories if one not in old)
        broker.failed = tuple(one for one in broker.failed if one not in old)
        broker.registration = broker.registration._replace(directories=(*(new_uuid(self._chance) for _ in old), *kept))
        # The mark of a clean shutdown lay on the disk too.
        broker.was_clean = False
        self._fleet.tell(f"broker {id} has an empty disk", id)

    def _replicas_in(self, broker: ModelBroker, directories: tuple[bytes, ...]) -> list[tuple[PartitionKey, PartitionRegistration]]:
        """The partitions with a replica of a broker in these directories; in any, without one."""
        found = []
        for one in self._quorum.changes().with_replica(broker.id):
            if one is not None:
                topic, partition_id, partition = one
                if broker.id in partition.replicas and (not directories or _directory_of(partition, broker.id) in directories):
                    found.append(((topic.id, partition_id), partition))
        return found

    # ---- what brokers tell of their replicas

    def look(self, key: PartitionKey, partition: PartitionRegistration, delay_ms: int = _AFTER_CREATION_MS) -> None:
        """See whether brokers have something to tell about a partition that changed."""
        if self._quorum.controller.state.level < DIRECTORY_ASSIGNMENT_LEVEL:
            return
        for id, directory in zip(partition.replicas, partition.directories, strict=True):
            broker = self._fleet.brokers.get(id)
            if broker is not None and (key, id) not in self.gone and _is_unplaced(broker, directory):
                self._unplaced.setdefault(id, {})[key] = None
                if id in self._fleet.serving:
                    self._plan(id, delay_ms)

    def on_serving(self, id: int) -> None:
        """A broker was unfenced: it makes the replicas anew that it has not."""
        for key, broker in self.emptied:
            if broker == id and (partition := self._quorum.controller.state.partition(*key)) is not None:
                self.look(key, partition, _AFTER_START_MS)
        if self._unplaced.get(id):
            self._plan(id, _AFTER_START_MS)

    def _plan(self, id: int, delay_ms: int) -> None:
        if id not in self._planned:
            self._planned.add(id)
            self._clock.after(delay_ms, lambda: self._assign(id))

    def _assign(self, id: int) -> None:
        """Tell the controller where new replicas are: each in the directory that holds the fewest."""
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
            self._quorum.ask(_ASSIGN_KEY, 0, _request(broker, wanted), f"AssignReplicasToDirs of broker {id}")


def _directory_of(partition: PartitionRegistration, id: int) -> bytes:
    return partition.directories[partition.replicas.index(id)]


def _is_unplaced(broker: ModelBroker, directory: bytes) -> bool:
    """Whether a broker has to say where it put a replica; one in a failed directory stays there."""
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
