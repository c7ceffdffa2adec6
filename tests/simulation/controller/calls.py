"""What clients ask a controller for, and what its answers say: between the requests of the wire and the operations of the models."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import INVALID_PARTITIONS, NONE, RESOURCE_NOT_FOUND, TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION
from metashell.codec.releases import KRAFT_VERSION
from metashell.quorum.controller.decision import SUPPORTED_FEATURES

TIMEOUT_MS = 2_000
SET, DELETE, APPEND, SUBTRACT = range(4)
_OPERATIONS = {"set": SET, "clear": DELETE, "append": APPEND, "subtract": SUBTRACT}
SCRAM_SHA_256 = 1
PREFERRED = 0


class Call(NamedTuple):
    """A request, and how to read its answer.

    Shape: `outcome` gives (code, answer of the operation). A code that is in `known` is an answer that the model knows; any other one says
    that nothing was done.
    """

    message: Any
    outcome: Callable[[Any], tuple[int, Hashable]]
    known: frozenset[int] = frozenset({NONE})


def topic_call(operation: str, name: str, arguments: tuple[Any, ...]) -> Call:
    """An operation of the model `topic`."""
    if operation == "create":
        creating = messages.CreateTopicsRequest
        one = creating.CreatableTopic(name=name, num_partitions=arguments[0], replication_factor=1)
        return Call(
            creating(topics=(one,), timeout_ms=TIMEOUT_MS),
            lambda answer: _with_id(answer.topics[0]),
            frozenset({NONE, TOPIC_ALREADY_EXISTS}),
        )
    if operation == "delete":
        deleting = messages.DeleteTopicsRequest
        return Call(
            deleting(topics=(deleting.DeleteTopicState(name=name),), timeout_ms=TIMEOUT_MS),
            lambda answer: _with_id(answer.responses[0]),
            frozenset({NONE, UNKNOWN_TOPIC_OR_PARTITION}),
        )
    assert operation == "grow"
    growing = messages.CreatePartitionsRequest
    more = growing.CreatePartitionsTopic(name=name, count=arguments[0], assignments=None)
    return Call(
        growing(topics=(more,), timeout_ms=TIMEOUT_MS, validate_only=False),
        lambda answer: (answer.results[0].error_code, (answer.results[0].error_code, b"")),
        frozenset({NONE, INVALID_PARTITIONS, UNKNOWN_TOPIC_OR_PARTITION}),
    )


def _with_id(result: Any) -> tuple[int, Hashable]:
    return result.error_code, (result.error_code, bytes(result.topic_id))


def config_call(operation: str, resource: str, key: str, arguments: tuple[Any, ...]) -> Call:
    """An operation of the model `config`; the resource is a topic, "" for the default of all brokers."""
    asking = messages.IncrementalAlterConfigsRequest
    value = arguments[0] if arguments else None
    one = asking.AlterableConfig(name=key, config_operation=_OPERATIONS[operation], value=value)
    kind = TOPIC_RESOURCE if resource else BROKER_RESOURCE
    whole = asking.AlterConfigsResource(resource_type=kind, resource_name=resource, configs=(one,))
    return Call(asking(resources=(whole,), validate_only=False), lambda answer: (answer.responses[0].error_code,) * 2)


def credential_call(operation: str, user: str, number: int) -> Call:
    """An operation of the model `credential`; `number` makes its bytes."""
    asking = messages.AlterUserScramCredentialsRequest
    if operation == "put":
        made = asking.ScramCredentialUpsertion(
            name=user, mechanism=SCRAM_SHA_256, iterations=4096, salt=number.to_bytes(16, "big"), salted_password=bytes(32)
        )
        message = asking(deletions=(), upsertions=(made,))
    else:
        message = asking(deletions=(asking.ScramCredentialDeletion(name=user, mechanism=SCRAM_SHA_256),), upsertions=())
    return Call(message, lambda answer: (answer.results[0].error_code,) * 2, frozenset({NONE, RESOURCE_NOT_FOUND}))


def producer_ids_call(broker_id: int, broker_epoch: int) -> Call:
    """An operation of the model `producer ids`."""
    message = messages.AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    return Call(message, lambda answer: (answer.error_code, (answer.producer_id_start, answer.producer_id_len)))


def create_steady(name: str, partitions: int, replication: int) -> Any:
    """A topic that nobody deletes."""
    creating = messages.CreateTopicsRequest
    one = creating.CreatableTopic(name=name, num_partitions=partitions, replication_factor=replication)
    return creating(topics=(one,), timeout_ms=TIMEOUT_MS)


def reassign(name: str, partition: int, replicas: tuple[int, ...] | None) -> Any:
    """Move a partition, or with None leave it where it was."""
    asking = messages.AlterPartitionReassignmentsRequest
    one = asking.ReassignablePartition(partition_index=partition, replicas=replicas)
    return asking(timeout_ms=TIMEOUT_MS, topics=(asking.ReassignableTopic(name=name, partitions=(one,)),))


def elect(name: str, partition: int) -> Any:
    """Let the preferred replica lead."""
    asking = messages.ElectLeadersRequest
    whole = (asking.TopicPartitions(topic=name, partitions=(partition,)),)
    return asking(election_type=PREFERRED, topic_partitions=whole, timeout_ms=TIMEOUT_MS)


def list_reassignments(name: str, partition: int) -> Any:
    """Whether a partition moves."""
    asking = messages.ListPartitionReassignmentsRequest
    one = asking.ListPartitionReassignmentsTopics(name=name, partition_indexes=(partition,))
    return asking(timeout_ms=TIMEOUT_MS, topics=(one,))


class Isr(NamedTuple):
    """The ISR that a leader wants, as (broker id, epoch), and the epochs of the partition that it knows."""

    topic_id: bytes
    partition: int
    leader_epoch: int
    partition_epoch: int
    recovery: int
    members: tuple[tuple[int, int], ...]


def alter_partition(broker_id: int, broker_epoch: int, isr: Isr) -> Any:
    asking = messages.AlterPartitionRequest
    one = asking.PartitionData(
        partition_index=isr.partition,
        leader_epoch=isr.leader_epoch,
        new_isr_with_epochs=tuple(asking.BrokerState(broker_id=id, broker_epoch=epoch) for id, epoch in isr.members),
        leader_recovery_state=isr.recovery,
        partition_epoch=isr.partition_epoch,
    )
    return asking(broker_id=broker_id, broker_epoch=broker_epoch, topics=(asking.TopicData(topic_id=isr.topic_id, partitions=(one,)),))


def upgrade_kraft_version() -> Any:
    """Let the quorum become a dynamic one."""
    asking = messages.UpdateFeaturesRequest
    return asking(
        timeout_ms=TIMEOUT_MS, feature_updates=(asking.FeatureUpdateKey(feature=KRAFT_VERSION, max_version_level=1, upgrade_type=1),)
    )


def register(broker_id: int, cluster_id: str, incarnation_id: bytes, previous_epoch: int) -> Any:
    """A broker's registration with all that it can."""
    made = messages.BrokerRegistrationRequest
    return made(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation_id,
        listeners=(made.Listener(name="PLAINTEXT", host=f"b{broker_id}", port=9092),),
        features=tuple(
            made.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        ),
        rack=None,
        log_dirs=(bytes([2, broker_id]) * 8,),
        previous_broker_epoch=previous_epoch,
    )


def unregister(broker_id: int) -> Any:
    """Forget a broker that will not come back."""
    return messages.UnregisterBrokerRequest(broker_id=broker_id)
