"""Requests of every API with random contents, drawn from what may be there and from what may not."""

from __future__ import annotations

import random
from typing import Any

from metashell.codec import messages
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import FieldSchema, StructSchema
from metashell.quorum.controller import QuorumController, Request
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.controller import ROUTES
from tests.random_messages import RandomMessages

STRINGS = (
    *("", "t", "u", "nope", "a.b", "a_b", "bad name", "__cluster_metadata", "x" * 300, "é", "\0", "User:alice", "User:*", "kafka-cluster"),
    *(
        "retention.ms",
        "min.insync.replicas",
        "cleanup.policy",
        "unclean.leader.election.enable",
        "cordoned.log.dirs",
        "log.retention.hours",
    ),
    *(
        "metrics",
        "interval.ms",
        "match",
        "consumer.session.timeout.ms",
        "1",
        "2",
        "-1",
        "01",
        "3000",
        "true",
        "compact",
        "[",
        "client_id=[",
    ),
    *("user", "client-id", "ip", "10.0.0.1", "producer_byte_rate", "controller_mutation_rate", "connection_creation_rate", "PLAINTEXT"),
    *("metadata.version", "kraft.version", "eligible.leader.replicas.version", "group.version", "9" * 400, "-" + "9" * 30, "*"),
)
INTEGERS = (0, 1, 2, 3, 4, -1, -2, 5, 7, 8, 16, 30, 32, 99, 1000, 9092, 3000)
LIKELY: dict[str, tuple[Any, ...]] = {
    "broker_id": (1, 2, 3),
    "broker_ids": (1, 2, 3),
    "replicas": (1, 2, 3),
    "partition_index": (0, 1, 2),
    "partition_indexes": (0, 1, 2),
    "partitions": (0, 1, 2),
    "topic": ("t", "u", "v"),
    "topic_names": ("t", "u", "v"),
    "resource_name": ("t", "u", "", "1", "3", "g"),
    "resource_type": (2, 2, 4, 16, 32, 3),
    "config_operation": (0, 0, 1, 2, 3),
    "value": ("1", "2", "1000", "compact", "true", "nonsense"),
    "num_partitions": (-1, 1, 2),
    "replication_factor": (-1, 1, 2, 3),
    "count": (2, 3, 4, 5),
    "timeout_ms": (1000, 60000),
    "entity_type": ("user", "client-id", "ip"),
    "key": ("producer_byte_rate", "request_percentage", "controller_mutation_rate"),
    "resource_pattern_type": (3, 4),
    "operation": (2, 3, 4, 8),
    "permission_type": (2, 3),
    "principal": ("User:alice", "User:bob", "User:*"),
    "mechanism": (1, 2),
    "iterations": (4096, 8192),
    "feature": ("group.version", "eligible.leader.replicas.version", "transaction.version", "metadata.version"),
    "upgrade_type": (1, 2, 3),
    "max_version_level": (0, 1, 2),
    "election_type": (0, 1),
    "max_lifetime_ms": (-1, 1000),
    "leader_recovery_state": (0,),
}
"""What a field often holds that makes sense."""
NAMES = {
    "CreatableTopicConfig": ("retention.ms", "cleanup.policy", "min.insync.replicas", "unclean.leader.election.enable"),
    "AlterableConfig": ("retention.ms", "cleanup.policy", "min.insync.replicas", "unclean.leader.election.enable", "log.retention.ms"),
    "Listener": ("PLAINTEXT", "SSL"),
    "Feature": ("metadata.version", "group.version"),
    "ScramCredentialUpsertion": ("alice", "bob"),
    "ScramCredentialDeletion": ("alice", "bob"),
}
"""What the Name of a struct often is; that of any other is a topic's."""


class RandomRequests(RandomMessages):
    """Draws requests that fit the state of a controller more often than chance alone would."""

    strings, blobs, integers = STRINGS, (b"", b"x", bytes(64)), INTEGERS
    likely_part, null_part = 0.85, 0.2

    def __init__(self, controller: QuorumController, chance: random.Random, cluster_id: str) -> None:
        super().__init__(chance)
        self._state = controller.state
        self._cluster_id = cluster_id

    def draw(self) -> Request:
        """A request of any API at any version that is taken."""
        key = self._chance.choice(list(ROUTES))
        route = APIS[key]
        version = self._chance.randint(route.low, route.high)
        message = message_type("request", f"{route.name}Request")
        body = self.body(key, version)
        principal = self._chance.choice(("User:ANONYMOUS", "User:ANONYMOUS", "User:bob"))
        data = message.write(body, version)
        return Request(key, version, message.read(data, version), principal, is_forwarded=self._chance.random() < 0.3)

    def body(self, key: int, version: int) -> Any:
        """A request of this API and version."""
        message = message_type("request", f"{APIS[key].name}Request")
        made = self.message(message, version)
        self._fit(made, version)
        return made

    def likely(self, message: MessageType, struct: StructSchema, field: FieldSchema) -> tuple[Any, ...]:
        found = NAMES.get(struct.name, ("t", "u", "v")) if field.attribute == "name" else LIKELY.get(field.attribute, ())
        is_fitting = bool(found) and isinstance(found[0], str) == (field.type == "string") and field.type != "float64"
        return found if is_fitting else ()

    def uuids(self) -> tuple[bytes, ...]:
        topics = sorted(self._state.image.topics.by_id)
        directories = [directory for broker in self._state.image.cluster.brokers.values() for directory in broker.directories]
        return (bytes(16), bytes(15) + b"\1", bytes(15) + b"\2", b"\7" * 16, *topics, *topics, *directories)

    def _fit(self, body: Any, version: int) -> None:
        """Let a request come from a broker that is registered, for partitions as they are, most of the time."""
        chance = self._chance
        if hasattr(body, "cluster_id") and chance.random() < 0.9:
            body.cluster_id = self._cluster_id
        brokers = self._state.image.cluster.brokers
        if hasattr(body, "broker_epoch") and brokers and chance.random() < 0.9:
            broker = brokers[chance.choice(sorted(brokers))]
            body.broker_id, body.broker_epoch = broker.id, broker.epoch
        if hasattr(body, "current_metadata_offset") and chance.random() < 0.8:
            body.current_metadata_offset = self._state.next_write_offset
        if isinstance(body, messages.AlterPartitionRequest):
            _name_once(body)
        for topic in getattr(body, "topics", None) or ():
            for asked in getattr(topic, "partitions", None) or ():
                partition = self._state.partition(getattr(topic, "topic_id", b""), getattr(asked, "partition_index", -1))
                if partition is not None and hasattr(asked, "leader_epoch") and chance.random() < 0.9:
                    asked.leader_epoch, asked.partition_epoch = partition.leader_epoch, partition.partition_epoch
                    body.broker_id = partition.leader
                    if partition.leader in brokers:
                        body.broker_epoch = brokers[partition.leader].epoch
                    isr = tuple(chance.sample(partition.replicas, chance.randint(1, len(partition.replicas))))
                    if version < 3:
                        asked.new_isr = isr
                    else:
                        make = type(body).BrokerState
                        asked.new_isr_with_epochs = tuple(make(broker_id=id, broker_epoch=-1) for id in isr)


def _name_once(body: messages.AlterPartitionRequest) -> None:
    """Leave out what names a partition again: a leader that does so gets what it says, as from a real controller, also nonsense."""
    named: set[tuple[bytes, int]] = set()
    for topic in body.topics:
        kept = []
        for asked in topic.partitions:
            if (topic.topic_id, asked.partition_index) not in named:
                named.add((topic.topic_id, asked.partition_index))
                kept.append(asked)
        topic.partitions = tuple(kept)
