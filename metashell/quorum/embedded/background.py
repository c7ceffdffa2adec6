"""The one quorum that a user has running in the background, and the thread with an asyncio loop that any embedded quorum runs in.

A folder of the user's has `quorum.json`, which says where the quorum is, and `.lock`, which its process holds as long as it lives. So a
quorum that was killed, or that ended with the machine, is known by a `quorum.json` that nobody holds; a process of the same number that
came later is not taken for it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from metashell.disk.file_system import DirectoryLock, Disk, lock_holder, replace_file
from metashell.quorum.embedded.layout import PREFIX, QuorumError

if TYPE_CHECKING:
    import asyncio


RECORD: Final = "quorum.json"
TAKE_TRIES: Final = 25
POLL_S: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A quorum in the background. Units: Unix ms. `is_kept` False: the directory is removed with the quorum."""

    pid: int
    started_ms: int
    bootstrap_controllers: str
    directory: str
    log: str
    is_kept: bool
    bootstrap_servers: str = ""
    """Where clients form groups, empty where they cannot."""


class Registry:
    """The registry of a user's background quorum; `folder` is made when it is needed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._path = os.path.join(folder, RECORD)

    def read(self) -> Record | None:
        """Return the quorum that was started last and not stopped, alive or not. Errors: QuorumError for a foreign file; OSError."""
        try:
            with open(self._path, encoding="utf-8") as file:
                return Record(**json.load(file))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise QuorumError(f"{self._path}: is not what `metashell quorum start` wrote; remove it") from None

    @property
    def holder(self) -> int | None:
        """The process whose quorum runs, or is being started or stopped; None where there is none."""
        return lock_holder(self.folder)

    @property
    def is_alive(self) -> bool:
        """Whether a quorum runs, or is being started or stopped."""
        return self.holder is not None

    def living(self) -> Record | None:
        """The quorum whose process holds the folder, None where nobody does. Errors: QuorumError where it is being started or stopped."""
        for _ in range(TAKE_TRIES):
            if (holder := self.holder) is None:
                return None
            found = self.read()
            if found is not None and found.pid == holder:
                return found
            # One that begins says at once where it is.
            time.sleep(POLL_S)
        raise self.refusal()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the registry for this process; files of a dead one are removed first. Errors: QuorumError where another process holds it."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        lock = self._take()
        try:
            self.clear()
            yield
        finally:
            lock.release()

    def _take(self) -> DirectoryLock:
        for _ in range(TAKE_TRIES):
            try:
                return DirectoryLock(self.folder, Disk())
            except BlockingIOError:
                # Also `stop` holds it for a moment, to remove what a dead quorum left.
                time.sleep(POLL_S)
        raise self.refusal()

    def refusal(self) -> QuorumError:
        """Return the reason why no second quorum is started."""
        found = self.read()
        if found is None or not found.bootstrap_controllers or found.pid != self.holder:
            return QuorumError("a quorum is being started or stopped")
        return QuorumError(f"a quorum is running: process {found.pid}, {found.bootstrap_controllers} (metashell quorum stop ends it)")

    def write(self, record: Record) -> None:
        """Write the place of this process's quorum. Errors: OSError."""
        replace_file(Disk(), self._path, json.dumps(asdict(record)).encode())

    def clear(self) -> None:
        """Forget a quorum that has ended, and remove its directory unless that is kept. Errors: OSError."""
        with contextlib.suppress(QuorumError):
            found = self.read()
            if found is not None and not found.is_kept and os.path.basename(found.directory).startswith(PREFIX):
                shutil.rmtree(found.directory, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)


class Announcement:
    """A background process uses this to tell the one that started it that it is ready, or why it failed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def ready(self, record: Record) -> None:
        self._send({"record": asdict(record)})

    def failed(self, message: str) -> None:
        self._send({"error": message})

    def _send(self, message: dict[str, Any]) -> None:
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):  # nobody waits any more
                os.write(self._descriptor, json.dumps(message).encode() + b"\n")
            self.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def run_in_background(log: str, work: Callable[[Announcement], int]) -> Record:
    """Run `work` in a new process and session whose output goes to `log`; return when it is ready.

    It holds nothing of ours open: a shell that waits for the end of our output does not wait for it.
    Errors: QuorumError for what it says, or for an end without a word. An interrupt here ends it.
    """
    reader, writer = os.pipe()
    first = os.fork()
    if first == 0:
        _detach(reader, writer, log, work)
    os.close(writer)
    os.waitpid(first, 0)
    pid = 0
    try:
        with os.fdopen(reader, encoding="utf-8") as pipe:
            pid = int(pipe.readline() or "0")
            answer = json.loads(pipe.readline() or "{}")
    except BaseException:
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 15)
        raise
    if "record" in answer:
        return Record(**answer["record"])
    raise QuorumError(answer.get("error") or f"the quorum ended before it was ready; {log} may say why")


def _detach(reader: int, writer: int, log: str, work: Callable[[Announcement], int]) -> NoReturn:
    """Detach from the terminal and the parent process, and do the work."""
    status = 1
    try:
        os.close(reader)
        os.setsid()
        if os.fork():
            # The session's leader ends, so that nothing can give the session a terminal.
            os._exit(0)
        _redirect(log, keep=writer)
        os.write(writer, f"{os.getpid()}\n".encode())
        status = work(Announcement(writer))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            import sys

            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _redirect(log: str, keep: int) -> None:
    """Point the standard streams at the null device and the log, and close everything else that was inherited."""
    null = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 1 << 16 else 1 << 16)


T = TypeVar("T")
JOIN_S = 10.0


class LoopThread:
    """Runs until `close`. It is a daemon thread: an interpreter that ends does not wait for it."""

    def __init__(self, name: str) -> None:
        import asyncio

        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        import asyncio

        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            asyncio.set_event_loop(None)

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a coroutine on the loop and return its result; an interrupt of this thread, or the timeout, cancels it.

        Errors: TimeoutError; QuorumError in the loop's own thread, which would wait for itself, and after `close`.
        """
        import asyncio

        try:
            self.refuse_own()
        except QuorumError:
            work.close()
            raise
        if self.loop.is_closed():
            work.close()
            raise QuorumError("the quorum is stopped")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result(timeout_s)
        except BaseException:
            future.cancel()
            raise

    def refuse_own(self) -> None:
        """Errors: QuorumError in the loop's own thread."""
        if threading.current_thread() is self._thread:
            raise QuorumError("called from the quorum's own thread, which would wait for itself")

    def close(self) -> None:
        """Cancel what is left, and end the thread. Errors: QuorumError in the loop's own thread."""
        self.refuse_own()
        if self.loop.is_closed():
            return
        try:
            self.run(_cancel_others(), JOIN_S)
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(JOIN_S)
            if not self._thread.is_alive():
                self.loop.close()


async def _cancel_others() -> None:
    import asyncio

    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
