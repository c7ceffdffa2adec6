"""The chance that the controller is handed: ids, and the numbers that placement draws."""

from __future__ import annotations

from typing import Any, Protocol

from metashell.values import uuid_text


class Chance(Protocol):
    """What `random.Random` and `random.SystemRandom` have."""

    def getrandbits(self, k: int, /) -> int: ...

    def randrange(self, stop: int, /) -> int: ...

    def shuffle(self, x: list[Any], /) -> None: ...


def new_uuid(chance: Chance) -> bytes:
    """A random id of Kafka's kind: version 4, never a reserved one, its text never begins with a dash.

    Source: org.apache.kafka.common.Uuid.randomUuid.
    """
    while True:
        number = chance.getrandbits(128)
        number = number & ~(0xF << 76) | 4 << 76
        number = number & ~(3 << 62) | 2 << 62
        raw = number.to_bytes(16, "big")
        if not uuid_text(raw).startswith("-"):
            return raw
