"""ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe: one group of the right kind after the other.

Source: groups.md 7.1, golden scenarios describe-and-list, missing-group and empty-group-id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, INVALID_GROUP_ID
from metashell.groups.context import Context, Handler
from metashell.groups.decision import Decision
from metashell.groups.error_answers import ALL_OPERATIONS
from metashell.groups.group import Group
from metashell.groups.request import Answer, Request
from metashell.groups.share.describe import described as described_share
from metashell.groups.share.group import ShareGroup
from metashell.groups.streams.describe import NOT_STORED
from metashell.groups.streams.describe import described as described_streams
from metashell.groups.streams.group import StreamsGroup

_Described = Callable[[Context, Any], Any]


def _handler(response: Any, kind: type[Group], described: _Described) -> Handler:
    def describe(context: Context, request: Request, now_ms: int) -> Decision:
        groups = [_one(context, group_id, response, kind, described) for group_id in request.body.group_ids]
        if request.body.include_authorized_operations:
            for group in groups:
                if not group.error_code:
                    group.authorized_operations = ALL_OPERATIONS
        if getattr(request.body, "include_topology_description", False):
            for group in groups:
                group.topology_description_status = 0 if group.error_code else NOT_STORED
        return Decision(answers=[Answer(request.ticket, response(groups=tuple(groups)))])

    return describe


def _one(context: Context, group_id: str, response: Any, kind: type[Group], described: _Described) -> Any:
    if not group_id:
        return response.DescribedGroup(group_id=group_id, error_code=INVALID_GROUP_ID)
    group = context.state.groups.get(group_id)
    if isinstance(group, kind):
        return described(context, group)
    fault = "not found" if group is None else f"is not a {kind.type} group"
    return response.DescribedGroup(group_id=group_id, error_code=GROUP_ID_NOT_FOUND, error_message=f"Group {group_id} {fault}.")


describe_share_groups = _handler(messages.ShareGroupDescribeResponse, ShareGroup, described_share)
describe_streams_groups = _handler(messages.StreamsGroupDescribeResponse, StreamsGroup, described_streams)
