"""A lock on a folder of a store, made of objects alone, since stores have no locks.

Each writer puts a file of its own into `_metashell/locks`, and then looks: where there is another that lives, it takes its own away and
gives up. Of two that come at once both may give up, which is safe; both going on is impossible where a list shows what was written before
it. A file lives as long as it is written anew every few seconds, by the clock of the store, never by ours.

A lock that may have been lost is lost for good: a process that slept for minutes does not write its file anew, since another may have
removed it, and have written where this one goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Final, Protocol
from uuid import uuid4

from metashell.errors import MetashellError
from metashell.stores.holder import holder_text, is_dead, told
from metashell.stores.local_lock import in_use
from metashell.stores.store import StoreFile

FOLDER: Final = "_metashell/locks"
RENEWED_EVERY_S: Final = 15.0
LIVES_MS: Final = 120_000
_LOST_AFTER_S: Final = LIVES_MS / 2 / 1000
"""Before others may take it: what is begun after this may meet them."""
_LIST_WAITS_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)


class _Listed(Protocol):
    shown: str

    def files(self, below: str = "") -> list[StoreFile]: ...


class _Files(_Listed, Protocol):
    def put(self, name: str, data: bytes) -> None: ...
    def read(self, name: str) -> bytes | None: ...
    def has(self, name: str) -> bool: ...
    def remove(self, name: str) -> None: ...


class StoreLock:
    """A lock whose file is written anew by a thread."""

    def __init__(self, files: _Files, purpose: str) -> None:
        self._files = files
        self.name = f"{FOLDER}/{uuid4().hex}.json"
        self._text = holder_text(purpose)
        self._ended = Event()
        self._renewed_s = now_s()
        self._lost = ""
        self._thread = Thread(target=self._renew, name="metashell-lock", daemon=True)

    def take(self) -> None:
        """Errors: UsageError where another has it."""
        self._write()
        for other, said in self._others():
            if not is_dead(told(said)):
                raise in_use(self._files.shown, said)
            self._files.remove(other)
        self._thread.start()

    def _others(self) -> Iterator[tuple[str, bytes]]:
        """The locks of others that may live: what they say of themselves."""
        found = self.listed(self._files, FOLDER)
        (now_ms,) = (file.mtime_ms for file in found if file.name == self.name)
        for file in found:
            if file.name == self.name:
                continue
            if now_ms - file.mtime_ms > LIVES_MS:
                self._files.remove(file.name)
            elif (said := self._files.read(file.name)) is not None:
                yield file.name, said

    def listed(self, store: _Listed, folder: str) -> list[StoreFile]:
        """What lies in the folder of locks, or above. A list without our own is of an earlier time, and would lack others' files too."""
        for seconds in _LIST_WAITS_S:
            found = store.files(folder)
            if any(file.name == self.name for file in found):
                return found
            self._ended.wait(seconds)
        self.require()
        raise MetashellError(f"{self._files.shown}: its list does not show what was just written, so it cannot be locked")

    def _write(self) -> None:
        began_s = now_s()
        self._files.put(self.name, self._text)
        self._renewed_s = began_s

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED_EVERY_S):
            # What fails now may work the next time; a lock that is lost for good is not written again.
            with suppress(MetashellError):
                if self._is_lost():
                    return
                self._write()

    def _is_lost(self) -> bool:
        """Whether another can have it; that stays so. Errors: MetashellError of the store, which says nothing yet."""
        if not self._lost and now_s() - self._renewed_s > _LOST_AFTER_S:
            self._lost = f"was not renewed for {_LOST_AFTER_S:.0f} s"
        if not self._lost and not self._files.has(self.name):
            self._lost = "was removed"
        return bool(self._lost)

    def require(self) -> None:
        if self._is_lost():
            raise MetashellError(f"{self._files.shown}: the lock {self._lost}, so another may have it now")

    def release(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._files.remove(self.name)


def now_s() -> float:
    """Seconds that go on while the machine sleeps, where the system counts such."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@contextmanager
def store_lock(files: _Files, purpose: str) -> Iterator[StoreLock]:
    """Hold a store's folder for as long as the block runs. Errors: UsageError where another has it."""
    lock = StoreLock(files, purpose)
    try:
        lock.take()
        yield lock
    finally:
        # A lock that cannot be removed ends by itself, and the work is done or has its own error.
        with suppress(MetashellError):
            lock.release()
