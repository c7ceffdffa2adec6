"""Java's numbers, and the order of the hash tables of Kafka's own that show in records."""

from __future__ import annotations

import re
from collections.abc import Sequence


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
