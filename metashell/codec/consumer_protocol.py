"""Subscriptions and assignments that members of classic groups send each other inside the records of a group, as values and as JSON.

The broker stores these blobs without reading them; their format depends on the group's protocol type and on the assignor. Each released
version decodes to an object or message and writes back to the same bytes. The JSON of a decoded blob has its fields under Kafka's names
and a `version`; a blob that does not decode is base64 text, with a finding that says why. Bytes that a later release appended to a
consumer's blob are counted in `trailingBytes` and ignored. User data of a sticky assignor in no known dialect is no fault, since only the
client's own assignor reads it: it stays base64 text, and `userDataNote` says so.

| protocol type | assignor | subscription's user data | assignment's user data |
| --- | --- | --- | --- |
| consumer | range, roundrobin | none | none |
| consumer | sticky | the owned partitions; of most clients also the generation | none; of sarama the same |
| consumer | cooperative-sticky | Java: the generation; librdkafka, franz-go: as sticky; kafka-python: none | none |
| consumer | stream | Kafka Streams' SubscriptionInfo 1 to 11 | its AssignmentInfo 1 to 11 |
| connect | default, compatible, sessioned | the whole blob is a worker's metadata | the whole blob is an assignment |

Source: ConsumerProtocol, AbstractStickyAssignor, ConnectProtocol, SubscriptionInfo, AssignmentInfo; KIP-268, 415, 429, 792, 881."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from metashell.codec.java import base64_text
from metashell.codec.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from metashell.codec.registry import message_type
from metashell.codec.schema import TrailingBytesError
from metashell.codec.streams_assignment import LATEST_ASSIGNMENT_INFO_VERSION, read_streams_assignment, streams_assignment_json
from metashell.common.errors import DecodeError

LATEST_VERSION: Final = 3
_VERSION_SIZE: Final = 2

Partition = tuple[str, int]
"""Topic and partition."""


class Subscription(NamedTuple):
    """The metadata that a member sends when it joins. It claims the partitions `owned`, assigned to it in `generation`."""

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
    """The bytes of a subscription. Topics and owned partitions are sorted, as every Java client writes them."""
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
    """The subscription in `raw`; a newer version is read as far as we know it. Errors: DecodeError."""
    version, body, _ = read_consumer_blob("ConsumerProtocolSubscription", raw)
    owned = tuple((one.topic, partition) for one in body.owned_partitions for partition in one.partitions) if version > 0 else ()
    generation = body.generation_id if version > 1 else -1
    return Subscription(tuple(body.topics), body.user_data, owned, generation, body.rack_id if version > 2 else None, version)


def read_assignment(raw: bytes) -> Assignment:
    """The assignment in `raw`; no bytes mean no partitions. Errors: DecodeError."""
    if not raw:
        return Assignment(())
    version, body, _ = read_consumer_blob("ConsumerProtocolAssignment", raw)
    partitions = tuple((one.topic, partition) for one in body.assigned_partitions for partition in one.partitions)
    return Assignment(partitions, body.user_data, version)


def read_consumer_blob(name: str, raw: bytes) -> tuple[int, Any, int]:
    """The written version, the message's object, and the number of bytes left over: newer versions may only append.

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
    """Partitions by topic, topics in order of appearance."""
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found


def _written(name: str, body: object, version: int) -> bytes:
    layout = min(version, LATEST_VERSION)
    return layout.to_bytes(_VERSION_SIZE, "big") + message_type("data", name).write(body, layout)


CONSUMER = "consumer"
CONNECT = "connect"
STREAMS_ASSIGNOR = "stream"
NOTE: Final = "userDataNote"
"""The key of a decoded blob that says why its user data is not decoded."""
_STREAMS_PROBING_SINCE = 3
_CONNECT_VERSION_MAX = 2
_CONNECT_VERSION_SIZE = 2


class DecodedBlob(NamedTuple):
    """A blob as JSON values, and findings about it."""

    value: Any
    findings: tuple[str, ...] = ()


def decode_subscription(protocol_type: str, protocol: str | None, blob: bytes) -> DecodedBlob:
    """The metadata with which a member joined; base64 text for an unknown protocol type. Never raises."""
    return _decode("subscription", protocol_type, protocol, blob)


def decode_assignment(protocol_type: str, protocol: str | None, blob: bytes) -> DecodedBlob:
    """The assignment of a member; null for an empty blob, which means that nothing is assigned yet. Never raises."""
    return _decode("assignment", protocol_type, protocol, blob)


def one_type(name: str, value: Any) -> dict[str, Any]:
    """Return a decoded blob as members of an object whose keys have one type each: bytes that stay undecoded are in `NAMEBase64`."""
    if isinstance(value, str):
        return {name: None, f"{name}Base64": value}
    if not isinstance(value, dict):
        return {name: value}
    inner = {key: member for part, found in value.items() for key, member in (_one_type_of(part, found)).items()}
    return {name: inner}


def _one_type_of(part: str, value: Any) -> dict[str, Any]:
    return one_type(part, value) if part in _BLOBS_INSIDE else {part: value}


_BLOBS_INSIDE: Final = frozenset({"userData", "allocation"})


def _decode(what: str, protocol_type: str, protocol: str | None, blob: bytes) -> DecodedBlob:
    if not blob:
        return DecodedBlob(None)
    try:
        if protocol_type == CONSUMER:
            return _consumer(what, protocol, blob)
        if protocol_type == CONNECT:
            return _connect(what, blob)
    except DecodeError as error:
        return DecodedBlob(base64_text(blob), (f"{what}: {error}",))
    return DecodedBlob(base64_text(blob))


def _consumer(what: str, protocol: str | None, blob: bytes) -> DecodedBlob:
    message = message_type("data", "ConsumerProtocolSubscription" if what == "subscription" else "ConsumerProtocolAssignment")
    version, value, left_over = read_consumer_blob(message.name, blob)
    shown = {"version": version, **message.to_json_value(value, min(version, LATEST_VERSION))}
    if left_over:
        shown["trailingBytes"] = left_over
    findings: tuple[str, ...] = ()
    if left_over and version <= LATEST_VERSION:
        findings = (f"{what}: {left_over} byte(s) left over after version {version}",)
    read_user_data = _USER_DATA.get((what, protocol or ""))
    if value.user_data and read_user_data is not None:
        try:
            shown["userData"] = read_user_data(value.user_data)
        except DecodeError as error:
            if protocol == STREAMS_ASSIGNOR:
                findings = (*findings, f"{what}: userData of {protocol}: {error}")
            else:
                shown[NOTE] = f"{what}: userData of {protocol} is in no dialect of a known client ({len(value.user_data)} bytes)"
    return DecodedBlob(shown, findings)


def _connect(what: str, blob: bytes) -> DecodedBlob:
    name = "ConnectWorkerMetadata" if what == "subscription" else "ConnectAssignment"
    version, value = _read_connect(name, blob)
    shown = {"version": version, **message_type("blobs", name).to_json_value(value, version)}
    findings: tuple[str, ...] = ()
    if name == "ConnectWorkerMetadata" and version > 0 and value.allocation:
        try:
            inner_version, inner = _read_connect("ConnectAssignment", value.allocation)
            shown["allocation"] = {
                "version": inner_version,
                **message_type("blobs", "ConnectAssignment").to_json_value(inner, inner_version),
            }
        except DecodeError as error:
            findings = (f"{what}: allocation: {error}",)
    return DecodedBlob(shown, findings)


def _read_connect(name: str, blob: bytes) -> tuple[int, Any]:
    version = blob_version(blob)
    if version > _CONNECT_VERSION_MAX:
        raise DecodeError(f"{name} version {version} is not known")
    return version, message_type("blobs", name).read(blob, version, _CONNECT_VERSION_SIZE)


def _sticky(raw: bytes) -> dict[str, Any]:
    """Return the owned partitions, and the generation if it is there. Errors: DecodeError.

    The blob names no version: the newer format is tried first, and has to take all of the bytes. kafka-python 3 writes its version before.
    """
    message = message_type("blobs", "StickyUserData")
    if raw.startswith(_STICKY_VERSION_1):
        try:
            return message.to_json_value(message.read(raw, 1, len(_STICKY_VERSION_1)), 1)
        except DecodeError:
            pass
    try:
        return message.to_json_value(message.read(raw, 1), 1)
    except DecodeError:
        return message.to_json_value(message.read(raw, 0), 0)


_STICKY_VERSION_1: Final = b"\0\1"


def _cooperative_sticky(raw: bytes) -> dict[str, Any]:
    """Return the generation, which is all that Java writes, or the content of the sticky form. Errors: DecodeError."""
    message = message_type("blobs", "CooperativeStickyUserData")
    try:
        return message.to_json_value(message.read(raw, 0), 0)
    except DecodeError:
        return _sticky(raw)


def _streams_subscription(raw: bytes) -> dict[str, Any]:
    """Version probing (KIP-268) promises for a version above ours only that its first two numbers can be read."""
    if len(raw) < 4:
        raise DecodeError(f"{len(raw)} byte(s) hold no version")
    version = int.from_bytes(raw[:4], "big", signed=True)
    if version < 1:
        raise DecodeError(f"SubscriptionInfo version {version} is not known")
    if version > LATEST_ASSIGNMENT_INFO_VERSION:
        if len(raw) < 8:
            raise DecodeError(f"SubscriptionInfo version {version} has no latest supported version")
        return {"version": version, "latestSupportedVersion": int.from_bytes(raw[4:8], "big", signed=True), "isProbe": True}
    message = message_type("blobs", "StreamsSubscriptionInfo")
    value = message.read(raw, version, 4)
    shown: dict[str, Any] = {"version": version, **message.to_json_value(value, version)}
    if version > 1:
        shown["userEndPoint"] = value.user_end_point.decode("utf-8", "replace")
    if version >= LATEST_ASSIGNMENT_INFO_VERSION:
        shown["clientTags"] = [
            {"key": tag.key.decode("utf-8", "replace"), "value": tag.value.decode("utf-8", "replace")} for tag in value.client_tags
        ]
    if version >= _STREAMS_PROBING_SINCE and not version <= value.latest_supported_version:
        raise DecodeError(f"version {version} is above the latest supported version {value.latest_supported_version}")
    return shown


def _streams_assignment(raw: bytes) -> dict[str, Any]:
    return streams_assignment_json(read_streams_assignment(raw))


_USER_DATA: dict[tuple[str, str], Callable[[bytes], dict[str, Any]]] = {
    ("subscription", "sticky"): _sticky,
    ("subscription", "cooperative-sticky"): _cooperative_sticky,
    ("assignment", "sticky"): _sticky,
    ("assignment", "cooperative-sticky"): _sticky,
    ("subscription", STREAMS_ASSIGNOR): _streams_subscription,
    ("assignment", STREAMS_ASSIGNOR): _streams_assignment,
}
"""(Subscription or assignment, assignor's name) -> the reader of its user data."""
