"""The directory of a log: lists its segments and checkpoints, and decides to which log they belong.

The directory is opened once and its files are opened relative to it. A running node may add, rename and remove files at any moment, so a
listing describes one moment; a listed file may be gone when it is opened.

The content of bytes decides to which log they belong if it is clear, else their place. Content: only the metadata log has control records
of the quorum, its records have no key and their frames decode; a record of a coordinator's log has exactly one of that log's keys. Place:
the name of a partition's directory, and the files beside the segments. Why not the place first: a log that was copied to a directory of
another name is still that log. But a topic's directory within a node's log directory holds users' data, whatever its content looks like:
somebody may have produced copies of metadata records.

`first_records_file` finds the records that formatting wrote for the first leader of a cluster, which writes them into the log. From 4.4 on
they are in the bootstrap snapshot of the metadata directory, before that in the bootstrap.checkpoint of the log directory; if both exist,
the bootstrap snapshot counts. 4.3 looks for a bootstrap.checkpoint only: without one it starts, without a warning, at 4.3-IV0 and without
other features and users. Up to 4.2, the bootstrap snapshot is loaded like any other: its records count on that node, and no other node
gets them. Each case was seen on a real server: 4.2.1, 4.3.1, 4.4.0.
Source: org.apache.kafka.metadata.bootstrap.BootstrapDirectory; the listeners of org.apache.kafka.raft.KafkaRaftClient."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER
from metashell.codec.batches import Record, RecordBatch
from metashell.codec.dispatch import REMOTE_LOG_TYPES
from metashell.codec.metadata_records import FRAME_VERSION, metadata_message, read_frame
from metashell.codec.registry import message_type
from metashell.codec.schema import plain_check
from metashell.common.errors import DecodeError, UsageError
from metashell.common.values import METADATA_TOPIC_ID, OffsetAndEpoch, uuid_text
from metashell.disk.files import OpenFile, open_at, open_file
from metashell.disk.names import (
    BOOTSTRAP_CHECKPOINT,
    BOOTSTRAP_SNAPSHOT,
    DATA,
    LOG_NAMES,
    METADATA,
    METADATA_DIRECTORY,
    OFFSETS,
    QUORUM_STATE,
    REMOTE_LOG,
    SHARE,
    TOPICS,
    TRANSACTIONS,
    Closable,
    LogKind,
    parse_name,
)
from metashell.disk.segment import BatchFault, SourceFault, first_snapshot_fault, read_batches

if TYPE_CHECKING:
    from metashell.codec.coordinator import CoordinatorLog


class SegmentEntry(NamedTuple):
    base_offset: int
    name: str


class CheckpointEntry(NamedTuple):
    snapshot_id: OffsetAndEpoch
    name: str


class Listing(NamedTuple):
    """Segments by base offset, checkpoints newest first; without files that are being written or removed."""

    segments: list[SegmentEntry]
    checkpoints: list[CheckpointEntry]

    def __bool__(self) -> bool:
        return bool(self.segments or self.checkpoints)

    def segments_from(self, offset: int) -> list[SegmentEntry]:
        """The segments that may contain `offset` or later offsets."""
        first = 0
        for index, segment in enumerate(self.segments):
            if segment.base_offset <= offset:
                first = index
        return self.segments[first:]

    def starts(self) -> list[int]:
        """The offsets at which an image can begin: 0 if the log is complete from there, and the ends of checkpoints that the log continues.
        If the log leaves a gap behind every checkpoint, it is the newest checkpoint's end.
        """
        ends = sorted({checkpoint.snapshot_id.offset for checkpoint in self.checkpoints})
        if not self.segments:
            return ends[-1:]
        first = self.segments[0].base_offset
        followed = [end for end in ends if end >= first] or ends[-1:]
        return [0, *(end for end in followed if end)] if first == 0 else followed


def listing_of(names: Iterable[str]) -> Listing:
    """The segments and checkpoints among the names of a directory; a file takes precedence over its compressed copies."""
    listing = Listing([], [])
    seen: set[object] = set()
    parsed_names = [(name, parsed) for name in names if (parsed := parse_name(name)) is not None and not parsed.state]
    for name, parsed in sorted(parsed_names, key=lambda entry: (entry[1].is_compressed, entry[0])):
        key = parsed.base_offset if parsed.kind == "segment" else parsed.snapshot_id
        if key in seen:
            continue
        seen.add(key)
        if parsed.base_offset is not None:
            listing.segments.append(SegmentEntry(parsed.base_offset, name))
        elif parsed.snapshot_id is not None:
            listing.checkpoints.append(CheckpointEntry(parsed.snapshot_id, name))
    listing.segments.sort(key=lambda segment: segment.base_offset)
    listing.checkpoints.sort(key=lambda checkpoint: checkpoint.snapshot_id, reverse=True)
    return listing


class MetadataDirectory(Closable):
    """An opened directory of segments and checkpoints."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def list(self) -> Listing:
        """The current files."""
        return listing_of(os.listdir(self._fd))

    def open(self, name: str) -> OpenFile:
        """A file of this directory.

        Errors: OSError, above all FileNotFoundError if the node has removed it since.
        """
        return open_at(self._fd, name, os.path.join(self.path, name))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        # The inputs of a dump share their directory, and no one of them is known to be its last user.
        if hasattr(self, "_fd"):
            self.close()


class ListedFile(NamedTuple):
    """A file of a log's directory.

    `may_end_early` marks the last segment, whose torn or empty tail is not a fault. `follows` is the end of the checkpoint before a segment
    that begins later: the offsets in between are missing.
    """

    name: str
    is_checkpoint: bool = False
    may_end_early: bool = False
    follows: int | None = None


def listed_files(
    listing: Listing,
    open_name: Callable[[str], OpenFile],
    *,
    every_checkpoint: bool = False,
    shows_damaged: bool = False,
    passed_over: list[SourceFault] | None = None,
) -> Iterator[ListedFile]:
    """The files to read for a log's directory, in order: the checkpoint that its segments need, then the segments.

    Segments that do not begin at offset 0 need the newest complete checkpoint. With `every_checkpoint`, all checkpoints are included. With
    `shows_damaged`, the newest one is used if none is complete: a dump shows its content and its faults, while a table must not be made
    from it. Without any checkpoint, the log has to begin at offset 0, which matters only to logs without gaps. The faults of checkpoints
    newer than the chosen one are added to `passed_over`.
    """
    segments = listing.segments
    begin = segments[0].base_offset if segments else None
    follows: int | None = None if listing.checkpoints and begin != 0 else -1
    if every_checkpoint:
        yield from (ListedFile(entry.name, is_checkpoint=True) for entry in listing.checkpoints)
    elif begin != 0 and listing.checkpoints:
        faults = passed_over if passed_over is not None else []
        complete = next((entry for entry in listing.checkpoints if _is_complete(entry.name, open_name, faults)), None)
        if complete is not None or shows_damaged:
            yield ListedFile((complete or listing.checkpoints[0]).name, is_checkpoint=True)
        if complete is not None and begin is not None and begin > complete.snapshot_id.offset:
            follows = complete.snapshot_id.offset - 1
    for segment in segments:
        yield ListedFile(segment.name, may_end_early=segment is segments[-1], follows=follows)
        follows = None


def _is_complete(name: str, open_name: Callable[[str], OpenFile], passed_over: list[SourceFault]) -> bool:

    try:
        with open_name(name) as file:
            fault = first_snapshot_fault(file)
    except (OSError, UsageError):
        return False  # a running node has removed it, or we may not read it
    if fault is not None:
        passed_over.append(fault)
    return fault is None


_QUORUM_CONTROLS: Final = frozenset((LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION_RECORD, KRAFT_VOTERS))
_BATCHES_MAX: Final = 16
_RECORDS_MAX: Final = 8
_PARTITION_NAME: Final = re.compile(r"(.+)-(\d+)(?:[.-].*-(?:delete|future|stray))?", re.DOTALL)


class Content(NamedTuple):
    """The content of batches: their log (None: unknown), and whether there was any content.

    `is_proven` means a control record that no other log has, `is_sure` that many records were examined.
    """

    kind: LogKind | None
    has_batches: bool = True
    is_proven: bool = False
    is_sure: bool = False


NO_CONTENT: Final = Content(None, has_batches=False)


def log_kind_of(place: LogKind | None, content: Content) -> LogKind | None:
    """The log by content and place; None if neither decides."""
    if content.is_proven:
        return METADATA
    if place == DATA or (content.kind in (None, DATA) and place is not None):
        return place
    return content.kind


# ---- content


def content_of(items: Iterator[RecordBatch | BatchFault]) -> tuple[Content, Iterator[RecordBatch | BatchFault]]:
    """The content of the first batches, and an iterator over all of them."""
    looked_at: list[RecordBatch | BatchFault] = []

    def noted() -> Iterator[RecordBatch]:
        for item in items:
            looked_at.append(item)
            batch = item.batch if isinstance(item, BatchFault) else item
            if batch is not None:
                yield batch
            if len(looked_at) >= _BATCHES_MAX:
                return

    content = _content(noted())
    return content, chain(looked_at, items)


def _content(batches: Iterator[RecordBatch]) -> Content:
    records: list[tuple[RecordBatch, Record]] = []
    has_batches = False
    for batch in batches:
        has_batches = True
        if not batch.header.is_control:
            records += [(batch, record) for record in _records(batch)]
        elif batch.header.magic == 2 and batch.first_control_type() in _QUORUM_CONTROLS:
            return Content(METADATA, is_proven=True)
        if len(records) >= _RECORDS_MAX:
            break
    if not records:
        return Content(None, has_batches)
    # Most metadata logs begin with a control record that proves them, so their records need not be decoded.

    return Content(kind_of_records(records[:_RECORDS_MAX]), is_sure=len(records) >= _RECORDS_MAX)


def _records(batch: RecordBatch) -> Iterator[Record]:
    """The first readable records of a batch."""
    try:
        for _, record in zip(range(_RECORDS_MAX), batch.records(), strict=False):
            yield record
    except DecodeError:
        return


# ---- place


def partition_name(directory: str) -> tuple[str, int] | None:
    """The topic and partition in a directory's name, without a mark of deletion or move; None for other names."""
    match = _PARTITION_NAME.fullmatch(directory)
    return None if match is None else (match[1], int(match[2]))


def is_marked(directory: str) -> bool:
    """Whether a directory's name marks a partition that a broker deletes, moves between its disks, or found to be stray."""
    match = _PARTITION_NAME.fullmatch(directory)
    return match is not None and directory != f"{match[1]}-{match[2]}"


def kind_of_place(
    directory: str, names: Collection[str], topic_id: Callable[[], bytes | None], is_in_node: Callable[[], bool]
) -> LogKind | None:
    """The log in a directory by its name and the names of its files; None if they do not decide.

    `topic_id` gives the bytes of its partition.metadata; `is_in_node` says whether a meta.properties lies beside the directory.
    """
    partition = partition_name(directory)
    if partition is not None and partition[0] in TOPICS:
        return TOPICS[partition[0]]
    if QUORUM_STATE in names or any(parsed.kind == "checkpoint" for parsed in map(parse_name, names) if parsed is not None):
        return METADATA
    if uuid_text(METADATA_TOPIC_ID).encode() in (topic_id() or b""):
        return METADATA
    return DATA if partition is not None and is_in_node() else None


# ---- words


def log_name_of(kind: LogKind, directory: str = "") -> str:
    """The log in words, with the topic's name if the directory has it."""
    partition = partition_name(directory)
    return f"the log of topic {partition[0]}, partition {partition[1]}" if kind == DATA and partition is not None else LOG_NAMES[kind]


def log_names(kinds: Iterable[LogKind | None]) -> str:
    """Logs in words, each once."""
    return ", ".join(dict.fromkeys(LOG_NAMES[kind] for kind in kinds if kind is not None))


Judge = Callable[[RecordBatch, Record], int]

DECODES: Final = 3
MAY_BE: Final = 1
IS_NOT: Final = 0


def _judge_metadata(batch: RecordBatch, record: Record) -> int:
    if record.key is not None or batch.header.producer_id >= 0 or batch.header.magic != 2:
        return IS_NOT
    value = record.value or b""
    try:
        frame = read_frame(value, 0, len(value))
        message = metadata_message(frame.type_id, frame.family)
        if message is None:
            return MAY_BE if frame.family == METADATA else IS_NOT
        plain_check(message.schema, frame.version, value, frame.body_start, len(value))
    except DecodeError:
        return IS_NOT
    return DECODES


def _judge_remote_log(batch: RecordBatch, record: Record) -> int:
    value = record.value or b""
    try:
        frame = read_frame(value, 0, len(value))
        name = REMOTE_LOG_TYPES.get(frame.type_id)
        if name is None or frame.frame_version != FRAME_VERSION:
            return IS_NOT
        plain_check(message_type("remote_log", name).schema, frame.version, value, frame.body_start, len(value))
    except DecodeError:
        return IS_NOT
    return DECODES


def _coordinator_judge(log: "CoordinatorLog") -> Judge:
    from metashell.codec.coordinator import PREFIX_SIZE, int16_at

    def judge(batch: RecordBatch, record: Record) -> int:
        key, value = record.key, record.value
        message = log.key_message(int16_at(key, 0)) if key is not None and len(key) >= PREFIX_SIZE else None
        if key is None or message is None:
            return IS_NOT
        try:
            plain_check(message.schema, 0, key, PREFIX_SIZE, len(key))
        except DecodeError:
            return IS_NOT
        body = log.value_message(int16_at(key, 0))
        if value is None or body is None:
            return DECODES
        try:
            plain_check(body.schema, int16_at(value, 0), value, PREFIX_SIZE, len(value))
        except DecodeError:
            return DECODES - 1  # a layout of another release, or a newer version
        return DECODES

    return judge


@cache
def _judges() -> dict[LogKind, Judge]:
    # Imported late: a start that reads only a metadata log needs no messages of coordinators.
    from metashell.codec.coordinator import COORDINATOR_LOGS

    return {
        METADATA: _judge_metadata,
        OFFSETS: _coordinator_judge(COORDINATOR_LOGS[OFFSETS]),
        TRANSACTIONS: _coordinator_judge(COORDINATOR_LOGS[TRANSACTIONS]),
        SHARE: _coordinator_judge(COORDINATOR_LOGS[SHARE]),
        REMOTE_LOG: _judge_remote_log,
    }


def kind_of_records(records: Sequence[tuple[RecordBatch, Record]]) -> LogKind | None:
    """The log by these records: one as which half of them decode, DATA if none can belong to a known log, else None."""
    scores: dict[LogKind, list[int]] = {}
    for kind, judge in _judges().items():
        scores[kind] = [judge(batch, record) for batch, record in records]
        if min(scores[kind]) == DECODES:
            break  # no other log can fit better, so its messages need not be loaded
    best = max(scores, key=lambda kind: sum(scores[kind]))
    decoded = sum(score >= DECODES - 1 for score in scores[best])
    if decoded and 2 * decoded >= len(records):
        return best
    return None if sum(scores[best]) else DATA


def first_records_file(log_directory: str) -> str:
    """The file with the first records; if none exists, the one in which servers of every release would look. Errors: OSError."""
    snapshot = os.path.join(log_directory, METADATA_DIRECTORY, BOOTSTRAP_SNAPSHOT)
    return snapshot if _has_records(snapshot) else os.path.join(log_directory, BOOTSTRAP_CHECKPOINT)


def _has_records(path: str) -> bool:
    """Whether a checkpoint has records besides its control records; a missing one has none."""
    if not os.path.isfile(path):
        return False
    with open_file(path) as file:
        return any(isinstance(batch, RecordBatch) and not batch.header.is_control for batch in read_batches(file))
