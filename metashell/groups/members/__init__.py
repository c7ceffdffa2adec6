"""Group members as state machines that behave like Kafka's Java consumer. This module has their settings, outputs, and offset requests.

A driver passes in what happens to a client: its application subscribes, polls and closes, answers arrive, time passes. Each input returns
its outputs in order: requests to send, callbacks, the end. Callbacks come out of `poll` and `close` only, because Java calls the
application there; while one runs (until `called_back`) only heartbeats go on. So a slow application is one that polls late or whose
callbacks return late, and a lost connection is an answer that does not arrive (`unanswered`).

`classic.ClassicMember` is eager or cooperative by its strategies (KIP-429), `consumer.ConsumerMember` speaks KIP-848. The driver carries
requests and answers and decides how long they take: requests of one member share a connection, which brokers serve in order.
Source: org.apache.kafka.clients.consumer.ConsumerConfig, internals.ConsumerCoordinator, internals.CommitRequestManager."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from metashell.codec import error_codes
from metashell.codec.codes import OFFSET_COMMIT, OFFSET_FETCH
from metashell.codec.consumer_protocol import Partition, by_topic
from metashell.codec.messages import OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse
from metashell.groups.topics import Topics

Event = Literal["revoked", "assigned", "lost"]


class Send(NamedTuple):
    """A request to the coordinator. `ticket` identifies it for `answered`; it is unique within this member.

    Requests of one member travel on one connection, which a broker serves in order: an answer that waits holds back the next.
    """

    ticket: int
    api_key: int
    version: int
    body: Any


class Callback(NamedTuple):
    """A callback into the application, with sorted partitions. The member waits for `called_back`, which reports its return."""

    event: Event
    partitions: tuple[Partition, ...]


class Failed(NamedTuple):
    """The application's poll throws, and the member is dead. `code` is the error code, UNKNOWN_SERVER_ERROR if there is none."""

    code: int
    message: str


class Closed(NamedTuple):
    """The consumer's close has returned."""


Output = Send | Callback | Failed | Closed


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """A member's configuration. Units: ms. Shape: `member_id` is for the consumer protocol only, where the client makes it: a Uuid."""

    group_id: str
    client_id: str = ""
    member_id: str = ""
    instance_id: str | None = None
    rack: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    retry_backoff_ms: int = 100
    server_assignor: str | None = None
    finds_coordinator: bool = True
    """If False, the member assumes that it knows the coordinator, and asks again at once when it has moved."""
    first_offset: int = 0
    """The position in a partition without committed offset."""


NAMES_VERSION: Final = 9
IDS_VERSION: Final = 10
"""The first versions of OffsetCommit and OffsetFetch that name topics by id."""

Body = OffsetCommitRequest | OffsetFetchRequest


class CommitIdentity(NamedTuple):
    """The identity in a commit. With `uses_ids`, requests have topic ids, and fetches have the identity too."""

    group_id: str
    member_id: str
    generation: int
    instance_id: str | None
    uses_ids: bool


def commit_request(claim: CommitIdentity, positions: Mapping[Partition, int], topics: Topics) -> tuple[int, int, Body]:
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
    """Return the first error of any partition."""
    for topic in body.topics:
        for partition in topic.partitions:
            if partition.error_code != error_codes.NONE:
                return partition.error_code
    return error_codes.NONE


def fetch_request(claim: CommitIdentity, partitions: Iterable[Partition], topics: Topics) -> tuple[int, int, Body]:
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
    """Return the first error, and the committed offsets by partition: -1 for none."""
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


def _ids(claim: CommitIdentity, names: Iterable[str], topics: Topics) -> dict[str, bytes]:
    """Return topic ids; empty if names are used, which one unknown id requires."""
    if not claim.uses_ids:
        return {}
    known = {name: topics.named(name) for name in names}
    return {name: topic.id for name, topic in known.items() if topic} if all(known.values()) else {}


_NO_ID: Final = bytes(16)
