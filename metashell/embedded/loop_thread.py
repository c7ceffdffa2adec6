"""A thread with an asyncio loop of its own, which other threads hand coroutines to."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from metashell.embedded.errors import QuorumError

if TYPE_CHECKING:
    import asyncio

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
        """What a coroutine gives, run on the loop. Where this thread is interrupted, or the time is over, the coroutine is cancelled.

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
