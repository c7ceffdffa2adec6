"""A member of a share group, as its records say it is.

Source: groups.md 2.4 and 15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from metashell.codec.java_hash import string_hash_order

Partitions = Mapping[bytes, tuple[int, ...]]
"""Topic id -> partitions, ascending."""

NOTHING: Final[Partitions] = {}
LEAVE_EPOCH: Final = -1


class Member(NamedTuple):
    """Shape: `names` are in the order of Kafka's set. Members have no partitions to give up: others may have the same ones."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: int = 0
    assigned: Partitions = NOTHING
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()


def names_in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names as the java.util.HashSet has them that is made from them."""
    names = tuple(names)
    return string_hash_order(names, max(int(len(names) / 0.75) + 1, 16))
