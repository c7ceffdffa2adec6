"""Performs what the steps of the core want, in the order in which the core gave them.

The core runs on the loop's thread. Two threads write: one quorum-state, one syncs the log; so a slow disk delays messages that depend
on it and nothing else. This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from metashell.raft.errors import NotLeaderError
from metashell.raft.messages import Request, Response
from metashell.raft.ready import Durable, ElectionState, Notice, Ready, Reply, Send

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.raft.node import RaftNode
    from metashell.server.durable_log import DurableLog
    from metashell.values import OffsetAndEpoch

SHUTDOWN_MS: Final = 5_000
SHUTDOWN_MARGIN_S: Final = 0.5
TIDY_S: Final = 60.0


class Store(Protocol):
    """Where election states become durable: `ElectionStore`, or one of a test."""

    def write(self, election: ElectionState, kraft_version: int) -> Durable: ...


class Outward(Protocol):
    """Where messages go."""

    def send(self, message: Send) -> None: ...

    def reply(self, token: Any, message: Response) -> None: ...

    def notice(self, notice: Notice) -> None: ...


class Driver:
    """One core, its log and its store, on the running loop.

    All that a step wants is done before the next one begins, because what the core writes into its log may rest on the election state
    of an earlier step; while quorum-state is written, what happens waits in line.

    `failure` is set once: None when the replica was stopped, else why it stopped by itself. `durable` is the election state that is
    known to be on disk.
    """

    def __init__(self, node: RaftNode, log: DurableLog, store: Store, durable: Durable, wall_ms: Callable[[], int]) -> None:
        self.node = node
        self.durable = durable
        self.failure: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._log = log
        self._store = store
        self._wall_ms = wall_ms
        self._outward: Outward | None = None
        self._calls: deque[Callable[[int], Ready | None]] = deque()
        self._is_busy = False
        self._is_stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = -1
        self._tidying: asyncio.TimerHandle | None = None
        self._flush_to: int | None = None
        self._is_flushing = False
        self._watchers: list[Callable[[], None]] = []
        self._appends: deque[tuple[int, int, asyncio.Future[None]]] = deque()
        self._begun: set[asyncio.Future[Any]] = set()
        self._writer = ThreadPoolExecutor(1, "quorum-state")
        self._syncer = ThreadPoolExecutor(1, "log-sync")

    def start(self, outward: Outward, first: Ready) -> None:
        """Begin with what the core wanted when it was made."""
        self._outward = outward
        self._tidy()
        self._step(lambda now_ms: first)

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    @property
    def kraft_version(self) -> int:
        """The level that the log says, committed or not."""
        return self.node.kraft_version

    def now_ms(self) -> int:
        """The clock of all steps: monotonic, from an arbitrary start."""
        return int(self._loop.time() * 1000)

    # ---- what happens to the core

    def request(self, token: Any, request: Request, listener: str) -> None:
        """A peer asks something; the answer comes with the token, now or later. Nothing is done where it has gone meanwhile."""
        self._step(lambda now_ms: None if token.cancelled else self.node.handle_request(token, request, listener, now_ms))

    def response(self, destination: int, correlation_id: int, response: Response) -> None:
        """A peer answers."""
        self._step(lambda now_ms: self.node.handle_response(destination, correlation_id, response, now_ms))

    def failed(self, destination: int, correlation_id: int, error_code: int) -> None:
        """A request had no answer."""
        self._step(lambda now_ms: self.node.handle_failure(destination, correlation_id, error_code, now_ms))

    def forget(self, token: Any) -> None:
        """Nobody waits for the answer to that request any more."""
        if not self._is_stopped:
            self.node.forget(token)

    def step(self, call: Callable[[int], Ready]) -> None:
        """Any other call into the core: it gets the time and gives a Ready."""
        self._step(call)

    async def append(self, values: Sequence[bytes]) -> int:
        """Append values as one atomic batch and wait until they are committed; returns the last one's offset.

        Errors: NotLeaderError, also when leadership ends before that (the values may be committed or not); RaftError.
        """
        if self._is_stopped:
            raise NotLeaderError("the replica is stopped")
        epoch = self.node.epoch
        offset: int = self.node.prepare_append(epoch, values, self.now_ms())
        committed: asyncio.Future[None] = self._loop.create_future()
        self._appends.append((offset, epoch, committed))
        self._step(self.node.schedule_append)
        await committed
        return offset

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each step that was performed; returns what ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _step(self, call: Callable[[int], Ready | None]) -> None:
        if self._is_stopped:
            return
        self._calls.append(call)
        if not self._is_busy:
            self._run()

    # ---- performing

    def _run(self) -> None:
        """Make the calls that wait, each when all that the one before it wanted is done."""
        self._is_busy = True
        while self._calls and not self._is_stopped:
            try:
                ready = self._calls.popleft()(self.now_ms())
                if ready is None:
                    continue
                if ready.election is not None and self.durable != Durable(ready.election, ready.kraft_version):
                    self._write(ready, ready.election)
                    return
                self._perform(ready)
            except Exception as error:
                self.stop(error)
        self._is_busy = False
        self._settle_appends()
        for watcher in tuple(self._watchers):
            watcher()
        self._schedule_poll()

    def _perform(self, ready: Ready) -> None:
        outward = self._outward
        assert outward is not None
        if ready.has_messages:
            for message in ready.messages(self.durable):
                if isinstance(message, Send):
                    outward.send(message)
                else:
                    assert isinstance(message, Reply)
                    outward.reply(message.token, message.message)
        if ready.flush_to is not None:
            self._flush_to = ready.flush_to
            self._flush()
        if ready.freeze is not None:
            self._freeze(ready.freeze)
        for notice in ready.notices:
            outward.notice(notice)

    def _write(self, ready: Ready, election: ElectionState) -> None:
        writing = self._loop.run_in_executor(self._writer, self._store.write, election, ready.kraft_version)
        writing.add_done_callback(lambda done: self._written(ready, done))
        self._begun.add(writing)

    def _written(self, ready: Ready, done: asyncio.Future[Durable]) -> None:
        self._begun.discard(done)
        error = done.exception()
        if error is not None:
            self.stop(error)
        if self._is_stopped:
            return
        try:
            self.durable = done.result()
            self._perform(ready)
        except Exception as error:
            self.stop(error)
            return
        self._run()

    def _flush(self) -> None:
        if self._is_flushing or self._flush_to is None or self._is_stopped:
            return
        if self._log.flushed_offset >= self._flush_to:
            # The flush before took it along.
            offset, self._flush_to = self._flush_to, None
            self._step(lambda now_ms: self.node.flushed(offset, now_ms))
            return
        self._flush_to = None
        self._is_flushing = True
        token = self._log.begin_flush()
        syncing = self._loop.run_in_executor(self._syncer, self._log.sync, token)
        syncing.add_done_callback(lambda done: self._flushed(token, done))
        self._begun.add(syncing)

    def _flushed(self, token: Any, done: asyncio.Future[None]) -> None:
        self._begun.discard(done)
        self._is_flushing = False
        error = done.exception()
        try:
            offset = self._log.finish_flush(token)
        except OSError as refused:
            error = error or refused
        if error is not None:
            self.stop(error)
        elif not self._is_stopped:
            self._step(lambda now_ms: self.node.flushed(offset, now_ms))
            self._flush()

    def _freeze(self, id: OffsetAndEpoch) -> None:
        """A download is rare and small: it is made durable here and now, so that nothing can come between."""
        part = self.node.downloaded_part()
        if part is not None and part.id == id:
            part.freeze()
            self._step(lambda now_ms: self.node.snapshot_frozen(id, now_ms))

    # ---- time and appends

    def _schedule_poll(self) -> None:
        if self._is_stopped:
            return
        due_ms = self.node.next_poll_ms()
        if self._timer is not None:
            if due_ms == self._timer_ms:
                return
            self._timer.cancel()
        self._timer_ms = due_ms
        # The clock of the steps has whole milliseconds: one more, so that the time has come when the timer fires.
        self._timer = self._loop.call_at((due_ms + 1) / 1000, self._poll)

    def _poll(self) -> None:
        self._timer = None
        self._step(self.node.poll)

    def _tidy(self) -> None:
        """Now and then: remove files that nobody can be reading any more, and look at the time of day, which may have been set."""
        if self._is_stopped:
            return
        self.node.wall_offset_ms = self._wall_ms() - self.now_ms()
        try:
            self._log.delete_due(self.now_ms())
        except OSError as error:
            self.stop(error)
            return
        self._tidying = self._loop.call_later(TIDY_S, self._tidy)

    def _settle_appends(self) -> None:
        appends = self._appends
        if not appends:
            return
        watermark = self.node.high_watermark
        epoch = self.node.epoch
        leads = not self._is_stopped and self.node.leader_id == self.node.local_id
        while appends:
            offset, appended_in, committed = appends[0]
            lost = appended_in != epoch or not leads
            if not lost and (watermark is None or offset >= watermark):
                return
            appends.popleft()
            if committed.done():
                continue
            if lost:
                committed.set_exception(NotLeaderError(f"leadership of epoch {appended_in} ended before offset {offset} was committed"))
            else:
                committed.set_result(None)

    # ---- the end

    def stop(self, error: BaseException | None = None) -> None:
        """Do nothing from now on; `error` is why, where it was not asked for."""
        if self._is_stopped:
            return
        self._is_stopped = True
        for timer in (self._timer, self._tidying):
            if timer is not None:
                timer.cancel()
        self._calls.clear()
        self._settle_appends()
        self._writer.shutdown(wait=False)
        self._syncer.shutdown(wait=False)
        if not self.failure.done():
            self.failure.set_result(error)
        for watcher in tuple(self._watchers):
            watcher()

    async def shut_down(self, timeout_ms: int = SHUTDOWN_MS) -> None:
        """Leave the quorum gracefully: a leader resigns and waits for another, at most `timeout_ms`; then stop."""
        if not self._is_stopped:
            self._step(lambda now_ms: self.node.begin_shutdown(timeout_ms, now_ms))
            with suppress(TimeoutError):
                # The core keeps the time itself; a disk that never answers holds it up.
                async with asyncio.timeout(timeout_ms / 1000 + SHUTDOWN_MARGIN_S):
                    await self.wait_until(lambda: self._is_stopped or self.node.is_shut_down)
        self.stop()

    async def drained(self) -> None:
        """Wait until the disk has done what was begun; after `stop`."""
        while self._begun:
            await asyncio.wait(self._begun)

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Return once `holds`, which is asked after each step."""
        if holds():
            return
        reached: asyncio.Future[None] = self._loop.create_future()

        def look() -> None:
            if not reached.done() and holds():
                reached.set_result(None)

        end = self.watch(look)
        try:
            await reached
        finally:
            end()
