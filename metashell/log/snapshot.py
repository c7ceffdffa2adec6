"""The batches of a checkpoint, and whether it is whole."""

from collections.abc import Iterator
from typing import Final

from metashell.codec.batches import RecordBatch
from metashell.log.files import OpenFile
from metashell.log.names import SNAPSHOT_FOOTER_TYPE, SNAPSHOT_HEADER_TYPE
from metashell.log.order import OrderCheck
from metashell.log.segment import BatchFault, read_batches
from metashell.log.source_fault import SourceFault, fault_of

KEPT_SIZE_MAX: Final = 256 << 20
"""Bytes of a checkpoint that are kept from finding it whole until it is loaded: an image of it keeps most of them anyway."""


def checked_snapshot(items: Iterator[RecordBatch | BatchFault], file: str, faults: list[SourceFault]) -> Iterator[RecordBatch]:
    """The batches among `items`; what is wrong goes to `faults`, also a missing header or footer.

    A checkpoint starts with a SnapshotHeader and ends with a SnapshotFooter; its batches count from offset 0 and are all of
    one epoch.
    """
    order = OrderCheck(0)
    position = 0
    first_type: int | None = None
    last_type: int | None = None
    for item in items:
        batch = item.batch if isinstance(item, BatchFault) else item
        if last_type == SNAPSHOT_FOOTER_TYPE:
            faults.append(SourceFault(file, -1, position, "checkpoint goes on after its footer"))
        if batch is not None:
            last_type = batch.first_control_type()
        if position == 0:
            first_type = last_type
            if first_type != SNAPSHOT_HEADER_TYPE:
                faults.append(SourceFault(file, -1, 0, "checkpoint does not start with a snapshot header"))
        if isinstance(item, BatchFault):
            faults.append(fault_of(item))
            order.forget()
            position = item.position + item.size
            continue
        if fault := order.check(item):
            faults.append(fault)
        position = item.position + len(item.data)
        yield item
    if last_type != SNAPSHOT_FOOTER_TYPE:
        faults.append(SourceFault(file, -1, position, "checkpoint ends without its footer: it is incomplete"))


def first_snapshot_fault(file: OpenFile, kept: list[RecordBatch] | None = None) -> SourceFault | None:
    """The fault that makes a checkpoint unusable as the start of an image, found by reading all of it; None if it is whole.

    `kept` gets the batches of a whole one, so that it need not be read again, unless they are more than KEPT_SIZE_MAX bytes.
    """
    faults: list[SourceFault] = []
    size = 0
    for batch in checked_snapshot(read_batches(file), file.name, faults):
        if faults:
            break
        size += len(batch.data)
        if kept is not None and size <= KEPT_SIZE_MAX:
            kept.append(batch)
    if kept is not None and (faults or size > KEPT_SIZE_MAX):
        kept.clear()
    return faults[0] if faults else None
