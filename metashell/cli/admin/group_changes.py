"""Changes to groups of a live cluster: their offsets, and groups themselves. Through brokers only.

A coordinator takes offsets from outside of a group only while the group has no members, so no check here has to be in time.
Source: org.apache.kafka.clients.admin.KafkaAdminClient (alterConsumerGroupOffsets, deleteConsumerGroupOffsets, deleteConsumerGroups and
their siblings for share groups); org.apache.kafka.tools.consumer.group.ConsumerGroupCommand; KIP-222, KIP-496, KIP-932.

Batches that are fetched from the leaders of their partitions: the first at an offset, and the newest of a group's log. It takes the right
to read the topic; without it, nothing is found. Source: org.apache.kafka.clients.consumer.internals.Fetcher; KIP-74."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.cli.admin.groups import SHARE, ask_coordinator, end_offsets, find_coordinators
from metashell.cli.admin.protocol import AdminError, check_answer
from metashell.codec import messages
from metashell.codec.batches import BatchHeader, RecordBatch, read_batch_header
from metashell.codec.coordinator import coordinator_partition
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, NONE
from metashell.codec.framing import checked_batches
from metashell.common.errors import LogCorruptError, MetashellError
from metashell.groups.log import KeysOf, read_record

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


OFFSETS_TOPIC: Final = "__consumer_offsets"
_FETCH_BY_NAME: Final = 12
"""The last version of Fetch that names topics, which brokers of 2.7 and later support."""


def first_batches(admin: Admin, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], BatchHeader]:
    """Return the header of the batch at each offset, of the partitions that the client may read and whose log still has it.

    Each request asks for one byte, for which a leader returns one batch.
    """
    found: dict[tuple[str, int], BatchHeader] = {}
    leaders = {key: end.leader for key, end in end_offsets(admin, offsets).items()}
    made = messages.FetchRequest
    for (topic, partition), offset in offsets.items():
        if (topic, partition) not in leaders:
            continue
        wanted = made.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1)
        request = made(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=(made.FetchTopic(topic=topic, partitions=(wanted,)),))
        try:
            answer = admin.ask(request, to=leaders[topic, partition], version=_FETCH_BY_NAME)
            data = next(bytes(one.records or b"") for response in answer.responses for one in response.partitions if one.error_code == NONE)
            found[topic, partition] = read_batch_header(data, 0)
        except (MetashellError, StopIteration):
            continue
    return found


class EpochRecord(NamedTuple):
    """The newest record of a group's generation or epoch: its number, its time (Unix ms) and its place in the log of groups."""

    epoch: int
    ms: int
    offset: int
    partition: int


def newest_epoch(admin: Admin, group_id: str) -> EpochRecord | None:
    """Return the newest generation or epoch among the last records of the group's log, None if it is not there or may not be read.

    Only the last `_LOG_OFFSETS` offsets are fetched, in at most `_LOG_FETCHES` requests.
    """
    asked = messages.MetadataRequest
    topics = admin.ask(asked(topics=(asked.MetadataRequestTopic(name=OFFSETS_TOPIC),), allow_auto_topic_creation=False)).topics
    if not topics or not topics[0].partitions:
        return None
    place = OFFSETS_TOPIC, coordinator_partition(group_id, len(topics[0].partitions))
    end = end_offsets(admin, [place]).get(place)
    if end is None or end.end_offset is None:
        return None
    keys, found, at = KeysOf(group_id), None, max(end.end_offset - _LOG_OFFSETS, 0)
    for _ in range(_LOG_FETCHES):
        batches = _fetched(admin, place, end.leader, at)
        for batch in batches:
            at = batch.header.last_offset + 1
            for record in () if batch.header.is_control else batch.records():
                if record.key is None or record.value is None or not keys.has(record.key):
                    continue
                read = read_record(record.key, record.value)
                number = None if read is None or read.type not in _EPOCHS else getattr(read.value, _EPOCHS[read.type])
                if number is not None:
                    found = EpochRecord(number, record.timestamp, record.offset, place[1])
        if not batches or at >= end.end_offset:
            break
    return found


_EPOCHS: Final = {2: "generation", 3: "epoch", 11: "epoch", 17: "epoch"}
"""The types of records that hold a group's generation or epoch, and its field."""
_LOG_OFFSETS: Final = 5000
_LOG_FETCHES: Final = 8


def _fetched(admin: Admin, place: tuple[str, int], leader: int, offset: int) -> list[RecordBatch]:
    """Return the whole batches of one answer, none if the partition may not be read."""
    made = messages.FetchRequest
    wanted = made.FetchPartition(partition=place[1], fetch_offset=offset, partition_max_bytes=1 << 20)
    request = made(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=(made.FetchTopic(topic=place[0], partitions=(wanted,)),))
    answer = admin.ask(request, to=leader, version=_FETCH_BY_NAME)
    found: list[RecordBatch] = []
    for response in answer.responses:
        for partition in response.partitions:
            # The last batch of an answer may be cut.
            with suppress(LogCorruptError):
                found.extend(checked_batches(bytes(partition.records or b""), OFFSETS_TOPIC))
    return found
