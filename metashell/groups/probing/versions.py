"""Which version of the metadata is used next: by the leader for everyone, and by each member for its own subscription.

Source: org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor; KIP-268; groups.md 17.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from metashell.groups.probing.errors import task_assignment_error

EARLIEST_PROBEABLE: Final = 3
"""The first version whose messages say what else their sender supports."""

NO_ERROR: Final = 0
ASSIGNMENT_ERROR: Final = 3


class Chosen(NamedTuple):
    """What a leader answers with. `error_code` is not 0 where no version suits all."""

    version: int
    commonly_supported: int
    error_code: int = NO_ERROR


class Next(NamedTuple):
    """The version that a member uses for its next subscription, and whether it joins again at once for that."""

    used: int
    must_rejoin: bool


def choose(latest: int, members: Iterable[tuple[int, int]]) -> Chosen:
    """The lowest version of all members, given as (used, latest supported), and the newest that all support.

    A member that uses more than the leader knows is answered in a version it can read, unless someone is too old to say what else it
    supports: then everyone gets an error.
    """
    version = commonly_supported = latest
    has_future = False
    for used, supported in members:
        has_future |= used > latest
        version = min(version, used)
        commonly_supported = min(commonly_supported, supported)
    if has_future and version < EARLIEST_PROBEABLE:
        return Chosen(latest, latest, ASSIGNMENT_ERROR)
    return Chosen(version, commonly_supported)


def follow(used: int, latest: int, received: int, commonly_supported: int) -> Next:
    """What a member does about the version of its assignment. `commonly_supported` is -1 where the version has none.

    Errors: ProbingError for an assignment that no leader may send it.
    """
    if received > used:
        raise task_assignment_error(f"Sent a version {used} subscription but got an assignment with higher version {received}.")
    if commonly_supported > latest:
        raise task_assignment_error("Can't upgrade to metadata version greater than we support")
    if received >= EARLIEST_PROBEABLE and (commonly_supported > used or received < used):
        return Next(commonly_supported, True)
    return Next(used, False)
