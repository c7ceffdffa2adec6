"""The state machine of a controller: the log to the `QuorumController`, and its decisions to the log.

What is replayed when. The active controller replays what it writes when it has its offset, and only commits it when it comes back; a
standby replays what was committed. Which of them a batch is, its epoch says: that of the claim, or an older one. A batch of a later epoch
than the claim ends the claim first, whatever raft has announced: what was written under it and not committed may be lost by then, and its
offsets given to others.

Giving up is one thing: raft resigns, the controller forgets what is not committed, and all that wait are answered NOT_CONTROLLER.

Source: org.apache.kafka.controller.QuorumController, org.apache.kafka.image.publisher.SnapshotGenerator.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, read_control_record
from metashell.codec.batches import RecordBatch
from metashell.codec.codes import DESCRIBE_ACLS, DESCRIBE_CONFIGS
from metashell.codec.error_codes import (
    INVALID_UPDATE_VERSION,
    NONE,
    NOT_CONTROLLER,
    POLICY_VIOLATION,
    REQUEST_TIMED_OUT,
    UNKNOWN_SERVER_ERROR,
    first_error_code,
)
from metashell.codec.metadata_records import write_metadata_record
from metashell.common.values import Epoch, NodeId, OffsetAndEpoch
from metashell.metadata.image import MetadataImage
from metashell.metadata.image.provenance import VersionedRecord, VoterSet, voter_set
from metashell.quorum.controller import Decision, Purgatory, QuorumController, Request
from metashell.quorum.controller.cluster import UPDATE_REFUSED
from metashell.quorum.controller.controller import ROUTES
from metashell.quorum.controller.decision import TOO_LARGE
from metashell.quorum.raft.messages import BufferAllocationError, InvalidUpdateVersionError, NotLeaderError, RecordBatchTooLargeError
from metashell.quorum.raft.roles import Leader
from metashell.quorum.server.event_queue import NOBODY, EventQueue, Pace, ServerEvent, Steps
from metashell.quorum.server.feed import loaded_snapshot
from metashell.quorum.server.links import Answer, Waiter
from metashell.quorum.server.records import RECORDS_AT_ONCE, SnapshotToMake, image_values, records_of

if TYPE_CHECKING:
    from metashell.net.fair_queue import Asker
    from metashell.quorum.server.driver import Driver

Encoded = list[tuple[Sequence[VersionedRecord], list[bytes]]]
"""The batches of a decision, each as records and as their bytes."""

HOLD_MS: Final = 1000
"""A timer that fires so late shows that the whole process stood still."""
DIVISIBLE: Final = (DESCRIBE_ACLS, DESCRIBE_CONFIGS)
"""APIs whose decisions read nothing but images, which never change: others may be decided between their steps."""
SHUTTING_DOWN: Final = "The controller is shutting down."


class SnapshotLimits(NamedTuple):
    """The limits that start a snapshot: so many bytes of the log, or so long after the last one (0 for never)."""

    after_size: int
    after_ms: int


class ControllerMachine:
    """A `StateMachine` (metashell.quorum.server.records) around a `QuorumController`.

    `errors` counts decisions and tasks that raised unforeseen, `claims` how often this controller became the active one, `leaders` how
    often a leader was announced, `loads` snapshots, `timed_out` requests whose turn came too late. `is_caught_up` once everything was
    replayed that is known to be committed.
    """

    def __init__(
        self,
        controller: QuorumController,
        limits: SnapshotLimits,
        wall_ms: Callable[[], int],
        on_event: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.controller = controller
        self.errors = self.claims = self.leaders = self.timed_out = self.loads = 0
        self.on_decided: Callable[[Request, int], None] | None = None
        """Told of every request that was decided and the error of its answer, which may still have to wait; for metrics."""
        self.on_answered: Callable[[Request, Any], None] = lambda request, answer: None
        self.on_written: Callable[[Request, Any, int], None] = lambda request, answer, offset: None
        """Told of requests, not of envelopes: of answers with errors, and of records that are to be committed up to an offset."""
        self.on_replayed: Callable[[Sequence[VersionedRecord], int], None] | None = None
        """Told of what was replayed, and of the offset of its first record; for metrics."""
        self.applied_ms = -1
        """When the last batch that was replayed was written, in Unix ms; -1 before the first."""
        self.is_caught_up = False
        self.watchers: list[Callable[[], None]] = []
        """Called when the stable image, the leader, or whether this controller is active may have changed."""
        self._limits = limits
        self._wall_ms = wall_ms
        self._on_event = on_event
        self._purgatory: Purgatory[Waiter] = Purgatory()
        self._asked: dict[Hashable, set[Waiter]] = {}
        self._driver: Driver | None = None
        self._queue: EventQueue | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._size = 0
        self._snapshot_ms = 0
        self._is_shut_down = False
        self._voters: VoterSet | None = None

    def begin(self, driver: Driver, voters: VoterSet | None, kraft_version: int) -> None:
        """Begin with the driver that performs appends, and the quorum as raft found it; committed records say more later."""
        self._driver = driver
        self._queue = EventQueue(driver.stop, driver.held)
        self._queue.background = self.controller.background_steps
        self._voters = voters
        self._snapshot_ms = driver.now_ms()
        self.controller.state.set_quorum(voters, kraft_version)

    # ---- what others see

    @property
    def driver(self) -> Driver:
        assert self._driver is not None, "not begun"
        return self._driver

    @property
    def queue(self) -> EventQueue:
        assert self._queue is not None, "not begun"
        return self._queue

    @property
    def is_active(self) -> bool:
        """Whether this controller takes writes."""
        return self.controller.state.is_active

    @property
    def waiting(self) -> int:
        """Answers that wait for their offset."""
        return len(self._purgatory)

    def wall_ms(self) -> int:
        """The time of day, in Unix ms."""
        return self._wall_ms()

    def now_ms(self) -> int:
        """The clock of sessions, deadlines and tasks: monotonic, from an arbitrary start."""
        return self.driver.now_ms()

    # ---- requests

    def ask(self, request: Request, connection: Hashable, send: Answer, asker: Asker = NOBODY) -> None:
        """Decide about a request when its turn comes, which goes by `asker`; `send` gets the answer when it is stable, or a refusal."""
        waiter = Waiter(request, connection, send, asker)
        # What a connection asked before is answered before.
        answer = None if self._is_shut_down or connection in self._asked else self.controller.answer_at_once(request)
        self._asked.setdefault(connection, set()).add(waiter)
        if answer is not None:
            self._decided(request, answer)
            waiter.answer = answer
            self._send(waiter)
            return
        self.queue.request(
            connection,
            lambda: self._decide(request, waiter),
            partial(self._refuse, waiter, REQUEST_TIMED_OUT, SHUTTING_DOWN),
            asker,
            is_divisible=request.api_key in DIVISIBLE,
        )

    def forget(self, connection: Hashable) -> None:
        """Drop the requests of a closed connection that were not begun, and its waiting answers."""
        for waiter in self._asked.pop(connection, ()):
            waiter.leave()
        if self._queue is not None:
            self._queue.forget(connection)

    def _decide(self, request: Request, waiter: Waiter) -> Steps:
        controller = self.controller
        epoch = controller.state.claim_epoch
        try:
            decided = controller.decide_steps(request, self.now_ms(), self._wall_ms())
            decision = decided if isinstance(decided, Decision) else (yield from decided)
        except Exception as error:
            self._unforeseen(f"api key {request.api_key}", error)
            self._give_up(epoch)
            self._refuse(waiter, UNKNOWN_SERVER_ERROR)
            return
        asked = decision.asked or (request, decision.answer)
        if self._decided(request, decision.answer) != NONE or decision.asked is not None:
            self.on_answered(*asked)
        waiter.answer = decision.answer
        route = ROUTES.get(request.api_key)
        if decision.answer is None or (route is not None and not route.is_write):
            self._send(waiter)
        else:
            yield from self._write(epoch, decision, waiter, asked)

    def _decided(self, request: Request, answer: Any) -> int:
        code = first_error_code(answer)
        if code == REQUEST_TIMED_OUT:
            self.timed_out += 1
        if self.on_decided is not None:
            self.on_decided(request, code)
        return code

    def _refuse(self, waiter: Waiter | None, code: int, message: str | None = None) -> None:
        """Refuse a request, if there is one and its sender still waits."""
        if waiter is not None and waiter.request is not None:
            waiter.answer = self.controller.refuse(waiter.request, code, message)
            self._send(waiter)

    def _send(self, waiter: Waiter) -> None:
        self.queue.answer(lambda: self._tell(waiter), waiter.asker, waiter.connection)

    def _tell(self, waiter: Waiter) -> Iterator[object] | None:
        if waiter.send is None:
            return None
        send, answer = waiter.send, waiter.answer
        waiter.leave()
        asked = self._asked[waiter.connection]
        asked.remove(waiter)
        if not asked:
            del self._asked[waiter.connection]
        return send(answer)

    def _unforeseen(self, what: str, error: BaseException) -> None:
        """Count and report an exception of our own code, with its place."""
        self.errors += 1
        place = traceback.extract_tb(error.__traceback__)[-1]
        error_text, at = f"{type(error).__name__}: {error}", f"{place.filename}:{place.lineno}"
        text = f"error {self.errors}: {what}: {error_text} ({at})"
        self._on_event(ServerEvent(text, "error", number=self.errors, what=what, error=error_text, place=at))

    # ---- writing

    def _write(self, epoch: int, decision: Decision, waiter: Waiter | None, asked: tuple[Request, Any] | None = None) -> Steps:
        """Append and replay a decision of the claim of `epoch` about what was asked; its answer waits."""
        upgraded = -1
        try:
            batches = yield from _encoded(decision)
        except Exception as error:
            self._unforeseen("a decision that cannot be written", error)
            self._give_up(epoch)
            self._refuse(waiter, UNKNOWN_SERVER_ERROR)
            return
        try:
            if decision.kraft_version is not None:
                upgraded = self.driver.upgrade_kraft_version(Epoch(epoch), decision.kraft_version) or -1
            for records, values in batches:
                yield from self._append(epoch, records, values, is_atomic=decision.atomic)
        except NotLeaderError:
            self._give_up(epoch)
            self._refuse(waiter, NOT_CONTROLLER, self.controller.wrong_controller_text())
            return
        except InvalidUpdateVersionError as refused:
            self._refuse(waiter, INVALID_UPDATE_VERSION, f"{UPDATE_REFUSED}{refused}")
            return
        except RecordBatchTooLargeError:
            self._refuse(waiter, POLICY_VIOLATION, TOO_LARGE)
            return
        written = self.controller.written(decision)
        if asked is not None and (decision.records or decision.kraft_version is not None):
            self.on_written(*asked, max(written, upgraded))
        if waiter is not None and waiter.send is not None:
            self._purgatory.add(max(written, upgraded), waiter)
            self._complete()

    def _append(self, epoch: int, records: Sequence[VersionedRecord], values: list[bytes], *, is_atomic: bool) -> Steps:
        """Assign one batch its offsets and replay it there; it cannot leave before it is replayed."""
        driver = self.driver
        while True:
            try:
                last_offset = driver.prepare(Epoch(epoch), values)
                break
            except BufferAllocationError:
                # The next steps write what waits.
                yield Pace.REST
            except RecordBatchTooLargeError:
                if is_atomic or len(values) == 1:
                    raise
                half = len(values) // 2
                yield from self._append(epoch, records[:half], values[:half], is_atomic=False)
                yield from self._append(epoch, records[half:], values[half:], is_atomic=False)
                return
        # What others have scheduled would take it along.
        driver.hold()
        yield from self._replay(records, last_offset - len(values) + 1, self._wall_ms())
        driver.release()

    def _complete(self) -> None:
        """Send the answers whose offset is stable."""
        for waiter in self._purgatory.complete_to(self.controller.stable_offset):
            self._send(waiter)

    def _give_up(self, epoch: int) -> None:
        """End the claim of `epoch`, if that is the one: see the module."""
        controller = self.controller
        if not controller.state.is_active or controller.state.claim_epoch != epoch:
            return
        node = self.driver.node
        if node.epoch == epoch and isinstance(node.role, Leader) and not self.driver.is_stopped:
            self.driver.resign(Epoch(epoch))
        controller.renounce()
        controller.note_leader(node.leader_id if node.leader_id != controller.state.settings.node_id else -1)
        self._schedule_tasks()
        for waiter in self._purgatory.take_all():
            self._refuse(waiter, NOT_CONTROLLER, controller.wrong_controller_text())
        self._on_event(ServerEvent(f"no longer the active controller of epoch {epoch}", "inactive", epoch=epoch))
        self._changed()

    # ---- periodic tasks

    def _schedule_tasks(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due_ms = self.controller.next_due_ms()
        if due_ms is not None and not self._is_shut_down:
            # A task that had to wait for its turn is due at once; what is late from now on, the loop is.
            due_ms = max(due_ms, self.now_ms())
            # The clock has whole milliseconds: one more, so that the time has come when the timer fires.
            self._timer = asyncio.get_running_loop().call_at((due_ms + 1) / 1000, self._task_is_due, due_ms)

    def _task_is_due(self, due_ms: int) -> None:
        self._timer = None
        now_ms = self.now_ms()
        if now_ms - due_ms >= HOLD_MS:
            self.controller.held_up(now_ms - due_ms, now_ms)
        self.queue.task(self._run_due)

    def _run_due(self) -> Steps:
        controller = self.controller
        epoch = controller.state.claim_epoch
        try:
            decision = yield from controller.run_due_steps(self.now_ms(), self._wall_ms())
        except Exception as error:
            # As in Kafka, a task that fails costs no leadership; it comes again later.
            self._unforeseen("periodic task", error)
        else:
            if decision is not None:
                yield from self._write(epoch, decision, None)
        self._schedule_tasks()

    # ---- what the log says

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        """See StateMachine."""
        wanted: SnapshotToMake | None = await self._in_line(lambda done: self._commit(batches, done))
        return wanted

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        """See StateMachine."""
        loader = await loaded_snapshot(id, batches)
        await self._in_line(lambda done: self._load(id, loader.image(), done))

    def handle_leader_change(self, leader_id: NodeId, epoch: Epoch) -> None:
        """See StateMachine."""
        if not self._is_shut_down:
            self.queue.control(lambda: self._leader_changed(leader_id, epoch))

    def begin_shutdown(self) -> None:
        """See StateMachine."""
        if not self._is_shut_down:
            self._is_shut_down = True
            self._schedule_tasks()
            for waiter in self._purgatory.take_all():
                self._refuse(waiter, NOT_CONTROLLER, self.controller.wrong_controller_text())
            if self._queue is not None:
                self._queue.close()

    async def _in_line(self, event: Callable[[asyncio.Future[Any]], Steps]) -> Any:
        """Queue an event of the log and wait until it is done."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.queue.control(lambda: event(done))
        return await done

    def _commit(self, batches: Sequence[RecordBatch], done: asyncio.Future[Any]) -> Steps:
        controller = self.controller
        state = controller.state
        for batch in batches:
            header = batch.header
            if state.is_active and header.leader_epoch > state.claim_epoch:
                self._give_up(state.claim_epoch)
            if header.is_control:
                self._take_control(batch)
            elif state.is_active:
                assert header.leader_epoch == state.claim_epoch, "a leader begins when all before its epoch was replayed"
                assert header.last_offset < state.next_write_offset, "what this controller wrote, it has replayed"
            else:
                yield from self._follow(batch)
            controller.commit(header.last_offset)
            self._size += len(batch.data)
            self._complete()
        committed = self.driver.node.quorum_high_watermark
        if committed is not None and state.committed_offset >= committed - 1:
            self.is_caught_up = True
        if not done.done():
            done.set_result(self._snapshot(batches[-1]))
        self._changed()

    def _follow(self, batch: RecordBatch) -> Steps:
        """Replay a batch that another controller wrote, or this one under an earlier claim."""
        source = records_of(batch)
        records: list[VersionedRecord] = []
        while run := list(islice(source, RECORDS_AT_ONCE)):
            records += run
            yield None
        if records:
            yield from self._replay(records, batch.header.base_offset, batch.header.max_timestamp)

    def _replay(self, records: Sequence[VersionedRecord], base_offset: int, written_ms: int) -> Steps:
        yield from self.controller.replay_steps(records, base_offset)
        self.applied_ms = written_ms
        if self.on_replayed is not None:
            self.on_replayed(records, base_offset)

    def _take_control(self, batch: RecordBatch) -> None:
        state = self.controller.state
        for record in batch.records():
            control = read_control_record(record.key, record.value)
            if control.type == KRAFT_VERSION_RECORD and not isinstance(control.body, bytes):
                state.set_quorum(self._voters, control.body.k_raft_version)
            elif control.type == KRAFT_VOTERS and not isinstance(control.body, bytes):
                self._voters = voter_set(control.body, record.offset)
                state.set_quorum(self._voters, state.image.features.kraft_version)

    def _load(self, id: OffsetAndEpoch, image: MetadataImage, done: asyncio.Future[Any]) -> Steps:
        """Begin anew with the image of a snapshot, which is whole."""
        controller = self.controller
        self._give_up(controller.state.claim_epoch)
        yield from controller.load_steps(image, id.offset - 1)
        if image.voters is not None:
            self._voters = image.voters
        controller.state.set_quorum(self._voters, image.features.kraft_version)
        self._size, self._snapshot_ms = 0, self.driver.now_ms()
        self.loads += 1
        if not done.done():
            done.set_result(None)
        self._changed()

    def _snapshot(self, last: RecordBatch) -> SnapshotToMake | None:
        """A snapshot of all that is committed, if one is due; none while a transaction is open, because the image ends before it."""
        state, limits, now_ms = self.controller.state, self._limits, self.driver.now_ms()
        is_old = 0 < limits.after_ms <= now_ms - self._snapshot_ms
        if not is_old and self._size < limits.after_size:
            return None
        if state.committed.before_transaction is not None or state.stable_offset != last.header.last_offset:
            return None
        self._size, self._snapshot_ms = 0, now_ms
        id = OffsetAndEpoch(last.header.last_offset + 1, last.header.leader_epoch)
        return SnapshotToMake(id, last.header.max_timestamp, image_values(state.stable))

    # ---- leadership

    def _leader_changed(self, leader_id: int, epoch: int) -> Steps:
        controller = self.controller
        state, node = controller.state, self.driver.node
        if leader_id >= 0:
            self.leaders += 1
        if state.is_active and (state.claim_epoch != epoch or leader_id != state.settings.node_id):
            self._give_up(state.claim_epoch)
        controller.note_leader(leader_id)
        if leader_id == state.settings.node_id and not state.is_active and node.epoch == epoch and isinstance(node.role, Leader):
            self.claims += 1
            decision = yield from controller.claim_steps(epoch, node.log_end_offset, self.now_ms())
            self._on_event(ServerEvent(f"the active controller of epoch {epoch}", "active", epoch=epoch))
            yield from self._write(epoch, decision, None)
            self._schedule_tasks()
        self._changed()

    def _changed(self) -> None:
        for watcher in tuple(self.watchers):
            watcher()


def _encoded(decision: Decision) -> Generator[Pace | None, None, Encoded]:
    """All batches as bytes, before anything is written of them. Errors: EncodeError."""
    found: Encoded = []
    for records in decision.batches():
        values: list[bytes] = []
        for number, (body, version) in enumerate(records, 1):
            values.append(write_metadata_record(body, version))
            if number % RECORDS_AT_ONCE == 0:
                yield None
        found.append((records, values))
    return found
