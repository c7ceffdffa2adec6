"""The facts of one log directory: its identity, its metadata log with the rare records, and the directories of partitions.

Rare records are all but those of topics and partitions, of which there may be millions."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from metashell.codec.batch_writer import CONTROL_TYPE_NAMES, KRAFT_VOTERS, LEADER_CHANGE, read_control_record
from metashell.codec.batches import walk_records
from metashell.codec.metadata_records import read_metadata_record
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.errors import DecodeError, MetashellError
from metashell.disk.directory import CheckpointEntry, MetadataDirectory, partition_name
from metashell.disk.indexes import read_stable_end, unwalked_bytes
from metashell.disk.inputs import log_folder
from metashell.disk.names import LEADER_EPOCH_CHECKPOINT, META_PROPERTIES, METADATA, METADATA_DIRECTORY, PARTITION_METADATA, QUORUM_STATE
from metashell.disk.properties import read_meta_properties
from metashell.disk.segment import first_snapshot_fault
from metashell.disk.source import DirectorySource
from metashell.disk.state_files import read_leader_epochs, read_quorum_state, read_topic_id
from metashell.metadata.checks.facts import (
    CheckpointFacts,
    HangingTransaction,
    Identity,
    LogDirectory,
    LogEvent,
    MetadataLog,
    PartitionDirectory,
    QuorumNote,
    TopicNote,
)
from metashell.metadata.image import load_image
from metashell.metadata.image.provenance import VoterSet, voter_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from metashell.codec.batches import RecordBatch
    from metashell.metadata.image import MetadataImage


T = TypeVar("T")
WALKED_MAX: Final = 256 << 20
"""The most bytes of a log directory that are walked for open transactions: about a second."""
_SUFFIXES: Final = ("stray", "delete", "future")


def metadata_folder(path: str) -> str | None:
    """The folder of the metadata log at a path: the path itself, of any name, or the folder in a log directory; None without one."""
    usual = os.path.join(path, METADATA_DIRECTORY)
    if os.path.isdir(usual):
        return usual
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, META_PROPERTIES)):
        return None
    if os.path.basename(os.path.abspath(path)) == METADATA_DIRECTORY:
        return path
    try:
        found = log_folder(path)
    except OSError:
        return None
    return path if found is not None and found.kind == METADATA else None


def is_partition(path: str) -> bool:
    """Return whether a directory is a partition's, by its name and its small files: a folder named `node-1` need not be one."""
    if partition_name(os.path.basename(path)) is None:
        return False
    return any(os.path.exists(os.path.join(path, name)) for name in (PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT))


def read_log_directory(path: str) -> LogDirectory:
    """One log directory in any state, without its metadata log."""
    if metadata_folder(path) == path:
        above = os.path.dirname(os.path.abspath(path)) if os.path.isabs(path) else os.path.normpath(os.path.join(path, os.pardir))
        return LogDirectory(path=above, identity=_read_file(os.path.join(above, META_PROPERTIES), _identity), is_alone=True)
    if not os.path.isdir(path):
        return LogDirectory(path=path, state="not_a_directory" if os.path.lexists(path) else "missing")
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        return LogDirectory(path=path, identity=error.strerror or str(error))
    try:
        disk = os.statvfs(path)
    except OSError:
        disk = None
    return LogDirectory(
        path=path,
        identity=_read_file(os.path.join(path, META_PROPERTIES), _identity),
        partitions=tuple(_partitions(path, names)),
        is_empty=not names,
        free_bytes=None if disk is None else disk.f_bavail * disk.f_frsize,
        total_bytes=None if disk is None else disk.f_blocks * disk.f_frsize,
    )


def read_open_transactions(partitions: Iterable[PartitionDirectory]) -> tuple[HangingTransaction, ...] | None:
    """Return the open transactions of partitions, None if what has to be walked of their logs is more than `WALKED_MAX`, or unreadable."""
    places = [one for one in partitions if not one.suffix]
    found = []
    try:
        left = WALKED_MAX
        for one in places:
            left -= unwalked_bytes(one.path)
            if left < 0:
                return None
        for one in places:
            end = read_stable_end(one.path)
            found += [
                HangingTransaction(
                    one.topic,
                    one.partition,
                    transaction.producer_id,
                    transaction.producer_epoch,
                    end.last_ms if transaction.since_ms is None else transaction.since_ms,
                    "",
                    transaction.start_offset,
                    end.last_ms,
                )
                for transaction in end.open
            ]
    except OSError:
        return None
    return tuple(found)


def read_metadata_log(
    path: str,
    topics: Collection[str | bytes] = (),
    max_decompressed: int = MAX_DECOMPRESSED,
    known: MetadataImage | None = None,
) -> MetadataLog:
    """The metadata log in a directory, with notes of the topics of these names or ids; `known` is its image if that was read already."""
    image, trouble, found = known, "", read_events(iter(()))
    checkpoints: tuple[CheckpointFacts, ...] = ()
    bases: tuple[int, ...] = ()
    try:
        with DirectorySource(path, log_from=0) as source:
            found = read_events(source.log_batches(0), topics, max_decompressed)
    except (MetashellError, OSError) as error:
        trouble = str(error)
    try:
        if image is None:
            with DirectorySource(path) as source:
                image = load_image(source, max_decompressed=max_decompressed)
    except (MetashellError, OSError) as error:
        trouble = str(error)
    # The loader has checked the checkpoint that the image begins with.
    whole = None if image is None else image.provenance.certain_to
    try:
        with MetadataDirectory(path) as directory:
            listing = directory.list()
            checkpoints = tuple(_checkpoint(directory, one, is_whole=one.snapshot_id.offset == whole) for one in listing.checkpoints)
            bases = tuple(entry.base_offset for entry in listing.segments)
    except (MetashellError, OSError) as error:
        trouble = str(error)
    return MetadataLog(
        path=path,
        image=image,
        trouble=trouble,
        start_offset=min(bases, default=0),
        end_offset=max(found.end_offset, *bases, 0),
        last_epoch=max((found.last_epoch, *(one.epoch for one in checkpoints if not one.trouble))),
        last_timestamp_ms=found.last_timestamp_ms,
        last_leader=found.last_leader,
        quorum_note=_read_file(os.path.join(path, QUORUM_STATE), _quorum_note),
        epochs=_read_file(os.path.join(path, LEADER_EPOCH_CHECKPOINT), _epochs),
        checkpoints=checkpoints,
        voter_sets=found.voter_sets,
        events=found.events,
        topics=found.topics,
    )


def _checkpoint(directory: MetadataDirectory, entry: CheckpointEntry, *, is_whole: bool) -> CheckpointFacts:
    """A checkpoint; it is read to see whether it is whole, unless that is known."""
    at = entry.snapshot_id
    try:
        with directory.open(entry.name) as file:
            fault = None if is_whole else first_snapshot_fault(file)
            return CheckpointFacts(entry.name, at.offset, at.epoch, file.size() or 0, "" if fault is None else fault.reason)
    except (MetashellError, OSError) as error:
        return CheckpointFacts(entry.name, at.offset, at.epoch, 0, str(error))


def _read_file(path: str, read: Callable[[str], T]) -> T | str | None:
    """The content of a small file, None if it does not exist, the reason if it cannot be read."""
    if os.path.exists(path) and not os.path.isfile(path):  # reading a pipe may wait for ever
        return "is not a regular file"
    try:
        return read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror or str(error)
    except MetashellError as error:
        return getattr(error, "reason", "") or str(error)


def _identity(path: str) -> Identity:
    return Identity(*read_meta_properties(path))


def _epochs(path: str) -> tuple[tuple[int, int], ...]:
    return tuple((one.epoch, one.start_offset) for one in read_leader_epochs(path))


def _quorum_note(path: str) -> QuorumNote:
    os.stat(path)  # `read_quorum_state` takes a missing file for an empty state; here it is a fact.
    state = read_quorum_state(path)
    return QuorumNote(state.leader_epoch, state.leader_id, state.voted_id, state.current_voters, state.data_version)


def _partitions(path: str, names: Iterable[str]) -> Iterator[PartitionDirectory]:
    for name in names:
        stem, _, suffix = name.rpartition("-")
        has_suffix = suffix in _SUFFIXES and "." in stem
        found = partition_name(stem.rpartition(".")[0] if has_suffix else name)
        place = os.path.join(path, name)
        if found is not None and name != METADATA_DIRECTORY and os.path.isdir(place):
            topic_id = _read_file(os.path.join(place, PARTITION_METADATA), read_topic_id)
            yield PartitionDirectory(place, *found, topic_id, suffix if has_suffix else "")


# ---- rare records


_USUAL: Final = frozenset(map(bytes, ([3], [5], [20])))
"""The types of partitions, their changes, and records that say nothing, as in the second byte of a record."""
_TOPIC_TYPES: Final = frozenset(map(bytes, ([2], [9])))
_ALL_BUT_TOPICS: Final = frozenset(bytes([number]) for number in range(256) if number != 2)
_TOPICS: Final = {"TOPIC_RECORD", "REMOVE_TOPIC_RECORD"}
_LEADER_CHANGE: Final = CONTROL_TYPE_NAMES[LEADER_CHANGE]
_VOTERS: Final = CONTROL_TYPE_NAMES[KRAFT_VOTERS]


EVENTS_MAX: Final = 100_000
"""The events of a log that are kept, 40 MB: those of a cluster that elects a leader each minute for two months."""


class LogEvents(NamedTuple):
    """The result of one pass over a log; see `checks.facts.MetadataLog`."""

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
    """Walk the batches of a log once; only topics with these names and ids are noted.

    A batch whose records cannot be read is skipped: it is a fault of the image. Of more than `EVENTS_MAX` events the newest are kept.
    """
    usual = _USUAL if topics else _USUAL | _TOPIC_TYPES
    notes: dict[bytes, TopicNote] = {}
    events: deque[LogEvent] = deque(maxlen=EVENTS_MAX)
    voter_sets: deque[tuple[int, int, VoterSet]] = deque(maxlen=EVENTS_MAX)
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
        pass  # The records read so far count.
    return LogEvents(tuple(events), tuple(voter_sets), last_leader, max(start, 0), end, epoch, time, notes)


def read_topic_names(batches: Iterable[RecordBatch], max_decompressed: int = MAX_DECOMPRESSED) -> dict[bytes, str]:
    """Return the names of all topics that the batches make, by id, also of those that are deleted later."""
    found: dict[bytes, str] = {}
    try:
        for batch in batches:
            found.update(
                (body.topic_id, body.name)
                for _, _, _, body in _records(batch, _ALL_BUT_TOPICS, max_decompressed)
                if not batch.header.is_control
            )
    except (MetashellError, OSError):
        pass  # The records read so far count.
    return found


def _note(notes: dict[bytes, TopicNote], topics: Collection[str | bytes], name: str, body: Any, offset: int, timestamp: int) -> None:
    if name == "TOPIC_RECORD":
        if body.name in topics:
            notes[body.topic_id] = TopicNote(body.name, offset, timestamp)
    elif body.topic_id in notes or body.topic_id in topics:
        note = notes.get(body.topic_id, TopicNote(""))
        notes[body.topic_id] = note._replace(removed_offset=offset, removed_ms=timestamp)


def _records(batch: RecordBatch, usual: frozenset[bytes], max_decompressed: int) -> Iterator[tuple[int, int, str, Any]]:
    header = batch.header
    is_control = header.is_control
    try:
        buf, start, end = batch.records_area(max_decompressed)
        for fields in walk_records(buf, start, end, header.count):
            value_start, value_size = fields[4], fields[5]
            # Most of a batch of millions are records that nobody asked for.
            if not is_control and value_size > 1 and buf[value_start + 1 : value_start + 2] in usual:
                continue
            offset, time = header.base_offset + fields[0], header.base_timestamp + fields[1]
            value = None if value_size < 0 else buf[value_start : value_start + value_size]
            if is_control:
                control = read_control_record(buf[fields[2] : fields[2] + fields[3]], value)
                if control.message is not None:
                    yield offset, time, control.type_name, control.body
            elif value is not None:
                record = read_metadata_record(value)
                if record.message is not None:
                    yield offset, time, record.type_name, record.body
    except (DecodeError, MetashellError):
        return
