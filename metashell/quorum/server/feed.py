"""The way from what is committed to an image and to snapshots: `Feed`, `ImageMachine` and `SnapshotMaker`.

`Feed` gives a state machine what is committed, at the machine's own pace: one range or snapshot at a time. The core hands out the next one
when this one is consumed, and a range is read in pieces. What the replica itself appended comes from memory, as `OwnBatch`.

`ImageMachine` keeps the metadata image. It decides nothing and writes no records: enough for a voter that replicates, votes and hands
snapshots to others. What it cannot apply stops it: an image without it would be kept and served as a snapshot, and every replica that loads
it would believe it.

`SnapshotMaker` writes the snapshots that an application wants, one at a time, beside everything else that its replica does. The image is a
value, so it may be walked while newer ones are made: in slices that hold the loop for a few milliseconds, with as much time for others
between them, and the slow end, fsync and rename, in a thread.

Source: org.apache.kafka.image.loader.MetadataLoader, org.apache.kafka.image.publisher.SnapshotGenerator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, assert_never

from metashell.codec.batches import RecordBatch
from metashell.common.errors import LogCorruptError
from metashell.common.values import Epoch, NodeId, OffsetAndEpoch
from metashell.metadata.image import EMPTY_IMAGE, ImageLoader, MetadataImage
from metashell.quorum.raft.ready import Committed, LeaderChanged, ListenerId, Notice, Ready, SnapshotToLoad, TruncatedTo
from metashell.quorum.server.records import (
    PIECE_SIZE,
    RECORDS_AT_ONCE,
    SnapshotGoneError,
    SnapshotToMake,
    StateMachine,
    image_values,
    log_batches,
    may_finalize,
    refuse_unknown_steps,
    snapshot_batches,
)

if TYPE_CHECKING:
    from metashell.quorum.raft.replicated_log import ReplicatedLog
    from metashell.quorum.server.driver import Driver


class Feed:
    """One registered listener of the core and its machine."""

    def __init__(self, driver: Driver, log: ReplicatedLog, machine: StateMachine) -> None:
        self.machine = machine
        self.consumed_to = -1
        self._driver = driver
        self._log = log
        self._notices: asyncio.Queue[Notice] = asyncio.Queue()
        self._id = ListenerId(-1)
        self._maker = SnapshotMaker(driver, log)
        self._task = asyncio.get_running_loop().create_task(driver.held.watched(self._run))

    def register(self) -> None:
        """Register with the core, which hands out what is already committed."""

        def call(now_ms: int) -> Ready:
            ready: Ready
            self._id, ready = self._driver.node.register(now_ms)
            return ready

        self._driver.step(call)

    def notice(self, notice: Notice) -> None:
        """Take a notice of the core; those for other listeners are ignored."""
        if getattr(notice, "listener", None) == self._id:
            self._notices.put_nowait(notice)

    @property
    def snapshots_made(self) -> int:
        """The number of this application's complete snapshots."""
        return self._maker.made

    async def close(self) -> None:
        """Nothing follows."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._maker.close()
        self.machine.begin_shutdown()

    async def _run(self) -> None:
        try:
            while True:
                match notice := await self._notices.get():
                    case Committed(_, base_offset, end_offset):
                        await self._commit(base_offset, end_offset)
                    case SnapshotToLoad(_, id):
                        await self._load(id)
                    case LeaderChanged(_, leader_id, epoch):
                        self.machine.handle_leader_change(leader_id, epoch)
                    case TruncatedTo():
                        raise AssertionError("a cut of the log is no listener's")
                    case _:
                        assert_never(notice)
        except Exception as error:
            # An application that cannot apply what is committed must not go on.
            self._driver.stop(error)

    async def _load(self, id: OffsetAndEpoch) -> None:
        try:
            await self.machine.handle_load_snapshot(id, snapshot_batches(self._log, id))
        except SnapshotGoneError:
            # A newer one took its place meanwhile: as far as before, and the core hands out that one.
            self._consumed(self.consumed_to)
        else:
            self._consumed(id.offset)

    async def _commit(self, base_offset: int, end_offset: int) -> None:
        offset, own = base_offset, self._driver.own
        while offset < end_offset:
            batches: Sequence[RecordBatch] = own.read(offset, end_offset, PIECE_SIZE) or log_batches(self._log, offset, end_offset)
            if not batches:
                break  # The log begins later by now: the core will say where to go on.
            wanted = await self.machine.handle_commit(batches)
            offset = batches[-1].header.last_offset + 1
            own.drop_before(offset)
            if wanted is not None:
                self._maker.want(wanted)
            await asyncio.sleep(0)
        self._consumed(offset)

    def _consumed(self, offset: int) -> None:
        self.consumed_to = offset
        self._driver.step(lambda now_ms: self._driver.node.consumed(self._id, offset, now_ms))


SNAPSHOT_AFTER_SIZE: Final = 20 * 1024 * 1024
"""Bytes of the log between two snapshots; metadata.log.max.record.bytes.between.snapshots of Kafka."""


class ImageMachine:
    """A `StateMachine`. `snapshot_after_size` are bytes of committed batches; `leader_id` and `epoch` are the newest."""

    def __init__(self, snapshot_after_size: int = SNAPSHOT_AFTER_SIZE, on_leader: Callable[[int, int], None] | None = None) -> None:
        self.leader_id = -1
        self.epoch = 0
        self._snapshot_after_size = snapshot_after_size
        self._on_leader = on_leader or (lambda leader_id, epoch: None)
        self._size = 0
        self._loader = ImageLoader()

    @property
    def image(self) -> MetadataImage:
        """The committed image; an open metadata transaction does not show."""
        return self._loader.image()

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        """See StateMachine."""
        loader = self._loader
        for batch in batches:
            await in_turns(loader.load_steps(batch))
            await in_turns(fault_steps(loader, batch))
            self._size += len(batch.data)
        if self._size < self._snapshot_after_size:
            return None
        return self._snapshot(batches[-1])

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        """See StateMachine."""
        self._loader = await loaded_snapshot(id, batches)
        self._size = 0

    def handle_leader_change(self, leader_id: NodeId, epoch: Epoch) -> None:
        """See StateMachine."""
        self.leader_id, self.epoch = leader_id, epoch
        self._on_leader(leader_id, epoch)

    def begin_shutdown(self) -> None:
        """See StateMachine."""

    def _snapshot(self, last: RecordBatch) -> SnapshotToMake | None:
        """Make a snapshot of all so far; none while a transaction is open, because the image ends before it."""
        image = self._loader.image()
        end = last.header.last_offset + 1
        if image.provenance.offset != end - 1:
            return None
        self._size = 0
        return SnapshotToMake(OffsetAndEpoch(end, last.header.leader_epoch), last.header.max_timestamp, image_values(image))


async def loaded_snapshot(id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> ImageLoader:
    """A loader that has a whole snapshot. Errors: LogCorruptError for anything odd in it."""
    loader = ImageLoader(EMPTY_IMAGE, snapshot_id=id)
    for batch in batches:
        # A batch may have 8 MiB, which take 15 ms to read and sum, and 80 000 records, which take 80 ms to load.
        await asyncio.sleep(0)
        await in_turns(loader.load_snapshot_steps(batch))
        await in_turns(fault_steps(loader, batch))
    return loader


async def in_turns(steps: Iterator[None]) -> None:
    """Run steps to their end; after each, the last one too, others have their turn."""
    for _ in steps:
        await asyncio.sleep(0)
    await asyncio.sleep(0)


def fault_steps(loader: ImageLoader, batch: RecordBatch) -> Iterator[None]:
    """Raise LogCorruptError, one line, for the first record of a batch that a loader could not apply, or must not; in steps."""
    # The loader sees whatever is newer but for levels of features, which are data to it.
    if loader.faults or loader.unread or may_finalize(batch):
        yield from refuse_unknown_steps(batch)
    if loader.faults:
        fault = loader.faults[0]
        raise LogCorruptError(fault.file, fault.offset, f"{fault.record_type}: {fault.reason}" if fault.record_type else fault.reason)


SLICE_S: Final = 0.002
_RECORDS_BETWEEN_LOOKS: Final = 25


class SnapshotMaker:
    """One replica's; `made` counts the snapshots that became complete, `given_up` those that did not."""

    def __init__(self, driver: Driver, log: ReplicatedLog) -> None:
        self.made = 0
        self.given_up = 0
        self._driver = driver
        self._log = log
        self._next: SnapshotToMake | None = None
        self._task: asyncio.Task[None] | None = None

    def want(self, wanted: SnapshotToMake) -> None:
        """Make a snapshot soon; of those that are wanted while one is made, the last."""
        if self._next is not None:
            self.given_up += 1
        self._next = wanted
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._driver.held.watched(self._run))

    async def close(self) -> None:
        """Make no more snapshots; an incomplete one is dropped."""
        self._next = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while (wanted := self._next) is not None:
                self._next = None
                if await self._make(wanted):
                    self.made += 1
                else:
                    self.given_up += 1
        except Exception as error:
            self._driver.stop(error)
        finally:
            self._task = None

    async def _make(self, wanted: SnapshotToMake) -> bool:
        """Write a snapshot, unless the core has it already or cannot take it now; whether it is complete."""
        driver, id = self._driver, wanted.id
        writer = driver.node.create_snapshot(id, wanted.last_contained_log_timestamp)
        if writer is None:
            return False
        try:
            values = iter(wanted.values)
            is_over = False
            while not is_over:
                piece, is_over = self._slice(values)
                if piece:
                    writer.append(piece)
                await asyncio.sleep(SLICE_S)
                if self._is_overtaken(id):
                    writer.close()
                    return False
            slow = writer.begin_freeze()
        except BaseException:
            writer.close()
            raise
        # Who ends this meanwhile must still wait for the thread: it writes in the directory.
        await asyncio.shield(driver.beside(slow))
        writer.end_freeze()
        driver.step(lambda now_ms: driver.node.snapshot_frozen(id, now_ms))
        return True

    def _slice(self, values: Iterator[bytes | None]) -> tuple[list[bytes], bool]:
        """The next values, as many as there is time for, and whether they are the last."""
        clock = asyncio.get_running_loop().time
        ends_at = clock() + SLICE_S
        found: list[bytes] = []
        for number, value in enumerate(values, 1):
            if value is not None:
                found.append(value)
            if value is None or number == RECORDS_AT_ONCE or (not number % _RECORDS_BETWEEN_LOOKS and clock() >= ends_at):
                return found, False
        return found, True

    def _is_overtaken(self, id: OffsetAndEpoch) -> bool:
        """Whether the leader's snapshot replaces, or will replace, the one that is being written."""
        log = self._log
        return id.offset < log.start_offset or id in log.snapshots() or self._driver.node.downloading == id
