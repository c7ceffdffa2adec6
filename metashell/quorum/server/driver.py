"""Performs what the steps of the core want, in the order in which the core gave them.

The core runs on the loop's thread, which never waits for the disk longer than the system's cache takes to be written to. Threads do: one
writes quorum-state, one syncs the log, one cuts it and does what else a change of it leaves to be done, one makes snapshots durable; so a
slow disk delays what depends on it and nothing else.

What is durable before what. A step's messages, notices and flush wait for its quorum-state and for the work that its log calls have left,
and so does the next step: to everyone outside, a step that truncates has truncated. A flush waits for such work too, and is never begun
beside it. Nothing waits for leader-epoch-checkpoint, which `open` derives from the batches, or for files that are out of use.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from metashell.common.values import Offset
from metashell.quorum.raft.messages import NotLeaderError, Request, Response
from metashell.quorum.raft.ready import Durable, ElectionState, Notice, Ready, Reply, Send, TruncatedTo
from metashell.quorum.raft.roles import Leader
from metashell.quorum.server.event_queue import CommitWaits, LoopHold, fail_commit
from metashell.quorum.server.records import LOG_NAME, OwnBatches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.common.values import Epoch, OffsetAndEpoch
    from metashell.quorum.raft.node import RaftNode
    from metashell.quorum.raft.ready import CorrelationId
    from metashell.quorum.raft.replicated_log import DurableLog

SHUTDOWN_MS: Final = 5_000
SHUTDOWN_MARGIN_S: Final = 0.5
TIDY_S: Final = 60.0


class Store(Protocol):
    """The store that makes election states durable: `ElectionStore`, or one of a test."""

    def write(self, election: ElectionState, kraft_version: int) -> Durable: ...


class Asker(Protocol):
    """The connection that waits for the answer to a request."""

    @property
    def cancelled(self) -> bool: ...


class Outward(Protocol):
    """The sender of messages."""

    def send(self, message: Send) -> None: ...

    def reply(self, token: object, message: Response) -> None: ...

    def notice(self, notice: Notice) -> None: ...


class Driver:
    """One core, its log and its store, on the running loop.

    All that a step wants is done before the next one begins, because what the core writes into its log may rest on the election state
    of an earlier step; while quorum-state is written or the log is cut, what happens waits in line.

    `failure` is set once: None when the replica was stopped, else why it stopped by itself. `durable` is the election state that is
    known to be on disk. `held` measures how long the loop was held, `own` has what this replica appended and its application has not.
    """

    def __init__(self, node: RaftNode, log: DurableLog, store: Store, durable: Durable, wall_ms: Callable[[], int]) -> None:
        self.node = node
        self.durable = durable
        self.failure: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        self.held = LoopHold()
        self.own = OwnBatches(LOG_NAME)
        self._loop = asyncio.get_running_loop()
        self._log = log
        self._store = store
        self._wall_ms = wall_ms
        self._outward: Outward | None = None
        self._calls: deque[Callable[[int], Ready | None]] = deque()
        self._is_busy = False
        self._is_scheduled = False
        self._is_held = False
        self._is_stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = -1
        self._tidying: asyncio.TimerHandle | None = None
        self._flush_to: int | None = None
        self._is_flushing = False
        self._is_cutting = False
        self._watchers: list[Callable[[], None]] = []
        self._commits = CommitWaits()
        self._begun: set[asyncio.Future[Any]] = set()
        self._writer = ThreadPoolExecutor(1, "quorum-state")
        self._syncer = ThreadPoolExecutor(1, "log-sync")
        self._worker = ThreadPoolExecutor(1, "log-work")
        self._freezer = ThreadPoolExecutor(1, "snapshots")

    def start(self, outward: Outward, first: Ready) -> None:
        """Begin with the core's first Ready."""
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

    def request(self, token: Asker, request: Request, listener: str) -> None:
        """Give the core a peer's request; the answer comes with the token, now or later. A peer that has gone is ignored."""
        self._step(lambda now_ms: None if token.cancelled else self.node.handle_request(token, request, listener, now_ms))

    def response(self, destination: int, correlation_id: CorrelationId, response: Response) -> None:
        """Give the core a peer's answer."""
        self._step(lambda now_ms: self.node.handle_response(destination, correlation_id, response, now_ms))

    def failed(self, destination: int, correlation_id: CorrelationId, error_code: int) -> None:
        """Tell the core that a request got no answer."""
        self._step(lambda now_ms: self.node.handle_failure(destination, correlation_id, error_code, now_ms))

    def forget(self, token: object) -> None:
        """Forget a request: nobody waits for its answer any more."""
        if not self._is_stopped:
            self.node.forget(token)

    def step(self, call: Callable[[int], Ready]) -> None:
        """Make any other call into the core: it takes the time and returns a Ready."""
        self._step(call)

    def prepare(self, epoch: Epoch, values: Sequence[bytes]) -> Offset:
        """Assign values their offsets as one atomic batch of an epoch; return the last offset. They leave after `schedule`.

        They are appended in exactly that epoch, at these offsets, or never.
        Errors: NotLeaderError where this replica does not lead that epoch, or is about to resign; RecordBatchTooLargeError;
        BufferAllocationError; ValueError for no values. Nothing was prepared then.
        """
        if self._is_stopped:
            raise NotLeaderError("the replica is stopped")
        if epoch != self.node.epoch:
            raise NotLeaderError(f"append in epoch {epoch}, the epoch is {self.node.epoch}")
        return self.node.prepare_append(epoch, values, self.now_ms())

    def schedule(self) -> None:
        """Release all that was prepared; it leaves when the linger time is over.

        The step is made in the loop's next turn, and takes along what others prepare until then: one batch, one write and one step for all.
        """
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._append_prepared)

    def _append_prepared(self) -> None:
        self._is_scheduled = False
        if not self._is_held:
            self._step(self.node.schedule_append)

    def hold(self) -> None:
        """Hold back all that is prepared, whatever was scheduled, until `release`: the application has not replayed it yet."""
        self._is_held = True

    def release(self) -> None:
        """End a `hold`: all that is prepared may leave, as after `schedule`."""
        self._is_held = False
        self.schedule()

    def upgrade_kraft_version(self, epoch: Epoch, version: int) -> Offset | None:
        """Finalize a level of kraft.version; return the offset of its record, None where none is needed.

        Errors: NotLeaderError, InvalidUpdateVersionError; nothing is written then.
        """
        if self._is_stopped:
            raise NotLeaderError("the replica is stopped")
        offset = self.node.upgrade_kraft_version(epoch, version, False)
        self._step(self.node.poll)
        return None if offset is None else Offset(offset)

    def committed(self, offset: Offset, epoch: Epoch) -> asyncio.Future[None]:
        """Return a future that is done when an offset that was prepared in an epoch is committed.

        It fails with NotLeaderError where leadership of that epoch ends before that is known: it may be committed or not.
        """
        committed: asyncio.Future[None] = self._loop.create_future()
        node = self.node
        watermark = node.high_watermark
        if self._is_stopped or epoch != node.epoch or not isinstance(node.role, Leader):
            fail_commit(committed, offset, epoch)
        elif watermark is not None and offset < watermark:
            committed.set_result(None)
        else:
            # The step that commits it, or ends the leadership, settles this.
            self._commits.add(offset, epoch, committed)
        return committed

    def resign(self, epoch: Epoch) -> None:
        """Give up leading `epoch`, as a step of its own; nothing more is prepared in it from now on.

        Errors: ValueError for an epoch that is to come, or that this replica knows and does not lead.
        """
        self.node.resign(epoch)
        self._step(self.node.poll)

    async def append(self, values: Sequence[bytes]) -> Offset:
        """Append values in the present epoch and wait until they are committed; returns the last one's offset.

        For tests and tools: an application that decides names the epoch in which it did. Errors: as `prepare` and `committed`.
        """
        epoch = self.node.epoch
        offset = self.prepare(epoch, values)
        self.schedule()
        await self.committed(offset, epoch)
        return offset

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each performed step; return a function that ends that."""
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
        """Make the waiting calls, each when all work of the one before is done."""
        began = self.held.begin()
        self._is_busy = True
        while self._calls and not self._is_stopped:
            try:
                ready = self._calls.popleft()(self.now_ms())
                if self._has_to_wait(ready):
                    self.held.end(began)
                    return
                if ready is not None:
                    self._perform(ready)
            except Exception as error:
                self.stop(error)
        self._is_busy = False
        self._log.note_committed(self.node.committed)
        self._settle_commits()
        for watcher in tuple(self._watchers):
            watcher()
        self._schedule_poll()
        self.held.end(began)

    def _has_to_wait(self, ready: Ready | None) -> bool:
        """Begin the writes that must be on disk before a step is performed; return whether there are any."""
        election = None if ready is None else ready.election
        work = self._log.take_work()
        if work is None and election is None:
            return False
        waits: list[asyncio.Future[Any]] = []
        if ready is not None and election is not None and self.durable != Durable(election, ready.kraft_version):
            waits.append(self._begin(self._writer, self._store.write, election, ready.kraft_version))
        if work is not None:
            doing = self._begin(self._worker, work.carry_out)
            if work.is_awaited:
                self._is_cutting = True
                waits.append(doing)
        if not waits:
            return False
        for wait in waits:
            wait.add_done_callback(lambda _: self._waited(ready, waits))
        return True

    def _begin(self, thread: ThreadPoolExecutor, call: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Run work in a thread; an exception there stops the replica."""
        begun = self._loop.run_in_executor(thread, call, *arguments)
        self._begun.add(begun)
        begun.add_done_callback(self._ended)
        return begun

    def _ended(self, done: asyncio.Future[Any]) -> None:
        self._begun.discard(done)
        error = None if done.cancelled() else done.exception()
        if error is not None:
            self.stop(error)

    def _waited(self, ready: Ready | None, waits: list[asyncio.Future[Any]]) -> None:
        """Note that one awaited write is done; after the last one go on, once: `waits` is empty then."""
        if self._is_stopped or not waits or not all(wait.done() for wait in waits):
            return
        self._is_cutting = False
        for wait in waits:
            if isinstance(proof := wait.result(), Durable):
                self.durable = proof
        waits.clear()
        began = self.held.begin()
        try:
            if ready is not None:
                self._perform(ready)
            self._flush()
        except Exception as error:
            self.stop(error)
            return
        finally:
            self.held.end(began)
        self._run()

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
        if ready.appended:
            self.own.add(ready.appended)
        if ready.flush_to is not None:
            self._flush_to = ready.flush_to
            self._flush()
        if ready.freeze is not None:
            self._freeze(ready.freeze)
        for notice in ready.notices:
            if isinstance(notice, TruncatedTo):
                self.own.cut(notice.offset)
            outward.notice(notice)

    def _flush(self) -> None:
        if self._is_flushing or self._flush_to is None or self._is_stopped or self._is_cutting:
            return
        if self._log.flushed_offset >= self._flush_to:
            # The flush before took it along.
            self._flush_to = None
            self._step(self.node.flushed)
            return
        self._flush_to = None
        self._is_flushing = True
        token = self._log.begin_flush()
        self._begin(self._syncer, self._log.sync, token).add_done_callback(lambda done: self._flushed(token))

    def _flushed(self, token: Any) -> None:
        self._is_flushing = False
        try:
            self._log.finish_flush(token)
        except OSError as refused:
            self.stop(refused)
            return
        if not self._is_stopped:
            self._step(self.node.flushed)
            self._flush()

    def _freeze(self, id: OffsetAndEpoch) -> None:
        """Make a download complete and durable, beside all other steps: the core then checks again whether it needs it."""
        part = self.node.downloaded_part()
        if part is None or part.id != id:
            return

        def frozen(done: asyncio.Future[None]) -> None:
            # The snapshot is there from that step on: one before it, in line behind a slow disk, would find it ahead of the log.
            if not self._is_stopped:
                self._step(begin)

        def begin(now_ms: int) -> Ready:
            part.end_freeze()
            return self.node.snapshot_frozen(id, now_ms)

        self.beside(part.begin_freeze()).add_done_callback(frozen)

    def beside(self, call: Callable[[], None]) -> asyncio.Future[None]:
        """Run slow work in the snapshots' thread. An exception stops the replica before the future is done."""
        return self._begin(self._freezer, call)

    # ---- time and commits

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
        """Periodic: remove files that no reader can have open any more, and read the time of day, which may have been set."""
        if self._is_stopped:
            return
        self.node.wall_offset_ms = self._wall_ms() - self.now_ms()
        self._begin(self._worker, self._log.delete_due, self.now_ms())
        self._tidying = self._loop.call_later(TIDY_S, self._tidy)

    def _settle_commits(self) -> None:
        if not self._commits.is_waiting:
            return
        leads = not self._is_stopped and isinstance(self.node.role, Leader)
        self._commits.settle(self.node.epoch if leads else None, self.node.high_watermark)

    # ---- the end

    def stop(self, error: BaseException | None = None) -> None:
        """Stop; `error` is the reason of a stop that nobody asked for."""
        if self._is_stopped:
            return
        self._is_stopped = True
        for timer in (self._timer, self._tidying):
            if timer is not None:
                timer.cancel()
        self._calls.clear()
        self._settle_commits()
        for thread in (self._writer, self._syncer, self._worker, self._freezer):
            thread.shutdown(wait=False)
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

    async def drained(self, timeout_s: float) -> bool:
        """Wait, after `stop`, until the disk has done all work; False where it hangs and its files must stay open."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._begun:
                    await asyncio.wait(self._begun)
        return not self._begun

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Return once `holds` is true; it is called after each step."""
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
