"""The descriptors of the process: how many there are, and how many of them connections may use.

Files come first: a controller that cannot open a segment ends. `prepare_process` is for processes that serve: their soft limit becomes the
hard one."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Final

FREE_DESCRIPTORS: Final = 256
"""Descriptors that connections leave to the files of the process."""
STRANGERS_PART: Final = 4
"""One of so many connections may be a stranger's."""
STRANGERS_MAX: Final = 1000
STRANGERS_MIN: Final = 8
SWITCH_INTERVAL_S: Final = 0.0005
"""How long the thread that decodes may keep the loop waiting; Python's own is 5 ms."""
DESCRIPTORS_WANTED: Final = 1 << 20


def room_for_connections(descriptors: int) -> int:
    """Return how many of the process's descriptors connections may use; where there are few, half of them."""
    return max(descriptors - FREE_DESCRIPTORS, descriptors // 2)


def strangers_max(connections_max: int) -> int:
    """Return how many of the connections may be strangers'."""
    return max(STRANGERS_MIN, min(connections_max // STRANGERS_PART, STRANGERS_MAX))


def descriptors_max() -> int:
    """Return how many files and sockets the process may have open."""
    try:
        import resource
    except ImportError:
        return 1 << 31
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 31 if soft == resource.RLIM_INFINITY else soft


def prepare_process() -> None:
    """Make a process one that serves: it may have as many descriptors as the system allows, and its threads give way to the loop soon."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_WANTED if hard == resource.RLIM_INFINITY else hard
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    # macOS says that there is no limit, and refuses more than its own.
    for size in (wanted, min(wanted, 10_240)):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, size), hard))
            return
