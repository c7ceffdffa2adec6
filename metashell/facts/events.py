"""The rare records of a metadata log, as objects in order: all but those of topics and partitions, of which there are millions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.checks.facts import LogEvent
from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.codec.control import CONTROL_TYPE_NAMES, KRAFT_VOTERS, LEADER_CHANGE, read_control_record
from metashell.codec.frame import read_metadata_record
from metashell.codec.record_walk import walk_records
from metashell.errors import DecodeError, MetashellError
from metashell.image.voters import VoterSet, voter_set

if TYPE_CHECKING:
    from metashell.codec.batches import RecordBatch

_USUAL: Final = frozenset(map(bytes, ([2], [3], [5], [9])))
"""The types of topics, partitions, their changes and removals, as the second byte of a record has them."""
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


def read_events(batches: Iterator[RecordBatch], max_decompressed: int = MAX_DECOMPRESSED) -> LogEvents:
    """Walk the batches of a log once. A batch whose records cannot be read is passed over: the image has it as a fault."""
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
            for offset, timestamp, name, body in _records(batch, max_decompressed):
                if name == _LEADER_CHANGE:
                    last_leader = body.leader_id, header.leader_epoch
                elif name == _VOTERS:
                    voter_sets.append((offset, timestamp, voter_set(body, offset)))
                events.append(LogEvent(offset, header.leader_epoch, timestamp, name, body))
    except (MetashellError, OSError):
        pass  # What is readable counts.
    return LogEvents(tuple(events), tuple(voter_sets), last_leader, max(start, 0), end, epoch, time)


def _records(batch: RecordBatch, max_decompressed: int) -> Iterator[tuple[int, int, str, Any]]:
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
            elif value is not None and value[1:2] not in _USUAL:
                record = read_metadata_record(value)
                if record.message is not None:
                    yield offset, time, record.type_name, record.body
    except (DecodeError, MetashellError):
        return
