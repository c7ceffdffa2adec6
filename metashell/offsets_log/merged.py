"""The batches of one partition's log in order of offset, each once, from the copies of several brokers.

A copy may be behind, compacted further, or hold a tail of an old leader that was never committed. The newest copy is that with the newest
leader epoch at its end, and of these the longest: alone it says all that counts, since what compaction took from it was replaced or deleted
since. The others have more of the past: for the story of a group all copies are merged. Where they overlap, the batch of the newest leader
epoch counts; of one epoch the one with most records, which is the least compacted. What the newest copy's leader epochs contradict was cut
off by its broker, and is passed over.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator

from metashell.codec.batches import RecordBatch
from metashell.errors import LogCorruptError, UsageError
from metashell.log.files import open_file
from metashell.log.inputs import InputFile
from metashell.log.names import LEADER_EPOCH_CHECKPOINT
from metashell.log.order import OrderCheck
from metashell.log.segment import BadBatch, TakesFrames, read_batches
from metashell.log.source_fault import SourceFault, fault_of
from metashell.log.tail import Tail
from metashell.log.text_checkpoints import EpochEntry, read_leader_epochs
from metashell.offsets_log.ends import last_header
from metashell.offsets_log.inputs import Copy, PartitionLog

Item = RecordBatch | SourceFault


def batches_of(log: PartitionLog, quick: Callable[[OrderCheck], TakesFrames | None] | None = None) -> Iterator[Item]:
    """The batches of a log, and what is wrong between them, without those that `quick` takes where there is one copy only."""
    if len(log.copies) == 1:
        return _of_copy(log.copies[0], quick)
    copies = newest_first(log).copies
    epochs = _epochs_of(copies[0])
    return _merged([_of_copy(copies[0]), *(_agreeing(_of_copy(copy), epochs) for copy in copies[1:])])


def newest_first(log: PartitionLog) -> PartitionLog:
    """The log with its newest copy as the first one."""
    if len(log.copies) == 1:
        return log
    return log._replace(copies=tuple(sorted(log.copies, key=_standing, reverse=True)))


def _standing(copy: Copy) -> tuple[int, int, int]:
    """Leader epoch and offset at the end of a copy, and how much of it there is."""
    for file in reversed(copy):
        if (header := last_header(file.path)) is not None:
            return header.leader_epoch, header.last_offset + 1, sum(map(_size, copy))
    return -1, -1, 0


def _size(file: InputFile) -> int:
    try:
        return os.path.getsize(file.path)
    except OSError:
        return 0


def _epochs_of(copy: Copy) -> list[EpochEntry]:
    """What a copy's broker knows of leader epochs and where they began; nothing where its file is not there or not whole."""
    try:
        return sorted(read_leader_epochs(os.path.join(os.path.dirname(copy[0].path), LEADER_EPOCH_CHECKPOINT)), key=_start)
    except (OSError, LogCorruptError):
        return []


def _start(entry: EpochEntry) -> int:
    return entry.start_offset


def _agreeing(items: Iterator[Item], epochs: list[EpochEntry]) -> Iterator[Item]:
    """Without batches at offsets that were written in another epoch, as far as that is known."""
    for item in items:
        if isinstance(item, RecordBatch):
            index = bisect_right(epochs, item.header.base_offset, key=_start) - 1
            if index >= 0 and epochs[index].epoch != item.header.leader_epoch:
                continue
        yield item


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
