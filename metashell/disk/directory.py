"""The directory of a log: which segments and checkpoints lie in it, and which log they belong to.

The directory is opened once and its files are opened relative to it. A running node may add, rename and remove files at any moment, so a
listing is what was there once; a listed file may be gone when it is opened.

Which log bytes belong to is decided by their content where that is clear, else by their place. Content: the metadata log is the only one
with control records of the quorum, its records have no key and their frames decode; a record of a coordinator's log has a key that is
exactly one of that log's keys. Place: the name of a partition's directory, and the files beside the segments. A log that was copied under
a wrong name is what its content says; a topic's directory within a node's log directory holds users' data, whatever that looks like.

`first_records_file` finds the records that formatting left for the first leader of a cluster, which writes them into the log. From 4.4 on
they lie in the bootstrap snapshot of the metadata directory, before that in the bootstrap.checkpoint of the log directory. Where both are
there the bootstrap snapshot counts. 4.3 looks for a bootstrap.checkpoint only: without one it begins, without a warning, at 4.3-IV0
without other features and users. Up to 4.2 the bootstrap snapshot is loaded like any other: its records count on that node, and no other
node gets them. Each was seen on a real server: 4.2.1, 4.3.1, 4.4.0.
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
    """Segments by base offset, checkpoints newest first; files that are being written or removed are left out."""

    segments: list[SegmentEntry]
    checkpoints: list[CheckpointEntry]

    def __bool__(self) -> bool:
        return bool(self.segments or self.checkpoints)

    def segments_from(self, offset: int) -> list[SegmentEntry]:
        """The segments that may hold `offset` or anything after it."""
        first = 0
        for index, segment in enumerate(self.segments):
            if segment.base_offset <= offset:
                first = index
        return self.segments[first:]

    def starts(self) -> list[int]:
        """The offsets at which an image can begin: 0 where the log is there from its beginning, and the ends of checkpoints from which it
        is there on. Of a log that leaves a gap behind every checkpoint it is the newest checkpoint's end.
        """
        ends = sorted({checkpoint.snapshot_id.offset for checkpoint in self.checkpoints})
        if not self.segments:
            return ends[-1:]
        first = self.segments[0].base_offset
        followed = [end for end in ends if end >= first] or ends[-1:]
        return [0, *(end for end in followed if end)] if first == 0 else followed


def listing_of(names: Iterable[str]) -> Listing:
    """The segments and checkpoints among the names of a directory; of a file and its compressed copies the file counts."""
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
        """The files that are there now."""
        return listing_of(os.listdir(self._fd))

    def open(self, name: str) -> OpenFile:
        """A file of this directory.

        Errors: OSError, above all FileNotFoundError when the node has removed it since.
        """
        return open_at(self._fd, name, os.path.join(self.path, name))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class ListedFile(NamedTuple):
    """A file of a log's directory.

    `may_end_early` marks the last segment, whose torn or empty tail is no fault. `follows` is the offset before a segment's first one,
    where a checkpoint says that and the segment begins later.
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
    """The files that a log's directory stands for, in order: its segments, and first the checkpoint that they need.

    They need the newest complete one where they do not begin at offset 0. With `every_checkpoint` all are given. With `shows_damaged`
    the newest one stands in where none is complete: a dump shows what it has and what it lacks, while no table may be made of it.
    What no checkpoint stands for has to begin at offset 0, which matters to logs without gaps only. What is wrong with the checkpoints
    that are newer than the one that was chosen is added to `passed_over`.
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
        return False  # a running node has removed it, or it may not be read
    if fault is not None:
        passed_over.append(fault)
    return fault is None


_QUORUM_CONTROLS: Final = frozenset((LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION_RECORD, KRAFT_VOTERS))
_BATCHES_MAX: Final = 16
_RECORDS_MAX: Final = 8
_PARTITION_NAME: Final = re.compile(r"(.+)-(\d+)(?:[.-].*-(?:delete|future|stray))?", re.DOTALL)


class Content(NamedTuple):
    """The content of batches: the log they are of (None: not known), and whether there was any.

    `is_proven` means a control record that no other log has, `is_sure` that many records were looked at.
    """

    kind: LogKind | None
    has_batches: bool = True
    is_proven: bool = False
    is_sure: bool = False


NO_CONTENT: Final = Content(None, has_batches=False)


def log_kind_of(place: LogKind | None, content: Content) -> LogKind | None:
    """The log that something belongs to by both, None where neither says."""
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
    # Most logs of metadata begin with what proves them; what reads records is not needed there.

    return Content(kind_of_records(records[:_RECORDS_MAX]), is_sure=len(records) >= _RECORDS_MAX)


def _records(batch: RecordBatch) -> Iterator[Record]:
    """The first records of a batch, as far as they can be read."""
    try:
        for _, record in zip(range(_RECORDS_MAX), batch.records(), strict=False):
            yield record
    except DecodeError:
        return


# ---- place


def partition_name(directory: str) -> tuple[str, int] | None:
    """The topic and partition of a directory's name, without what marks it as one to be deleted or moved; None for other names."""
    match = _PARTITION_NAME.fullmatch(directory)
    return None if match is None else (match[1], int(match[2]))


def is_marked(directory: str) -> bool:
    """Whether a directory's name marks a partition that a broker deletes, moves between its disks, or found to be none of its own."""
    match = _PARTITION_NAME.fullmatch(directory)
    return match is not None and directory != f"{match[1]}-{match[2]}"


def kind_of_place(
    directory: str, names: Collection[str], topic_id: Callable[[], bytes | None], is_in_node: Callable[[], bool]
) -> LogKind | None:
    """The log that a directory holds by its name and the names of its files, None where they do not say.

    `topic_id` gives the bytes of its partition.metadata; `is_in_node` says whether a meta.properties lies beside the directory.
    """
    partition = partition_name(directory)
    if partition is not None and partition[0] in TOPICS:
        return TOPICS[partition[0]]
    if QUORUM_STATE in names or any(_is_checkpoint(name) for name in names):
        return METADATA
    if uuid_text(METADATA_TOPIC_ID).encode() in (topic_id() or b""):
        return METADATA
    return DATA if partition is not None and is_in_node() else None


def _is_checkpoint(name: str) -> bool:
    parsed = parse_name(name)
    return parsed is not None and parsed.kind == "checkpoint"


# ---- words


def log_name_of(kind: LogKind, directory: str = "") -> str:
    """The log in words; of a topic with its name, where the directory has it."""
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
            return DECODES - 1  # a dialect, or a version of later days
        return DECODES

    return judge


@cache
def _judges() -> dict[LogKind, Judge]:
    # Imported here: a start that meets nothing but a metadata log needs no messages of coordinators.
    from metashell.codec.coordinator import COORDINATOR_LOGS

    return {
        METADATA: _judge_metadata,
        OFFSETS: _coordinator_judge(COORDINATOR_LOGS[OFFSETS]),
        TRANSACTIONS: _coordinator_judge(COORDINATOR_LOGS[TRANSACTIONS]),
        SHARE: _coordinator_judge(COORDINATOR_LOGS[SHARE]),
        REMOTE_LOG: _judge_remote_log,
    }


def kind_of_records(records: Sequence[tuple[RecordBatch, Record]]) -> LogKind | None:
    """The log whose records these are if half of them decode as its, DATA if none could be of a log that we know, else None."""
    scores: dict[LogKind, list[int]] = {}
    for kind, judge in _judges().items():
        scores[kind] = [judge(batch, record) for batch, record in records]
        if min(scores[kind]) == DECODES:
            break  # No other log fits better, and its messages need not be loaded.
    best = max(scores, key=lambda kind: sum(scores[kind]))
    decoded = sum(score >= DECODES - 1 for score in scores[best])
    if decoded and 2 * decoded >= len(records):
        return best
    return None if sum(scores[best]) else DATA


def first_records_file(log_directory: str) -> str:
    """The file that has them; where none is there, the one in which servers of every release would look. Errors: OSError."""
    snapshot = os.path.join(log_directory, METADATA_DIRECTORY, BOOTSTRAP_SNAPSHOT)
    return snapshot if _has_records(snapshot) else os.path.join(log_directory, BOOTSTRAP_CHECKPOINT)


def _has_records(path: str) -> bool:
    """Whether a checkpoint has records besides its control records; one that is not there has none."""
    if not os.path.isfile(path):
        return False
    with open_file(path) as file:
        return any(isinstance(batch, RecordBatch) and not batch.header.is_control for batch in read_batches(file))
