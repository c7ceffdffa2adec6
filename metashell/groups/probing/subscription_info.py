"""What a Streams client sends along with its subscription, in every version (groups.md 3.4).

Of a version above ours only two numbers are read: the version itself, and the newest that the sender supports. That is the contract by
which old leaders and new members understand each other.

Source: org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo; KIP-268.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final

from metashell.codec.blobs.streams_assignment import LATEST_VERSION, NAMED_TOPOLOGY_SINCE, TaskId
from metashell.codec.java_errors import NO_MESSAGE, java_read_error
from metashell.codec.java_hash import bucket_count, hash_order, table_order
from metashell.codec.plain import TrailingBytesError
from metashell.codec.registry import message_type
from metashell.errors import DecodeError
from metashell.groups.probing.errors import ProbingError, task_assignment_error

UNKNOWN_VERSION: Final = -1
LATEST_OFFSET: Final = -2
"""The offset sum of a task that runs as active."""
UNKNOWN_OFFSET_SUM: Final = -3
NO_PROCESS: Final = bytes(16)

_END_POINT_SINCE = 2
_SUPPORTED_SINCE = 3
_OFFSET_SUMS_SINCE = 7
_UNIQUE_FIELD_SINCE = 8
_ERROR_CODE_SINCE = 9
_CLIENT_TAGS_SINCE = 11
_INT32 = Struct(">i")
_VERSION_SIZE = 4


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """Shape: `offset_sums` in the order in which they are written; `process_id` has 16 bytes; `latest_supported` is -1 in versions 1, 2."""

    version: int
    latest_supported: int = UNKNOWN_VERSION
    process_id: bytes = NO_PROCESS
    offset_sums: Mapping[TaskId, int] = field(default_factory=dict)
    user_end_point: str | None = None
    unique_field: int = 0
    error_code: int = 0
    client_tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_versions(self.version, self.latest_supported)

    @property
    def previous_tasks(self) -> frozenset[TaskId]:
        """The tasks that ran as active."""
        return frozenset(task for task, offset_sum in self.offset_sums.items() if offset_sum == LATEST_OFFSET)

    @property
    def standby_tasks(self) -> frozenset[TaskId]:
        return frozenset(self.offset_sums) - self.previous_tasks


def encode_subscription(info: SubscriptionInfo) -> bytes:
    """Errors: ProbingError for a version that we cannot write, and for named topologies before version 10."""
    version = info.version
    if version > LATEST_VERSION:
        raise _not_between(LATEST_VERSION, version)
    if version < NAMED_TOPOLOGY_SINCE and any(task.named_topology is not None for task in info.offset_sums):
        raise task_assignment_error("Named topologies are not compatible with older protocol versions")
    message = message_type("blobs", "StreamsSubscriptionInfo")
    structs = message.structs
    value = message.cls(process_id=info.process_id)
    if version >= _END_POINT_SINCE:
        value.user_end_point = (info.user_end_point or "").encode()
    if version >= _SUPPORTED_SINCE:
        value.latest_supported_version = info.latest_supported
    if version >= _UNIQUE_FIELD_SINCE:
        value.unique_field = info.unique_field
    if version >= _ERROR_CODE_SINCE:
        value.error_code = info.error_code
    if version >= _CLIENT_TAGS_SINCE:
        value.client_tags = tuple(structs["ClientTag"](key=key.encode(), value=text.encode()) for key, text in info.client_tags.items())
    if version < _OFFSET_SUMS_SINCE:
        value.prev_tasks = _task_ids(info.previous_tasks, info, structs)
        value.standby_tasks = _task_ids(info.standby_tasks, info, structs)
    elif version < NAMED_TOPOLOGY_SINCE:
        value.task_offset_sums = _by_subtopology(info.offset_sums, structs)
    else:
        value.task_offset_sums = tuple(
            structs["TaskOffsetSum"](
                topic_group_id=task.subtopology, partition=task.partition, offset_sum=offset_sum, named_topology=task.named_topology
            )
            for task, offset_sum in info.offset_sums.items()
        )
    return _INT32.pack(version) + message.write(value, version)


def _task_ids(tasks: frozenset[TaskId], info: SubscriptionInfo, structs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Tasks as a java.util.HashSet holds them."""
    came = [task for task in info.offset_sums if task in tasks]
    return tuple(
        structs["TaskId"](topic_group_id=task.subtopology, partition=task.partition)
        for task in table_order(came, _task_hash, bucket_count(16, len(came)))
    )


def _task_hash(task: TaskId) -> int:
    """What TaskId.hashCode gives, without its sign, for a task that has no named topology."""
    return (((31 + task.subtopology) * 31 + task.partition) * 31) & 0xFFFFFFFF


def _by_subtopology(offset_sums: Mapping[TaskId, int], structs: Mapping[str, Any]) -> tuple[Any, ...]:
    rows: dict[int, list[Any]] = {}
    for task, offset_sum in offset_sums.items():
        rows.setdefault(task.subtopology, []).append(structs["PartitionToOffsetSum"](partition=task.partition, offset_sum=offset_sum))
    return tuple(structs["TaskOffsetSum"](topic_group_id=id, partition_to_offset_sum=tuple(rows[id])) for id in hash_order(rows))


def decode_subscription(raw: bytes) -> SubscriptionInfo:
    """What the bytes say; bytes behind it are not looked at. Errors: ProbingError, as Kafka Streams fails."""
    version, latest_supported = _int_at(raw, 0), UNKNOWN_VERSION
    if version > LATEST_VERSION:
        return SubscriptionInfo(version, _int_at(raw, _VERSION_SIZE))
    value = _read(raw, max(version, 1))
    if version < 1:
        raise _check_failed(version, latest_supported)
    if version >= _SUPPORTED_SINCE:
        latest_supported = value.latest_supported_version
    return SubscriptionInfo(
        version,
        latest_supported,
        value.process_id,
        _offset_sums(value, version),
        value.user_end_point.decode("utf-8", "replace") or None if version >= _END_POINT_SINCE else None,
        value.unique_field,
        value.error_code,
        {tag.key.decode("utf-8", "replace"): tag.value.decode("utf-8", "replace") for tag in value.client_tags},
    )


def _read(raw: bytes, version: int) -> Any:
    message = message_type("blobs", "StreamsSubscriptionInfo")
    try:
        try:
            return message.read(raw, version, _VERSION_SIZE)
        except TrailingBytesError as error:
            return message.read(raw, version, _VERSION_SIZE, len(raw) - error.left_over)
    except DecodeError:
        text = java_read_error(message, raw, version, _VERSION_SIZE, len(raw))
        raise (ProbingError("BufferUnderflowException", None) if text == NO_MESSAGE else ProbingError("RuntimeException", text)) from None


def _offset_sums(value: Any, version: int) -> dict[TaskId, int]:
    if version < _OFFSET_SUMS_SINCE:
        found = {TaskId(task.topic_group_id, task.partition): UNKNOWN_OFFSET_SUM for task in value.standby_tasks}
        return {**{TaskId(task.topic_group_id, task.partition): LATEST_OFFSET for task in value.prev_tasks}, **found}
    if version < NAMED_TOPOLOGY_SINCE:
        return {
            TaskId(one.topic_group_id, row.partition): row.offset_sum
            for one in value.task_offset_sums
            for row in one.partition_to_offset_sum
        }
    return {TaskId(one.topic_group_id, one.partition, one.named_topology or None): one.offset_sum for one in value.task_offset_sums}


def _int_at(raw: bytes, at: int) -> int:
    if len(raw) < at + _INT32.size:
        raise ProbingError("BufferUnderflowException", None)
    (number,) = _INT32.unpack_from(raw, at)
    return int(number)


def _check_versions(version: int, latest_supported: int) -> None:
    is_known = 1 <= version <= latest_supported if latest_supported != UNKNOWN_VERSION else 1 <= version < _SUPPORTED_SINCE
    if not is_known:
        raise _check_failed(version, latest_supported)


def _check_failed(version: int, latest_supported: int) -> ProbingError:
    if latest_supported == UNKNOWN_VERSION:
        text = f"Only versions 1 and 2 are expected to use an UNKNOWN (-1) latest supported version. Got {version}."
        return ProbingError("IllegalArgumentException", text)
    return _not_between(latest_supported, version)


def _not_between(newest: int, version: int) -> ProbingError:
    return ProbingError("IllegalArgumentException", f"version must be between 1 and {newest}; was: {version}")
