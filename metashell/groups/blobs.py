"""What the coordinator reads of members' blobs: they are bytes of clients, so that nothing in them is sure."""

from __future__ import annotations

from metashell.codec.blobs.consumer_protocol import blob_version
from metashell.codec.registry import message_type
from metashell.errors import DecodeError

_VERSION_SIZE = 2


def subscribed_topics(metadata: bytes) -> tuple[str, ...] | None:
    """The topics of a consumer's subscription, None where it does not decode.

    Every version begins as version 0 does, so that only this is read, as Kafka's coordinator does.
    """
    try:
        blob_version(metadata)
        message = message_type("data", "ConsumerProtocolSubscription")
        body, _ = message.bounded_reader(0)(metadata, _VERSION_SIZE, len(metadata), [len(metadata)])
    except DecodeError:
        return None
    return tuple(body.topics)
