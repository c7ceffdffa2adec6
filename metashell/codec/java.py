"""Java behaviour that is visible in Kafka's output: text, numbers, JSON values, and the order of hash sets and maps.

JSON is that of Kafka's message converters: compact, int64 as plain numbers, bytes as padded base64, uuids as base64url text, non-ASCII
letters as they are.

A java.util.HashMap has a power of two of buckets, and doubles when it is three quarters full; it never shrinks. It iterates by bucket, and
within a bucket in the order in which keys were added. So the keys in order of insertion, their hashes and the number of buckets determine
the order. But computeIfAbsent puts a new key first in its bucket, while put and add put it last: see `lazy_table_order`.

Source: Kafka's generated `*JsonConverter` classes over Jackson; java.lang.Double.toString; java.util.HashMap.

Clients of groups see the order of maps too: Kafka lists members, elects leaders, chooses protocols and picks the process of a task in it.
A Python dict would give equally valid groups, but not Kafka's, and golden conversations could not be compared byte for byte.
Source: java.util.HashMap of OpenJDK 17 without its trees (in a table of 64 buckets and more, eight keys of one bucket are sorted);
org.apache.kafka.timeline.BaseHashTable of 4.3.1; java.util.PriorityQueue of OpenJDK 17, a binary heap that moves an element only past one
that is strictly greater or smaller."""

from __future__ import annotations

import re
from abc import abstractmethod
from binascii import b2a_base64
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import lru_cache
from math import copysign, isinf, isnan
from typing import Any, Final, Generic, TypeVar

from metashell.codec.primitives import kafka_text

JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
"""The characters that String.trim removes."""
_DIGITS = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<word>NaN|Infinity)|(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_LONGEST: Final = 30
_LAST_UNIT: Final = "\uffff"


def java_int(text: str, bits: int = 32) -> int | None:
    """The number that Integer.parseInt (`bits` 32), or its like for another width, reads; None if it throws.

    Java accepts any decimal digits of Unicode that are one UTF-16 unit each.
    """
    if not _DIGITS.fullmatch(text) or max(text) > _LAST_UNIT:
        return None
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    if len(digits) > _LONGEST:
        # Without leading zeros, of which there may be any number, the length of the text bounds the number.
        digits = "".join(str(int(digit)) for digit in digits).lstrip("0") or "0"
        if len(digits) > _LONGEST:
            return None
    number = int(sign + digits)
    limit = 1 << bits - 1
    return number if -limit <= number < limit else None


def java_float(text: str) -> float | None:
    """The number that Double.parseDouble reads in a text without surrounding blanks; None if it throws."""
    found = _DOUBLE.fullmatch(text)
    if found is None:
        return None
    if found["decimal"] is not None:
        value = float(found["decimal"])
    elif found["hex"] is not None:
        try:
            value = float.fromhex(found["hex"])
        except OverflowError:
            value = float("inf")
    else:
        value = float(found["word"])
    return -value if found["sign"] == "-" else value


def is_same_in_any_case(text: str, word: str) -> bool:
    """String.equalsIgnoreCase: each letter is equal in upper or in lower case."""
    return len(text) == len(word) and all(
        one.upper() == other.upper() or one.lower() == other.lower() for one, other in zip(text, word, strict=True)
    )


def java_text(value: object) -> str:
    """A value as Java's string concatenation shows it."""
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def host_address(raw: bytes) -> str:
    """The text of a 4-byte or 16-byte address as InetAddress.getHostAddress gives it; the hosts of ACLs have this form."""
    if len(raw) == 16 and raw[:12] == _MAPPED:
        raw = raw[12:]
    if len(raw) == 4:
        return ".".join(map(str, raw))
    return ":".join(f"{int.from_bytes(raw[at : at + 2], 'big'):x}" for at in range(0, 16, 2))


_MAPPED: Final = bytes(10) + b"\xff\xff"


try:
    from _json import encode_basestring as _encode_string
except ImportError:  # pragma: no cover - an interpreter without the C accelerator
    from json.encoder import py_encode_basestring as _encode_string

_HEX_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u00([01][0-9a-f])")
STRING_MEMO_LIMIT = 1 << 14
STRING_MEMO_LENGTH_MAX = 256


def string_text(text: str) -> str:
    """A JSON string with Jackson's escapes: control characters have upper-case hex; `/` and U+007F stay."""
    quoted: str = _encode_string(text)
    if "\\u00" in quoted:
        quoted = _HEX_ESCAPE.sub(lambda match: f"{match[1]}\\u00{match[2].upper()}", quoted)
    return quoted


class StringTexts(dict[bytes, str]):
    """A bounded memo from a string's bytes to its JSON text, because names recur all over a log."""

    def __missing__(self, raw: bytes) -> str:
        text = string_text(kafka_text(raw))
        if len(raw) <= STRING_MEMO_LENGTH_MAX:
            if len(self) >= STRING_MEMO_LIMIT:
                self.clear()
            self[raw] = text
        return text


STRING_TEXTS = StringTexts()


def base64_text(raw: bytes) -> str:
    """Bytes as standard base64 with padding."""
    return b2a_base64(raw, newline=False).decode("ascii")


def bytes_text(raw: bytes) -> str:
    """The same as a JSON string."""
    return f'"{base64_text(raw)}"'


def bool_text(value: bool) -> str:
    return "true" if value else "false"


_SMALLEST = 1e-322


def java_double(value: float) -> str:
    """The text of Double.toString: always a fraction, exponent form from 1e7 up and below 1e-3.

    The digits are the shortest that read back as the value, but at least two. JDK 17 prints more digits for some values from 1e17 up
    (JDK-4511638).
    """
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    # For the smallest number Java prints two digits and Python one: 4.9E-324 and 5E-324 are the same number.
    shortest = f"{abs(value)!r}" if abs(value) > _SMALLEST else f"{abs(value):.1e}"
    mantissa, _, exponent_text = shortest.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    exponent = len(whole) - leading_zeros - 1 + int(exponent_text or 0)
    digits = digits.rstrip("0") or "0"
    if -3 <= exponent < 7:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        digits = digits.ljust(exponent + 2, "0")
        return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def double_json(value: float) -> str:
    """A double in JSON: the text of Double.toString, with NaN and the infinities as strings."""
    text = java_double(value)
    return text if text[-1].isdigit() else f'"{text}"'


def json_text(value: Any) -> str:
    """JSON values as text in Kafka's form: compact, with Jackson's escapes."""
    match value:
        case None:
            return "null"
        case str():
            return string_text(value)
        case bool():
            return bool_text(value)
        case dict():
            return f"{{{','.join(f'{string_text(name)}:{json_text(item)}' for name, item in value.items())}}}"
        case list():
            return f"[{','.join(map(json_text, value))}]"
        case _:
            return str(value)


Key = TypeVar("Key", bound=Hashable)
_HALF: Final = 1 << 16
"""HashMap mixes the upper half of a hash into the lower half; below this number, the upper half is zero."""
_KEPT: Final = 1_024


def bucket_count(capacity: int, size: int) -> int:
    """The number of buckets of a table that was created for `capacity` keys and has had at most `size` keys."""
    buckets = 1 << max(0, capacity - 1).bit_length()
    while size > buckets * 3 // 4:
        buckets *= 2
    return buckets


def copy_capacity(size: int) -> int:
    """The capacity for which Java creates a HashSet that copies a collection of `size` items."""
    return max(size * 4 // 3 + 1, 16)


def table_order(keys: Iterable[Key], hash: Callable[[Key], int], buckets: int) -> list[Key]:
    """The order in which a table of `buckets` buckets iterates over distinct keys, given in order of insertion."""
    mask = buckets - 1

    def bucket(key: Key) -> int:
        number = hash(key) & 0xFFFFFFFF
        return (number ^ number >> 16) & mask

    return sorted(keys, key=bucket)


def lazy_table_order(calls: Sequence[Key], hash: Callable[[Key], int], capacity: int = 16) -> list[Key]:
    """The order in which a table iterates over its keys if these calls of computeIfAbsent filled it; calls may repeat keys.

    A new key comes first in its bucket, and the table only grows at the call after the one that made it too full.
    """
    buckets = bucket_count(capacity, len(dict.fromkeys(calls[:-1])))
    return table_order(reversed(dict.fromkeys(calls)), hash, buckets)


def hash_order(ids: Iterable[int], capacity: int = 16) -> tuple[int, ...]:
    """The order in which a java.util.HashSet of integers iterates that was created for `capacity` of them.

    Ids below the number of buckets are in ascending order.
    """
    distinct = dict.fromkeys(ids)
    buckets = bucket_count(capacity, len(distinct))
    ascending = sorted(distinct)
    if not ascending or (ascending[0] >= 0 and ascending[-1] < min(buckets, _HALF)):
        return tuple(ascending)
    return tuple(table_order(distinct, int, buckets))


def string_hash_order(texts: Iterable[str], capacity: int = 16) -> tuple[str, ...]:
    """The order in which a java.util.HashMap with string keys iterates that was created for `capacity` of them."""
    distinct = dict.fromkeys(texts)
    return tuple(table_order(distinct, string_hash, bucket_count(capacity, len(distinct))))


def uuid_hash_order(ids: Iterable[bytes], capacity: int = 16) -> tuple[bytes, ...]:
    """The same for keys that are Kafka's Uuids, given as 16 bytes."""
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
    """A sort key for the order of String.compareTo: by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


K = TypeVar("K")
V = TypeVar("V")
_GOLDEN_RATIO: Final = -7046029254386353131
_64_BITS: Final = (1 << 64) - 1


class _HashedMap(MutableMapping[str, V], Generic[V]):
    """Shape: `_slots` is the size of the hash table. It never shrinks, so the order depends on how many keys there once were."""

    __slots__ = ("_hashes", "_items", "_order", "_slots")

    def __init__(self, slots: int) -> None:
        self._items: dict[str, V] = {}
        self._hashes: dict[str, int] = {}
        self._order: list[str] | None = None
        self._slots = slots

    @abstractmethod
    def _grown(self, count: int) -> int:
        """Return the size of the table once it holds this many keys."""

    @abstractmethod
    def _ordered(self) -> list[str]: ...

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __setitem__(self, key: str, value: V) -> None:
        if key not in self._items:
            self._hashes[key] = string_hash(key)
            self._order = None
            self._slots = self._grown(len(self._items) + 1)
        self._items[key] = value

    def __delitem__(self, key: str) -> None:
        del self._items[key]
        del self._hashes[key]
        self._order = None

    def __iter__(self) -> Iterator[str]:
        if self._order is None:
            self._order = self._ordered()
        return iter(self._order)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


class JavaMap(_HashedMap[V]):
    """java.util.HashMap, filled by `put`: in a bucket, the key that came first is first."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(16)

    def _grown(self, count: int) -> int:
        return self._slots * 2 if count > self._slots * 3 // 4 else self._slots

    def _ordered(self) -> list[str]:
        hashes, mask = self._hashes, self._slots - 1
        return sorted(self._items, key=lambda key: (hashes[key] ^ hashes[key] >> 16) & mask)


class TimelineMap(_HashedMap[V]):
    """TimelineHashMap of modern groups: in a slot, the key that came last is first."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(2)

    def __setitem__(self, key: str, value: V) -> None:
        # BaseHashTable grows before it looks for the key, so replacing a value may grow the table too.
        slots = self._grown(len(self) + 1)
        if slots != self._slots:
            self._slots, self._order = slots, None
        super().__setitem__(key, value)

    def _grown(self, count: int) -> int:
        return self._slots * 2 if count * 3 > self._slots * 4 else self._slots

    def _ordered(self) -> list[str]:
        return timeline_order(list(self._items), self._hashes, self._slots)


def names_in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in the order of a java.util.HashSet made from them."""
    names = tuple(names)
    return string_hash_order(names, max(int(len(names) / 0.75) + 1, 16))


def timeline_slots(count: int) -> int:
    """Return the size of the table of a TimelineHashMap that has held this many keys."""
    slots = 2
    while count * 3 > slots * 4:
        slots *= 2
    return slots


def timeline_order(keys: Sequence[K], hashes: Mapping[K, int], slots: int = 2) -> list[K]:
    """Sort keys, given oldest first, into the iteration order of a TimelineHashMap whose table has at least `slots` slots."""
    slots = max(slots, timeline_slots(len(keys)))
    shift = 65 - slots.bit_length()

    def slot(key: K) -> int:
        number = hashes[key]
        signed = number - (1 << 32) if number >> 31 else number
        return (signed * _GOLDEN_RATIO & _64_BITS) >> shift

    newest_first = keys[::-1]
    return sorted(newest_first, key=slot)


T = TypeVar("T")


class JavaQueue(Generic[T]):
    """java.util.PriorityQueue. `poll` returns an item of the lowest rank. Among equal ranks the shape of Java's heap decides."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, T]] = []

    def add(self, rank: float, item: T) -> None:
        heap, at = self._heap, len(self._heap)
        heap.append((rank, item))
        while at > 0 and rank < heap[(at - 1) // 2][0]:
            heap[at] = heap[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at] = (rank, item)

    def __len__(self) -> int:
        return len(self._heap)

    def poll(self) -> T:
        """Errors: IndexError for an empty queue."""
        heap = self._heap
        taken, moved = heap[0][1], heap.pop()
        if not heap:
            return taken
        at = 0
        while (child := 2 * at + 1) < len(heap):
            if child + 1 < len(heap) and heap[child][0] > heap[child + 1][0]:
                child += 1
            if moved[0] <= heap[child][0]:
                break
            heap[at] = heap[child]
            at = child
        heap[at] = moved
        return taken
