"""A classic member as an operator sees it: its blobs are read as far as they can be."""

from __future__ import annotations

from metashell.groups.classic.member import ClassicMember
from metashell.groups.member_view import classic_member
from metashell.groups.view import MemberDescription


def describe_member(member: ClassicMember, protocol_type: str, protocol_name: str | None) -> MemberDescription:
    """Never raises: what does not decode is a finding of the member."""
    return classic_member(
        protocol_type,
        protocol_name,
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscription=member.metadata(protocol_name or "") or b"",
        assignment=member.assignment,
        details={"session_timeout_ms": member.session_timeout_ms, "rebalance_timeout_ms": member.rebalance_timeout_ms},
    )
