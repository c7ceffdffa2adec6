"""A coordinator with its log in memory: what it decides is written at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from metashell.groups.coordinator.coordinator import GroupCoordinator
from metashell.groups.decision import Decision, DeleteShareState, Effect, InitializeShareState, Producer
from metashell.groups.record import Place, Record
from metashell.groups.request import Answer, Request
from metashell.groups.topics import Topics


class Written(NamedTuple):
    """A batch as it was appended. Shape: `marker` is None unless this is a transaction's end, which has no records."""

    base_offset: int
    timestamp_ms: int
    records: tuple[Record, ...]
    producer: Producer | None = None
    marker: bool | None = None


class Shard:
    """Shape: `written` has every batch, oldest first; `effects` what others have to do, and `dropped` tickets that are
    never answered, until they are taken out.

    Share state is kept by nobody here: what is asked for is done at once, unless `has_share_coordinator`: then it is among the effects, and
    `effect_done` goes on from there.
    """

    def __init__(
        self, coordinator: GroupCoordinator, written: Iterable[Written] = (), now_ms: int = 0, has_share_coordinator: bool = False
    ) -> None:
        self.coordinator = coordinator
        self.has_share_coordinator = has_share_coordinator
        self.written: list[Written] = []
        self.effects: list[Effect] = []
        self.dropped: list[int] = []
        self.end_offset = 0
        for batch in written:
            self._write(batch, replays=True)
        coordinator.loaded(now_ms)

    def submit(self, request: Request, now_ms: int) -> list[Answer]:
        """What is answered now, to this request or to others that waited."""
        return self._perform(self.coordinator.decide(request, now_ms), now_ms)

    def run_due(self, now_ms: int) -> list[Answer]:
        """Run every timer that is due, one after the other, each at its own time, and those that this makes due by now."""
        answers: list[Answer] = []
        at_ms = -1
        while (due_ms := self.coordinator.next_due_ms()) is not None and due_ms <= now_ms:
            at_ms = max(at_ms, due_ms)
            decision = self.coordinator.run_due(at_ms)
            assert decision is not None
            answers += self._perform(decision, at_ms)
        return answers

    def topics_changed(self, topics: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int) -> list[Answer]:
        return self._perform(self.coordinator.topics_changed(topics, changed, deleted, now_ms), now_ms)

    def effect_done(self, effect: Effect, is_ok: bool, now_ms: int) -> list[Answer]:
        """Somebody has done what a decision wanted, or could not."""
        return self._perform(self.coordinator.effect_done(effect, is_ok, now_ms), now_ms)

    def _perform(self, decision: Decision, now_ms: int) -> list[Answer]:
        if decision.records or decision.marker is not None:
            batch = Written(self.end_offset, now_ms, tuple(decision.records), decision.producer, decision.marker)
            self._write(batch, replays=decision.replays)
        self.dropped += decision.dropped
        answers = decision.answers
        for effect in decision.effects:
            if isinstance(effect, InitializeShareState | DeleteShareState) and not self.has_share_coordinator:
                answers = answers + self.effect_done(effect, True, now_ms)
            else:
                self.effects.append(effect)
        return answers

    def _write(self, batch: Written, *, replays: bool) -> None:
        self.written.append(batch)
        producer_id = -1 if batch.producer is None else batch.producer.id
        for offset, record in enumerate(batch.records if replays else (), batch.base_offset):
            self.coordinator.replay(record, Place(offset, batch.timestamp_ms, producer_id))
        if batch.marker is not None and batch.producer is not None:
            self.coordinator.replay_end_of_transaction(batch.producer.id, batch.marker)
        self.end_offset = batch.base_offset + (len(batch.records) or 1)
