"""ListOffsets, Fetch and OffsetForLeaderEpoch over partitions that hold nothing, and over `__consumer_offsets`.

A partition's log ends at the largest offset that a group has committed for it: all before is gone, as after a retention.
Source: kafka.server.KafkaApis.handleFetchRequest, handleListOffsetRequest, handleOffsetForLeaderEpochRequest.
"""

from __future__ import annotations

from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    FETCH_SESSION_ID_NOT_FOUND,
    NONE,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.group_server.cluster import Cluster
from metashell.group_server.offsets_log import TOPIC, OffsetsLog
from metashell.groups.coordinator.shard import Shard

TOPIC_IDS_SINCE: Final = 13
_LEADER_EPOCHS_SINCE: Final = 4
_LATEST: Final = -1
_EARLIEST: Final = -2
_EARLIEST_LOCAL: Final = -4
_NO_TIMESTAMP: Final = -1
_MAX_BYTES: Final = 50 * 1024 * 1024


class Logs:
    """What can be read of the partitions of a cluster."""

    def __init__(self, cluster: Cluster, shard: Shard) -> None:
        self._cluster = cluster
        self._shard = shard
        self._offsets = OffsetsLog(shard.written)

    def bounds(self, name: str, partition: int) -> tuple[int, int] | None:
        """Where a partition's log begins and ends, None where there is no such partition."""
        if name == TOPIC:
            return (0, self._shard.end_offset) if partition == 0 else None
        if self._cluster.leader_epoch(name, partition) is None:
            return None
        key = (name, partition)
        groups = self._shard.coordinator.state.offsets.values()
        return 0, max(0, max((found.offset for offsets in groups if (found := offsets.get(key)) is not None), default=0))

    def list_offsets(self, request: Any, version: int) -> messages.ListOffsetsResponse:
        """The beginning or the end of each partition; no record has a timestamp."""
        made = messages.ListOffsetsResponse.ListOffsetsTopicResponse
        return messages.ListOffsetsResponse(
            topics=tuple(
                made(name=topic.name, partitions=tuple(self._list_offset(topic.name, partition, version) for partition in topic.partitions))
                for topic in request.topics
            )
        )

    def _list_offset(self, name: str, partition: Any, version: int) -> Any:
        made = messages.ListOffsetsResponse.ListOffsetsPartitionResponse
        index = partition.partition_index
        bounds = self.bounds(name, index)
        epoch = self._cluster.leader_epoch(name, index)
        if bounds is None or epoch is None:
            return made(partition_index=index, error_code=UNKNOWN_TOPIC_OR_PARTITION)
        start, end = bounds
        offset = {_LATEST: end, _EARLIEST: start, _EARLIEST_LOCAL: start}.get(partition.timestamp, -1)
        tells_epoch = offset >= 0 and version >= _LEADER_EPOCHS_SINCE
        return made(partition_index=index, timestamp=_NO_TIMESTAMP, offset=offset, leader_epoch=epoch if tells_epoch else -1)

    def end_offsets_of_epochs(self, request: Any) -> messages.OffsetForLeaderEpochResponse:
        """Every epoch that is asked for ends where the log ends."""
        made = messages.OffsetForLeaderEpochResponse
        return made(
            topics=tuple(
                made.OffsetForLeaderTopicResult(
                    topic=topic.topic, partitions=tuple(self._epoch_end(topic.topic, partition) for partition in topic.partitions)
                )
                for topic in request.topics
            )
        )

    def _epoch_end(self, name: str, partition: Any) -> Any:
        made = messages.OffsetForLeaderEpochResponse.EpochEndOffset
        bounds = self.bounds(name, partition.partition)
        if bounds is None:
            return made(partition=partition.partition, error_code=UNKNOWN_TOPIC_OR_PARTITION)
        return made(partition=partition.partition, leader_epoch=partition.leader_epoch, end_offset=bounds[1])

    def fetch(self, request: Any, version: int) -> tuple[messages.FetchResponse, bool]:
        """The answer as it is now, and whether it says anything: one without data or errors may wait for `max_wait_ms`."""
        made = messages.FetchResponse
        if request.session_id:
            return made(error_code=FETCH_SESSION_ID_NOT_FOUND), True
        found = []
        left = min(request.max_bytes, _MAX_BYTES)
        is_said = request.min_bytes <= 0
        for topic in request.topics:
            name = topic.topic if version < TOPIC_IDS_SINCE else self._cluster.name_of(topic.topic_id)
            partitions = []
            for partition in topic.partitions:
                data = self._fetch(name, partition, left)
                left -= len(data.records)
                is_said = is_said or bool(data.records) or data.error_code != NONE
                partitions.append(data)
            found.append(made.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=tuple(partitions)))
        return made(responses=tuple(found)), is_said

    def _fetch(self, name: str | None, partition: Any, size_max: int) -> Any:
        made = messages.FetchResponse.PartitionData
        index, offset = partition.partition, partition.fetch_offset
        bounds = None if name is None else self.bounds(name, index)
        if bounds is None:
            code = UNKNOWN_TOPIC_ID if name is None else UNKNOWN_TOPIC_OR_PARTITION
            return made(partition_index=index, error_code=code, high_watermark=-1, records=b"")
        start, end = bounds
        if not start <= offset <= end:
            return made(partition_index=index, error_code=OFFSET_OUT_OF_RANGE, high_watermark=-1, records=b"")
        data = b""
        if name == TOPIC and offset < end and size_max > 0:
            data = self._offsets.read(offset, min(size_max, partition.partition_max_bytes))
        return made(
            partition_index=index,
            high_watermark=end,
            last_stable_offset=end,
            log_start_offset=start,
            aborted_transactions=None,
            records=data,
        )
