"""Replays the records of `__consumer_offsets` into the state: `REPLAYS` has the function of each record type.

Never raises. Where a broker would refuse to load a log, because a record contradicts those before it, the state gets a finding; the record
still counts where its group is of the right kind. Reading a log needs no more than this module: it does not import requests or assignors.

Source: the replay methods of org.apache.kafka.coordinator.group.GroupMetadataManager and OffsetMetadataManager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from metashell.codec.java import names_in_order
from metashell.codec.messages import GroupMetadataValue
from metashell.common.values import uuid_text
from metashell.groups.classic import GROUP_METADATA, ClassicGroupMember, Protocol
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.consumer import (
    CONSUMER_CURRENT,
    CONSUMER_GROUP,
    CONSUMER_MEMBER,
    CONSUMER_PARTITION_METADATA,
    CONSUMER_REGEX,
    CONSUMER_TARGET,
    CONSUMER_TARGET_MEMBER,
    NOTHING,
    ConsumerGroupMember,
    with_assignment,
    with_metadata,
)
from metashell.groups.consumer.group import ConsumerGroup, Resolved
from metashell.groups.decision import Place, Record
from metashell.groups.share import (
    NO_PARTITIONS,
    SHARE_CURRENT,
    SHARE_GROUP,
    SHARE_MEMBER,
    SHARE_STATE,
    SHARE_TARGET,
    SHARE_TARGET_MEMBER,
    ShareGroup,
    ShareGroupMember,
    share_state_of,
)
from metashell.groups.state import LEGACY_OFFSET_COMMIT, OFFSET_COMMIT, Group, PartitionKey, State, add_pending, committed_of, drop_pending
from metashell.groups.streams import (
    NO_TASKS,
    STREAMS_CURRENT,
    STREAMS_GROUP,
    STREAMS_MEMBER,
    STREAMS_TARGET,
    STREAMS_TARGET_MEMBER,
    STREAMS_TOPOLOGY,
    DescriptionEpochs,
    StreamsGroupMember,
    Tasks,
    current_from_record,
    member_from_record,
    tasks_of,
)
from metashell.groups.streams.group import StreamsGroup


def replay_group_metadata(state: State, record: Record, place: Place) -> None:
    group_id = record.key.group
    known = state.groups.get(group_id)
    if record.value is None:
        if known is not None and known.type == ClassicGroup.type:
            del state.groups[group_id]
        return
    if known is not None and known.type != ClassicGroup.type and not known.is_empty:
        state.find_other_kind(known, ClassicGroup.type, place)
    state.groups[group_id] = group_of(group_id, record.value)


def group_of(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Return the group of a record. With members it is Stable: the record does not have the state, and is written when assignments are."""
    group = ClassicGroup(group_id, ClassicState.STABLE if value.members else ClassicState.EMPTY, value.current_state_timestamp)
    group.restore(value.generation, value.protocol_type, value.protocol, value.leader)
    for member in value.members:
        # Version 0 of the record has no rebalance timeout.
        rebalance_timeout_ms = member.session_timeout if member.rebalance_timeout < 0 else member.rebalance_timeout
        added = ClassicGroupMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            rebalance_timeout_ms,
            member.session_timeout,
            (Protocol(value.protocol or "", bytes(member.subscription)),),
            bytes(member.assignment),
        )
        group.add(added, value.protocol_type)
    group.subscribed = group.compute_subscribed()
    return group


def make_simple(group_id: str) -> Group:
    """Return the group of offsets whose consumer never joined a group."""
    return ClassicGroup(group_id, ClassicState.EMPTY, -1)


# ---- consumer, share and streams groups

NO_EPOCH: Final = -1
"""The epoch after a tombstone: of a group's target, which must precede the group's own, and of a member's assignment, as a member's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernKind:
    """What differs in the records of consumer, share and streams groups.

    Shape: `yields` says of a group of another kind whether it silently becomes one of this kind; of others a record is a finding, and
    counts only with `takes_over`. `numbered` has epoch and hash of the group, `subscribed` and `assigned` return a member with what a
    record says of it, `target` the value of a target. `vacate` takes from a member what it was assigned.
    """

    group_class: type[Any]
    make_member: Callable[[str], Any]
    yields: Callable[[Group], bool]
    takes_over: bool = False
    numbered: Callable[[Any, Any], None]
    subscribed: Callable[[Any, Any], Any]
    assigned: Callable[[Any, Any], Any]
    vacate: Callable[[Any, Any], None]
    target: Callable[[Any], Any]

    def find(self, state: State, record: Record, place: Place) -> Any:
        """Return the record's group, which a value creates; None if there is nothing to do."""
        group_id = record.key.group_id
        group = state.groups.get(group_id)
        if isinstance(group, self.group_class):
            return group
        if record.value is None:
            return None
        if group is not None and not self.yields(group):
            state.find_other_kind(group, self.group_class.type, place)
            if not self.takes_over:
                return None
        made = state.groups[group_id] = self.group_class(group_id)
        return made

    def replay_group(self, state: State, record: Record, place: Place, group: Any) -> None:
        if record.value is not None:
            self.numbered(group, record.value)
            return
        if group.members or group.targets or group.assignment_epoch != NO_EPOCH:
            text = f"deleted with {len(group.members)} members and {len(group.targets)} targets"
            state.find("GROUP_NOT_EMPTY", group.group_id, text, place)
        del state.groups[group.group_id]

    def replay_member(self, state: State, record: Record, place: Place, group: Any) -> None:
        member_id = record.key.member_id
        known = group.members.get(member_id)
        if record.value is not None:
            group.put(self.subscribed(known or self.make_member(member_id), record.value))
        elif known is not None:
            if known.epoch != NO_EPOCH or member_id in group.targets:
                state.find("MEMBER_NOT_GONE", group.group_id, f"member {member_id} deleted while it has an assignment or a target", place)
            group.remove(member_id)

    def replay_target(self, state: State, record: Record, place: Place, group: Any) -> None:
        """Replay the epoch of a group's target, not its members' parts."""
        if record.value is not None:
            group.assignment_epoch, group.assignment_ms = record.value.assignment_epoch, record.value.assignment_timestamp
            return
        if group.targets:
            state.find("TARGETS_NOT_GONE", group.group_id, f"target deleted while {len(group.targets)} members have one", place)
        group.assignment_epoch, group.assignment_ms = NO_EPOCH, 0

    def replay_target_member(self, state: State, record: Record, place: Place, group: Any) -> None:
        if record.value is None:
            group.targets.pop(record.key.member_id, None)
        else:
            group.targets[record.key.member_id] = self.target(record.value)

    def replay_current(self, state: State, record: Record, place: Place, group: Any) -> None:
        member_id = record.key.member_id
        known = group.members.get(member_id)
        if record.value is None:
            if known is not None:
                self.vacate(group, known)
            return
        for topic_id, partition in group.put(self.assigned(known or self.make_member(member_id), record.value)) or ():
            text = f"{uuid_text(topic_id)}-{partition} goes to {member_id} with epoch {record.value.member_epoch} while it is held"
            state.find("OWNERSHIP_OVERLAP", group.group_id, text, place)

    def replays(self, functions: Mapping[int, ModernReplay]) -> dict[int, Replay]:
        """Return the functions by record type, each for the group of its record."""

        def of_group(function: ModernReplay) -> Replay:
            def replay_record(state: State, record: Record, place: Place) -> None:
                group = self.find(state, record, place)
                if group is not None:
                    function(state, record, place, group)

            return replay_record

        return {type: of_group(function) for type, function in functions.items()}


ModernReplay = Callable[[State, Record, Place, Any], None]


def _number(group: ConsumerGroup | ShareGroup, value: Any) -> None:
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _targets_by_topic(value: Any) -> dict[bytes, tuple[int, ...]]:
    return {topic.topic_id: topic.partitions for topic in value.topic_partitions}


_CONSUMER: Final = ModernKind(
    group_class=ConsumerGroup,
    make_member=ConsumerGroupMember,
    # Offsets make a simple classic group, which a consumer group replaces.
    yields=lambda group: group.type == ClassicGroup.type and group.is_empty and not group.protocol_type,
    takes_over=True,
    numbered=_number,
    subscribed=with_metadata,
    assigned=with_assignment,
    vacate=lambda group, known: group.put(known._replace(epoch=NO_EPOCH, previous_epoch=NO_EPOCH, assigned=NOTHING, revoking=NOTHING)),
    target=_targets_by_topic,
)


def _replay_partition_metadata(state: State, record: Record, place: Place, group: ConsumerGroup) -> None:
    """Replay ConsumerGroupPartitionMetadata. Only 4.0 wrote it; newer releases delete it with the next epoch."""
    group.has_partition_metadata = record.value is not None


def _replay_regex(state: State, record: Record, place: Place, group: ConsumerGroup) -> None:
    value = record.value
    resolved = None if value is None else Resolved(frozenset(value.topics), value.version, value.timestamp)
    group.resolve(record.key.regular_expression, resolved)


CONSUMER_REPLAYS: Final = _CONSUMER.replays(
    {
        CONSUMER_GROUP: _CONSUMER.replay_group,
        CONSUMER_PARTITION_METADATA: _replay_partition_metadata,
        CONSUMER_MEMBER: _CONSUMER.replay_member,
        CONSUMER_TARGET: _CONSUMER.replay_target,
        CONSUMER_TARGET_MEMBER: _CONSUMER.replay_target_member,
        CONSUMER_CURRENT: _CONSUMER.replay_current,
        CONSUMER_REGEX: _replay_regex,
    }
)

_SHARE: Final = ModernKind(
    group_class=ShareGroup,
    make_member=ShareGroupMember,
    yields=lambda group: False,
    numbered=_number,
    subscribed=lambda member, value: member._replace(
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        names=names_in_order(value.subscribed_topic_names),
    ),
    assigned=lambda member, value: member._replace(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=value.state,
        assigned={topic.topic_id: topic.partitions for topic in value.assigned_partitions},
    ),
    vacate=lambda group, known: group.put(known._replace(epoch=NO_EPOCH, previous_epoch=NO_EPOCH, assigned=NO_PARTITIONS)),
    target=_targets_by_topic,
)


def _replay_share_state(state: State, record: Record, place: Place, group: ShareGroup) -> None:
    group.share_state = None if record.value is None else share_state_of(record.value)


SHARE_REPLAYS: Final = _SHARE.replays(
    {
        SHARE_GROUP: _SHARE.replay_group,
        SHARE_MEMBER: _SHARE.replay_member,
        SHARE_TARGET: _SHARE.replay_target,
        SHARE_TARGET_MEMBER: _SHARE.replay_target_member,
        SHARE_CURRENT: _SHARE.replay_current,
        SHARE_STATE: _replay_share_state,
    }
)


def _number_streams(group: StreamsGroup, value: Any) -> None:
    group.epoch, group.metadata_hash, group.validated_epoch = value.epoch, value.metadata_hash, value.validated_topology_epoch
    group.described = DescriptionEpochs(value.stored_description_topology_epoch, value.failed_description_topology_epoch)
    group.configs = tuple((config.key, config.value) for config in value.last_assignment_configs or ())


def _vacate_streams(group: StreamsGroup, known: StreamsGroupMember) -> None:
    # Not by `put`: the instance id may be another member's by now.
    group.members[known.member_id] = known._replace(
        epoch=NO_EPOCH, previous_epoch=NO_EPOCH, assigned=NO_TASKS, revoking=NO_TASKS, epochs={}
    )


_STREAMS: Final = ModernKind(
    group_class=StreamsGroup,
    make_member=StreamsGroupMember,
    yields=lambda group: group.is_empty,
    numbered=_number_streams,
    subscribed=member_from_record,
    assigned=current_from_record,
    vacate=_vacate_streams,
    target=lambda value: Tasks(tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)),
)


def _replay_topology(state: State, record: Record, place: Place, group: StreamsGroup) -> None:
    group.topology, group.configured = record.value, None


STREAMS_REPLAYS: Final = _STREAMS.replays(
    {
        STREAMS_GROUP: _STREAMS.replay_group,
        STREAMS_MEMBER: _STREAMS.replay_member,
        STREAMS_TARGET: _STREAMS.replay_target,
        STREAMS_TARGET_MEMBER: _STREAMS.replay_target_member,
        STREAMS_CURRENT: _STREAMS.replay_current,
        STREAMS_TOPOLOGY: _replay_topology,
    }
)


# ---- committed offsets


def replay_commit(state: State, record: Record, place: Place) -> None:
    """Replay an offset or its tombstone. The offset of a transaction is pending until the transaction ends."""
    group_id, key = record.key.group, (record.key.topic, record.key.partition)
    if record.value is None:
        _drop_commit(state, group_id, key)
        return
    if group_id not in state.groups:
        state.groups[group_id] = state.make_simple(group_id)
    if place.producer_id < 0:
        state.offsets.setdefault(group_id, {})[key] = committed_of(record, place.offset)
    else:
        add_pending(state, group_id, place.producer_id, key, committed_of(record, place.offset))


def _drop_commit(state: State, group_id: str, key: PartitionKey) -> None:
    """Drop the committed and all pending offsets of a partition, as a tombstone does."""
    offsets = state.offsets.get(group_id)
    if offsets is not None and offsets.pop(key, None) is not None and not offsets:
        del state.offsets[group_id]
    drop_pending(state, group_id, key)


Replay = Callable[[State, Record, Place], None]

REPLAYS: dict[int, Replay] = {
    LEGACY_OFFSET_COMMIT: replay_commit,
    OFFSET_COMMIT: replay_commit,
    GROUP_METADATA: replay_group_metadata,
    **CONSUMER_REPLAYS,
    **SHARE_REPLAYS,
    **STREAMS_REPLAYS,
}
"""The functions by record type. Other types are skipped."""


def make_state() -> State:
    """Return a state without records."""
    return State(make_simple)


def replay(state: State, record: Record, place: Place) -> None:
    """Replay one record of the log."""
    function = REPLAYS.get(record.type)
    if function is not None:
        function(state, record, place)
