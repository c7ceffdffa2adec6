"""Kafka Streams' version probing (KIP-268): the metadata that leader and followers send in each version, and how they choose versions.

The leader chooses one version for all members, each follower the next one for itself. Releases differ in the versions they know, and
`upgrade.from` lowers them. Of a version above ours only two numbers are read: the version and the newest one that the sender supports;
through these, old leaders and new members understand each other. A future release, one version above the newest that exists, is simulated
as in Kafka's own upgrade test: both numbers one higher, the bytes unchanged.
Source: org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor, assignment.SubscriptionInfo, assignment.AssignmentInfo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final, NamedTuple

from metashell.codec.java import bucket_count, hash_order, table_order
from metashell.codec.record_text import NO_MESSAGE_TEXT, java_read_error
from metashell.codec.registry import message_type
from metashell.codec.schema import TrailingBytesError
from metashell.codec.streams_assignment import (
    LATEST_ASSIGNMENT_INFO_VERSION,
    NAMED_TOPOLOGY_SINCE,
    CorruptCountError,
    StreamsAssignment,
    TaskId,
    read_streams_assignment,
    streams_assignment_bytes,
)
from metashell.common.errors import DecodeError, EncodeError, MetashellError

EARLIEST_PROBEABLE: Final = 3
"""The first version whose messages include the newest version that their sender supports."""

NO_ERROR: Final = 0
ASSIGNMENT_ERROR: Final = 3


class LeaderVersions(NamedTuple):
    """The versions in a leader's assignment. `error_code` is not 0 if no version suits all members."""

    version: int
    commonly_supported: int
    error_code: int = NO_ERROR


class NextVersion(NamedTuple):
    """The version that a member uses for its next subscription, and whether it joins again at once for that."""

    used: int
    must_rejoin: bool


def choose_versions(latest: int, members: Iterable[tuple[int, int]]) -> LeaderVersions:
    """Choose the lowest version that members use, given as (used, latest supported), and the newest that all support.

    A member with a version above the leader's is answered in a version that it can read. If another member is too old to report its newest
    supported version, all get an error.
    """
    version = commonly_supported = latest
    has_future = False
    for used, supported in members:
        has_future |= used > latest
        version = min(version, used)
        commonly_supported = min(commonly_supported, supported)
    if has_future and version < EARLIEST_PROBEABLE:
        return LeaderVersions(latest, latest, ASSIGNMENT_ERROR)
    return LeaderVersions(version, commonly_supported)


def choose_next_version(used: int, latest: int, received: int, commonly_supported: int) -> NextVersion:
    """Choose a member's reaction to the version of its assignment. `commonly_supported` is -1 in versions without it.

    Errors: ProbingError for an assignment that no leader may send.
    """
    if received > used:
        raise task_assignment_error(f"Sent a version {used} subscription but got an assignment with higher version {received}.")
    if commonly_supported > latest:
        raise task_assignment_error("Can't upgrade to metadata version greater than we support")
    if received >= EARLIEST_PROBEABLE and (commonly_supported > used or received < used):
        return NextVersion(commonly_supported, True)
    return NextVersion(used, False)


LATEST_VERSIONS: Final = {
    "0.10.0": 1,
    **dict.fromkeys(("0.10.1", "0.10.2", "0.11.0", "1.0", "1.1"), 2),
    "2.0": 3,
    **dict.fromkeys(("2.1", "2.2", "2.3"), 4),
    "2.4": 5,
    "2.5": 6,
    **dict.fromkeys(("2.6", "2.7"), 8),
    "2.8": 9,
    **dict.fromkeys(("3.0", "3.1"), 10),
    **dict.fromkeys(("3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"), 11),
}
"""The newest version of the metadata by release, the oldest first."""
_ORDER: Final = {release: number for number, release in enumerate(LATEST_VERSIONS)}
_FIRST_PROBING: Final = "2.0"
_FIRST_COOPERATIVE: Final = "2.4"
_FIRST_WITHOUT_EAGER: Final = "4.0"
_OLD_FOREIGN_KEYS_BEFORE: Final = "3.4"
_OLD_TABLE_CHANGES_BEFORE: Final = "3.5"


class InitialVersion(NamedTuple):
    """The first version of a member, and its compatibility settings."""

    version: int
    is_cooperative: bool
    has_old_foreign_keys: bool = False
    """Whether it writes foreign-key joins in the old format."""
    has_old_table_changes: bool = False
    """Whether it writes repartitioned table changes in the old format."""


def is_before(release: str, other: str) -> bool:
    return _ORDER[release] < _ORDER[other]


def allowed_upgrade_from(release: str) -> list[str]:
    """Return the values of `upgrade.from` that this release accepts, besides none."""
    oldest = _FIRST_COOPERATIVE if not is_before(release, _FIRST_WITHOUT_EAGER) else "0.10.0"
    return [one for one in LATEST_VERSIONS if is_before(one, release) and not is_before(one, oldest)]


def initial_version(release: str, upgrade_from: str | None = None) -> InitialVersion:
    """Return the first version that a release sends. Errors: ProbingError for a value of `upgrade.from` that it refuses."""
    latest = LATEST_VERSIONS[release]
    is_cooperative = not is_before(release, _FIRST_COOPERATIVE)
    if upgrade_from is None:
        return InitialVersion(latest, is_cooperative)
    allowed = allowed_upgrade_from(release)
    if upgrade_from not in allowed:
        text = f"Invalid value {upgrade_from} for configuration upgrade.from: String must be one of: {', '.join(('null', *allowed))}"
        raise ProbingError("ConfigException", text)
    is_old = is_before(upgrade_from, _FIRST_PROBING)
    return InitialVersion(
        LATEST_VERSIONS[upgrade_from] if is_old else latest,
        is_cooperative and not is_before(upgrade_from, _FIRST_COOPERATIVE),
        is_before(upgrade_from, _OLD_FOREIGN_KEYS_BEFORE),
        is_before(upgrade_from, _OLD_TABLE_CHANGES_BEFORE),
    )


def answers_future_with_nothing(release: str) -> bool:
    """Return whether a leader of this release gives members of the future no tasks, as 2.0 to 2.3 did."""
    return not is_before(release, _FIRST_PROBING) and is_before(release, _FIRST_COOPERATIVE)


def supports_probing(release: str) -> bool:
    """Return whether a leader of this release supports members of the future at all."""
    return not is_before(release, _FIRST_PROBING)


UNKNOWN_VERSION: Final = -1
LATEST_OFFSET: Final = -2
"""The offset sum of an active task."""
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
    """Shape: `offset_sums` in written order; `process_id` has 16 bytes; `latest_supported` is -1 in versions 1 and 2."""

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
        """The active tasks."""
        return frozenset(task for task, offset_sum in self.offset_sums.items() if offset_sum == LATEST_OFFSET)

    @property
    def standby_tasks(self) -> frozenset[TaskId]:
        return frozenset(self.offset_sums) - self.previous_tasks


def encode_subscription(info: SubscriptionInfo) -> bytes:
    """Errors: ProbingError for a version that we cannot write, and for named topologies before version 10."""
    version = info.version
    if version > LATEST_ASSIGNMENT_INFO_VERSION:
        raise _not_between(LATEST_ASSIGNMENT_INFO_VERSION, version)
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
    """Return tasks in the order of a java.util.HashSet."""
    came = [task for task in info.offset_sums if task in tasks]
    return tuple(
        structs["TaskId"](topic_group_id=task.subtopology, partition=task.partition)
        for task in table_order(came, _task_hash, bucket_count(16, len(came)))
    )


def _task_hash(task: TaskId) -> int:
    """Return TaskId.hashCode, unsigned, for a task without named topology."""
    return (((31 + task.subtopology) * 31 + task.partition) * 31) & 0xFFFFFFFF


def _by_subtopology(offset_sums: Mapping[TaskId, int], structs: Mapping[str, Any]) -> tuple[Any, ...]:
    rows: dict[int, list[Any]] = {}
    for task, offset_sum in offset_sums.items():
        rows.setdefault(task.subtopology, []).append(structs["PartitionToOffsetSum"](partition=task.partition, offset_sum=offset_sum))
    return tuple(structs["TaskOffsetSum"](topic_group_id=id, partition_to_offset_sum=tuple(rows[id])) for id in hash_order(rows))


def decode_subscription(raw: bytes) -> SubscriptionInfo:
    """Decode the bytes; trailing bytes are ignored. Errors: ProbingError, with the exception of Kafka Streams."""
    version, latest_supported = _int_at(raw, 0), UNKNOWN_VERSION
    if version > LATEST_ASSIGNMENT_INFO_VERSION:
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
        raise (
            ProbingError("BufferUnderflowException", None) if text == NO_MESSAGE_TEXT else ProbingError("RuntimeException", text)
        ) from None


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


def encode_assignment(info: StreamsAssignment) -> bytes:
    """Errors: ProbingError for a version that we cannot write, and for named topologies before version 10."""
    if not 1 <= info.version <= LATEST_ASSIGNMENT_INFO_VERSION:
        raise ProbingError(
            "IllegalArgumentException", f"version must be between 1 and {LATEST_ASSIGNMENT_INFO_VERSION}; was: {info.version}"
        )
    try:
        return streams_assignment_bytes(info)
    except EncodeError as error:
        raise task_assignment_error(str(error)) from None


def decode_assignment(raw: bytes) -> StreamsAssignment:
    """Decode the bytes; trailing bytes are ignored. Errors: ProbingError, with the exception of Kafka Streams."""
    if len(raw) >= 4:
        version = int.from_bytes(raw[:4], "big", signed=True)
        if not 1 <= version <= LATEST_ASSIGNMENT_INFO_VERSION:
            raise task_assignment_error(
                f"Unable to decode assignment data: used version: {version}; latest supported version: {LATEST_ASSIGNMENT_INFO_VERSION}"
            )
    try:
        return read_streams_assignment(raw, may_have_more=True)
    except CorruptCountError:
        raise task_assignment_error("Corrupted user data byte[].") from None
    except DecodeError:
        raise task_assignment_error("Failed to decode AssignmentInfo") from None


class ProbingError(MetashellError):
    """Shape: `java_class` is the exception's simple name, `message` its text; None if Java has none."""

    def __init__(self, java_class: str, message: str | None) -> None:
        super().__init__(message or java_class)
        self.java_class = java_class
        self.message = message


def task_assignment_error(message: str) -> ProbingError:
    return ProbingError("TaskAssignmentException", message)
