"""Orders that show in answers, records and output because Kafka iterates over Java's hash sets and maps.

A java.util.HashMap has a power of two of buckets, and doubles when it is three quarters full; it never shrinks. It iterates by bucket, and
in a bucket in the order in which keys came. So the order follows from the keys in that order, their hashes and the number of buckets.
But computeIfAbsent puts a new key first in its bucket, where put and add put it last: see `lazy_table_order`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeVar

Key = TypeVar("Key", bound=Hashable)
_HALF: Final = 1 << 16
"""Below this the upper half of a hash, which is mixed into the lower one, is nothing."""
_KEPT: Final = 1_024


def bucket_count(capacity: int, size: int) -> int:
    """How many buckets a table has that was made for `capacity` and has had `size` keys at most."""
    buckets = 1 << max(0, capacity - 1).bit_length()
    while size > buckets * 3 // 4:
        buckets *= 2
    return buckets


def copy_capacity(size: int) -> int:
    """For how many a HashSet is made that copies a collection."""
    return max(size * 4 // 3 + 1, 16)


def table_order(keys: Iterable[Key], hash: Callable[[Key], int], buckets: int) -> list[Key]:
    """Distinct keys, given in the order in which they came, as a table of so many buckets iterates over them."""
    mask = buckets - 1

    def bucket(key: Key) -> int:
        number = hash(key) & 0xFFFFFFFF
        return (number ^ number >> 16) & mask

    return sorted(keys, key=bucket)


def lazy_table_order(calls: Sequence[Key], hash: Callable[[Key], int], capacity: int = 16) -> list[Key]:
    """Keys as a table iterates over them that these calls of computeIfAbsent filled, which may repeat keys.

    A new key comes first in its bucket, and the table only grows at the call after the one that made it too full.
    """
    buckets = bucket_count(capacity, len(dict.fromkeys(calls[:-1])))
    return table_order(reversed(dict.fromkeys(calls)), hash, buckets)


def hash_order(ids: Iterable[int], capacity: int = 16) -> tuple[int, ...]:
    """Integers as a java.util.HashSet of them iterates, which was made for `capacity` of them.

    Ids below the number of buckets come out ascending.
    """
    distinct = dict.fromkeys(ids)
    buckets = bucket_count(capacity, len(distinct))
    ascending = sorted(distinct)
    if not ascending or (ascending[0] >= 0 and ascending[-1] < min(buckets, _HALF)):
        return tuple(ascending)
    return tuple(table_order(distinct, int, buckets))


def string_hash_order(texts: Iterable[str], capacity: int = 16) -> tuple[str, ...]:
    """Strings as a java.util.HashMap keyed by them iterates, which was made for `capacity` of them."""
    distinct = dict.fromkeys(texts)
    return tuple(table_order(distinct, string_hash, bucket_count(capacity, len(distinct))))


def uuid_hash_order(ids: Iterable[bytes], capacity: int = 16) -> tuple[bytes, ...]:
    """Kafka's Uuids, as their 16 bytes, as a java.util.HashMap keyed by them iterates, which was made for `capacity` of them."""
    distinct = dict.fromkeys(ids)
    return tuple(table_order(distinct, uuid_hash, bucket_count(capacity, len(distinct))))


def uuid_hash(id: bytes) -> int:
    """The value of org.apache.kafka.common.Uuid.hashCode, as an unsigned int."""
    most = int.from_bytes(id[:8], "big") ^ int.from_bytes(id[8:], "big")
    return (most >> 32) ^ (most & 0xFFFFFFFF)


@lru_cache(_KEPT)
def string_hash(text: str) -> int:
    """The value of String.hashCode as an unsigned int: over UTF-16 units, in 32 bits."""
    number = 0
    raw = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(raw), 2):
        number = (31 * number + int.from_bytes(raw[at : at + 2], "big")) & 0xFFFFFFFF
    return number


def string_order(text: str) -> bytes:
    """A key by which texts sort as String.compareTo has them: by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")
