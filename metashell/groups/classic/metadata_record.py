"""The record of a classic group.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from metashell.codec.messages import GroupMetadataKey, GroupMetadataValue
from metashell.groups.classic.member import ClassicMember
from metashell.groups.record import Record

GROUP_METADATA: Final = 2
_VERSION: Final = 3


def group_metadata_record(
    group_id: str,
    protocol_type: str,
    generation: int,
    protocol_name: str | None,
    leader: str | None,
    state_ms: int,
    members: Iterable[ClassicMember],
    assignments: Mapping[str, bytes],
) -> Record:
    """A group with its members, each with the metadata of the chosen protocol only."""
    name = protocol_name or ""
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol_name,
        leader=leader,
        current_state_timestamp=state_ms,
        members=tuple(
            GroupMetadataValue.MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(name) or b"",
                assignment=assignments[member.member_id],
            )
            for member in members
        ),
    )
    return Record(GROUP_METADATA, GroupMetadataKey(group=group_id), value, _VERSION)


def fresh_group_record(group_id: str, state_ms: int) -> Record:
    """A group of which nothing else is known yet."""
    return group_metadata_record(group_id, "", 0, None, None, state_ms, (), {})


def tombstone(group_id: str) -> Record:
    return Record(GROUP_METADATA, GroupMetadataKey(group=group_id))
