"""Subscriptions and assignments of protocol type `consumer` as values, both ways.

Source: org.apache.kafka.clients.consumer.internals.ConsumerProtocol; KIP-429, 792, 881.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from metashell.codec.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from metashell.codec.plain import TrailingBytesError
from metashell.codec.registry import message_type
from metashell.errors import DecodeError

LATEST_VERSION: Final = 3
_VERSION_SIZE: Final = 2

Partition = tuple[str, int]
"""Topic and partition."""


class Subscription(NamedTuple):
    """The metadata that a member sends when it joins. `owned` are its claims, `generation` is that in which it got them."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[Partition, ...] = ()
    generation: int = -1
    rack: str | None = None
    version: int = LATEST_VERSION


class Assignment(NamedTuple):
    """The assignment that a member gets from the group's leader: partitions in the leader's order."""

    partitions: tuple[Partition, ...]
    user_data: bytes | None = None
    version: int = LATEST_VERSION


def subscription_bytes(subscription: Subscription) -> bytes:
    """Topics and owned partitions are written sorted, as every Java client does."""
    body = ConsumerProtocolSubscription(
        topics=tuple(sorted(subscription.topics)),
        user_data=subscription.user_data,
        owned_partitions=tuple(
            ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=tuple(partitions))
            for topic, partitions in by_topic(sorted(subscription.owned)).items()
        ),
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    return _written("ConsumerProtocolSubscription", body, subscription.version)


def assignment_bytes(assignment: Assignment) -> bytes:
    body = ConsumerProtocolAssignment(
        assigned_partitions=tuple(
            ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=tuple(partitions))
            for topic, partitions in by_topic(assignment.partitions).items()
        ),
        user_data=assignment.user_data,
    )
    return _written("ConsumerProtocolAssignment", body, assignment.version)


def read_subscription(raw: bytes) -> Subscription:
    """Bytes of a newer version are read as far as we know them. Errors: DecodeError."""
    version, body, _ = read_consumer_blob("ConsumerProtocolSubscription", raw)
    owned = tuple((one.topic, partition) for one in body.owned_partitions for partition in one.partitions) if version > 0 else ()
    generation = body.generation_id if version > 1 else -1
    return Subscription(tuple(body.topics), body.user_data, owned, generation, body.rack_id if version > 2 else None, version)


def read_assignment(raw: bytes) -> Assignment:
    """No bytes at all are an assignment of nothing. Errors: DecodeError."""
    if not raw:
        return Assignment(())
    version, body, _ = read_consumer_blob("ConsumerProtocolAssignment", raw)
    partitions = tuple((one.topic, partition) for one in body.assigned_partitions for partition in one.partitions)
    return Assignment(partitions, body.user_data, version)


def read_consumer_blob(name: str, raw: bytes) -> tuple[int, Any, int]:
    """The version as it is written, the message's object, and how many bytes are left over: newer versions may only append.

    Errors: DecodeError.
    """
    version = blob_version(raw)
    message = message_type("data", name)
    layout = min(version, LATEST_VERSION)
    try:
        return version, message.read(raw, layout, _VERSION_SIZE), 0
    except TrailingBytesError as error:
        return version, message.read(raw, layout, _VERSION_SIZE, len(raw) - error.left_over), error.left_over


def blob_version(raw: bytes) -> int:
    """The int16 before a blob of `consumer` or `connect`. Errors: DecodeError."""
    if len(raw) < _VERSION_SIZE:
        raise DecodeError(f"a version has 2 bytes, and here {'is 1' if raw else 'are none'}")
    version = int.from_bytes(raw[:_VERSION_SIZE], "big", signed=True)
    if version < 0:
        raise DecodeError(f"version {version} is not known")
    return version


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """Partitions by their topics, topics in the order in which they come."""
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found


def _written(name: str, body: object, version: int) -> bytes:
    layout = min(version, LATEST_VERSION)
    return layout.to_bytes(_VERSION_SIZE, "big") + message_type("data", name).write(body, layout)
