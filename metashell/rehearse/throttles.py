"""Throttles of replication that the metadata holds: a copy is no quicker than they let it be.

Source: KIP-73; kafka.server.ReplicationQuotaManager: a replica is throttled where the topic lists it and its broker has a rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.codec.config_types import BROKER_RESOURCE, THROTTLE_RATES, THROTTLED_REPLICAS, TOPIC_RESOURCE
from metashell.image import MetadataImage

_NOTHING: Final[Mapping[str, str]] = {}
OF_LEADERS, OF_FOLLOWERS = 0, 1


def throttle_of(image: MetadataImage, side: int, topic: str, partition_id: int, broker: int) -> int | None:
    """The bytes a second that a broker sends (OF_LEADERS) or takes (OF_FOLLOWERS) of a partition at most; None without a throttle."""
    configs = image.configs
    listed = configs.get((TOPIC_RESOURCE, topic), _NOTHING).get(THROTTLED_REPLICAS[side], "")
    entries = {entry.strip() for entry in listed.split(",")}
    if not entries & {"*", f"{partition_id}:{broker}"}:
        return None
    for name in (str(broker), ""):
        text = configs.get((BROKER_RESOURCE, name), _NOTHING).get(THROTTLE_RATES[side], "").strip()
        if text.isascii() and text.isdigit():
            return int(text)
    return None
