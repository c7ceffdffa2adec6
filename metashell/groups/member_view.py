"""A member of the classic protocol as an operator sees it: what its two blobs say, wherever they come from.

For the room of classic groups, which has them from joins and records, and for who asks a live cluster (DescribeGroups).
"""

from __future__ import annotations

from typing import Any

from metashell.codec.blobs.consumer_protocol import read_assignment, read_subscription
from metashell.codec.blobs.embedded import CONSUMER, decode_assignment, decode_subscription
from metashell.errors import DecodeError
from metashell.groups.view import MemberDescription, parts_of


def classic_member(
    protocol_type: str,
    protocol: str | None,
    *,
    member_id: str,
    instance_id: str | None,
    client_id: str,
    client_host: str,
    subscription: bytes,
    assignment: bytes,
) -> MemberDescription:
    """The member; its blobs stand in `details`, and what does not decode is a finding. Never raises for what they hold."""
    told = decode_subscription(protocol_type, protocol, subscription)
    given = decode_assignment(protocol_type, protocol, assignment)
    details: dict[str, Any] = {}
    if told.value is not None:
        details["subscription"] = told.value
    if given.value is not None:
        details["assignment"] = given.value
    topics: tuple[str, ...] = ()
    partitions: tuple[tuple[str, int], ...] = ()
    rack = None
    if protocol_type == CONSUMER:
        try:
            if subscription:
                read = read_subscription(subscription)
                topics, rack = tuple(sorted(read.topics)), read.rack
            partitions = read_assignment(assignment).partitions
        except DecodeError:
            pass  # it is among the findings
    return MemberDescription(
        member_id=member_id,
        member_type="classic",
        client_id=client_id,
        client_host=client_host,
        instance_id=instance_id,
        rack=rack,
        topics=topics,
        assigned=parts_of(partitions),
        details=details,
        findings=(*told.findings, *given.findings),
    )
