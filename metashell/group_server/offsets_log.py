"""`__consumer_offsets` as clients fetch it: what the coordinator has written, as batches.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde; KIP-98 for the ends of transactions.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from metashell.codec import messages
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record as BatchRecord
from metashell.codec.control import ABORT, COMMIT, write_control_record
from metashell.groups.coordinator.shard import Written
from metashell.groups.record_bytes import key_bytes, value_bytes

TOPIC: Final = "__consumer_offsets"


def topic_id(cluster_id: str) -> bytes:
    """The id that the topic has here, the same for a cluster: no record of the metadata says one."""
    return hashlib.sha256(f"{cluster_id} {TOPIC}".encode()).digest()[:16]


class OffsetsLog:
    """The batches of a shard, encoded when they are first fetched."""

    def __init__(self, written: Sequence[Written]) -> None:
        self._written = written
        self._bases: list[int] = []
        self._batches: list[bytes] = []

    def read(self, offset: int, size_max: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one where there is any, up to `size_max` bytes."""
        for batch in self._written[len(self._batches) :]:
            data = batch_bytes(batch)
            self._bases.append(batch.base_offset)
            self._batches.append(data)
        first = max(0, bisect_right(self._bases, offset) - 1)
        found: list[bytes] = []
        size = 0
        for data in self._batches[first:]:
            if found and size + len(data) > size_max:
                break
            found.append(data)
            size += len(data)
        return b"".join(found)


def batch_bytes(batch: Written) -> bytes:
    """A batch as it stands in the log, where no producer numbers its batches."""
    producer = batch.producer
    if batch.marker is not None:
        assert producer is not None, "a transaction is somebody's"
        key, value = write_control_record(COMMIT if batch.marker else ABORT, messages.EndTxnMarker(coordinator_epoch=0))
        records = [BatchRecord(batch.base_offset, batch.timestamp_ms, key, value)]
    else:
        pairs = [(key_bytes(record), value_bytes(record)) for record in batch.records]
        records = [BatchRecord(offset, batch.timestamp_ms, key, value) for offset, (key, value) in enumerate(pairs, batch.base_offset)]
    return write_batch(
        batch.base_offset,
        records,
        leader_epoch=0,
        producer_id=-1 if producer is None else producer.id,
        producer_epoch=-1 if producer is None else producer.epoch,
        is_control=batch.marker is not None,
        is_transactional=producer is not None,
    )
