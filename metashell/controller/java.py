"""Orders that show in records because Kafka iterates over Java's hash sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def hash_order(ids: Iterable[int], capacity: int = 16) -> tuple[int, ...]:
    """Integers as a java.util.HashSet of them iterates: by bucket, in a bucket in the order of insertion.

    Ids below the number of buckets come out ascending. The table has the next power of two of `capacity` buckets, and doubles when
    it is three quarters full.
    """
    distinct = dict.fromkeys(ids)
    buckets = 1 << max(0, capacity - 1).bit_length()
    while len(distinct) > buckets * 3 // 4:
        buckets *= 2
    return tuple(sorted(distinct, key=lambda id: (id ^ (id & 0xFFFFFFFF) >> 16) & (buckets - 1)))


def string_hash_order(texts: Iterable[str], capacity: int = 16) -> tuple[str, ...]:
    """Strings as a java.util.HashMap keyed by them iterates, which was made for `capacity` of them."""
    by_hash: dict[int, list[str]] = {}
    for text in dict.fromkeys(texts):
        by_hash.setdefault(_string_hash(text), []).append(text)
    return tuple(text for number in hash_order(by_hash, capacity) for text in by_hash[number])


def _string_hash(text: str) -> int:
    """What String.hashCode gives: over UTF-16 units, in 32 bits."""
    number = 0
    raw = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(raw), 2):
        number = (31 * number + int.from_bytes(raw[at : at + 2], "big")) & 0xFFFFFFFF
    return number


def java_int(text: str) -> int | None:
    """What Integer.parseInt gives: decimal, with a sign or without, within 32 bits. None for all else."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    # More digits than these are zeros in front, or too many.
    if len(text.lstrip("+-0")) > 10:
        return None
    number = int(text)
    return number if -(1 << 31) <= number < 1 << 31 else None


_FIBONACCI = 0x9E3779B97F4A7C15


def timeline_order(ids: Sequence[int], *, was_changed: bool = False) -> tuple[int, ...]:
    """Ids as a TimelineHashMap that got them in this order iterates.

    They lie in a table of a power of two slots, by Fibonacci hashing; it doubles when one more would be too many, also when the one is
    not new but changes what is there. A slot is read from its end.
    Source: org.apache.kafka.timeline.BaseHashTable, SnapshottableHashTable.
    """
    bits = 1
    while (len(ids) + was_changed) * 3 / 4 > 1 << bits:
        bits += 1
    slots: dict[int, list[int]] = {}
    for id in ids:
        slots.setdefault((id * _FIBONACCI & (1 << 64) - 1) >> (64 - bits), []).append(id)
    return tuple(id for slot in sorted(slots) for id in reversed(slots[slot]))
