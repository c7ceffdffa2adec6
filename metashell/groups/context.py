"""What every decision is made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from metashell.groups.decision import Decision
from metashell.groups.request import Request
from metashell.groups.settings import Settings
from metashell.groups.state import State
from metashell.groups.timers import Timers
from metashell.groups.transactions import Transactions
from metashell.groups.waiting_deletion import WaitingDeletion


class Chance(Protocol):
    """Where new ids come from."""

    def uuid(self) -> bytes:
        """16 bytes: the ids that the coordinator makes for members hold them, as Java's text or as Kafka's."""
        ...

    def producer_id(self) -> int:
        """A producer id that was never given out."""
        ...


class Context:
    """The parts of one coordinator."""

    def __init__(self, settings: Settings, chance: Chance, state: State) -> None:
        self.settings = settings
        self.chance = chance
        self.state = state
        self.timers = Timers()
        self.transactions = Transactions()
        self.new_topics_version = -1
        """The version of the metadata in which topics were last made."""
        self.deletions: list[WaitingDeletion] = []


Handler = Callable[[Context, Request, int], Decision]
"""`(context, request, now_ms)`; the answer may be missing from the decision, and comes with a later one."""
