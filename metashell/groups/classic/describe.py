"""DescribeGroups, which knows classic groups only.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.describeGroups.
"""

from __future__ import annotations

from typing import Final

from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, NONE
from metashell.codec.messages import DescribeGroupsResponse
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.context import Context
from metashell.groups.decision import Decision
from metashell.groups.error_answers import ALL_OPERATIONS
from metashell.groups.request import Answer, Request

_NAMES_MISSING_GROUPS_SINCE: Final = 6
_Described = DescribeGroupsResponse.DescribedGroup


def describe_groups(context: Context, request: Request, now_ms: int) -> Decision:
    groups = tuple(_described(context, group_id, request.version) for group_id in request.body.groups)
    if request.body.include_authorized_operations:
        for group in groups:
            group.authorized_operations = ALL_OPERATIONS if group.error_code == NONE else group.authorized_operations
    return Decision(answers=[Answer(request.ticket, DescribeGroupsResponse(groups=groups))])


def _described(context: Context, group_id: str, version: int) -> _Described:
    group = context.state.groups.get(group_id)
    if isinstance(group, ClassicGroup):
        return describe(group)
    missing = _Described(group_id=group_id, group_state=ClassicState.DEAD.value)
    if version >= _NAMES_MISSING_GROUPS_SINCE:
        missing.error_code = GROUP_ID_NOT_FOUND
        missing.error_message = f"Group {group_id} {'not found' if group is None else 'is not a classic group'}."
    return missing


def describe(group: ClassicGroup) -> _Described:
    """Members in Java's order. What they said of themselves is shown once the group is Stable."""
    is_stable = group.state is ClassicState.STABLE
    protocol = (group.protocol_name or "") if is_stable else ""
    members = tuple(
        DescribeGroupsResponse.DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=(member.metadata(protocol) or b"") if is_stable else b"",
            member_assignment=member.assignment,
        )
        for member in group.members.values()
    )
    return _Described(
        group_id=group.group_id,
        group_state=group.state_name(),
        protocol_type=group.protocol_type,
        protocol_data=protocol,
        members=members,
    )
