"""The batches of one partition's log in order of offset, each once, from the copies of several brokers.

A copy may be behind, compacted further, or hold a tail of an old leader that was never committed. Where copies overlap, the batch of the
newest leader epoch counts; of one epoch the one with most records, which is the least compacted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from metashell.codec.batches import RecordBatch
from metashell.errors import UsageError
from metashell.log.files import open_file
from metashell.log.order import OrderCheck
from metashell.log.segment import BadBatch, TakesFrames, read_batches
from metashell.log.source_fault import SourceFault, fault_of
from metashell.log.tail import Tail
from metashell.offsets_log.inputs import Copy, PartitionLog

Item = RecordBatch | SourceFault


def batches_of(log: PartitionLog, quick: Callable[[OrderCheck], TakesFrames | None] | None = None) -> Iterator[Item]:
    """The batches of a log, and what is wrong between them, without those that `quick` takes where there is one copy only."""
    if len(log.copies) == 1:
        return _of_copy(log.copies[0], quick)
    return _merged([_of_copy(copy) for copy in log.copies])


def _of_copy(copy: Copy, quick: Callable[[OrderCheck], TakesFrames | None] | None = None) -> Iterator[Item]:
    order = OrderCheck(None, may_skip=True)
    takes = None if quick is None else quick(order)
    for file in copy:
        try:
            opened = open_file(file.path)
        except UsageError as error:
            # A broker that runs may have compacted it away since, and what it may not read is no reason to hide the rest.
            yield SourceFault(file.path, -1, -1, str(error).removeprefix(f"{file.path}: "))
            continue
        with opened:
            for item in read_batches(opened, takes=takes):
                if isinstance(item, BadBatch | Tail):
                    yield fault_of(item, is_last=file.may_end_early)
                    order.forget()
                    continue
                if (fault := order.check(item)) is not None:
                    yield fault
                yield item


def _merged(copies: list[Iterator[Item]]) -> Iterator[Item]:
    """Of the batches at hand, one of each copy, the one that begins first is next; what it covers is passed over in the others."""
    heads: list[RecordBatch | None] = [None] * len(copies)
    end, epoch = -1, -1
    while True:
        for number, copy in enumerate(copies):
            head = heads[number]
            # Also what an old leader wrote behind the end of the others: a newer one has written since.
            while head is None or head.header.last_offset < end or head.header.leader_epoch < epoch:
                item = next(copy, None)
                if item is None:
                    head = None
                    break
                if isinstance(item, SourceFault):
                    yield item
                    continue
                head = item
            heads[number] = head
        left = [head for head in heads if head is not None]
        if not left:
            return
        first = min(head.header.base_offset for head in left)
        chosen = max(
            (head for head in left if head.header.base_offset == first), key=lambda head: (head.header.leader_epoch, head.header.count)
        )
        yield chosen
        end, epoch = chosen.header.last_offset + 1, chosen.header.leader_epoch
