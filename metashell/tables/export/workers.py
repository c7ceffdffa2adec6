"""The processes of an export: started before there is work for them, with everything loaded that they need."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from metashell.common.errors import MetashellError
from metashell.common.uris import is_uri

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.process import BaseProcess

EARLY_BYTES = 64 << 20
"""For an input of this size processes start before the plan is made."""
_FORKED_TOO = frozenset(("jemalloc_bg_thd",))
"""Threads that a forked process starts again by itself: that of pyarrow's allocator, which runs as soon as pyarrow is imported."""


class Workers:
    """At most `jobs` processes. Errors of tasks are theirs; MetashellError when a process is gone.

    `load` imports what tasks need, `prepare` is what each process does before its first task.
    """

    def __init__(self, jobs: int, load: Callable[[], object], prepare: Callable[[], object]) -> None:
        self.jobs = jobs
        self._load = load
        self._prepare = prepare
        self._pool: ProcessPoolExecutor | None = None
        self._futures: dict[Future[Any], int] = {}
        self._processes: list[BaseProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop(is_hasty=error is not None)

    def stop(self, *, is_hasty: bool = True) -> None:
        """End the processes; in haste without waiting for running tasks."""
        if self._pool is None:
            return
        if is_hasty:
            for process in self._processes:
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def start(self, count: int) -> None:
        """Start processes, unless they are running: one a task, but no more than `jobs`."""
        if self._pool is not None or min(self.jobs, count) <= 1:
            return
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import active_children, get_context

        others = set(active_children())
        context = get_context(self._start_method())
        # This process handles Ctrl-C; the ones that it starts ignore it.
        with _ignoring_interrupts():
            self._pool = ProcessPoolExecutor(min(self.jobs, count), mp_context=context, initializer=_begin, initargs=(self._prepare,))
            for _ in range(min(self.jobs, count)):
                self._pool.submit(_ready)
            self._processes = [process for process in active_children() if process not in others]

    def _start_method(self) -> str:
        """Return how processes start. A fork is quick and shares loaded modules; a spawned process takes 0.7 s of CPU time to load them.

        A fork is safe unless pyarrow has been used before: its threads, and those of a store's client, would be missing.
        """
        if "pyarrow" in sys.modules and _has_threads():
            return "spawn"
        self._load()
        return "fork"

    @property
    def are_started(self) -> bool:
        return self._pool is not None

    def submit(self, work: Callable[..., Any], *task: Any) -> None:
        """Run a task in one of the processes, which must have been started. Tasks are numbered from 0 as they come."""
        assert self._pool is not None
        with _ignoring_interrupts():
            self._futures[self._pool.submit(work, *task)] = len(self._futures)

    def results(self, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Yield the results of `work(*task)` with the number of the task, as they come; without processes the tasks run here, in order.

        If tasks were submitted already, they are these.
        """
        self.start(len(tasks))
        if self._pool is None:
            yield from ((number, work(*task)) for number, task in enumerate(tasks))
            return
        from concurrent.futures import as_completed
        from concurrent.futures.process import BrokenProcessPool

        try:
            if not self._futures:
                for task in tasks:
                    self.submit(work, *task)
            futures, self._futures = self._futures, {}
            assert len(futures) == len(tasks)
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise MetashellError("a process of the export ended unexpectedly: out of memory?") from None


def _has_threads() -> bool:
    """Return whether this process has threads that a fork would lack; assumed if the system does not tell."""
    try:
        for thread in os.listdir("/proc/self/task"):
            if int(thread) != os.getpid():
                with open(f"/proc/self/task/{thread}/comm", encoding="utf-8", errors="replace") as file:
                    if file.read().strip() not in _FORKED_TOO:
                        return True
    except OSError:
        return True
    return False


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    unblocked = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, unblocked)


def _begin(prepare: Callable[[], object]) -> None:
    """Start a process: watch its parent, and prepare its work."""
    Thread(target=_end_with_parent, daemon=True).start()
    prepare()


def _end_with_parent() -> None:
    """End this process when its parent ends: it would wait for ever, and keep a killed parent's standard output open."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _ready() -> None:
    """Do nothing. As a task it makes the pool start a process."""


def is_large(paths: Sequence[str]) -> bool:
    """Return whether the files below some paths are large enough together to start processes before anything is planned.

    So is what lies in a store: once its client is there, with its threads, processes would have to load everything anew.
    """
    total = 0
    for path in paths:
        if is_uri(path):
            return True
        names = (os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files) if os.path.isdir(path) else (path,)
        for name in names:
            try:
                total += os.stat(name).st_size
            except OSError:
                continue  # planning reports it
            if total >= EARLY_BYTES:
                return True
    return False
