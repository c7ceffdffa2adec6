"""min.insync.replicas of partitions, as far as the metadata says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE

if TYPE_CHECKING:
    from metashell.image import MetadataImage

MIN_ISR: Final = "min.insync.replicas"


class MinIsr:
    """What a leader takes min.insync.replicas for: that of the topic, of the broker that leads, of all brokers, of server.properties.

    Shape: `own` by the names of topics, `of_brokers` by the ids of brokers, `usual` for all others. The controller, where eligible
    leader replicas are on, allows none of single brokers, so that all leaders agree. `unreadable` names the resources whose value is no
    number from 1 on; for them the next one counts.
    Source: kafka.server.DynamicBrokerConfig, kafka.server.metadata.KRaftMetadataCache.topicConfig.
    """

    __slots__ = ("of_brokers", "own", "unreadable", "usual")

    def __init__(self, image: MetadataImage, static: int) -> None:
        self.own: dict[str, int] = {}
        self.of_brokers: dict[int, int] = {}
        self.usual = static
        self.unreadable: list[str] = []
        for (type, name), config in image.configs.items():
            text = config.get(MIN_ISR)
            if text is None or type not in _WORDS:
                continue
            value = _number(text)
            if value is None:
                self.unreadable.append(f"{_WORDS[type]}:{name or '<default>'} = {text!r}")
            elif type == TOPIC_RESOURCE:
                self.own[name] = value
            elif not name:
                self.usual = value
            elif name.isascii() and name.isdigit():
                self.of_brokers[int(name)] = value
        self.unreadable.sort()

    def of(self, topic_name: str, leader: int) -> int:
        """What a leader asks of the partitions of a topic."""
        own = self.own.get(topic_name)
        return self.of_brokers.get(leader, self.usual) if own is None else own


_WORDS: Final = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker"}
_INT32_MAX: Final = (1 << 31) - 1


def _number(text: str) -> int | None:
    """The setting as Java reads a number; None for one that Kafka takes for none."""
    if re.fullmatch(r"\s*\+?[0-9]{1,10}\s*", text, re.ASCII) is None:
        return None
    value = int(text)
    return value if 1 <= value <= _INT32_MAX else None
