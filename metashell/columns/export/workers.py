"""The processes of an export: started before there is work for them, with everything loaded that they need."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from metashell.errors import MetashellError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.process import BaseProcess

EARLY_BYTES = 64 << 20
"""An input of this size is worth processes whatever the plan will be."""


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
        """End the processes; in haste without waiting for tasks that have begun."""
        if self._pool is None:
            return
        if is_hasty:
            for process in self._processes:
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def start(self, count: int) -> None:
        """Have processes, unless there are some: as many as there are tasks, if so many are allowed."""
        if self._pool is not None or min(self.jobs, count) <= 1:
            return
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import active_children, get_context

        others = set(active_children())
        context = get_context(self._start_method())
        # Ctrl-C is this process's business; what it starts is deaf to it.
        with _deaf_to_interrupts():
            self._pool = ProcessPoolExecutor(min(self.jobs, count), mp_context=context, initializer=_begin, initargs=(self._prepare,))
            for _ in range(min(self.jobs, count)):
                self._pool.submit(_ready)
            self._processes = [process for process in active_children() if process not in others]

    def _start_method(self) -> str:
        """A fork is quick, and shares what is loaded; it is safe as long as nobody has used pyarrow, whose threads it would lose."""
        if "pyarrow" in sys.modules:
            return "spawn"
        self._load()
        return "fork"

    @property
    def are_started(self) -> bool:
        return self._pool is not None

    def submit(self, work: Callable[..., Any], *task: Any) -> None:
        """Have a task done, whose number is that of the tasks before it; there have to be processes."""
        assert self._pool is not None
        with _deaf_to_interrupts():
            self._futures[self._pool.submit(work, *task)] = len(self._futures)

    def results(self, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """The results of `work(*task)` with the number of their task, as they are done; here, in order, where there are no processes.

        Tasks that were submitted are these tasks.
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
            assert len(self._futures) == len(tasks)
            for future in as_completed(self._futures):
                yield self._futures[future], future.result()
        except BrokenProcessPool:
            raise MetashellError("a process of the export ended unexpectedly: out of memory?") from None


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask

    unblocked = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, unblocked)


def _begin(prepare: Callable[[], object]) -> None:
    """What each process does first."""
    from threading import Thread

    Thread(target=_end_with_parent, daemon=True).start()
    prepare()


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever, and hold whatever the parent's output went to."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _ready() -> None:
    """A task that only has a process started."""


def is_large(paths: Sequence[str]) -> bool:
    """Whether the files below some paths take so much together that processes may start before anything is planned."""
    total = 0
    for path in paths:
        names = (os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files) if os.path.isdir(path) else (path,)
        for name in names:
            try:
                total += os.stat(name).st_size
            except OSError:
                continue  # planning will say so, or it is no file of this machine
            if total >= EARLY_BYTES:
                return True
    return False
