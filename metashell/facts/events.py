"""The rare records of a metadata log, as objects in order: all but those of topics and partitions, of which there are millions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.checks.facts import LogEvent, TopicNote
from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.codec.control import CONTROL_TYPE_NAMES, KRAFT_VOTERS, LEADER_CHANGE, read_control_record
from metashell.codec.frame import read_metadata_record
from metashell.codec.record_walk import walk_records
from metashell.errors import DecodeError, MetashellError
from metashell.image.voters import VoterSet, voter_set

if TYPE_CHECKING:
    from metashell.codec.batches import RecordBatch

_USUAL: Final = frozenset(map(bytes, ([3], [5])))
"""The types of partitions and their changes, as the second byte of a record has them."""
_TOPIC_TYPES: Final = frozenset(map(bytes, ([2], [9])))
_TOPICS: Final = {"TOPIC_RECORD", "REMOVE_TOPIC_RECORD"}
_LEADER_CHANGE: Final = CONTROL_TYPE_NAMES[LEADER_CHANGE]
_VOTERS: Final = CONTROL_TYPE_NAMES[KRAFT_VOTERS]


class LogEvents(NamedTuple):
    """What one pass over a log gives; see `checks.facts.MetadataLog`."""

    events: tuple[LogEvent, ...] = ()
    voter_sets: tuple[tuple[int, int, VoterSet], ...] = ()
    last_leader: tuple[int, int] | None = None
    start_offset: int = 0
    end_offset: int = 0
    last_epoch: int = 0
    last_timestamp_ms: int = -1
    topics: Mapping[bytes, TopicNote] = MappingProxyType({})


def read_events(
    batches: Iterator[RecordBatch], topics: Collection[str | bytes] = (), max_decompressed: int = MAX_DECOMPRESSED
) -> LogEvents:
    """Walk the batches of a log once; of topics only those with these names and ids are noted.

    A batch whose records cannot be read is passed over: the image has it as a fault.
    """
    usual = _USUAL if topics else _USUAL | _TOPIC_TYPES
    notes: dict[bytes, TopicNote] = {}
    events: list[LogEvent] = []
    voter_sets = []
    last_leader = None
    start, end, epoch, time = -1, 0, 0, -1
    try:
        for batch in batches:
            header = batch.header
            start = header.base_offset if start < 0 else start
            end, epoch = header.last_offset + 1, header.leader_epoch
            time = max(time, header.max_timestamp)
            for offset, timestamp, name, body in _records(batch, usual, max_decompressed):
                if name in _TOPICS:
                    _note(notes, topics, name, body, offset, timestamp)
                    continue
                if name == _LEADER_CHANGE:
                    last_leader = body.leader_id, header.leader_epoch
                elif name == _VOTERS:
                    voter_sets.append((offset, timestamp, voter_set(body, offset)))
                events.append(LogEvent(offset, header.leader_epoch, timestamp, name, body))
    except (MetashellError, OSError):
        pass  # What is readable counts.
    return LogEvents(tuple(events), tuple(voter_sets), last_leader, max(start, 0), end, epoch, time, notes)


def _note(notes: dict[bytes, TopicNote], topics: Collection[str | bytes], name: str, body: Any, offset: int, timestamp: int) -> None:
    if name == "TOPIC_RECORD":
        if body.name in topics:
            notes[body.topic_id] = TopicNote(body.name, offset, timestamp)
    elif body.topic_id in notes or body.topic_id in topics:
        note = notes.get(body.topic_id, TopicNote(""))
        notes[body.topic_id] = note._replace(removed_offset=offset, removed_ms=timestamp)


def _records(batch: RecordBatch, usual: frozenset[bytes], max_decompressed: int) -> Iterator[tuple[int, int, str, Any]]:
    header = batch.header
    try:
        buf, start, end = batch.records_area(max_decompressed)
        for fields in walk_records(buf, start, end, header.count):
            value_start, value_size = fields[4], fields[5]
            offset, time = header.base_offset + fields[0], header.base_timestamp + fields[1]
            value = None if value_size < 0 else buf[value_start : value_start + value_size]
            if header.is_control:
                control = read_control_record(buf[fields[2] : fields[2] + fields[3]], value)
                if control.message is not None:
                    yield offset, time, control.type_name, control.body
            elif value is not None and value[1:2] not in usual:
                record = read_metadata_record(value)
                if record.message is not None:
                    yield offset, time, record.type_name, record.body
    except (DecodeError, MetashellError):
        return
