"""Metadata and DescribeCluster: everything is at the one broker.

Source: kafka.server.KafkaApis.handleTopicMetadataRequest, handleDescribeCluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    INVALID_TOPIC_EXCEPTION,
    MISMATCHED_ENDPOINT_TYPE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_ENDPOINT_TYPE,
)
from metashell.codec.topic_names import fault_of_name
from metashell.group_server.cluster import Cluster
from metashell.group_server.offsets_log import TOPIC
from metashell.values import ZERO_UUID

_BROKERS: Final = 1
_NULL_NAME_SINCE: Final = 12
_ALL_OF_CLUSTER: Final = 0b1_1111_1010_0000
"""What may be done to a cluster, a bit for each operation. Source: AclEntry.supportedOperations."""
_Topic = messages.MetadataResponse.MetadataResponseTopic


def metadata(cluster: Cluster, request: Any, version: int) -> messages.MetadataResponse:
    """The broker, and the topics that are asked for."""
    made = messages.MetadataResponse
    broker = made.MetadataResponseBroker(node_id=cluster.node_id, host=cluster.address.host, port=cluster.address.port)
    return made(
        brokers=(broker,),
        cluster_id=cluster.id,
        controller_id=cluster.node_id,
        topics=tuple(_topics(cluster, request, version)),
    )


def asked_topics(request: Any, version: int) -> tuple[Any, ...] | None:
    """The topics that a Metadata request names, None for all."""
    topics: tuple[Any, ...] | None = request.topics
    return None if not topics and version == 0 else topics


def unknown_names(cluster: Cluster, request: Any, version: int) -> list[str]:
    """The legal names in a Metadata request that no topic has."""
    names = [topic.name for topic in asked_topics(request, version) or () if topic.name]
    return [name for name in names if name != TOPIC and cluster.topic(name) is None and fault_of_name(name) is None]


def _topics(cluster: Cluster, request: Any, version: int) -> Iterator[_Topic]:
    asked = asked_topics(request, version)
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
        partitions = (_partition(cluster, 0, 0),)
        return _Topic(name=name, topic_id=cluster.offsets_topic_id, is_internal=True, partitions=partitions)
    topic = cluster.topic(name)
    if topic is None:
        code = INVALID_TOPIC_EXCEPTION if fault_of_name(name) else UNKNOWN_TOPIC_OR_PARTITION
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
    allowed = _ALL_OF_CLUSTER if request.include_cluster_authorized_operations else -(1 << 31)
    return made(cluster_id=cluster.id, controller_id=cluster.node_id, brokers=(broker,), cluster_authorized_operations=allowed)
