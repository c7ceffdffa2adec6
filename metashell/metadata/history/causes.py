"""The causes of a state: each change of a partition, topic, broker, controller or voter, with the record that caused it.

A controller writes the records of one decision into one batch. When it fences a broker, for example, the changes of that broker's
partitions are in the same batch as the change of its registration. So the cause of a change is looked for in its own batch first, and then
among the records of the same millisecond, since a large decision is written as several batches. A change without a causing record was a
request of the partition's leader (AlterPartition) or of an operator.

Source: ReplicationControlManager (handleBrokerFenced, handleBrokerInControlledShutdown, handleBrokerUnregistered, alterPartition) of
org.apache.kafka.controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.common.values import LOST_DIRECTORY, uuid_text
from metashell.metadata.history.touched import ALL_TYPES, Target

if TYPE_CHECKING:
    from metashell.metadata.history.touched import Touch
    from metashell.metadata.image.cluster import BrokerRegistration, ClusterImage
    from metashell.metadata.image.differences import Origin, Place
    from metashell.metadata.image.image import MetadataImage
    from metashell.metadata.image.partitions import PartitionRegistration
    from metashell.metadata.image.provenance import Voter, VoterSet

FENCED: Final = "fenced"
UNFENCED: Final = "unfenced"
SHUTDOWN: Final = "shutdown"
REGISTERED: Final = "registered"
UNREGISTERED: Final = "unregistered"
LOST_DIRECTORIES: Final = "lost directories"
DIRECTORIES: Final = "directories"
CORDONED: Final = "cordoned"
TAKING_AWAY: Final = (FENCED, SHUTDOWN, UNREGISTERED, LOST_DIRECTORIES, REGISTERED)
"""The events that take a broker out of ISRs, the most usual first."""
_CLUSTER_TYPES: Final = frozenset({0, 1, 7, 8, 17})
_NOTHING: Final = "-"
_FENCED_TEXT: Final = "no heartbeat within its session timeout, and no controlled shutdown before"


class Event(NamedTuple):
    """A change of one thing: `what` changed, its `cause` in words, and the record that caused it, None if a request did."""

    place: Place
    origin: Origin
    what: str
    cause: str
    cause_origin: Origin | None = None


class BrokerEvent(NamedTuple):
    """A change of a broker's registration."""

    broker_id: int
    kind: str
    what: str
    cause: str
    origin: Origin
    batch: int


class WithBrokers(Target):
    """The records that touch some paths, and every registration of a broker."""

    def __init__(self, parts: Iterable[Target]) -> None:
        self._parts = list(parts)
        super().__init__(
            _CLUSTER_TYPES.union(*(part.types for part in self._parts)) & (ALL_TYPES | _CLUSTER_TYPES),
            has_controls=any(part.has_controls for part in self._parts),
            has_leaders=any(part.has_leaders for part in self._parts),
        )

    def learn(self, buf: bytes) -> None:
        """See Target."""
        for part in self._parts:
            part.learn(buf)

    def may_be_in(self, buf: bytes, start: int = 0, end: int | None = None) -> bool:
        """Return whether a record is about a broker or one of the paths; always True for a whole batch, whose records have to be walked."""
        return end is None or buf[start + 1] in _CLUSTER_TYPES or any(part.may_be_in(buf, start, end) for part in self._parts)


def events_of(touches: Iterable[Touch]) -> Iterator[tuple[Event, Touch]]:
    """The changes that the touches made, in order, each with its touch."""
    for _, together in groupby(touches, key=lambda touch: (touch.origin.epoch, touch.origin.timestamp_ms)):
        group = list(together)
        brokers = [event for touch in group for event in broker_events(touch)]
        for touch in group:
            for place in touch.places:
                yield from ((event, touch) for event in _events_at(place, touch, brokers))


def _events_at(place: Place, touch: Touch, brokers: list[BrokerEvent]) -> Iterator[Event]:
    match place:
        case ("partition", id, number):
            yield from _of_partition(place, _partition(touch.before, id, number), _partition(touch.after, id, number), touch, brokers)
        case ("topic", id):
            if id not in touch.before.topics.by_id:
                yield Event(place, touch.origin, "created", "asked for (CreateTopics)")
            elif id not in touch.after.topics.by_id:
                yield Event(place, touch.origin, "deleted", "asked for (DeleteTopics)")
        case ("broker", id):
            for event in brokers:
                if event.broker_id == id and event.origin == touch.origin:
                    yield Event(place, touch.origin, event.what, event.cause)
        case ("controller", id):
            yield from _of_controller(place, touch.before.cluster, touch.after.cluster, touch.origin)
        case ("config", type, name, key):
            was, now = ((image.configs.get((type, name)) or {}).get(key) for image in (touch.before, touch.after))
            if was != now:
                yield Event(place, touch.origin, f"{key} {_word(was)} -> {_word(now)}", "asked for (IncrementalAlterConfigs)")
        case ("voters",):
            yield from _of_voters(place, touch)
        case ("leader",):
            yield from _of_leader(place, touch)
        case ("feature", name):
            levels = (image.features.finalized.get(name) for image in (touch.before, touch.after))
            yield Event(place, touch.origin, f"{name} {' -> '.join(map(_word, levels))}", "asked for (UpdateFeatures)")


def _partition(image: MetadataImage, id: bytes, number: int) -> PartitionRegistration | None:
    topic = image.topics.by_id.get(id)
    return None if topic is None else topic.partitions.get(number)


def _word(value: object) -> str:
    return "unset" if value is None else str(value)


def ids_text(ids: Iterable[int]) -> str:
    """`4,5`, or `-` for none."""
    return ",".join(map(str, ids)) or _NOTHING


def leader_text(leader: int) -> str:
    """The id, or `none`."""
    return str(leader) if leader >= 0 else "none"


# ---- brokers


def broker_events(touch: Touch) -> Iterator[BrokerEvent]:
    """The changes of brokers' registrations by one record."""
    for place in touch.places:
        if place[0] == "broker":
            id = place[1]
            changes = _broker_changes(touch.before.cluster.brokers.get(id), touch.after.cluster.brokers.get(id))
            yield from (BrokerEvent(id, kind, what, cause, touch.origin, touch.batch) for kind, what, cause in changes)


def _broker_changes(before: BrokerRegistration | None, after: BrokerRegistration | None) -> Iterator[tuple[str, str, str]]:
    if after is None:
        if before is not None:
            yield UNREGISTERED, "unregistered", "asked for (UnregisterBroker)"
    elif before is None:
        yield REGISTERED, f"registered, epoch {after.epoch}, at {_address(after)}", "its process started"
    elif before.incarnation_id != after.incarnation_id or before.epoch != after.epoch:
        yield REGISTERED, _registered_text(before, after), _registered_cause(before)
    else:
        yield from _state_changes(before, after)


def _state_changes(before: BrokerRegistration, after: BrokerRegistration) -> Iterator[tuple[str, str, str]]:
    if after.in_controlled_shutdown and not before.in_controlled_shutdown:
        yield SHUTDOWN, "began a controlled shutdown", "its process was told to stop"
    if after.fenced and not before.fenced:
        is_stopping = before.in_controlled_shutdown or after.in_controlled_shutdown
        yield FENCED, "fenced", "its controlled shutdown ended" if is_stopping else _FENCED_TEXT
    if before.fenced and not after.fenced:
        yield UNFENCED, "unfenced", "it has caught up with the metadata"
    if before.directories != after.directories:
        lost, new = (set(one.directories) - set(other.directories) for one, other in ((before, after), (after, before)))
        if lost:
            yield LOST_DIRECTORIES, f"lost log directories {_directories(lost)}", "the broker reported that they failed"
        if new:
            yield DIRECTORIES, f"has new log directories {_directories(new)}", "the broker reported them"
    if (before.cordoned_directories or ()) != (after.cordoned_directories or ()):
        cordoned = _directories(after.cordoned_directories or ())
        yield CORDONED, f"cordoned log directories: {cordoned}", "cordoned.log.dirs of the broker"


def _registered_text(before: BrokerRegistration, after: BrokerRegistration) -> str:
    parts = [f"registered anew, epoch {before.epoch} -> {after.epoch}"]
    if before.listeners != after.listeners:
        parts.append(f"at {_address(after)} instead of {_address(before)}")
    if before.directories != after.directories:
        parts.append(f"with log directories {_directories(after.directories)} instead of {_directories(before.directories)}")
    if before.rack != after.rack:
        parts.append(f"rack {_word(before.rack)} -> {_word(after.rack)}")
    return ", ".join(parts)


def _registered_cause(before: BrokerRegistration) -> str:
    if before.in_controlled_shutdown:
        return "its process started again after a controlled shutdown"
    if before.fenced:
        return "its process started again; the last one had ended without a controlled shutdown"
    return "another process came while this one was active: it died within its session, or two processes have one id"


def _address(broker: BrokerRegistration) -> str:
    return ",".join(f"{one.host}:{one.port}" for one in broker.listeners) or "no address"


def _directories(ids: Iterable[bytes]) -> str:
    return ",".join(sorted(map(uuid_text, ids))) or _NOTHING


# ---- partitions


def _of_partition(
    place: Place, before: PartitionRegistration | None, after: PartitionRegistration | None, touch: Touch, brokers: list[BrokerEvent]
) -> Iterator[Event]:
    if after is None:
        return
    if before is None:
        words = f"created on {ids_text(after.replicas)}, leader {leader_text(after.leader)}, ISR {ids_text(after.isr)}"
        yield Event(place, touch.origin, words, "asked for (CreateTopics or CreatePartitions)")
        return
    what = _differences(before, after)
    if not what:
        return
    cause, origin = _partition_cause(before, after, touch, brokers)
    yield Event(place, touch.origin, "; ".join(what), cause, origin)


def _differences(before: PartitionRegistration, after: PartitionRegistration) -> list[str]:
    """The differences of leader, replicas, ISR and ELR; a change of directories counts only if one is lost."""
    found = []
    if before.leader != after.leader:
        found.append(f"leader {leader_text(before.leader)} -> {leader_text(after.leader)}")
    for word, was, now in (
        ("ISR", before.isr, after.isr),
        ("replicas", before.replicas, after.replicas),
        ("adding", before.adding_replicas, after.adding_replicas),
        ("removing", before.removing_replicas, after.removing_replicas),
        ("ELR", before.elr, after.elr),
        ("last known ELR", before.last_known_elr, after.last_known_elr),
    ):
        if was != now:
            found.append(f"{word} {ids_text(was)} -> {ids_text(now)}")
    if before.leader_recovery_state != after.leader_recovery_state:
        found.append("elected uncleanly" if after.leader_recovery_state else "recovered")
    lost = {replica for replica, id in zip(after.replicas, after.directories, strict=False) if id == LOST_DIRECTORY}
    lost -= {replica for replica, id in zip(before.replicas, before.directories, strict=False) if id == LOST_DIRECTORY}
    if lost:
        found.append(f"the directory of {ids_text(sorted(lost))} is lost")
    return found


def _partition_cause(
    before: PartitionRegistration, after: PartitionRegistration, touch: Touch, brokers: list[BrokerEvent]
) -> tuple[str, Origin | None]:
    gone = [id for id in before.isr if id not in after.isr]
    if before.leader >= 0 and before.leader != after.leader:
        gone.append(before.leader)
    came = [after.leader] if after.leader >= 0 and before.leader != after.leader else []
    not_eligible = [id for id in before.elr if id not in after.elr and id not in after.isr]
    for ids, kinds in ((gone, TAKING_AWAY), (came, (UNFENCED, REGISTERED)), (not_eligible, (REGISTERED, UNREGISTERED))):
        event = _event_about(ids, kinds, touch, brokers)
        if event is not None:
            more = _FENCED_TEXT if event.kind == FENCED and event.cause == _FENCED_TEXT else ""
            more = "it was in neither ISR nor ELR, and what it lacks is lost" if _is_unclean(before, after) else more
            more = "its last process did not shut down in order, so what it had may be lost" if ids is not_eligible else more
            what = {FENCED: "was fenced", UNREGISTERED: "was unregistered", UNFENCED: "was unfenced"}.get(event.kind, event.what)
            return f"broker {event.broker_id} {what} (offset {event.origin.offset}){f': {more}' if more else ''}", event.origin
    return _asked_cause(before, after, touch), None


def _event_about(ids: Iterable[int], kinds: Iterable[str], touch: Touch, brokers: list[BrokerEvent]) -> BrokerEvent | None:
    """The event of one of these brokers in the same batch, else one of the same time."""
    wanted = set(ids)
    found = [event for kind in kinds for event in brokers if event.broker_id in wanted and event.kind == kind]
    return next((event for event in found if event.batch == touch.batch), next(iter(found), None))


def _is_unclean(before: PartitionRegistration, after: PartitionRegistration) -> bool:
    return bool(after.leader_recovery_state and before.leader != after.leader)


def _asked_cause(before: PartitionRegistration, after: PartitionRegistration, touch: Touch) -> str:
    """The cause of a change that no record of a broker explains: a request."""
    if touch.origin.record == "CLEAR_ELR_RECORD":
        return "the ELR was cleared: min.insync.replicas changed"
    is_moving, was_moving = (bool(one.adding_replicas or one.removing_replicas) for one in (after, before))
    if is_moving and not was_moving:
        return "a reassignment was asked for (AlterPartitionReassignments)"
    if was_moving and not is_moving:
        done = set(before.replicas) - set(before.removing_replicas)
        return "the reassignment is complete" if set(after.replicas) == done else "the reassignment was cancelled"
    if is_moving and (before.adding_replicas, before.removing_replicas) != (after.adding_replicas, after.removing_replicas):
        return "another reassignment was asked for (AlterPartitionReassignments)"
    if _is_unclean(before, after):
        words = "an unclean election: unclean.leader.election.enable, or asked for (ElectLeaders)"
        return f"{words}; {after.leader} was in neither ISR nor ELR, and what it lacks is lost"
    if before.leader != after.leader and after.leader >= 0:
        if before.leader < 0:
            return f"broker {after.leader}, which has all that was acknowledged, can lead again"
        preferred = after.replicas[:1] == (after.leader,)
        return f"an election of the {'preferred replica' if preferred else 'leader'} (asked for, or auto.leader.rebalance.enable)"
    lost, gained = set(before.isr) - set(after.isr), set(after.isr) - set(before.isr)
    if lost and after.leader >= 0:
        return f"leader {after.leader} took {ids_text(sorted(lost))} out of the ISR (AlterPartition): behind for replica.lag.time.max.ms"
    if gained:
        return f"leader {after.leader} put {ids_text(sorted(gained))} into the ISR (AlterPartition): caught up"
    if before.leader_recovery_state and not after.leader_recovery_state:
        return f"leader {after.leader} has recovered from the unclean election (AlterPartition)"
    return "decided by the controller"


# ---- controllers and voters


def _of_controller(place: Place, before: ClusterImage, after: ClusterImage, origin: Origin) -> Iterator[Event]:
    was, now = before.controllers.get(place[1]), after.controllers.get(place[1])
    if now is None:
        yield Event(place, origin, "unregistered", "asked for (UnregisterController)")
        return
    address = ",".join(f"{one.host}:{one.port}" for one in now.listeners) or "no address"
    if was is None:
        yield Event(place, origin, f"registered, at {address}", "its process started")
    else:
        moved = f", at {address}" if was.listeners != now.listeners else ""
        is_same = was.incarnation_id == now.incarnation_id
        yield Event(place, origin, f"registered anew{moved}", "it told something new of itself" if is_same else "its process started again")


def _of_voters(place: Place, touch: Touch) -> Iterator[Event]:
    before, after = _voters(touch.before.voters), _voters(touch.after.voters)
    all_ids = ids_text(sorted(after))
    for id in sorted({*before, *after}):
        was, now = before.get(id), after.get(id)
        if was is None and now is not None:
            cause = "asked for (AddRaftVoter), or controller.quorum.auto.join.enable" if before else "the voters that the log began with"
            yield Event((*place, id), touch.origin, f"voter {id} added, {_voter_text(now)}; voters {all_ids}", cause)
        elif was is not None and now is None:
            yield Event((*place, id), touch.origin, f"voter {id} removed; voters {all_ids}", "asked for (RemoveRaftVoter)")
        elif was is not None and now is not None and was.directory_id != now.directory_id:
            words = f"voter {id}: {_voter_text(now)} instead of directory {uuid_text(was.directory_id)}"
            yield Event((*place, id), touch.origin, words, "removed and added with another disk")
        elif was is not None and now is not None and was.endpoints != now.endpoints:
            words = f"voter {id}: {_endpoints(was)} -> {_endpoints(now)}"
            yield Event((*place, id), touch.origin, words, "the controller said so of itself (UpdateRaftVoter)")


def _voters(found: VoterSet | None) -> dict[int, Voter]:
    return {} if found is None else {voter.id: voter for voter in found.voters}


def _voter_text(voter: Voter) -> str:
    return f"directory {uuid_text(voter.directory_id)} at {_endpoints(voter)}"


def _endpoints(voter: Voter) -> str:
    return ",".join(f"{one.host}:{one.port}" for one in voter.endpoints) or "no address"


def _of_leader(place: Place, touch: Touch) -> Iterator[Event]:
    was: Any = touch.before.leader
    now: Any = touch.after.leader
    if now is not None and (was is None or was.id != now.id):
        words = f"leader {'unknown' if was is None else leader_text(was.id)} -> {leader_text(now.id)}, epoch {now.epoch}"
        yield Event((*place, now.id, -1 if was is None else was.id), touch.origin, words, "an election of the quorum")
