"""A member of a streams group, as its records say it is.

Source: groups.md 2.5 and 15.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from metashell.groups.streams.tasks import NO_EPOCHS, NO_TASKS, Epochs, TaskId, Tasks

STABLE: Final = 1
UNREVOKED: Final = 2
UNRELEASED: Final = 3
STATE_NAMES: Final = {STABLE: "STABLE", UNREVOKED: "UNREVOKED_TASKS", UNRELEASED: "UNRELEASED_TASKS"}
"""Any other number is a state of a newer Kafka."""

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""Of a static member that leaves for a while: what it has stays its own."""


class Endpoint(NamedTuple):
    """Where a process answers interactive queries."""

    host: str
    port: int


class TaskOffsets(NamedTuple):
    """How far a member's tasks are, and where their logs end, as it last said."""

    current: Mapping[TaskId, int] = MappingProxyType({})
    end: Mapping[TaskId, int] = MappingProxyType({})


class Member(NamedTuple):
    """Shape: `assigned` and `revoking` (told to give up, not confirmed) share no task in one role; `epochs` has the active ones of both."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: int = STABLE
    assigned: Tasks = NO_TASKS
    revoking: Tasks = NO_TASKS
    epochs: Epochs = NO_EPOCHS
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = 0
    process_id: str = ""
    endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()
