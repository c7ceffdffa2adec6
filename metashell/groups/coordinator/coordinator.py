"""The coordinator of one partition of `__consumer_offsets`: it only routes."""

from __future__ import annotations

from collections.abc import Collection

from metashell.groups.context import Chance, Context
from metashell.groups.coordinator.routes import HANDLERS, ON_LOADED, REPLAYS
from metashell.groups.decision import Decision
from metashell.groups.offsets.pending import end_transaction
from metashell.groups.record import Place, Record
from metashell.groups.request import Answer, Request
from metashell.groups.settings import Settings
from metashell.groups.state import State
from metashell.groups.topics import Topics


class GroupCoordinator:
    """See the package. Errors of `decide`: KeyError for an API that is not the coordinator's."""

    def __init__(self, settings: Settings, chance: Chance, topics: Topics) -> None:
        self.context = Context(settings, chance, State())
        self.state.topics = topics

    @property
    def state(self) -> State:
        return self.context.state

    def decide(self, request: Request, now_ms: int) -> Decision:
        return HANDLERS[request.api_key](self.context, request, now_ms)

    def next_due_ms(self) -> int | None:
        """When `run_due` has something to do, None for never."""
        return self.context.timers.next_due_ms()

    def run_due(self, now_ms: int) -> Decision | None:
        """Run the one timer that was due first; None where none is due."""
        action = self.context.timers.pop(now_ms)
        return None if action is None else action(now_ms)

    def replay(self, record: Record, place: Place) -> None:
        """Take in a record that was written, here or before this coordinator was made."""
        replay = REPLAYS.get(record.type)
        if replay is not None:
            replay(self.state, record, place)

    def replay_end_of_transaction(self, producer_id: int, is_committed: bool) -> None:
        """Take in the control record that ends a producer's transaction."""
        end_transaction(self.state, producer_id, is_committed)

    def loaded(self, now_ms: int) -> None:
        """Begin: every record of the log was replayed."""
        for begin in ON_LOADED:
            begin(self.context, now_ms)

    def failed(self, decision: Decision, code: int, now_ms: int) -> list[Answer]:
        """What is answered when the batch of a decision could not be written. Source: groups.md 7.2."""
        return [] if decision.on_failure is None else decision.on_failure(code)

    def topics_changed(self, topics: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int) -> Decision:
        """Take another view of the metadata: names of topics that are new or not as they were, and of those that are gone."""
        self.state.topics = topics
        return Decision()
