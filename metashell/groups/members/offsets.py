"""The requests by which a member commits its positions and asks for them, by names or by topic ids, and their answers.

Source: org.apache.kafka.clients.consumer.internals.ConsumerCoordinator, CommitRequestManager.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from metashell.codec import error_codes
from metashell.codec.api_keys import OFFSET_COMMIT, OFFSET_FETCH
from metashell.codec.blobs.consumer_protocol import Partition, by_topic
from metashell.codec.messages import OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse
from metashell.groups.topics import Topics

NAMES_VERSION: Final = 9
IDS_VERSION: Final = 10
"""The first versions of both APIs that name topics by their ids."""

Body = OffsetCommitRequest | OffsetFetchRequest


class Claim(NamedTuple):
    """As whom a member commits. With `uses_ids` it speaks of topic ids, and says who it is also when it fetches."""

    group_id: str
    member_id: str
    generation: int
    instance_id: str | None
    uses_ids: bool


def commit_request(claim: Claim, positions: Mapping[Partition, int], topics: Topics) -> tuple[int, int, Body]:
    """Api key, version and body."""
    wanted = by_topic(positions)
    ids = _ids(claim, wanted, topics)
    body = OffsetCommitRequest(
        group_id=claim.group_id,
        generation_id_or_member_epoch=claim.generation,
        member_id=claim.member_id,
        group_instance_id=claim.instance_id,
        topics=tuple(
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name="" if ids else topic,
                topic_id=ids.get(topic, _NO_ID),
                partitions=tuple(
                    OffsetCommitRequest.OffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=positions[topic, partition], committed_metadata=""
                    )
                    for partition in partitions
                ),
            )
            for topic, partitions in wanted.items()
        ),
    )
    return OFFSET_COMMIT, IDS_VERSION if ids else NAMES_VERSION, body


def commit_error(body: OffsetCommitResponse) -> int:
    """The first error of a partition; all of them count, one is reported."""
    for topic in body.topics:
        for partition in topic.partitions:
            if partition.error_code != error_codes.NONE:
                return partition.error_code
    return error_codes.NONE


def fetch_request(claim: Claim, partitions: Iterable[Partition], topics: Topics) -> tuple[int, int, Body]:
    """Api key, version and body."""
    wanted = by_topic(partitions)
    ids = _ids(claim, wanted, topics)
    group = OffsetFetchRequest.OffsetFetchRequestGroup(
        group_id=claim.group_id,
        member_id=claim.member_id if claim.uses_ids else None,
        member_epoch=claim.generation if claim.uses_ids else -1,
        topics=tuple(
            OffsetFetchRequest.OffsetFetchRequestTopics(
                name="" if ids else topic, topic_id=ids.get(topic, _NO_ID), partition_indexes=tuple(indexes)
            )
            for topic, indexes in wanted.items()
        ),
    )
    return OFFSET_FETCH, IDS_VERSION if ids else NAMES_VERSION, OffsetFetchRequest(groups=(group,), require_stable=True)


def fetched(body: OffsetFetchResponse, topics: Topics) -> tuple[int, dict[Partition, int]]:
    """The first error, and the committed offsets by partition: -1 where there is none."""
    group = body.groups[0]
    code = group.error_code
    found: dict[Partition, int] = {}
    for topic in group.topics:
        known = None if topic.name else topics.with_id(topic.topic_id)
        name = topic.name or (known.name if known else "")
        for partition in topic.partitions:
            if partition.error_code == error_codes.NONE:
                found[name, partition.partition_index] = partition.committed_offset
            else:
                code = code or partition.error_code
    return code, found


def _ids(claim: Claim, names: Iterable[str], topics: Topics) -> dict[str, bytes]:
    """Topic ids, empty where names are used: also where one id is not known."""
    if not claim.uses_ids:
        return {}
    known = {name: topics.named(name) for name in names}
    return {name: topic.id for name, topic in known.items() if topic} if all(known.values()) else {}


_NO_ID: Final = bytes(16)
