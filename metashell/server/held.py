"""How long the loop was held: the longest time in which one piece of a replica's work let nothing else have its turn."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from functools import partial
from time import perf_counter
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

LONG_S: Final = 0.05
"""What should not be reached: heartbeats and votes of others wait as long."""


class HeldTime:
    """Measures pieces of work. Units: seconds; `long_count` counts those of `LONG_S` and more."""

    __slots__ = ("long_count", "longest_s")

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.long_count = 0

    def note(self, seconds: float) -> None:
        """One piece took so long."""
        if seconds > self.longest_s:
            self.longest_s = seconds
        if seconds >= LONG_S:
            self.long_count += 1

    async def watched(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that `begin` makes, measuring each piece of it between two times that it waits."""
        return await _Watched(self, begin())


class _Watched(Generic[T]):
    def __init__(self, held: HeldTime, coroutine: Coroutine[Any, Any, T]) -> None:
        self._held = held
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T]:
        go_on = partial(self._coroutine.send, None)
        while True:
            started = perf_counter()
            try:
                waited_for = go_on()
            except StopIteration as end:
                returned: T = end.value
                return returned
            finally:
                self._held.note(perf_counter() - started)
            try:
                yield waited_for
            except BaseException as error:
                go_on = partial(self._coroutine.throw, error)
            else:
                go_on = partial(self._coroutine.send, None)
