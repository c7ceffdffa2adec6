"""The hash over the topics of a group, by which modern groups see that topics have changed.

Source: org.apache.kafka.coordinator.group.Utils.computeTopicHash and computeGroupHash (KIP-1101).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from metashell.groups.topics import Topic, Topics
from metashell.groups.xxh3 import xxh3_64


def group_hash(names: Iterable[str], topics: Topics) -> int:
    """The hash of those topics that exist, as the signed number that records hold; 0 where none does."""
    known = sorted((topic for name in names if (topic := topics.named(name)) is not None), key=lambda topic: topic.name)
    if not known:
        return 0
    return _signed(xxh3_64(b"".join((topic_hash(topic) & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little") for topic in known)))


@lru_cache(maxsize=4096)
def topic_hash(topic: Topic) -> int:
    """The hash of id, name, partitions and racks, signed.

    Shape: everything is little-endian; a text is its UTF-16 units and then their number.
    """
    parts = [b"\0", topic.id[7::-1], topic.id[:7:-1], _text(topic.name), _int(topic.partition_count)]
    for partition, racks in enumerate(topic.racks):
        parts.append(_int(partition))
        for rack in sorted(racks):
            units = _text(rack)
            parts += (units[-4:], units)
    return _signed(xxh3_64(b"".join(parts)))


def _text(text: str) -> bytes:
    units = text.encode("utf-16-le", "surrogatepass")
    return units + _int(len(units) // 2)


def _int(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
