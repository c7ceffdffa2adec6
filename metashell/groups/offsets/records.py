"""Records of committed offsets: made, and read.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers and OffsetAndMetadata.
"""

from __future__ import annotations

from typing import Final

from metashell.codec import messages
from metashell.groups.record import Record
from metashell.groups.state import Committed
from metashell.values import ZERO_UUID

LEGACY_OFFSET_COMMIT: Final = 0
OFFSET_COMMIT: Final = 1
WITH_EXPIRY: Final = 1
"""The only version of a value that has room for a retention of its own."""
NEWEST: Final = 4


def commit_record(group_id: str, topic: str, partition: int, committed: Committed) -> Record:
    """The record of an offset. One with a retention of its own is written in the version that has it, which has no topic id.

    What the version does not have is not in the object either: the coordinator then knows what the log says.
    """
    if committed.expire_ms >= 0:
        committed = committed._replace(leader_epoch=-1, topic_id=ZERO_UUID)
    value = messages.OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
        topic_id=committed.topic_id,
    )
    return Record(OFFSET_COMMIT, _key(group_id, topic, partition), value, NEWEST if committed.expire_ms < 0 else WITH_EXPIRY)


def commit_tombstone(group_id: str, topic: str, partition: int) -> Record:
    """The record that deletes an offset."""
    return Record(OFFSET_COMMIT, _key(group_id, topic, partition))


def committed_of(record: Record, record_offset: int) -> Committed:
    """The offset in a record's value, of either type."""
    value = record.value
    if record.type == LEGACY_OFFSET_COMMIT:
        return Committed(value.offset, -1, value.metadata, value.commit_timestamp, -1, ZERO_UUID, record_offset)
    return Committed(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        value.topic_id,
        record_offset,
    )


def _key(group_id: str, topic: str, partition: int) -> messages.OffsetCommitKey:
    return messages.OffsetCommitKey(group=group_id, topic=topic, partition=partition)
