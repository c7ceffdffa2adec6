"""Subscriptions and assignments of classic groups, decoded: blobs of the protocol type `consumer` inside other records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.codec.blobs.consumer_protocol import read_consumer_blob
from metashell.errors import DecodeError

Row = dict[str, Any]

_PARTITIONS: Final = pa.map_(pa.string(), pa.list_(pa.int32()))
SUBSCRIPTION: Final = pa.struct(
    [
        ("version", pa.int16()),
        ("topics", pa.list_(pa.string())),
        ("owned_partitions", _PARTITIONS),
        ("generation_id", pa.int32()),
        ("rack_id", pa.string()),
        ("user_data", pa.binary()),
    ]
)
ASSIGNMENT: Final = pa.struct([("version", pa.int16()), ("assigned_partitions", _PARTITIONS), ("user_data", pa.binary())])


def _subscription(blob: bytes) -> Row:
    version, body, _ = read_consumer_blob("ConsumerProtocolSubscription", blob)
    return {
        "version": version,
        "topics": body.topics,
        "owned_partitions": _by_topic(body.owned_partitions),
        "generation_id": body.generation_id,
        "rack_id": body.rack_id,
        "user_data": body.user_data,
    }


def _assignment(blob: bytes) -> Row:
    version, body, _ = read_consumer_blob("ConsumerProtocolAssignment", blob)
    return {"version": version, "assigned_partitions": _by_topic(body.assigned_partitions), "user_data": body.user_data}


def _by_topic(parts: Iterable[Any]) -> list[tuple[str, list[int]]]:
    """Partitions by topic; those of a topic that is named twice are together."""
    found: dict[str, list[int]] = {}
    for part in parts:
        found.setdefault(part.topic, []).extend(part.partitions)
    return list(found.items())


KINDS: Final[dict[str, tuple[pa.DataType, Callable[[bytes], Row]]]] = {
    "subscription": (SUBSCRIPTION, _subscription),
    "assignment": (ASSIGNMENT, _assignment),
}


def decoded_blobs(kind: str, blobs: pa.Array, is_consumer: pa.Array | None) -> pa.Array:
    """Blobs as structs: null for null, for none at all, for what does not decode, and where `is_consumer` does not hold.

    Each distinct blob is decoded once: a group's members mostly say what they said before.
    """
    type_, decode = KINDS[kind]
    if is_consumer is not None:
        blobs = pc.if_else(is_consumer, blobs, pa.scalar(None, pa.binary()))
    encoded = blobs.dictionary_encode()
    made = [_decoded(decode, blob) for blob in encoded.dictionary.to_pylist()]
    return pa.array(made, type_).take(encoded.indices)


def _decoded(decode: Callable[[bytes], Row], blob: bytes) -> Row | None:
    try:
        return decode(blob) if blob else None
    except DecodeError:
        return None
