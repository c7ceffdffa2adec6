"""Writes Kafka Streams' AssignmentInfo, to hold the reader to: what is read and written again is the same bytes."""

from __future__ import annotations

from struct import Struct

from metashell.codec.streams_assignment import (
    COMMONLY_SUPPORTED_SINCE,
    DICTIONARY_SINCE,
    ERROR_CODE_SINCE,
    NAMED_TOPOLOGY_SINCE,
    NEXT_REBALANCE_SINCE,
    STANDBY_HOSTS_SINCE,
    Host,
    Partition,
    StreamsAssignment,
    TaskId,
)
from metashell.common.errors import EncodeError

_INT32 = Struct(">i")
_INT64 = Struct(">q")
_UINT16 = Struct(">H")


def write_streams_assignment(value: StreamsAssignment) -> bytes:
    """The bytes of an assignment. Errors: EncodeError for a topic that its dictionary does not have."""
    writer = _Writer(value)
    writer.assignment()
    return bytes(writer.out)


class _Writer:
    """Writes one assignment."""

    def __init__(self, value: StreamsAssignment) -> None:
        self.value = value
        self.out = bytearray()
        self.numbers = {topic: number for number, topic in value.topic_dictionary}

    def assignment(self) -> None:
        value, version = self.value, self.value.version
        self.number(_INT32, version)
        if version >= COMMONLY_SUPPORTED_SINCE:
            self.number(_INT32, value.commonly_supported_version)
        self.number(_INT32, len(value.active_tasks))
        for task in value.active_tasks:
            self.task(task)
        self.number(_INT32, len(value.standby_tasks))
        for task, partitions in value.standby_tasks:
            self.task(task)
            self.partitions(partitions, by_number=False)
        if version >= DICTIONARY_SINCE:
            self.number(_INT32, len(value.topic_dictionary))
            for number, topic in value.topic_dictionary:
                self.number(_INT32, number)
                self.text(topic)
        if version > 1:
            self.hosts(value.partitions_by_host)
        if version >= STANDBY_HOSTS_SINCE:
            self.hosts(value.standby_partitions_by_host)
        if version >= ERROR_CODE_SINCE:
            self.number(_INT32, value.error_code)
        if version >= NEXT_REBALANCE_SINCE:
            self.number(_INT64, value.next_rebalance_ms)

    def number(self, form: Struct, value: int) -> None:
        self.out += form.pack(value)

    def text(self, text: str) -> None:
        raw = _to_modified_utf8(text)
        self.number(_UINT16, len(raw))
        self.out += raw

    def task(self, task: TaskId) -> None:
        self.number(_INT32, task.subtopology)
        self.number(_INT32, task.partition)
        if self.value.version >= NAMED_TOPOLOGY_SINCE:
            raw = (task.named_topology or "").encode("utf-16-be", "surrogatepass")
            self.number(_INT32, len(raw) // 2)
            self.out += raw

    def partitions(self, partitions: list[Partition], by_number: bool) -> None:
        self.number(_INT32, len(partitions))
        for topic, partition in partitions:
            if not by_number:
                self.text(topic)
            elif topic in self.numbers:
                self.number(_INT32, self.numbers[topic])
            else:
                raise EncodeError(f"topic {topic} is not in the dictionary")
            self.number(_INT32, partition)

    def hosts(self, hosts: list[tuple[Host, list[Partition]]]) -> None:
        self.number(_INT32, len(hosts))
        for (host, port), partitions in hosts:
            self.text(host)
            self.number(_INT32, port)
            self.partitions(partitions, by_number=self.value.version >= DICTIONARY_SINCE)


def _to_modified_utf8(text: str) -> bytes:
    units = text.encode("utf-16-be", "surrogatepass")
    halves = "".join(chr(units[at] << 8 | units[at + 1]) for at in range(0, len(units), 2))
    return halves.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
