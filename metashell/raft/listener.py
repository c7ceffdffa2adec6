"""One listener that the application registered."""

from __future__ import annotations

from typing import NewType

from metashell.ids import NO_LEADER

ListenerId = NewType("ListenerId", int)


class Listener:
    """`next_offset` is what it has consumed, -1 before anything; `is_busy` while it has something to consume."""

    __slots__ = ("epoch", "id", "is_busy", "leader_id", "next_offset")

    def __init__(self, id: ListenerId) -> None:
        self.id = id
        self.next_offset = -1
        self.is_busy = False
        self.leader_id = NO_LEADER
        self.epoch = -1
