"""A store whose process dies at a step: nothing happens after it, not even what a handler of errors would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from metashell.tables.lake import append, write_tasks
from metashell.tables.stores import Store, open_store

STEPS = frozenset(("create", "put", "put_file", "move", "remove", "remove_below", "sink"))


class Died(BaseException):
    """The process is gone."""


class Life:
    """Counts the steps of a run; it ends before step `last`, or, of a move or removal of many files, in the middle."""

    def __init__(self, last: int = -1) -> None:
        self.last = last
        self.steps: list[str] = []

    def step(self, name: str) -> None:
        if self.last >= 0 and len(self.steps) >= self.last:
            raise Died(name)
        self.steps.append(name)

    def open(self, place: str, **more: Any) -> DyingStore:
        return DyingStore(open_store(place, **more), self)


class DyingStore:
    def __init__(self, store: Store, life: Life) -> None:
        self._store = store
        self._life = life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in STEPS:
            return found

        def step(*words: Any, **more: Any) -> Any:
            self._life.step(f"{name} {words[0]}")
            return found(*words, **more)

        return step

    def remove_all(self, names: Any) -> None:
        for name in names:
            self._life.step(f"remove {name}")
            self._store.remove(name)

    def move_all(self, moves: Any) -> None:
        for source, target, size in moves:
            self._life.step(f"move {source}")
            self._store.move(source, target, size)


def steps_of(work: Callable[[], Any]) -> list[str]:
    """The steps of a run that nothing ends."""
    life = Life()
    with living(life):
        work()
    return life.steps


@contextmanager
def living(life: Life) -> Iterator[None]:
    """Runs in this process have this life."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)  # a process that dies loses nothing that it wrote
        for module in (append, write_tasks, write_tasks):
            patch.setattr(module, "open_store", life.open)
        yield
