"""Kafka Streams' AssignmentInfo, versions 1 to 11: the user data of an assignment.

Java's DataOutput writes it, not Kafka's schemas: a string is a uint16 size and modified UTF-8, a named topology is its number of
characters and UTF-16. Versions 5 and later name topics by their numbers in a dictionary.
Source: org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from struct import error as struct_error
from typing import Any

from metashell.codec.java import bucket_count, string_hash, string_hash_order, table_order
from metashell.common.errors import DecodeError, EncodeError

LATEST_ASSIGNMENT_INFO_VERSION = 11
COMMONLY_SUPPORTED_SINCE = 3
ERROR_CODE_SINCE = 4
DICTIONARY_SINCE = 5
STANDBY_HOSTS_SINCE = 6
NEXT_REBALANCE_SINCE = 7
NAMED_TOPOLOGY_SINCE = 10
NO_REBALANCE_MS = (1 << 63) - 1

_INT32 = Struct(">i")
_INT64 = Struct(">q")
_UINT16 = Struct(">H")


@dataclass(frozen=True, slots=True)
class TaskId:
    """A task: its subtopology and partition, and the named topology it belongs to, if any."""

    subtopology: int
    partition: int
    named_topology: str | None = None


Partition = tuple[str, int]
Host = tuple[str, int]


@dataclass(slots=True)
class StreamsAssignment:
    """The assignment of one client of a Streams application.

    Shape: `active_tasks` has an entry for each assigned partition, in the order of those partitions sorted by topic;
    the partitions of hosts and of standby tasks are (topic, partition), as they were written. `topic_dictionary` are
    the topics by their numbers (version 5 on). Units: `next_rebalance_ms` is Unix time, NO_REBALANCE_MS for none.
    """

    version: int
    commonly_supported_version: int = -1
    active_tasks: list[TaskId] = field(default_factory=list)
    standby_tasks: list[tuple[TaskId, list[Partition]]] = field(default_factory=list)
    topic_dictionary: list[tuple[int, str]] = field(default_factory=list)
    partitions_by_host: list[tuple[Host, list[Partition]]] = field(default_factory=list)
    standby_partitions_by_host: list[tuple[Host, list[Partition]]] = field(default_factory=list)
    error_code: int = 0
    next_rebalance_ms: int = NO_REBALANCE_MS


class CorruptCountError(DecodeError):
    """A count that is too large for the bytes."""


def read_streams_assignment(raw: bytes, may_have_more: bool = False) -> StreamsAssignment:
    """The assignment in `raw`. It takes all bytes, unless `may_have_more`.

    Errors: DecodeError for an unknown version, and for bytes that do not fit or are left over.
    """
    reader = _Reader(raw)
    try:
        value = reader.assignment()
    except struct_error:
        raise DecodeError("AssignmentInfo ends early", offset=reader.at) from None
    except UnicodeDecodeError as error:
        raise DecodeError(f"AssignmentInfo: {error.reason}", offset=reader.at) from None
    if reader.at != len(raw) and not may_have_more:
        raise DecodeError(f"AssignmentInfo: {len(raw) - reader.at} byte(s) left over", offset=reader.at)
    return value


def streams_assignment_bytes(value: StreamsAssignment) -> bytes:
    """The bytes of an assignment in its version; fields that the version lacks are left out.

    Errors: EncodeError for a named topology in a version without them.
    """
    writer = _Writer(value.version)
    writer.assignment(value)
    return bytes(writer.out)


def streams_assignment_json(value: StreamsAssignment) -> dict[str, Any]:
    """The assignment as JSON values; fields that its version lacks are left out."""
    version = value.version
    shown: dict[str, Any] = {"version": version}
    if version >= COMMONLY_SUPPORTED_SINCE:
        shown["commonlySupportedVersion"] = value.commonly_supported_version
    shown["activeTasks"] = [_task_json(task) for task in value.active_tasks]
    shown["standbyTasks"] = [{**_task_json(task), "partitions": _partitions_json(partitions)} for task, partitions in value.standby_tasks]
    if version > 1:
        shown["partitionsByHost"] = _hosts_json(value.partitions_by_host)
    if version >= STANDBY_HOSTS_SINCE:
        shown["standbyPartitionsByHost"] = _hosts_json(value.standby_partitions_by_host)
    if version >= ERROR_CODE_SINCE:
        shown["errorCode"] = value.error_code
    if version >= NEXT_REBALANCE_SINCE:
        shown["nextRebalanceMs"] = value.next_rebalance_ms
    return shown


def _task_json(task: TaskId) -> dict[str, Any]:
    shown: dict[str, Any] = {"subtopology": task.subtopology, "partition": task.partition}
    if task.named_topology is not None:
        shown["namedTopology"] = task.named_topology
    return shown


def _partitions_json(partitions: list[Partition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in partitions]


def _hosts_json(hosts: list[tuple[Host, list[Partition]]]) -> list[dict[str, Any]]:
    return [{"host": host, "port": port, "partitions": _partitions_json(partitions)} for (host, port), partitions in hosts]


class _Reader:
    """Reads one assignment. Errors: struct.error if the bytes end early."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0
        self.version = 0
        self.topics: dict[int, str] = {}

    def assignment(self) -> StreamsAssignment:
        self.version = version = self.number(_INT32)
        if not 1 <= version <= LATEST_ASSIGNMENT_INFO_VERSION:
            raise DecodeError(f"AssignmentInfo version {version} is not known")
        value = StreamsAssignment(version)
        if version >= COMMONLY_SUPPORTED_SINCE:
            value.commonly_supported_version = self.number(_INT32)
        value.active_tasks = [self.task() for _ in self.count(8)]
        value.standby_tasks = [(self.task(), self.partitions(by_number=False)) for _ in self.count(12)]
        if version >= DICTIONARY_SINCE:
            value.topic_dictionary = [(self.number(_INT32), self.text()) for _ in self.count(6)]
            self.topics = dict(value.topic_dictionary)
        if version > 1:
            value.partitions_by_host = self.hosts()
        if version >= STANDBY_HOSTS_SINCE:
            value.standby_partitions_by_host = self.hosts()
        if version >= ERROR_CODE_SINCE:
            value.error_code = self.number(_INT32)
        if version >= NEXT_REBALANCE_SINCE:
            value.next_rebalance_ms = self.number(_INT64)
        return value

    def number(self, form: Struct) -> int:
        (value,) = form.unpack_from(self.raw, self.at)
        self.at += form.size
        return int(value)

    def count(self, least_size: int) -> range:
        """A count of items, each of at least so many bytes."""
        count = self.number(_INT32)
        if not 0 <= count * least_size <= len(self.raw):
            raise CorruptCountError(f"AssignmentInfo: {count} items cannot lie in {len(self.raw)} byte(s)", offset=self.at)
        if count * least_size > len(self.raw) - self.at:
            raise DecodeError(f"AssignmentInfo: {count} items cannot lie in {len(self.raw) - self.at} byte(s)", offset=self.at)
        return range(count)

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.raw) - self.at:
            raise DecodeError(f"AssignmentInfo: {size} byte(s) wanted, {len(self.raw) - self.at} left", offset=self.at)
        self.at += size
        return self.raw[self.at - size : self.at]

    def text(self) -> str:
        return _from_modified_utf8(self.take(self.number(_UINT16)))

    def task(self) -> TaskId:
        subtopology, partition = self.number(_INT32), self.number(_INT32)
        if self.version < NAMED_TOPOLOGY_SINCE:
            return TaskId(subtopology, partition)
        name = self.take(2 * self.number(_INT32)).decode("utf-16-be", "surrogatepass")
        return TaskId(subtopology, partition, name or None)

    def partitions(self, by_number: bool) -> list[Partition]:
        return [(self.topic(by_number), self.number(_INT32)) for _ in self.count(8 if by_number else 6)]

    def topic(self, by_number: bool) -> str:
        if not by_number:
            return self.text()
        number = self.number(_INT32)
        if number not in self.topics:
            raise DecodeError(f"AssignmentInfo: topic {number} is not in the dictionary", offset=self.at)
        return self.topics[number]

    def hosts(self) -> list[tuple[Host, list[Partition]]]:
        by_number = self.version >= DICTIONARY_SINCE
        return [((self.text(), self.number(_INT32)), self.partitions(by_number)) for _ in self.count(10)]


class _Writer:
    """Writes one assignment. Topics are numbered as they come in a java.util.HashSet of all partitions, and listed as in a HashMap."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.out = bytearray()
        self.numbers: dict[str, int] = {}

    def assignment(self, value: StreamsAssignment) -> None:
        version = self.version
        self.number(version)
        if version >= COMMONLY_SUPPORTED_SINCE:
            self.number(value.commonly_supported_version)
        self.number(len(value.active_tasks))
        for task in value.active_tasks:
            self.task(task)
        self.number(len(value.standby_tasks))
        for task, partitions in value.standby_tasks:
            self.task(task)
            self.partitions(partitions, by_number=False)
        if version >= DICTIONARY_SINCE:
            self.dictionary(value)
        if version > 1:
            self.hosts(value.partitions_by_host)
        if version >= STANDBY_HOSTS_SINCE:
            self.hosts(value.standby_partitions_by_host)
        if version >= ERROR_CODE_SINCE:
            self.number(value.error_code)
        if version >= NEXT_REBALANCE_SINCE:
            self.out += _INT64.pack(value.next_rebalance_ms)

    def number(self, number: int) -> None:
        self.out += _INT32.pack(number)

    def text(self, text: str) -> None:
        raw = _to_modified_utf8(text)
        self.out += _UINT16.pack(len(raw)) + raw

    def task(self, task: TaskId) -> None:
        self.number(task.subtopology)
        self.number(task.partition)
        if self.version >= NAMED_TOPOLOGY_SINCE:
            raw = (task.named_topology or "").encode("utf-16-be", "surrogatepass")
            self.number(len(raw) // 2)
            self.out += raw
        elif task.named_topology is not None:
            raise EncodeError(f"Named topologies are not compatible with protocol version {self.version}")

    def partitions(self, partitions: list[Partition], by_number: bool) -> None:
        self.number(len(partitions))
        for topic, partition in partitions:
            if by_number:
                self.number(self.numbers[topic])
            else:
                self.text(topic)
            self.number(partition)

    def dictionary(self, value: StreamsAssignment) -> None:
        hosts = value.partitions_by_host + (value.standby_partitions_by_host if self.version >= STANDBY_HOSTS_SINCE else [])
        came = list(dict.fromkeys(partition for _, partitions in hosts for partition in partitions))
        for topic, _ in table_order(came, _partition_hash, bucket_count(16, len(came))):
            self.numbers.setdefault(topic, len(self.numbers))
        self.number(len(self.numbers))
        for topic in string_hash_order(self.numbers):
            self.number(self.numbers[topic])
            self.text(topic)

    def hosts(self, hosts: list[tuple[Host, list[Partition]]]) -> None:
        self.number(len(hosts))
        for (host, port), partitions in hosts:
            self.text(host)
            self.number(port)
            self.partitions(partitions, by_number=self.version >= DICTIONARY_SINCE)


def _partition_hash(partition: Partition) -> int:
    """The value of TopicPartition.hashCode as an unsigned int."""
    return ((31 + partition[1]) * 31 + string_hash(partition[0])) & 0xFFFFFFFF


def _to_modified_utf8(text: str) -> bytes:
    """Text as DataOutput writes it: see `_from_modified_utf8`."""
    units = text.encode("utf-16-be", "surrogatepass")
    plain = "".join(chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return plain.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def _from_modified_utf8(raw: bytes) -> str:
    """Text as DataInput reads it: NUL takes two bytes, and a character above U+FFFF two encoded surrogates."""
    text = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
