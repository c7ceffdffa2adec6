"""Changes to groups of a live cluster: their offsets, and groups themselves. Through brokers only.

A coordinator takes offsets from outside of a group only while the group has no members, so no check here has to be in time.
Source: org.apache.kafka.clients.admin.KafkaAdminClient (alterConsumerGroupOffsets, deleteConsumerGroupOffsets, deleteConsumerGroups and
their siblings for share groups); org.apache.kafka.tools.consumer.group.ConsumerGroupCommand; KIP-222, KIP-496, KIP-932.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from metashell.cli.admin.groups import SHARE, ask_coordinator, find_coordinators
from metashell.cli.admin.protocol import AdminError, check_answer
from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, NONE
from metashell.common.errors import MetashellError

if TYPE_CHECKING:
    from metashell.cli.admin.client import Admin

EARLIEST: Final = -2
LATEST: Final = -1
_COMMIT_BY_NAME: Final = 9
"""The last version of OffsetCommit that names topics."""
Key = tuple[str, int]
"""Topic and partition."""


def offsets_at(admin: Admin, leaders: Mapping[Key, int], timestamp: int) -> dict[Key, int | MetashellError]:
    """Return for each partition the first offset at a time (Unix ms, EARLIEST or LATEST), -1 if there is none, or the error.

    Shape: `leaders` has the leader of each partition that is asked about.
    """
    make = messages.ListOffsetsRequest
    by_leader: dict[int, dict[str, list[int]]] = {}
    for (topic, partition), leader in leaders.items():
        by_leader.setdefault(leader, {}).setdefault(topic, []).append(partition)
    requests = {
        leader: make(
            replica_id=-1,
            topics=tuple(
                make.ListOffsetsTopic(
                    name=topic,
                    partitions=tuple(make.ListOffsetsPartition(partition_index=id, timestamp=timestamp) for id in sorted(partitions)),
                )
                for topic, partitions in topics.items()
            ),
        )
        for leader, topics in by_leader.items()
    }
    found: dict[Key, int | MetashellError] = {}
    for leader, answer in admin.ask_all(requests).items():
        if isinstance(answer, MetashellError):
            found |= {key: answer for key, of in leaders.items() if of == leader}
            continue
        for topic in answer.topics:
            for one in topic.partitions:
                thing = f"{topic.name}-{one.partition_index}"
                found[topic.name, one.partition_index] = AdminError(one.error_code, None, thing) if one.error_code else one.offset
    return found


def share_offsets(admin: Admin, group_id: str) -> dict[Key, int]:
    """Return the start offset of each partition of a share group, -1 where it has none yet. Errors: AdminError; those of `Admin`."""
    make = messages.DescribeShareGroupOffsetsRequest

    def take(answer: Any, _: int) -> dict[Key, int]:
        group = answer.groups[0]
        check_answer(group.error_code, group.error_message, group_id)
        return {
            (topic.topic_name, one.partition_index): one.start_offset
            for topic in group.topics
            for one in topic.partitions
            if one.error_code == NONE
        }

    return ask_coordinator(
        admin, group_id, make(groups=(make.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None),)), take
    )


Results = dict[Key, AdminError | None]
"""The result for each partition, None for one that was done."""


def commit_offsets(admin: Admin, group_id: str, kind: str, offsets: Mapping[Key, int]) -> Results:
    """Set offsets of a group without members. Errors: AdminError if the group as a whole is refused; those of `Admin`."""
    if kind == SHARE:
        return _alter_share_offsets(admin, group_id, offsets)
    make = messages.OffsetCommitRequest
    topics = tuple(
        make.OffsetCommitRequestTopic(
            name=topic,
            partitions=tuple(
                make.OffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offsets[topic, partition], committed_leader_epoch=-1, committed_metadata=""
                )
                for partition in partitions
            ),
        )
        for topic, partitions in _by_topic(offsets).items()
    )
    request = make(group_id=group_id, generation_id_or_member_epoch=-1, member_id="", topics=topics)

    def take(answer: Any, _: int) -> Results:
        return {
            (topic.name, one.partition_index): _error(one.error_code, None, topic.name, one.partition_index)
            for topic in answer.topics
            for one in topic.partitions
        }

    return ask_coordinator(admin, group_id, request, take, _COMMIT_BY_NAME)


def _alter_share_offsets(admin: Admin, group_id: str, offsets: Mapping[Key, int]) -> Results:
    make = messages.AlterShareGroupOffsetsRequest
    topics = tuple(
        make.AlterShareGroupOffsetsRequestTopic(
            topic_name=topic,
            partitions=tuple(
                make.AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offsets[topic, partition])
                for partition in partitions
            ),
        )
        for topic, partitions in _by_topic(offsets).items()
    )

    def take(answer: Any, _: int) -> Results:
        check_answer(answer.error_code, answer.error_message, group_id)
        return {
            (topic.topic_name, one.partition_index): _error(one.error_code, one.error_message, topic.topic_name, one.partition_index)
            for topic in answer.responses
            for one in topic.partitions
        }

    return ask_coordinator(admin, group_id, make(group_id=group_id, topics=topics), take)


def delete_offsets(admin: Admin, group_id: str, partitions: Iterable[Key]) -> Results:
    """Delete offsets of topics that no member of a group subscribes to. Errors: AdminError if the group is refused; those of `Admin`."""
    make = messages.OffsetDeleteRequest
    topics = tuple(
        make.OffsetDeleteRequestTopic(name=topic, partitions=tuple(make.OffsetDeleteRequestPartition(partition_index=id) for id in ids))
        for topic, ids in _by_topic(partitions).items()
    )

    def take(answer: Any, _: int) -> Results:
        check_answer(answer.error_code, None, group_id)
        return {
            (topic.name, one.partition_index): _error(one.error_code, None, topic.name, one.partition_index)
            for topic in answer.topics
            for one in topic.partitions
        }

    return ask_coordinator(admin, group_id, make(group_id=group_id, topics=topics), take)


def delete_share_offsets(admin: Admin, group_id: str, topics: Sequence[str]) -> dict[str, AdminError | None]:
    """Delete the offsets of topics of a share group, and return the result by topic. Errors: AdminError; those of `Admin`."""
    make = messages.DeleteShareGroupOffsetsRequest
    request = make(group_id=group_id, topics=tuple(make.DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics))

    def take(answer: Any, _: int) -> dict[str, AdminError | None]:
        check_answer(answer.error_code, answer.error_message, group_id)
        return {
            one.topic_name: AdminError(one.error_code, one.error_message, one.topic_name) if one.error_code else None
            for one in answer.responses
        }

    return ask_coordinator(admin, group_id, request, take)


def delete_groups(admin: Admin, group_ids: Sequence[str]) -> dict[str, MetashellError | None]:
    """Delete groups without members, with their offsets, and return the result by group. Errors: those of `Admin`."""
    make = messages.DeleteGroupsRequest
    found: dict[str, MetashellError | None] = {}
    by_node: dict[int, list[str]] = {}
    for id, node in find_coordinators(admin, group_ids).items():
        if isinstance(node, AdminError):
            found[id] = node
        else:
            by_node.setdefault(node, []).append(id)
    for node, ids in by_node.items():
        try:
            answer = admin.ask(make(groups_names=tuple(ids)), to=node)
        except MetashellError as error:
            found |= dict.fromkeys(ids, error)
            continue
        for one in answer.results:
            # Sent twice, since the connection broke: the first time may have done it.
            is_done = one.error_code == NONE or (admin.again and one.error_code == GROUP_ID_NOT_FOUND)
            found[one.group_id] = None if is_done else AdminError(one.error_code, getattr(one, "error_message", None), one.group_id)
    return found


def _by_topic(partitions: Iterable[Key]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        found.setdefault(topic, []).append(partition)
    return found


def _error(code: int, message: str | None, topic: str, partition: int) -> AdminError | None:
    return AdminError(code, message, f"{topic}-{partition}") if code != NONE else None
