"""ConsumerGroupDescribe.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.consumerGroupDescribe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from metashell.codec.error_codes import INVALID_GROUP_ID
from metashell.codec.messages import ConsumerGroupDescribeResponse
from metashell.groups.assignors.server_group import in_java_order
from metashell.groups.consumer.description import most_wanted
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.consumer.leaving import known_group
from metashell.groups.consumer.member import Member
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.request import Answer, Request
from metashell.groups.topics import Topics

CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1

Group = ConsumerGroupDescribeResponse.DescribedGroup
Assignment = ConsumerGroupDescribeResponse.Assignment


def describe(context: Context, request: Request, now_ms: int) -> Decision:
    groups = tuple(_described(context, group_id) for group_id in request.body.group_ids)
    return Decision(answers=[Answer(request.ticket, ConsumerGroupDescribeResponse(groups=groups))])


def _described(context: Context, group_id: str) -> Group:
    try:
        if not group_id:
            raise GroupError(INVALID_GROUP_ID)
        group = known_group(context, group_id)
    except GroupError as error:
        return Group(group_id=group_id, error_code=error.code, error_message=error.message)
    topics = context.state.topics
    return Group(
        group_id=group_id,
        group_state=group.state_name(),
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=most_wanted(group.assignors) or context.settings.consumer.assignors[0],
        members=tuple(_member(group, member, topics) for member in group.members.values()),
    )


def _member(group: ConsumerGroup, member: Member, topics: Topics) -> ConsumerGroupDescribeResponse.Member:
    """What a member has yet to give up is shown with what it has."""
    held = {topic_id: tuple(epochs) for topic_id, epochs in member.assigned.items()}
    for topic_id, epochs in member.revoking.items():
        held[topic_id] = (*held.get(topic_id, ()), *epochs)
    return ConsumerGroupDescribeResponse.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.names,
        subscribed_topic_regex=member.regex,
        assignment=_assignment(held, topics),
        target_assignment=_assignment(in_java_order(group.target_of(member.member_id)), topics),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(partitions: Mapping[bytes, Iterable[int]], topics: Topics) -> Assignment:
    """Topics that are gone are left out."""
    made = ConsumerGroupDescribeResponse.TopicPartitions
    named = ((topics.with_id(topic_id), numbers) for topic_id, numbers in partitions.items())
    return Assignment(
        topic_partitions=tuple(
            made(topic_id=topic.id, topic_name=topic.name, partitions=tuple(numbers)) for topic, numbers in named if topic is not None
        )
    )
