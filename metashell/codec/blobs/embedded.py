"""Subscriptions and assignments as JSON values, whatever protocol they are of.

What decodes has its fields under Kafka's names and a `version`; what does not stays base64 text. Bytes that a later
release appended to a consumer's blob are counted in `trailingBytes` and do not disturb.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from metashell.codec.blobs.consumer_protocol import LATEST_VERSION as CONSUMER_LATEST_VERSION
from metashell.codec.blobs.consumer_protocol import blob_version, read_consumer_blob
from metashell.codec.blobs.streams_assignment import LATEST_VERSION, read_streams_assignment, streams_assignment_json
from metashell.codec.json_forms import base64_text
from metashell.codec.registry import message_type
from metashell.errors import DecodeError

CONSUMER = "consumer"
CONNECT = "connect"
STREAMS_ASSIGNOR = "stream"
_STREAMS_PROBING_SINCE = 3
_CONNECT_VERSION_MAX = 2
_VERSION_SIZE = 2


class Embedded(NamedTuple):
    """A blob as JSON values, and what was odd about it."""

    value: Any
    findings: tuple[str, ...] = ()


def decode_subscription(protocol_type: str, protocol: str | None, blob: bytes) -> Embedded:
    """The metadata with which a member joined; base64 text for a protocol type that we do not know. Never raises."""
    return _decode("subscription", protocol_type, protocol, blob)


def decode_assignment(protocol_type: str, protocol: str | None, blob: bytes) -> Embedded:
    """The assignment of a member; null for an empty blob, which means: nothing yet. Never raises."""
    return _decode("assignment", protocol_type, protocol, blob)


def _decode(what: str, protocol_type: str, protocol: str | None, blob: bytes) -> Embedded:
    if not blob:
        return Embedded(None)
    try:
        if protocol_type == CONSUMER:
            return _consumer(what, protocol, blob)
        if protocol_type == CONNECT:
            return _connect(what, blob)
    except DecodeError as error:
        return Embedded(base64_text(blob), (f"{what}: {error}",))
    return Embedded(base64_text(blob))


def _consumer(what: str, protocol: str | None, blob: bytes) -> Embedded:
    message = message_type("data", "ConsumerProtocolSubscription" if what == "subscription" else "ConsumerProtocolAssignment")
    version, value, left_over = read_consumer_blob(message.name, blob)
    shown = {"version": version, **message.to_json_value(value, min(version, CONSUMER_LATEST_VERSION))}
    if left_over:
        shown["trailingBytes"] = left_over
    findings: tuple[str, ...] = ()
    if left_over and version <= CONSUMER_LATEST_VERSION:
        findings = (f"{what}: {left_over} byte(s) left over after version {version}",)
    read_user_data = _USER_DATA.get((what, protocol or ""))
    if value.user_data and read_user_data is not None:
        try:
            shown["userData"] = read_user_data(value.user_data)
        except DecodeError as error:
            findings = (*findings, f"{what}: userData of {protocol}: {error}")
    return Embedded(shown, findings)


def _connect(what: str, blob: bytes) -> Embedded:
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
    return Embedded(shown, findings)


def _read_connect(name: str, blob: bytes) -> tuple[int, Any]:
    version = blob_version(blob)
    if version > _CONNECT_VERSION_MAX:
        raise DecodeError(f"{name} version {version} is not known")
    return version, message_type("blobs", name).read(blob, version, _VERSION_SIZE)


def _sticky(raw: bytes) -> dict[str, Any]:
    """Nothing says the version: the newer form is tried first, and has to take all of the bytes."""
    message = message_type("blobs", "StickyUserData")
    try:
        return message.to_json_value(message.read(raw, 1), 1)
    except DecodeError:
        return message.to_json_value(message.read(raw, 0), 0)


def _cooperative_sticky(raw: bytes) -> dict[str, Any]:
    message = message_type("blobs", "CooperativeStickyUserData")
    return message.to_json_value(message.read(raw, 0), 0)


def _streams_subscription(raw: bytes) -> dict[str, Any]:
    """Of a version above ours only the two version numbers can be read: that is the contract of version probing."""
    if len(raw) < 4:
        raise DecodeError(f"{len(raw)} byte(s) hold no version")
    version = int.from_bytes(raw[:4], "big", signed=True)
    if version < 1:
        raise DecodeError(f"SubscriptionInfo version {version} is not known")
    if version > LATEST_VERSION:
        if len(raw) < 8:
            raise DecodeError(f"SubscriptionInfo version {version} has no latest supported version")
        return {"version": version, "latestSupportedVersion": int.from_bytes(raw[4:8], "big", signed=True), "isProbe": True}
    message = message_type("blobs", "StreamsSubscriptionInfo")
    value = message.read(raw, version, 4)
    shown: dict[str, Any] = {"version": version, **message.to_json_value(value, version)}
    if version > 1:
        shown["userEndPoint"] = value.user_end_point.decode("utf-8", "replace")
    if version >= LATEST_VERSION:
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
    ("subscription", STREAMS_ASSIGNOR): _streams_subscription,
    ("assignment", STREAMS_ASSIGNOR): _streams_assignment,
}
"""The half of the protocol and the assignor's name -> what reads the user data."""
