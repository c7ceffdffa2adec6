"""Batches of a live cluster that are fetched from the leaders of their partitions: the first at an offset, and the newest of a group's log.

It takes the right to read the topic; without it, nothing is found. Source: org.apache.kafka.clients.consumer.internals.Fetcher; KIP-74."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.cli.admin.groups import end_offsets
from metashell.codec import messages
from metashell.codec.batches import BatchHeader, RecordBatch, read_batch_header
from metashell.codec.coordinator import coordinator_partition
from metashell.codec.error_codes import NONE
from metashell.codec.framing import checked_batches
from metashell.common.errors import LogCorruptError, MetashellError
from metashell.groups.log import KeysOf, read_record

if TYPE_CHECKING:
    from metashell.cli.admin.client import Admin

OFFSETS_TOPIC: Final = "__consumer_offsets"
_FETCH_BY_NAME: Final = 12
"""The last version of Fetch that names topics, which brokers of 2.7 and later support."""


def first_batches(admin: Admin, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], BatchHeader]:
    """Return the header of the batch at each offset, of the partitions that the client may read and whose log still has it.

    Each request asks for one byte, for which a leader returns one batch.
    """
    found: dict[tuple[str, int], BatchHeader] = {}
    leaders = {key: end.leader for key, end in end_offsets(admin, offsets).items()}
    made = messages.FetchRequest
    for (topic, partition), offset in offsets.items():
        if (topic, partition) not in leaders:
            continue
        wanted = made.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1)
        request = made(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=(made.FetchTopic(topic=topic, partitions=(wanted,)),))
        try:
            answer = admin.ask(request, to=leaders[topic, partition], version=_FETCH_BY_NAME)
            data = next(bytes(one.records or b"") for response in answer.responses for one in response.partitions if one.error_code == NONE)
            found[topic, partition] = read_batch_header(data, 0)
        except (MetashellError, StopIteration):
            continue
    return found


class EpochRecord(NamedTuple):
    """The newest record of a group's generation or epoch: its number, its time (Unix ms) and its place in the log of groups."""

    epoch: int
    ms: int
    offset: int
    partition: int


def newest_epoch(admin: Admin, group_id: str) -> EpochRecord | None:
    """Return the newest generation or epoch among the last records of the group's log, None if it is not there or may not be read.

    Only the last `_LOG_OFFSETS` offsets are fetched, in at most `_LOG_FETCHES` requests.
    """
    asked = messages.MetadataRequest
    topics = admin.ask(asked(topics=(asked.MetadataRequestTopic(name=OFFSETS_TOPIC),), allow_auto_topic_creation=False)).topics
    if not topics or not topics[0].partitions:
        return None
    place = OFFSETS_TOPIC, coordinator_partition(group_id, len(topics[0].partitions))
    end = end_offsets(admin, [place]).get(place)
    if end is None or end.end_offset is None:
        return None
    keys, found, at = KeysOf(group_id), None, max(end.end_offset - _LOG_OFFSETS, 0)
    for _ in range(_LOG_FETCHES):
        batches = _fetched(admin, place, end.leader, at)
        for batch in batches:
            at = batch.header.last_offset + 1
            for record in () if batch.header.is_control else batch.records():
                if record.key is None or record.value is None or not keys.has(record.key):
                    continue
                read = read_record(record.key, record.value)
                number = None if read is None or read.type not in _EPOCHS else getattr(read.value, _EPOCHS[read.type])
                if number is not None:
                    found = EpochRecord(number, record.timestamp, record.offset, place[1])
        if not batches or at >= end.end_offset:
            break
    return found


_EPOCHS: Final = {2: "generation", 3: "epoch", 11: "epoch", 17: "epoch"}
"""The types of records that hold a group's generation or epoch, and its field."""
_LOG_OFFSETS: Final = 5000
_LOG_FETCHES: Final = 8


def _fetched(admin: Admin, place: tuple[str, int], leader: int, offset: int) -> list[RecordBatch]:
    """Return the whole batches of one answer, none if the partition may not be read."""
    made = messages.FetchRequest
    wanted = made.FetchPartition(partition=place[1], fetch_offset=offset, partition_max_bytes=1 << 20)
    request = made(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=(made.FetchTopic(topic=place[0], partitions=(wanted,)),))
    answer = admin.ask(request, to=leader, version=_FETCH_BY_NAME)
    found: list[RecordBatch] = []
    for response in answer.responses:
        for partition in response.partitions:
            # The last batch of an answer may be cut.
            with suppress(LogCorruptError):
                found.extend(checked_batches(bytes(partition.records or b""), OFFSETS_TOPIC))
    return found
