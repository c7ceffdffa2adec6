"""A group with its members as text for people, whoever described it: logs or a live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription


_AWAY_EPOCH = -2
"""That of a static member which left for a while."""
MEMBER_COLUMNS = (
    "group",
    "group_type",
    "state",
    "epoch",
    "member",
    "instance",
    "client",
    "host",
    "rack",
    "member_type",
    "member_epoch",
    "member_state",
    "topics",
    "assigned",
    "target",
    "revoking",
)


def member_rows(description: GroupDescription) -> list[dict[str, object]]:
    """A row for each member; of a group without members one that has the group alone."""
    from metashell.groups.view import parts_text

    summary = description.summary
    group: dict[str, object] = {
        "type": "member",
        "group": summary.group_id,
        "group_type": summary.kind,
        "state": summary.state,
        "epoch": summary.epoch,
    }
    rows = [
        {
            **group,
            "member": member.member_id,
            "instance": member.instance_id,
            "client": member.client_id,
            "host": member.client_host,
            "rack": member.rack,
            "member_type": member.member_type,
            "member_epoch": member.epoch,
            "member_state": member.state or None,
            "topics": ",".join(member.topics) or member.regex,
            "assigned": parts_text(member.assigned),
            "target": None if member.target is None else parts_text(member.target),
            "revoking": parts_text(member.revoking),
        }
        for member in description.members
    ]
    return rows or [group]


def description_lines(description: GroupDescription) -> Iterator[str]:
    """A group with its members as text."""
    from metashell.escape import terminal_line
    from metashell.forms import aligned, counted

    summary = description.summary
    yield terminal_line(f"{summary.group_id}: {summary.kind} group, {summary.state}, {counted(len(description.members), 'member')}")
    for line in aligned([[f"  {name}", value] for name, value in _facts(summary, description)]):
        yield line
    for member in description.members:
        yield terminal_line(_member_line(member))
        for line in aligned([[f"    {name}", value] for name, value in _member_facts(member)]):
            yield line
    for finding in description.findings:
        yield terminal_line(f"  finding: {finding}")


def _facts(summary: GroupSummary, description: GroupDescription) -> Iterator[tuple[str, str]]:
    epochs = "" if description.assignment_epoch is None else f", assignment epoch {description.assignment_epoch}"
    if summary.epoch is not None:
        yield ("generation" if summary.kind == "classic" else "epoch"), f"{summary.epoch}{epochs}"
    if summary.protocol_type:
        yield "protocol type", summary.protocol_type
    if description.assignor:
        yield "assignor", description.assignor
    if description.leader:
        yield "leader", description.leader
    if summary.offsets is not None:
        held = f", {summary.pending} held back by open transactions" if summary.pending else ""
        yield "offsets", f"{summary.offsets} partitions{held}"
    if summary.partition is not None:
        yield "log", f"__consumer_offsets-{summary.partition}"
    if summary.coordinator is not None:
        yield "coordinator", f"node {summary.coordinator}"
    for name, value in description.details.items():
        yield _words(name), _short(value)


def _member_line(member: MemberDescription) -> str:
    from metashell.groups.view import part_count

    static = f", static member {member.instance_id}" if member.instance_id is not None else ""
    epoch = f", epoch {member.epoch}" if member.epoch is not None else ""
    if member.epoch == _AWAY_EPOCH:
        epoch += " (it is away, and its place is kept)"
    state = f", {member.state}" if member.state else ""
    return f"  member {member.member_id}{static}: {member.member_type} protocol{epoch}{state}, {part_count(member.assigned)} partitions"


def _member_facts(member: MemberDescription) -> Iterator[tuple[str, str]]:
    from metashell.groups.view import parts_text

    yield "client", f"{member.client_id} at {member.client_host}"
    if member.rack:
        yield "rack", member.rack
    if member.topics:
        yield "subscribes to", ", ".join(member.topics)
    if member.regex:
        yield "subscribes to all like", member.regex
    yield "has", parts_text(member.assigned) or "nothing"
    if member.target is not None and member.target != member.assigned:
        yield "is to have", parts_text(member.target) or "nothing"
    if member.revoking:
        yield "has still to give up", parts_text(member.revoking)
    for finding in member.findings:
        yield "finding", finding


def _words(name: str) -> str:
    return name.replace("_", " ")


def _short(value: object) -> str:
    from metashell.forms import plain_text
    from metashell.groups.view import parts_text

    if isinstance(value, dict) and all(
        isinstance(numbers, list) and all(type(one) is int for one in numbers) for numbers in value.values()
    ):
        return parts_text(tuple((str(topic), tuple(numbers)) for topic, numbers in value.items())) or "nothing"
    return plain_text(value)
