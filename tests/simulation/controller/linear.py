"""Whether answers were right for some order of the requests that keeps to real time: linearizability of one key's history.

The search is that of Wing and Gong with Lowe's memory of what was tried: take, in turn, each request that nothing finished precedes, and go
on from the state that it leaves; a set of requests and a state that led nowhere once are not tried again. A request without an answer may
have taken effect at any time since, or never. Histories are split by key first, so each is short.
Source: Wing and Gong, Testing and Verifying Concurrent Objects; Lowe, Testing for Linearizability.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

FOREVER: Final = 1 << 62
TRIES_MAX: Final = 50_000


@dataclass(slots=True)
class Operation:
    """One request about one key, and what came of it.

    Shape: `answer` is None as long as nobody knows what came of it, and then `returned` is FOREVER. Units: `called` and `returned` count
    what happened in the world; no two are equal.
    """

    name: str
    arguments: tuple[Any, ...]
    called: int
    returned: int = FOREVER
    answer: Hashable = None

    @property
    def is_open(self) -> bool:
        return self.returned == FOREVER

    def __str__(self) -> str:
        came = "no answer" if self.is_open else f"{self.answer} at {self.returned}"
        return f"{self.called}: {self.name}{self.arguments} -> {came}"


Step = Callable[[Any, Operation], Iterable[Any]]
"""The states that an operation may leave behind, none where its answer is wrong in this state. Of one without an answer: its effects."""


class UndecidedError(Exception):
    """The search took too long."""


def is_linearizable(operations: Sequence[Operation], initial: Hashable, step: Step, tries_max: int = TRIES_MAX) -> bool:
    """Whether some order explains all answers. Errors: UndecidedError after `tries_max` states."""
    ordered = sorted(operations, key=lambda operation: operation.called)
    finished = sum(1 << index for index, operation in enumerate(ordered) if not operation.is_open)
    seen: set[tuple[int, Hashable]] = set()
    waiting: list[tuple[int, Hashable]] = [(0, initial)]
    while waiting:
        taken, state = waiting.pop()
        if taken & finished == finished:
            return True
        if len(seen) > tries_max:
            raise UndecidedError
        for index in _candidates(ordered, taken):
            operation = ordered[index]
            for after in step(state, operation):
                if operation.is_open and after == state:
                    continue
                found = taken | 1 << index, after
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
    return False


def _candidates(ordered: Sequence[Operation], taken: int) -> list[int]:
    """What may come next: requests that were sent before the first answer to one that is still to come. Of equal open ones, the oldest."""
    first = min(operation.returned for index, operation in enumerate(ordered) if not taken >> index & 1)
    found = []
    open_ones: set[tuple[str, tuple[Any, ...]]] = set()
    for index, operation in enumerate(ordered):
        if operation.called > first:
            break
        if taken >> index & 1:
            continue
        if operation.is_open:
            kind = operation.name, operation.arguments
            if kind in open_ones:
                continue
            open_ones.add(kind)
        found.append(index)
    return found
