"""A consumer group as an operator sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metashell.groups.consumer.member import STATE_NAMES, Member
from metashell.groups.consumer.records import Target
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, named_parts


def describe_group(
    summary: GroupSummary,
    members: Iterable[Member],
    targets: Mapping[str, Target],
    assignors: Mapping[str, int],
    assignment_epoch: int,
    topics: Topics,
) -> GroupDescription:
    """The assignor is the one that most members ask for; None where nobody asks and the broker's default is used."""
    return GroupDescription(
        summary=summary,
        members=tuple(_describe(member, targets.get(member.member_id, {}), topics) for member in members),
        assignor=most_wanted(assignors),
        assignment_epoch=assignment_epoch,
    )


def most_wanted(counts: Mapping[str, int]) -> str | None:
    """The assignor that most members ask for; of equal ones the first."""
    return max(counts, key=lambda name: counts[name], default=None)


def _describe(member: Member, target: Target, topics: Topics) -> MemberDescription:
    classic = member.classic
    return MemberDescription(
        member_id=member.member_id,
        member_type="consumer" if classic is None else "classic",
        client_id=member.client_id,
        client_host=member.client_host,
        instance_id=member.instance_id,
        rack=member.rack_id,
        epoch=member.epoch,
        state=STATE_NAMES.get(member.state, f"UNKNOWN({member.state})"),
        topics=tuple(sorted(member.names)),
        regex=member.regex or None,
        assigned=named_parts(member.assigned.items(), topics),
        target=named_parts(target.items(), topics),
        revoking=named_parts(member.revoking.items(), topics),
        details={
            "previous_epoch": member.previous_epoch,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
            **({} if member.server_assignor is None else {"server_assignor": member.server_assignor}),
            **(
                {}
                if classic is None
                else {"session_timeout_ms": classic.session_timeout_ms, "protocols": [name for name, _ in classic.protocols]}
            ),
        },
    )
