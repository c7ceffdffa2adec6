"""A member of the classic protocol as an operator sees it: what its two blobs say, wherever they come from.

For the room of classic groups, which has them from joins and records, and for who asks a live cluster (DescribeGroups).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metashell.codec.blobs.embedded import CONNECT, decode_assignment, decode_subscription
from metashell.codec.redaction import REDACTED
from metashell.codec.uris import shown_uri
from metashell.groups.view import MemberDescription, Parts, parts_of

_URLS: Final = frozenset(("url", "leaderUrl"))
_ALLOCATION: Final = "allocation"
"""What a worker of Connect was assigned before, as it says it when it joins."""


def classic_member(
    protocol_type: str,
    protocol_name: str | None,
    *,
    member_id: str,
    instance_id: str | None,
    client_id: str,
    client_host: str,
    subscription: bytes,
    assignment: bytes,
    details: Mapping[str, Any] | None = None,
) -> MemberDescription:
    """The member; its blobs stand in `details` beside what is given. Never raises: what does not decode is a finding."""
    told = decode_subscription(protocol_type, protocol_name, subscription)
    given = decode_assignment(protocol_type, protocol_name, assignment)
    said = told.value if isinstance(told.value, dict) else {}
    return MemberDescription(
        member_id=member_id,
        instance_id=instance_id,
        client_id=client_id,
        client_host=client_host,
        rack=said.get("rackId"),
        member_type="classic",
        topics=tuple(said.get("topics", ())),
        assigned=_assigned(given.value),
        details={**(details or {}), "subscription": _shown(protocol_type, told.value), "assignment": _shown(protocol_type, given.value)},
        findings=told.findings + given.findings,
    )


def _shown(protocol_type: str, value: Any) -> Any:
    """What a blob says, without the users and passwords that the urls of Connect's workers may hold."""
    if protocol_type != CONNECT:
        return value
    # What does not decode is bytes as text, and may have a url anywhere.
    return _without_users(value) if isinstance(value, dict) else None if value is None else REDACTED


def _without_users(value: dict[str, Any]) -> dict[str, Any]:
    shown = {name: shown_uri(url) if isinstance(url, str) and name in _URLS else url for name, url in value.items()}
    if (allocation := value.get(_ALLOCATION)) is not None:
        shown[_ALLOCATION] = _without_users(allocation) if isinstance(allocation, dict) else REDACTED
    return shown


def _assigned(value: object) -> Parts:
    """The partitions of a consumer's assignment."""
    topics = value.get("assignedPartitions", ()) if isinstance(value, dict) else ()
    return parts_of((topic["topic"], partition) for topic in topics for partition in topic["partitions"])
