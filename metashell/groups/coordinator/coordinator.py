"""The coordinator of one partition of `__consumer_offsets`: it only routes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from metashell.codec.error_codes import UNKNOWN_SERVER_ERROR
from metashell.errors import DecodeError
from metashell.groups.append_errors import append_error
from metashell.groups.context import Chance, Context
from metashell.groups.coordinator.replays import make_state, replay
from metashell.groups.coordinator.routes import HANDLERS, ON_EFFECTS, ON_LOADED, ON_TOPICS, ON_UNLOADED
from metashell.groups.decision import Decision, Effect, GroupError
from metashell.groups.error_answers import error_body, refused
from metashell.groups.offsets.pending import end_transaction
from metashell.groups.record import Place, Record
from metashell.groups.request import Answer, Request
from metashell.groups.settings import Settings
from metashell.groups.state import State
from metashell.groups.timers import Due
from metashell.groups.topics import Topics

RETRY_BACKOFF_MS: Final = 500


class GroupCoordinator:
    """See the package. Errors of `decide`: KeyError for an API that is not the coordinator's."""

    def __init__(self, settings: Settings, chance: Chance, topics: Topics) -> None:
        self.context = Context(settings, chance, make_state())
        self.state.topics = topics

    @property
    def state(self) -> State:
        return self.context.state

    def decide(self, request: Request, now_ms: int) -> Decision:
        handler = HANDLERS[request.api_key]
        try:
            decision = handler(self.context, request, now_ms)
        except GroupError as error:
            decision = Decision(answers=[refused(request, error)])
        except DecodeError:
            decision = Decision(answers=[Answer(request.ticket, error_body(request, UNKNOWN_SERVER_ERROR))])
        if decision.request is None:
            decision.request = request
        return decision

    def next_due_ms(self) -> int | None:
        """When `run_due` has something to do, None for never."""
        return self.context.timers.next_due_ms()

    def run_due(self, now_ms: int) -> Decision | None:
        """Run the one timer that was due first; None where none is due."""
        due = self.context.timers.pop(now_ms)
        if due is None:
            return None
        decision = due.action(now_ms)
        if decision.records:
            undo = decision.on_failure
            decision.on_failure = lambda code, at_ms: self._run_later(due, decision if undo is None else undo(code, at_ms), at_ms)
        return decision

    def _run_later(self, due: Due, decision: Decision, now_ms: int) -> Decision:
        """Nobody asks for a timer's work again, so it is tried again."""
        if due.key not in self.context.timers:
            self.context.timers.schedule(due.key, now_ms + RETRY_BACKOFF_MS, due.action)
        return Decision(answers=decision.answers)

    def replay(self, record: Record, place: Place) -> None:
        """Take in a record that was written, here or before this coordinator was made."""
        replay(self.state, record, place)

    def replay_end_of_transaction(self, producer_id: int, is_committed: bool) -> None:
        """Take in the control record that ends a producer's transaction."""
        end_transaction(self.state, producer_id, is_committed)

    def loaded(self, now_ms: int) -> None:
        """Begin: every record of the log was replayed."""
        for begin in ON_LOADED:
            begin(self.context, now_ms)

    def unloaded(self, now_ms: int) -> list[Answer]:
        """End: who waits gets an error that sends it to look for the coordinator elsewhere, and nothing is due any more."""
        answers = [answer for end in ON_UNLOADED for answer in end(self.context, now_ms)]
        self.context.timers.clear()
        return answers

    def failed(self, decision: Decision, code: int, now_ms: int) -> Decision:
        """What happens when the batch of a decision could not be written, for this error. Source: groups.md 7.2."""
        code = append_error(code)
        if decision.on_failure is not None:
            return decision.on_failure(code, now_ms)
        request = decision.request
        if request is None:
            return Decision(answers=decision.answers)
        own = Answer(request.ticket, error_body(request, code))
        return Decision(answers=[own if answer.ticket == request.ticket else answer for answer in decision.answers])

    def effect_done(self, effect: Effect, is_ok: bool, now_ms: int) -> Decision:
        """Take in that an effect was performed, or that it failed."""
        follow = ON_EFFECTS.get(type(effect))
        return Decision() if follow is None else follow(self.context, effect, is_ok, now_ms)

    def topics_changed(self, topics: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int) -> Decision:
        """Take another view of the metadata: names of topics that are new or not as they were, and of those that are gone."""
        old, self.state.topics = self.state.topics, topics
        return Decision([record for hear in ON_TOPICS for record in hear(self.context, old, topics, changed, deleted, now_ms)])
