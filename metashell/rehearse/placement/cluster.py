"""The input of a plan: brokers, partitions, goals, and which part of the cluster the plan may change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from metashell.common.errors import MetashellError
from metashell.common.values import uuid_text
from metashell.metadata.image import MetadataImage


class PlacementError(MetashellError):
    """No plan can meet the request; the text names the partition or broker."""


class Broker(NamedTuple):
    """A broker: `takes` says that it may get replicas, `is_left` that all its replicas must leave it.

    A broker with neither, such as one that is down for a while, keeps its replicas.
    """

    id: int
    rack: str | None = None
    takes: bool = True
    is_left: bool = False


class Partition(NamedTuple):
    """A partition; the first replica is the preferred leader. `size` is in bytes, 0 if unknown. A fixed one is counted and not changed."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    size: int = 0
    is_fixed: bool = False


class Goals(NamedTuple):
    """The goals of a plan. Racks count if every broker that takes replicas has one; with `racks` False they are ignored."""

    topics: bool = True
    replicas: bool = True
    leaders: bool = True
    racks: bool = True


class Cluster(NamedTuple):
    """All brokers and partitions."""

    brokers: tuple[Broker, ...]
    partitions: tuple[Partition, ...]


class BrokerState(NamedTuple):
    """A registered broker."""

    id: int
    rack: str | None = None
    is_fenced: bool = False
    is_leaving: bool = False
    is_cordoned: bool = False
    disk_trouble: str = ""
    """The reason, other than cordons, why none of its log directories takes a replica; empty if there is none."""

    @property
    def trouble(self) -> str:
        """Return why no replica may move to this broker, an empty text if one may."""
        if self.is_fenced:
            return "is fenced"
        if self.is_leaving:
            return "is shutting down"
        return "is cordoned" if self.is_cordoned else self.disk_trouble


class PartitionState(NamedTuple):
    """A partition; `replicas` includes those that a reassignment is adding and removing."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    topic_id: str = ""
    isr: tuple[int, ...] = ()

    @property
    def is_moving(self) -> bool:
        """Return whether a reassignment is under way."""
        return bool(self.adding or self.removing)

    @property
    def goal(self) -> tuple[int, ...]:
        """The replicas after the reassignment under way."""
        return tuple(replica for replica in self.replicas if replica not in self.removing)


class Situation(NamedTuple):
    """All registered brokers and all partitions."""

    brokers: tuple[BrokerState, ...]
    partitions: tuple[PartitionState, ...]


class Wishes(NamedTuple):
    """The wishes of a user: brokers to empty, brokers that may take replicas (None: all that can), topics to change (None: all)."""

    off: Collection[int] = ()
    only: Collection[int] | None = None
    topics: Collection[str] | None = None


def cluster_of(situation: Situation, wishes: Wishes, sizes: Mapping[tuple[str, int], int]) -> tuple[Cluster, list[str]]:
    """Make the input of `make_plan`, and notes on what the user may not expect.

    Errors: PlacementError for brokers that are not registered or cannot take replicas, and for unknown topics.
    """
    registered = {broker.id: broker for broker in situation.brokers}
    holding = {replica for partition in situation.partitions for replica in partition.replicas}
    gone = sorted(holding - registered.keys())
    _check_brokers(wishes, registered, gone)
    _check_topics(wishes, situation)
    left = set(wishes.off) | set(gone)
    notes = [f"broker {id} is not registered: its replicas move away" for id in gone if id not in wishes.off]
    brokers = []
    for broker in situation.brokers:
        is_chosen = broker.id in wishes.only if wishes.only is not None else True
        is_left = broker.id in left or not is_chosen
        if broker.trouble and not is_left and wishes.only is None:
            notes.append(f"broker {broker.id} {broker.trouble}: it keeps its replicas and gets none (--off {broker.id} empties it)")
        brokers.append(Broker(broker.id, broker.rack, not is_left and not broker.trouble, is_left))
    brokers += [Broker(id, None, False, True) for id in gone]
    partitions, moving, unsized = [], 0, 0
    for found in situation.partitions:
        is_fixed = wishes.topics is not None and found.topic not in wishes.topics
        # Reassignments under way continue, except those to or from brokers that are being emptied.
        if found.is_moving and not is_fixed and not left & set(found.goal):
            is_fixed, moving = True, moving + 1
        size = sizes.get((found.topic, found.partition))
        unsized += size is None
        partitions.append(Partition(found.topic, found.partition, found.goal, size or 0, is_fixed))
    if moving:
        notes.append(f"partitions that are already being moved keep the replicas of that move: {moving}")
    if sizes and unsized:
        notes.append(f"{unsized} of {len(partitions)} partitions have no size: they count as 0 bytes")
    takers = [broker for broker in brokers if broker.takes]
    named = sum(broker.rack is not None for broker in takers)
    if 0 < named < len(takers):
        without = next(broker.id for broker in takers if broker.rack is None)
        notes.append(f"racks are ignored: {named} of {len(takers)} brokers name theirs, broker {without} does not")
    return Cluster(tuple(brokers), tuple(partitions)), notes


def _check_brokers(wishes: Wishes, registered: Mapping[int, BrokerState], gone: Iterable[int]) -> None:
    known = f"the cluster has {', '.join(map(str, sorted(registered))) or 'none'}"
    for id in wishes.off:
        if id not in registered and id not in gone:
            raise PlacementError(f"broker {id} is not registered and has no replica: {known}")
    for id in wishes.only or ():
        if id in wishes.off:
            raise PlacementError(f"broker {id} is both to be emptied and to take replicas")
        if id not in registered:
            raise PlacementError(f"broker {id} is not registered: {known}")
        if registered[id].trouble:
            raise PlacementError(f"broker {id} {registered[id].trouble}: it cannot take replicas now")


def _check_topics(wishes: Wishes, situation: Situation) -> None:
    if wishes.topics is None:
        return
    missing = sorted(set(wishes.topics) - {partition.topic for partition in situation.partitions})
    if missing:
        raise PlacementError(f"there is no topic {', '.join(missing)}")


def brokers_of(image: MetadataImage) -> tuple[BrokerState, ...]:
    """The registered brokers, ordered by id."""
    return tuple(
        BrokerState(
            id=id,
            rack=broker.rack,
            is_fenced=broker.fenced,
            is_leaving=broker.in_controlled_shutdown,
            is_cordoned=broker.is_cordoned,
        )
        for id, broker in sorted(image.cluster.brokers.items())
    )


def situation_of(image: MetadataImage) -> Situation:
    """Take the situation from an image."""
    partitions = []
    for topic in sorted(image.topics, key=lambda topic: topic.name):
        topic_id = uuid_text(topic.id)
        for number, found in sorted(topic.partitions.items()):
            partitions.append(
                PartitionState(topic.name, number, found.replicas, found.adding_replicas, found.removing_replicas, topic_id, found.isr)
            )
    return Situation(brokers_of(image), tuple(partitions))
