"""Metadata, DescribeCluster, ListOffsets, Fetch and OffsetForLeaderEpoch, from the metadata image and the coordinator's log.

The log of a partition ends at the largest offset that a group has committed for it, as if retention had deleted all before. The partitions
of `__consumer_offsets` hold the batches that the coordinator has written.

Who wants messages is refused with POLICY_VIOLATION, which clients report and do not retry: an error that asks for patience, or a closed
connection, makes them try again until their own timeouts end, or for ever. A producer id that only Produce could use is refused with
CLUSTER_AUTHORIZATION_FAILED, as by a cluster whose rights let this client write nowhere: librdkafka retries after every other error that
fits. docs/quorum.md lists what each client was seen to do.

A member of a group has to fetch: a consumer without answers to its fetches leaves its group. So a client that takes part in a group, or
commits for one, gets partitions without records, and waits for new ones as at any broker. A client that has fetched for `PATIENCE_MS` and
was never in a group waits for messages alone, in vain, and is refused. The time is for a client that comes back: after a restart of this
listener its consumer may fetch before it finds its coordinator. `__consumer_offsets` has records, and is read by anybody.

Source: kafka.server.KafkaApis: handleTopicMetadataRequest, handleDescribeCluster, handleFetchRequest, handleListOffsetRequest,
handleOffsetForLeaderEpochRequest; org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde; KIP-98 for transaction markers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from metashell.codec import codes, messages
from metashell.codec.error_codes import (
    FETCH_SESSION_ID_NOT_FOUND,
    INVALID_TOPIC_EXCEPTION,
    MISMATCHED_ENDPOINT_TYPE,
    NONE,
    OFFSET_OUT_OF_RANGE,
    POLICY_VIOLATION,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_ENDPOINT_TYPE,
)
from metashell.codec.validation import topic_name_fault
from metashell.common.values import ZERO_UUID, group_log_topic_id
from metashell.groups.coordinator.coordinator import Shard
from metashell.groups.decision import CLUSTER_OPERATIONS
from metashell.groups.log.group_log import TOPIC, GroupLog, batch_bytes
from metashell.groups.topics import Topic
from metashell.metadata.image import MetadataImage
from metashell.metadata.image.topics import TopicImage
from metashell.net.addresses import Address

_BROKERS: Final = 1
_NULL_NAME_SINCE: Final = 12
_Topic = messages.MetadataResponse.MetadataResponseTopic


def answer_metadata(cluster: Cluster, request: Any, version: int) -> messages.MetadataResponse:
    """Answer Metadata with this broker and the requested topics."""
    made = messages.MetadataResponse
    broker = made.MetadataResponseBroker(node_id=cluster.node_id, host=cluster.address.host, port=cluster.address.port)
    return made(
        brokers=(broker,),
        cluster_id=cluster.id,
        controller_id=cluster.node_id,
        topics=tuple(_topics(cluster, request, version)),
    )


def requested_topics(request: Any, version: int) -> tuple[Any, ...] | None:
    """Return the topics that a Metadata request names, None for all."""
    topics: tuple[Any, ...] | None = request.topics
    return None if not topics and version == 0 else topics


def unknown_names(cluster: Cluster, request: Any, version: int) -> list[str]:
    """Return the legal names in a Metadata request that no topic has."""
    names = [topic.name for topic in requested_topics(request, version) or () if topic.name]
    return [name for name in names if name != TOPIC and cluster.topic(name) is None and topic_name_fault(name) is None]


def _topics(cluster: Cluster, request: Any, version: int) -> Iterator[_Topic]:
    asked = requested_topics(request, version)
    if asked is None:
        yield from (_topic(cluster, name) for name in [*sorted(cluster.image.topics.by_name), TOPIC])
        return
    for topic in asked:
        if topic.topic_id != ZERO_UUID:
            name = cluster.name_of(topic.topic_id)
            nobody = None if version >= _NULL_NAME_SINCE else ""
            yield _topic(cluster, name) if name is not None else _Topic(error_code=UNKNOWN_TOPIC_ID, name=nobody, topic_id=topic.topic_id)
        else:
            yield _topic(cluster, topic.name or "")


def _topic(cluster: Cluster, name: str) -> _Topic:
    if name == TOPIC:
        partitions = tuple(_partition(cluster, id, 0) for id in range(cluster.offsets_partitions))
        return _Topic(name=name, topic_id=cluster.offsets_topic_id, is_internal=True, partitions=partitions)
    topic = cluster.topic(name)
    if topic is None:
        code = INVALID_TOPIC_EXCEPTION if topic_name_fault(name) else UNKNOWN_TOPIC_OR_PARTITION
        return _Topic(error_code=code, name=name)
    partitions = tuple(_partition(cluster, id, state.leader_epoch) for id, state in sorted(topic.partitions.items()))
    return _Topic(name=name, topic_id=topic.id, partitions=partitions)


def _partition(cluster: Cluster, id: int, leader_epoch: int) -> Any:
    here = (cluster.node_id,)
    return messages.MetadataResponse.MetadataResponsePartition(
        partition_index=id, leader_id=cluster.node_id, leader_epoch=leader_epoch, replica_nodes=here, isr_nodes=here
    )


def describe_cluster(cluster: Cluster, request: Any, version: int) -> messages.DescribeClusterResponse:
    """The broker again."""
    made = messages.DescribeClusterResponse
    if request.endpoint_type != _BROKERS:
        known = request.endpoint_type == 1 + _BROKERS
        text = (
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
            if known
            else f"Unsupported endpoint type {request.endpoint_type}"
        )
        return made(error_code=MISMATCHED_ENDPOINT_TYPE if known else UNSUPPORTED_ENDPOINT_TYPE, error_message=text)
    broker = made.DescribeClusterBroker(broker_id=cluster.node_id, host=cluster.address.host, port=cluster.address.port)
    allowed = CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else -(1 << 31)
    return made(cluster_id=cluster.id, controller_id=cluster.node_id, brokers=(broker,), cluster_authorized_operations=allowed)


TOPIC_IDS_SINCE: Final = 13
_LEADER_EPOCHS_SINCE: Final = 4
_LATEST: Final = -1
_EARLIEST: Final = -2
_EARLIEST_LOCAL: Final = -4
_NO_TIMESTAMP: Final = -1
_MAX_BYTES: Final = 50 * 1024 * 1024


class PartitionReads:
    """The readable logs of a cluster's partitions."""

    def __init__(self, cluster: Cluster, shard: Shard, log: GroupLog | None = None) -> None:
        """`log` has what the coordinator wrote, unless the shard keeps it in memory."""
        self._cluster = cluster
        self._shard = shard
        self._offsets = log or OffsetsLog(shard)
        cluster.offsets_partitions = self._offsets.partitions

    def bounds(self, name: str, partition: int) -> tuple[int, int] | None:
        """Return begin and end of a partition's log, None if there is no such partition."""
        if name == TOPIC:
            return self._offsets.bounds(partition)
        if self._cluster.leader_epoch(name, partition) is None:
            return None
        key = (name, partition)
        groups = self._shard.coordinator.state.offsets.values()
        return 0, max(0, max((found.offset for offsets in groups if (found := offsets.get(key)) is not None), default=0))

    def list_offsets(self, request: Any, version: int) -> messages.ListOffsetsResponse:
        """Answer ListOffsets with the begin or end of each partition; no record has a timestamp."""
        made = messages.ListOffsetsResponse.ListOffsetsTopicResponse
        return messages.ListOffsetsResponse(
            topics=tuple(
                made(name=topic.name, partitions=tuple(self._list_offset(topic.name, partition, version) for partition in topic.partitions))
                for topic in request.topics
            )
        )

    def _list_offset(self, name: str, partition: Any, version: int) -> Any:
        made = messages.ListOffsetsResponse.ListOffsetsPartitionResponse
        index = partition.partition_index
        bounds = self.bounds(name, index)
        epoch = self._cluster.leader_epoch(name, index)
        if bounds is None or epoch is None:
            return made(partition_index=index, error_code=UNKNOWN_TOPIC_OR_PARTITION)
        start, end = bounds
        offset = {_LATEST: end, _EARLIEST: start, _EARLIEST_LOCAL: start}.get(partition.timestamp, -1)
        tells_epoch = offset >= 0 and version >= _LEADER_EPOCHS_SINCE
        return made(partition_index=index, timestamp=_NO_TIMESTAMP, offset=offset, leader_epoch=epoch if tells_epoch else -1)

    def end_offsets_of_epochs(self, request: Any) -> messages.OffsetForLeaderEpochResponse:
        """Answer OffsetForLeaderEpoch: every requested epoch ends at the end of the log."""
        made = messages.OffsetForLeaderEpochResponse
        return made(
            topics=tuple(
                made.OffsetForLeaderTopicResult(
                    topic=topic.topic, partitions=tuple(self._epoch_end(topic.topic, partition) for partition in topic.partitions)
                )
                for topic in request.topics
            )
        )

    def _epoch_end(self, name: str, partition: Any) -> Any:
        made = messages.OffsetForLeaderEpochResponse.EpochEndOffset
        bounds = self.bounds(name, partition.partition)
        if bounds is None:
            return made(partition=partition.partition, error_code=UNKNOWN_TOPIC_OR_PARTITION)
        return made(partition=partition.partition, leader_epoch=partition.leader_epoch, end_offset=bounds[1])

    def fetch(self, request: Any, version: int, is_refused: bool = False) -> tuple[messages.FetchResponse, bool]:
        """Return the answer to a Fetch, and whether it has data or errors; without them it may wait for `max_wait_ms`.

        With `is_refused`, partitions that will never have records get a final error.
        """
        made = messages.FetchResponse
        if request.session_id:
            return made(error_code=FETCH_SESSION_ID_NOT_FOUND), True
        found = []
        left = min(request.max_bytes, _MAX_BYTES)
        is_said = False
        for topic in request.topics:
            name = topic.topic if version < TOPIC_IDS_SINCE else self._cluster.name_of(topic.topic_id)
            partitions = []
            for partition in topic.partitions:
                data = self._fetch(name, partition, left, is_refused)
                left -= len(data.records)
                is_said = is_said or bool(data.records) or data.error_code != NONE
                partitions.append(data)
            found.append(made.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=tuple(partitions)))
        return made(responses=tuple(found)), is_said

    def _fetch(self, name: str | None, partition: Any, size_max: int, is_refused: bool) -> Any:
        made = messages.FetchResponse.PartitionData
        index, offset = partition.partition, partition.fetch_offset
        bounds = None if name is None else self.bounds(name, index)
        if bounds is None:
            code = UNKNOWN_TOPIC_ID if name is None else UNKNOWN_TOPIC_OR_PARTITION
            return made(partition_index=index, error_code=code, high_watermark=-1, records=b"")
        start, end = bounds
        if is_refused and name != TOPIC:
            return made(partition_index=index, error_code=POLICY_VIOLATION, high_watermark=-1, records=b"")
        if not start <= offset <= end:
            return made(partition_index=index, error_code=OFFSET_OUT_OF_RANGE, high_watermark=-1, records=b"")
        data = b""
        if name == TOPIC and offset < end and size_max > 0:
            data = self._offsets.read(index, offset, min(size_max, partition.partition_max_bytes))
        return made(
            partition_index=index,
            high_watermark=end,
            last_stable_offset=end,
            log_start_offset=start,
            aborted_transactions=None,
            records=data,
        )


class OffsetsLog:
    """The batches of a shard in memory, as the only partition of the offsets topic; encoded at their first fetch."""

    partitions: Final = 1

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._bases: list[int] = []
        self._batches: list[bytes] = []

    def bounds(self, partition: int) -> tuple[int, int] | None:
        """Return begin and end of a partition; None if there is no such partition."""
        return (0, self._shard.end_offset) if partition == 0 else None

    def read(self, partition: int, offset: int, size_max: int) -> bytes:
        """Return whole batches from the one with `offset` on, up to `size_max` bytes but at least one."""
        for batch in self._shard.written[len(self._batches) :]:
            data = batch_bytes(batch)
            self._bases.append(batch.base_offset)
            self._batches.append(data)
        first = max(0, bisect_right(self._bases, offset) - 1)
        found: list[bytes] = []
        size = 0
        for data in self._batches[first:]:
            if found and size + len(data) > size_max:
                break
            found.append(data)
            size += len(data)
        return b"".join(found)


@dataclass(slots=True)
class Cluster:
    """The cluster as its one reachable broker shows it: every partition is led by it.

    `image` is replaced by a newer one. `offsets_topic_id` is that of `__consumer_offsets`, which no image has.
    """

    id: str
    node_id: int
    address: Address
    image: MetadataImage
    offsets_partitions: int = 1

    @property
    def offsets_topic_id(self) -> bytes:
        return group_log_topic_id(self.id)

    def topic(self, name: str) -> TopicImage | None:
        return self.image.topics.by_name.get(name)

    def name_of(self, id: bytes) -> str | None:
        """Return the name of a topic, None for an unknown id."""
        if id == self.offsets_topic_id:
            return TOPIC
        found = self.image.topics.by_id.get(id)
        return None if found is None else found.name

    def leader_epoch(self, name: str, partition: int) -> int | None:
        """Return the leader epoch of a partition, None if there is no such partition."""
        if name == TOPIC:
            return 0 if 0 <= partition < self.offsets_partitions else None
        topic = self.topic(name)
        if topic is None or not topic.has_partition(partition):
            return None
        return topic.partitions[partition].leader_epoch


class ImageTopics:
    """A `Topics` over one image. Topics are converted at their first use; the view of the next image reuses unchanged ones."""

    def __init__(self, image: MetadataImage, version: int, before: ImageTopics | None = None) -> None:
        self.image = image
        self._version = version
        self._racks = {id: broker.rack for id, broker in image.cluster.brokers.items()}
        self._known: dict[bytes, tuple[TopicImage, Topic]] = {}
        if before is not None and before._racks == self._racks:
            self._known = before._known

    @property
    def version(self) -> int:
        return self._version

    def named(self, name: str) -> Topic | None:
        return self._topic(self.image.topics.by_name.get(name))

    def with_id(self, id: bytes) -> Topic | None:
        return self._topic(self.image.topics.by_id.get(id))

    def names(self) -> Iterator[str]:
        return iter(self.image.topics.by_name)

    def _topic(self, topic: TopicImage | None) -> Topic | None:
        if topic is None:
            return None
        known = self._known.get(topic.id)
        if known is None or known[0] is not topic:
            known = self._known[topic.id] = topic, Topic(topic.id, topic.name, self._racks_of(topic))
        return known[1]

    def _racks_of(self, topic: TopicImage) -> tuple[tuple[str, ...], ...]:
        found = []
        for _, partition in sorted(topic.partitions.items()):
            racks = (self._racks.get(id) for id in partition.replicas)
            found.append(tuple(sorted(rack for rack in racks if rack is not None)))
        return tuple(found)


def changed_topics(before: MetadataImage, after: MetadataImage) -> tuple[set[str], set[str]]:
    """Return the names of new or changed topics, and of deleted ones. A topic that was deleted and created again is in both."""
    if before.topics is after.topics:
        return set(), set()
    old, new = before.topics.by_name, after.topics.by_name
    changed = {name for name, topic in new.items() if old.get(name) is not topic}
    deleted = {name for name, topic in old.items() if name not in new or new[name].id != topic.id}
    return changed, deleted


KEEPS_NO_MESSAGES: Final = "this listener keeps no messages, start a broker of Kafka"
PATIENCE_MS: Final = 15_000
"""A member is heard of within this time: a third of the usual session is the longest pause between two heartbeats."""
CLIENTS_MAX: Final = 1_000
"""The most clients that are remembered; who was heard of longest ago is forgotten."""
OF_GROUPS: Final = frozenset(
    (
        codes.OFFSET_COMMIT,
        codes.JOIN_GROUP,
        codes.HEARTBEAT,
        codes.SYNC_GROUP,
        codes.CONSUMER_GROUP_HEARTBEAT,
        codes.STREAMS_GROUP_HEARTBEAT,
    )
)
"""APIs whose sender takes part in a group. Who only looks for a coordinator or for offsets may still want to read messages alone."""


class Clients:
    """The clients that fetch, by client id and host. Units: ms of a clock that never goes back."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], int | None] = {}
        """When a client first fetched; None for one that takes part in groups."""

    def joins_group(self, client_id: str, host: str) -> None:
        self._put((client_id, host), None)

    def may_fetch(self, client_id: str, host: str, now_ms: int) -> bool:
        """Return whether a client's fetch is answered as a consumer's."""
        key = client_id, host
        since = self._since.get(key, now_ms)
        self._put(key, since)
        return since is None or now_ms - since < PATIENCE_MS

    def _put(self, key: tuple[str, str], since: int | None) -> None:
        self._since.pop(key, None)
        self._since[key] = since
        if len(self._since) > CLIENTS_MAX:
            del self._since[next(iter(self._since))]
