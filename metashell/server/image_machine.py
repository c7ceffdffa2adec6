"""An application that keeps the metadata image of what is committed, and makes snapshots of it.

It decides nothing and writes no records: enough for a voter that replicates, votes and hands snapshots to others. What it cannot apply
stops it: an image without it would be kept and served as a snapshot, and every replica that loads it would believe it. This module imports
asyncio, so it is itself imported inside functions.
Source: org.apache.kafka.image.loader.MetadataLoader, org.apache.kafka.image.publisher.SnapshotGenerator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from metashell.codec.batches import RecordBatch
from metashell.codec.frame import write_metadata_record
from metashell.errors import LogCorruptError
from metashell.ids import Epoch, NodeId
from metashell.image import EMPTY_IMAGE, ImageLoader, MetadataImage
from metashell.image.writer import write_image
from metashell.server.records import may_finalize, refuse_unknown
from metashell.server.state_machine import SnapshotToMake
from metashell.values import OffsetAndEpoch

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
        """What is committed so far; a metadata transaction that is open does not show."""
        return self._loader.image()

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        """See StateMachine."""
        loader = self._loader
        for batch in batches:
            loader.load_batch(batch)
            refuse_faults(loader, batch)
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
        """A snapshot of all so far; none while a transaction is open, because the image ends before it."""
        image = self._loader.image()
        end = last.header.last_offset + 1
        if image.provenance.offset != end - 1:
            return None
        self._size = 0
        values = (write_metadata_record(body, version) for body, version in write_image(image))
        return SnapshotToMake(OffsetAndEpoch(end, last.header.leader_epoch), last.header.max_timestamp, values)


async def loaded_snapshot(id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> ImageLoader:
    """A loader that has a whole snapshot. Errors: LogCorruptError for anything odd in it."""
    loader = ImageLoader(EMPTY_IMAGE, snapshot_id=id)
    for batch in batches:
        loader.load_snapshot_batch(batch)
        refuse_faults(loader, batch)
        # A batch may have thousands of records: others have their turn in between.
        await asyncio.sleep(0)
    return loader


def refuse_faults(loader: ImageLoader, batch: RecordBatch) -> None:
    """Errors: LogCorruptError, one line, for the first thing that a loader could not apply of a batch, or that it must not apply."""
    # The loader sees whatever is newer but for levels of features, which are data to it.
    if loader.faults or loader.unread or may_finalize(batch):
        refuse_unknown(batch)
    if loader.faults:
        fault = loader.faults[0]
        raise LogCorruptError(fault.file, fault.offset, f"{fault.record_type}: {fault.reason}" if fault.record_type else fault.reason)
