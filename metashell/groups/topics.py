"""Topics as the coordinator sees them (names, ids, partitions and racks of replicas), and the hash over the topics of a group.

A modern group compares this hash to notice that its topics have changed. It is XXH3 with 64 bits and seed 0, since Kafka 4.1. It is
written to the log, so it must be Kafka's to the bit; XXH3 is implemented here because the base install has no package with it.
Source: the specification of XXH3 at github.com/Cyan4973/xxHash; tested against hash4j, which Kafka uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from struct import iter_unpack, unpack_from
from typing import Final, NamedTuple, Protocol


class Topic(NamedTuple):
    """Shape: `racks` has for each partition, sorted, the rack of every replica whose broker has one; its length is the partition count."""

    id: bytes
    name: str
    racks: tuple[tuple[str, ...], ...]

    @property
    def partition_count(self) -> int:
        return len(self.racks)


class Topics(Protocol):
    """An immutable view of the metadata image: another state of the metadata is another object."""

    @property
    def version(self) -> int:
        """The metadata offset of this view."""
        ...

    def named(self, name: str) -> Topic | None: ...

    def with_id(self, id: bytes) -> Topic | None: ...

    def names(self) -> Iterator[str]: ...


class KnownTopics:
    """Topics from a list, for tests, simulations and logs without metadata."""

    def __init__(self, topics: Iterable[Topic] = (), version: int = 0) -> None:
        topics = tuple(topics)
        self._by_name = {topic.name: topic for topic in topics}
        self._by_id = {topic.id: topic for topic in topics}
        self._version = version

    @property
    def version(self) -> int:
        return self._version

    def named(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def with_id(self, id: bytes) -> Topic | None:
        return self._by_id.get(id)

    def names(self) -> Iterator[str]:
        return iter(self._by_name)


class NotedTopics:
    """Topics with further names by id: of a topic that was deleted, records may still have the name."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._noted: dict[bytes, Topic] = {}

    def note(self, id: bytes, name: str) -> None:
        """Add the name of an id."""
        self._noted[id] = Topic(id, name, ())

    @property
    def version(self) -> int:
        return self._topics.version

    def named(self, name: str) -> Topic | None:
        return self._topics.named(name)

    def with_id(self, id: bytes) -> Topic | None:
        return self._topics.with_id(id) or self._noted.get(id)

    def names(self) -> Iterator[str]:
        return self._topics.names()


def group_hash(names: Iterable[str], topics: Topics) -> int:
    """Return the hash of those topics that exist, signed as in records; 0 if none exists."""
    known = sorted((topic for name in names if (topic := topics.named(name)) is not None), key=lambda topic: topic.name)
    if not known:
        return 0
    return _signed(xxh3_64(b"".join((topic_hash(topic) & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little") for topic in known)))


@lru_cache(maxsize=4096)
def topic_hash(topic: Topic) -> int:
    """Return the signed hash of id, name, partitions and racks.

    Shape: little-endian; a text is its UTF-16 units, then their number. A rack has this number before its units too.
    Source: org.apache.kafka.coordinator.group.Utils.computeTopicHash.
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


_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364ea"
    "c5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK: Final = 0xFFFFFFFFFFFFFFFF
_PRIME32_1, _PRIME32_2, _PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME64_1, _PRIME64_2, _PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_PRIME64_4, _PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MIX1, _MIX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_STRIPE, _STRIPES_A_BLOCK = 64, (192 - 64) // 8


def xxh3_64(data: bytes) -> int:
    """Return the hash as an unsigned number."""
    if len(data) > 240:
        return _long(data)
    if len(data) > 128:
        return _up_to_240(data)
    if len(data) > 16:
        return _up_to_128(data)
    return _up_to_16(data)


def _up_to_16(data: bytes) -> int:
    size = len(data)
    if size > 8:
        low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
        high = _u64(data, size - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _fold(low, high))
    if size >= 4:
        mixed = (_u32(data, size - 4) + (_u32(data, 0) << 32)) ^ _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        mixed ^= _rotated(mixed, 49) ^ _rotated(mixed, 24)
        mixed = mixed * _MIX2 & _MASK
        mixed ^= (mixed >> 35) + size
        mixed = mixed * _MIX2 & _MASK
        return mixed ^ mixed >> 28
    if size:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche64(combined ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    return _avalanche64(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))


def _up_to_128(data: bytes) -> int:
    size = len(data)
    total = size * _PRIME64_1
    for at in range((size - 1) // 32 + 1):
        total += _mixed(data, 16 * at, 32 * at) + _mixed(data, size - 16 * (at + 1), 32 * at + 16)
    return _avalanche(total)


def _up_to_240(data: bytes) -> int:
    size = len(data)
    total = _avalanche(size * _PRIME64_1 + sum(_mixed(data, 16 * at, 16 * at) for at in range(8)))
    total += sum(_mixed(data, 16 * at, 16 * (at - 8) + 3) for at in range(8, size // 16))
    return _avalanche(total + _mixed(data, size - 16, 136 - 17))


def _long(data: bytes) -> int:
    lanes = [_PRIME32_3, _PRIME64_1, _PRIME64_2, _PRIME64_3, _PRIME64_4, _PRIME32_2, _PRIME64_5, _PRIME32_1]
    keys = [[key for (key,) in iter_unpack("<Q", _SECRET[8 * at : 8 * at + _STRIPE])] for at in range(_STRIPES_A_BLOCK)]
    scramble = unpack_from("<8Q", _SECRET, len(_SECRET) - _STRIPE)
    # The last stripe is aligned to the end of the data, so it may overlap the one before.
    for number in range((len(data) - 1) // _STRIPE):
        _accumulate(lanes, data, number * _STRIPE, keys[number % _STRIPES_A_BLOCK])
        if number % _STRIPES_A_BLOCK == _STRIPES_A_BLOCK - 1:
            lanes[:] = [((lane ^ lane >> 47) ^ key) * _PRIME32_1 & _MASK for lane, key in zip(lanes, scramble, strict=True)]
    _accumulate(lanes, data, len(data) - _STRIPE, list(unpack_from("<8Q", _SECRET, len(_SECRET) - _STRIPE - 7)))
    total = len(data) * _PRIME64_1
    for at in range(4):
        total += _fold(lanes[2 * at] ^ _u64(_SECRET, 11 + 16 * at), lanes[2 * at + 1] ^ _u64(_SECRET, 19 + 16 * at))
    return _avalanche(total)


def _accumulate(lanes: list[int], data: bytes, offset: int, keys: list[int]) -> None:
    for at, value in enumerate(unpack_from("<8Q", data, offset)):
        keyed = value ^ keys[at]
        lanes[at ^ 1] = lanes[at ^ 1] + value & _MASK
        lanes[at] = lanes[at] + (keyed & 0xFFFFFFFF) * (keyed >> 32) & _MASK


def _mixed(data: bytes, offset: int, secret_offset: int) -> int:
    low, high = unpack_from("<QQ", data, offset)
    key_low, key_high = unpack_from("<QQ", _SECRET, secret_offset)
    return _fold(low ^ key_low, high ^ key_high)


def _fold(one: int, other: int) -> int:
    """XOR the two halves of the 128-bit product."""
    product = one * other
    return (product & _MASK) ^ product >> 64


def _avalanche(number: int) -> int:
    number &= _MASK
    number = (number ^ number >> 37) * _MIX1 & _MASK
    return number ^ number >> 32


def _avalanche64(number: int) -> int:
    """The avalanche of XXH64, which XXH3 uses for inputs of up to three bytes."""
    number = (number ^ number >> 33) * _PRIME64_2 & _MASK
    number = (number ^ number >> 29) * _PRIME64_3 & _MASK
    return number ^ number >> 32


def _rotated(number: int, by: int) -> int:
    return (number << by | number >> 64 - by) & _MASK


def _u32(data: bytes, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 4], "little")


def _u64(data: bytes, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 8], "little")
