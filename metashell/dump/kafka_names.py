"""Names of files as Kafka's tool reads and prints them."""

from __future__ import annotations

import os
import re

from metashell.dump.writer import Halt

_JAVA_NUMBER = re.compile(r"[+-]?\d+")


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
