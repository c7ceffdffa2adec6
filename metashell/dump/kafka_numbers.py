"""Java's arithmetic, where Kafka's text shows what it does to numbers that make no sense."""

from __future__ import annotations

_INT64_LIMIT = 1 << 63


def int64(value: int) -> int:
    """A sum as Java's long holds it."""
    return (value + _INT64_LIMIT) % (2 * _INT64_LIMIT) - _INT64_LIMIT


def int32(value: int) -> int:
    """A sum as Java's int holds it."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def java_sequence(sequence: int, increment: int) -> int:
    """A producer sequence some records on. Source: DefaultRecordBatch.incrementSequence."""
    if sequence > int32(0x7FFFFFFF - increment):
        return int32(increment - (0x7FFFFFFF - sequence) - 1)
    return int32(sequence + increment)


def java_sequence_before(sequence: int, decrement: int) -> int:
    """A producer sequence some records earlier. Source: DefaultRecordBatch.decrementSequence."""
    if sequence < decrement:
        return int32(0x7FFFFFFF - int32(decrement - sequence) + 1)
    return int32(sequence - decrement)
