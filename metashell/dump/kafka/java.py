"""Java's names of files and its arithmetic, where Kafka's text shows them."""

from __future__ import annotations

import os
import re

from metashell.dump.writer import Halt

_JAVA_NUMBER = re.compile(r"[+-]?\d+")
_INT64_LIMIT = 1 << 63


def java_path(path: str) -> str:
    """A path as java.io.File prints it: no doubled and no trailing slash."""
    return re.sub("/+", "/", path).rstrip("/") or path[:1]


def java_absolute(path: str) -> str:
    """A path as java.io.File makes it absolute: put behind the working directory, with its dots as they are."""
    return path if path.startswith("/") else f"{os.getcwd().rstrip('/')}/{path}"


def java_long(path: str, text: str, bits: int = 64) -> int:
    """The number that a part of a file's name is. Raises Halt where Java throws."""
    if _JAVA_NUMBER.fullmatch(text) is None or not -(1 << bits - 1) <= int(text) < 1 << bits - 1:
        raise Halt(f'{path}: NumberFormatException: For input string: "{text}"')
    return int(text)


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
