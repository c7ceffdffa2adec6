"""Orders that show in answers, records and output because Kafka iterates over Java's hash sets and maps."""

from __future__ import annotations

from collections.abc import Iterable


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
        by_hash.setdefault(string_hash(text), []).append(text)
    return tuple(text for number in hash_order(by_hash, capacity) for text in by_hash[number])


def string_hash(text: str) -> int:
    """What String.hashCode gives: over UTF-16 units, in 32 bits."""
    number = 0
    raw = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(raw), 2):
        number = (31 * number + int.from_bytes(raw[at : at + 2], "big")) & 0xFFFFFFFF
    return number
