"""A share group as ShareGroupDescribe shows it.

Source: golden scenarios share-life and describe-and-list.
"""

from __future__ import annotations

from metashell.codec import messages
from metashell.groups.context import Context
from metashell.groups.share.group import ShareGroup
from metashell.groups.share.member import Member
from metashell.groups.topics import Topics

_Response = messages.ShareGroupDescribeResponse


def described(context: Context, group: ShareGroup) -> _Response.DescribedGroup:
    """A group with its members. Partitions of topics that are gone are left out."""
    return _Response.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name(),
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=context.settings.share.assignors[0],
        members=tuple(_member(member, context.state.topics) for member in group.members.values()),
    )


def _member(member: Member, topics: Topics) -> _Response.Member:
    known = ((topics.with_id(id), numbers) for id, numbers in member.assigned.items())
    partitions = tuple(
        _Response.TopicPartitions(topic_id=topic.id, topic_name=topic.name, partitions=numbers)
        for topic, numbers in known
        if topic is not None
    )
    return _Response.Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.names,
        assignment=_Response.Assignment(topic_partitions=partitions),
    )
