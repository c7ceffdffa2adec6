"""Two writers of one lake, of which the first sleeps before one of its steps while the second takes its lock over.

The first runs in a thread that stops before its step `sleeps_at`. The second goes up to its step `wakes_at`; then the first does what it
was about to do, and goes on until it looks at its lock, and the second does the rest, or dies. Nothing runs at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, get_ident
from typing import Any

import pytest

from metashell.common.errors import MetashellError
from metashell.tables.lake import append, write_tasks
from metashell.tables.stores import Store, StoreFile, open_store
from tests.tables.lake.dying import DyingStore, Life


class Lease:
    """A lock that whoever comes takes over."""

    def __init__(self) -> None:
        self.owner = 0

    @contextmanager
    def taken(self) -> Iterator[Leased]:
        self.owner += 1
        yield Leased(self, self.owner)


class Leased:
    def __init__(self, lease: Lease, number: int) -> None:
        self._lease = lease
        self._number = number

    def require(self) -> None:
        if self._lease.owner != self._number:
            raise MetashellError("the lock was removed, so another may have it now")

    def listed(self, store: Store, folder: str) -> list[StoreFile]:
        return store.files(folder)


class LeasedStore(DyingStore):
    """A store in which locks can be lost, as in those of objects; its life counts the steps."""

    is_local = False

    def __init__(self, store: Store, life: Life, lease: Lease) -> None:
        super().__init__(store, life)
        self._lease = lease

    def lock(self, purpose: str) -> Any:
        return self._lease.taken()


class Sleeper(Life):
    """The life of a writer that stops before one of its steps, until it is woken."""

    def __init__(self, sleeps_at: int) -> None:
        super().__init__()
        self.sleeps_at = sleeps_at
        self.sleeps, self.woken = Event(), Event()

    def step(self, name: str) -> None:
        if len(self.steps) == self.sleeps_at:
            self.sleeps.set()
            assert self.woken.wait(60)
        super().step(name)


class Waker(Life):
    """The life of a writer before one of whose steps another wakes and ends; it may die there."""

    def __init__(self, wakes_at: int, wake: Callable[[], None], *, dies: bool = False) -> None:
        super().__init__(wakes_at if dies else -1)
        self._wakes_at = wakes_at
        self._wake = wake

    def step(self, name: str) -> None:
        if len(self.steps) == self._wakes_at:
            self._wake()
        super().step(name)


class Two:
    """Runs in this process; each thread has its life, and all the same lock."""

    def __init__(self) -> None:
        self.lease = Lease()
        self.lives: dict[int, Life] = {}
        self.ended: dict[Life, str] = {}

    def open(self, place: str, **more: Any) -> LeasedStore:
        return LeasedStore(open_store(place, **more), self.lives[get_ident()], self.lease)

    @contextmanager
    def patched(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.fsync", lambda descriptor: None)
            for module in (append, write_tasks, write_tasks):
                patch.setattr(module, "open_store", self.open)
            yield

    def live(self, life: Life, work: Callable[[], Any]) -> None:
        """Do it in this thread with a life; what the lock says afterwards is kept in `ended`."""
        self.lives[get_ident()] = life
        try:
            work()
        except MetashellError as error:
            self.ended[life] = str(error)

    def sleeping(self, sleeper: Sleeper, work: Callable[[], Any]) -> Callable[[], None]:
        """Start the first writer, and wait until it sleeps or has ended; gives what wakes it and waits for its end."""

        def run() -> None:
            self.live(sleeper, work)
            sleeper.sleeps.set()

        thread = Thread(target=run)
        thread.start()
        assert sleeper.sleeps.wait(60)

        def wake() -> None:
            sleeper.woken.set()
            thread.join(60)
            assert not thread.is_alive()

        return wake
