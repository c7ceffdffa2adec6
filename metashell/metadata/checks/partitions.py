"""The state of one partition as bits, and its min.insync.replicas. Nothing else judges partitions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.common.values import LOST_DIRECTORY, MIGRATING_DIRECTORY, NO_LEADER, UNASSIGNED_DIRECTORY

if TYPE_CHECKING:
    from metashell.metadata.image import BrokerRegistration, MetadataImage, PartitionRegistration


LEADERLESS: Final = 1 << 0
OFFLINE: Final = 1 << 1
UNDER_MIN_ISR: Final = 1 << 2
AT_MIN_ISR: Final = 1 << 3
UNDER_REPLICATED: Final = 1 << 4
NOT_PREFERRED: Final = 1 << 5
UNCLEAN: Final = 1 << 6
ELR: Final = 1 << 7
REASSIGNING: Final = 1 << 8
STUCK: Final = 1 << 9
UNREGISTERED: Final = 1 << 10
UNASSIGNED: Final = 1 << 11
OFFLINE_DIRECTORY: Final = 1 << 12
CORDONED: Final = 1 << 13
RACKS: Final = 1 << 14

BITS: Final = {
    "leaderless": LEADERLESS,
    "offline": OFFLINE,
    "under_min_isr": UNDER_MIN_ISR,
    "at_min_isr": AT_MIN_ISR,
    "under_replicated": UNDER_REPLICATED,
    "not_preferred": NOT_PREFERRED,
    "unclean": UNCLEAN,
    "elr": ELR,
    "reassigning": REASSIGNING,
    "stuck_reassignment": STUCK,
    "unregistered_replica": UNREGISTERED,
    "unassigned_directory": UNASSIGNED,
    "offline_directory": OFFLINE_DIRECTORY,
    "cordoned_directory": CORDONED,
    "racks": RACKS,
}


NO_DIRECTORIES: Final = frozenset({MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, LOST_DIRECTORY})
"""The directory ids that stand for no directory."""


def is_leaderless(partition: PartitionRegistration) -> bool:
    """Return whether a partition has no leader. Source: PartitionRegistration.hasLeader, as OfflinePartitionCount counts it."""
    return partition.leader == NO_LEADER


def is_unpreferred(partition: PartitionRegistration) -> bool:
    """Return whether the first replica does not lead.

    Source: PartitionRegistration.hasPreferredLeader, as PreferredReplicaImbalanceCount counts it.
    """
    return not partition.replicas or partition.leader != partition.replicas[0]


def is_reassigning(partition: PartitionRegistration) -> bool:
    """Return whether replicas of a partition are being moved."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def is_unclean(partition: PartitionRegistration) -> bool:
    """Return whether a leader was elected without being in sync and has not reported since that it recovered.

    An only replica is not meant: it took over from itself. With KIP-966 such a partition stays `recovering` in the metadata after its
    broker came back from an unclean shutdown.
    """
    return bool(partition.leader_recovery_state) and not leads_alone(partition)


def leads_alone(partition: PartitionRegistration) -> bool:
    """Return whether the leader is the only replica, not counting those that a reassignment adds, so that it also led before."""
    return len(partition.replicas) <= 1 + len(partition.adding_replicas) and partition.leader not in partition.adding_replicas


def has_eligible(partition: PartitionRegistration) -> bool:
    """Return whether the partition has eligible or last known leader replicas (KIP-966)."""
    return bool(partition.elr or partition.last_known_elr)


def is_under_min_isr(isr: Sequence[int], replicas: Sequence[int], min_isr: int) -> bool:
    """Return whether too few replicas are in sync, so that writes with acks=all are refused.

    A leader needs no more in-sync replicas than there are replicas. Source: kafka.cluster.Partition.effectiveMinIsr.
    """
    return len(isr) < min(min_isr, len(replicas))


def is_online(directory: bytes, broker: BrokerRegistration) -> bool:
    """Return whether a directory can hold a replica that leads. Source: org.apache.kafka.common.DirectoryId.isOnline."""
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
        return True
    if directory == LOST_DIRECTORY:
        return False
    return not broker.directories or directory in broker.directories


def is_under_replicated(isr: Sequence[int], replicas: Sequence[int], adding: Sequence[int]) -> bool:
    """Return whether fewer replicas are in sync than there are; those that a reassignment adds do not count until it ends.

    Source: org.apache.kafka.tools.TopicCommand, kafka.cluster.Partition.
    """
    return len(isr) < len(replicas) - len(adding)


TOPIC_COMMAND_FILTERS: Final = ("under-replicated", "unavailable", "under-min-isr", "at-min-isr")


def topic_command_filters(partition: PartitionRegistration, min_isr: int, active: Collection[int]) -> list[str]:
    """Return the filters of kafka-topics.sh that show a partition. They use min.insync.replicas as set, even above the number of replicas.

    Source: org.apache.kafka.tools.TopicCommand.PartitionDescription.
    """
    isr = len(partition.isr)
    is_true = (
        is_under_replicated(partition.isr, partition.replicas, partition.adding_replicas),
        partition.leader not in active,
        partition.leader < 0 or isr < min_isr,
        isr == min_isr,
    )
    return [name for name, holds in zip(TOPIC_COMMAND_FILTERS, is_true, strict=True) if holds]


def is_plain(first: bytes, second: bytes) -> bool:
    """Return whether a row (see `survey.py`) has all replicas in sync, none added or removed, a directory for each, and no tagged field."""
    size = first[0]
    ids = (size - 1) * 4
    return (
        ids > 0
        and len(first) == 2 * ids + 8
        and first[ids + 1] == size
        and len(second) == 4 * ids + 2
        and second[0] == size
        and not second[-1]
    )


class PartitionJudge:
    """Judges the partitions of one image's brokers, of topics with the same min.insync.replicas.

    Shape: calling it gives the bits above. A leader may have a min.insync.replicas of its own. `vanished` gathers the brokers that
    partitions name and that are not registered.
    """

    __slots__ = (
        "_active",
        "_brokers",
        "_is_rack_aware",
        "_leaders",
        "_min_isr",
        "_min_isr_of_leaders",
        "_rack_count",
        "_sound_places",
        "vanished",
    )

    def __init__(self, image: MetadataImage, min_isr: int, min_isr_of_leaders: Mapping[int, int], vanished: set[int]) -> None:
        brokers = image.cluster.brokers
        self._brokers = dict(brokers)
        self._active = frozenset(id for id, broker in brokers.items() if not broker.fenced)
        self._min_isr = min_isr
        self._min_isr_of_leaders = min_isr_of_leaders
        racks = {broker.rack for broker in brokers.values()}
        self._rack_count = len(racks)
        # Kafka places by rack only where every broker has one.
        self._is_rack_aware = None not in racks and len(racks) > 1
        self.vanished = vanished
        self._leaders = frozenset(map(_id_bytes, self._active))
        self._sound_places = {_id_bytes(id) + directory: rack for id, directory, rack in self.sound_places()}

    @property
    def active(self) -> frozenset[int]:
        """The brokers that are not fenced."""
        return self._active

    @property
    def has_fenced(self) -> bool:
        return len(self._active) < len(self._brokers)

    @property
    def rack_count(self) -> int:
        return self._rack_count

    @property
    def is_rack_aware(self) -> bool:
        return self._is_rack_aware

    def sound_places(self) -> Iterator[tuple[int, bytes, str]]:
        """Every directory that is online and not cordoned, with its broker and rack."""
        for id, broker in self._brokers.items():
            for directory in broker.directories:
                if directory not in NO_DIRECTORIES and directory not in (broker.cordoned_directories or ()):
                    yield id, directory, broker.rack or ""

    def sound_row(self, row: tuple[bytes, bytes]) -> int | None:
        """The bits of a row (see `survey.py`) of a partition that is sound but for its racks; None for a partition that must be decoded."""
        first, second = row
        if not is_plain(first, second):
            return None
        size = first[0]
        ids = (size - 1) * 4
        if first[1:5] != first[-4:] or first[1:5] not in self._leaders:
            return None
        rack_of = self._sound_places.get
        racks = set()
        for at in range(0, ids, 4):
            rack = rack_of(first[at + 1 : at + 5] + second[4 * at + 1 : 4 * at + 17])
            if rack is None:
                return None
            racks.add(rack)
        return RACKS if self._is_rack_aware and len(racks) < min(size - 1, self._rack_count) else 0

    def min_isr(self, leader: int) -> int:
        """The min.insync.replicas that a leader applies."""
        return self._min_isr_of_leaders.get(leader, self._min_isr)

    def __call__(self, partition: PartitionRegistration) -> int:
        replicas, isr, leader = partition.replicas, partition.isr, partition.leader
        bits = 0
        if is_leaderless(partition):
            bits = LEADERLESS
        elif leader not in self._active:
            bits = OFFLINE
        elif is_unpreferred(partition):
            bits = NOT_PREFERRED
        is_behind = is_under_replicated(isr, replicas, partition.adding_replicas)
        if is_behind:
            bits |= UNDER_REPLICATED
        min_isr = self.min_isr(leader)
        if is_under_min_isr(isr, replicas, min_isr):
            bits |= UNDER_MIN_ISR
        elif is_behind and is_under_min_isr(isr[1:], replicas, min_isr):
            bits |= AT_MIN_ISR
        if is_unclean(partition):
            bits |= UNCLEAN
        if has_eligible(partition):
            bits |= ELR
        if is_reassigning(partition):
            bits |= REASSIGNING
            if next(self.waits_for(partition), None) is not None:
                bits |= STUCK
        return bits | self._judge_places(partition)

    def waits_for(self, partition: PartitionRegistration) -> Iterator[str]:
        """Yield what a reassignment waits for: brokers that are fenced or gone, directories that failed or are cordoned."""
        where = dict(zip(partition.replicas, partition.directories, strict=False))
        for id in partition.adding_replicas:
            broker = self._brokers.get(id)
            directory = where.get(id)
            if broker is None:
                yield f"broker {id}, which is not registered"
            elif broker.fenced:
                yield f"broker {id}, which is fenced"
            elif directory is not None and not is_online(directory, broker):
                yield f"broker {id}, whose directory failed"
            elif broker.is_cordoned and directory == UNASSIGNED_DIRECTORY:
                yield f"broker {id}, whose directories are all cordoned"

    def _judge_places(self, partition: PartitionRegistration) -> int:
        """The bits about brokers, directories and racks."""
        bits = 0
        brokers = self._brokers
        racks: set[str | None] = set()
        for id, directory in zip(partition.replicas, partition.directories, strict=True):
            broker = brokers.get(id)
            if broker is None:
                self.vanished.add(id)
                bits |= UNREGISTERED
                continue
            racks.add(broker.rack)
            if directory == UNASSIGNED_DIRECTORY:
                bits |= UNASSIGNED
            elif not is_online(directory, broker):
                bits |= OFFLINE_DIRECTORY
            elif broker.cordoned_directories and directory in broker.cordoned_directories:
                bits |= CORDONED
        if self._is_rack_aware and not bits & UNREGISTERED and len(racks) < min(len(partition.replicas), self._rack_count):
            bits |= RACKS
        return bits


def _id_bytes(id: int) -> bytes:
    return id.to_bytes(4, "big", signed=True)


# ---- min.insync.replicas


MIN_ISR: Final = "min.insync.replicas"


class MinIsr:
    """The min.insync.replicas that a leader applies: the topic's, else that of the broker that leads, of all brokers, of server.properties.

    Shape: `own` by the names of topics, `of_brokers` by the ids of brokers, `usual` for all others. With eligible leader replicas the
    controller allows no value of a single broker, so that all leaders agree. `unreadable` names the resources whose value is no number
    from 1 on; for them the next value counts.
    Source: kafka.server.DynamicBrokerConfig, kafka.server.metadata.KRaftMetadataCache.topicConfig.
    """

    __slots__ = ("of_brokers", "own", "unreadable", "usual")

    def __init__(self, image: MetadataImage, static: int) -> None:
        self.own: dict[str, int] = {}
        self.of_brokers: dict[int, int] = {}
        self.usual = static
        self.unreadable: list[str] = []
        for (type, name), config in image.configs.items():
            text = config.get(MIN_ISR)
            if text is None or type not in RESOURCE_WORDS:
                continue
            value = _number(text)
            if value is None:
                self.unreadable.append(f"{RESOURCE_WORDS[type]}:{name or '<default>'} = {text!r}")
            elif type == TOPIC_RESOURCE:
                self.own[name] = value
            elif not name:
                self.usual = value
            elif name.isascii() and name.isdigit():
                self.of_brokers[int(name)] = value
        self.unreadable.sort()

    def of(self, topic_name: str, leader: int) -> int:
        """The value that a leader applies to the partitions of a topic."""
        own = self.own.get(topic_name)
        return self.of_brokers.get(leader, self.usual) if own is None else own


RESOURCE_WORDS: Final = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker"}
_INT32_MAX: Final = (1 << 31) - 1


def _number(text: str) -> int | None:
    """The setting as Java parses it; None if Kafka would refuse it."""
    if re.fullmatch(r"\s*\+?[0-9]{1,10}\s*", text, re.ASCII) is None:
        return None
    value = int(text)
    return value if 1 <= value <= _INT32_MAX else None
