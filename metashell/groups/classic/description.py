"""A classic member as an operator sees it: its blobs are read as far as they can be."""

from __future__ import annotations

from metashell.codec.blobs.embedded import decode_assignment, decode_subscription
from metashell.groups.classic.member import ClassicMember
from metashell.groups.view import MemberDescription, Parts, parts_of


def describe_member(member: ClassicMember, protocol_type: str, protocol_name: str | None) -> MemberDescription:
    """Never raises: what does not decode is a finding of the member."""
    metadata = member.metadata(protocol_name or "") or b""
    subscription = decode_subscription(protocol_type, protocol_name, metadata)
    assignment = decode_assignment(protocol_type, protocol_name, member.assignment)
    said = subscription.value if isinstance(subscription.value, dict) else {}
    return MemberDescription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack=said.get("rackId"),
        member_type="classic",
        topics=tuple(said.get("topics", ())),
        assigned=_assigned(assignment.value),
        details={
            "session_timeout_ms": member.session_timeout_ms,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
            "subscription": subscription.value,
            "assignment": assignment.value,
        },
        findings=subscription.findings + assignment.findings,
    )


def _assigned(value: object) -> Parts:
    """The partitions of a consumer's assignment."""
    topics = value.get("assignedPartitions", ()) if isinstance(value, dict) else ()
    return parts_of((topic["topic"], partition) for topic in topics for partition in topic["partitions"])
