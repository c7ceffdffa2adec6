"""Answers that wait until what they say is committed."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

Waiter = TypeVar("Waiter")


class Purgatory(Generic[Waiter]):
    """Waiting answers by the offset that has to be stable first; offsets never go down from one to the next."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Waiter]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, offset: int, waiter: Waiter) -> None:
        """Let `waiter` wait for `offset`, or, where that is lower, for the highest offset that another waits for."""
        if self._waiting:
            # Also an answer without records may rest on what others wrote and the quorum has not committed.
            offset = max(offset, self._waiting[-1][0])
        self._waiting.append((offset, waiter))

    def complete_to(self, stable_offset: int) -> list[Waiter]:
        """The waiters that need not wait any longer, in order."""
        done = []
        while self._waiting and self._waiting[0][0] <= stable_offset:
            done.append(self._waiting.popleft()[1])
        return done

    def take_all(self) -> list[Waiter]:
        """Everybody who waits, for a leader that is deposed: they are answered NOT_CONTROLLER."""
        waiting = [waiter for _, waiter in self._waiting]
        self._waiting.clear()
        return waiting
