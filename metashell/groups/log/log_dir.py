"""Log directories: the copies of each partition of `__consumer_offsets`, merged; topics and their end offsets.

A copy may be behind, compacted further, or end with batches of an old leader that were never committed. The newest copy is the one whose
last batch has the newest leader epoch; of several, the longest.

The newest copy alone decides the state, since compaction removed from it only records that were replaced or deleted. Why the copies are
not simply merged: broker 1 has compacted away both a commit and the tombstone after it, broker 2 was down for a month and still has the
commit only. A merge would bring the commit back.

The timeline of a group does merge all copies, because older ones hold more of the past. Where they overlap, the batch with the newest
leader epoch counts; within an epoch, the one with most records, which is the least compacted. Batches that contradict the leader epochs of
the newest copy are skipped: their broker truncates them when it follows the leader again."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from metashell.codec.batches import BatchHeader, RecordBatch
from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, TRANSACTION_STATES, int16_at
from metashell.common.errors import DecodeError, LogCorruptError, PathError, UsageError
from metashell.common.values import uuid_from_text
from metashell.disk.directory import is_marked, listing_of, partition_name
from metashell.disk.files import open_file
from metashell.disk.indexes import StableEnd, read_stable_end, seek_offset
from metashell.disk.inputs import InputFile, empty_logs_fault, find_logs, named_file, no_log_fault, other_log_fault, paths_of
from metashell.disk.names import LEADER_EPOCH_CHECKPOINT, METADATA, OFFSETS, PARTITION_METADATA, TOPICS, TRANSACTIONS, LogKind, parse_name
from metashell.disk.properties import read_text_file
from metashell.disk.segment import BadBatch, OrderCheck, SourceFault, Tail, TakesFrames, fault_of, read_batches
from metashell.disk.state_files import EpochEntry, read_leader_epochs

LogCopy = tuple[InputFile, ...]
"""The segments of one directory, in order."""


class PartitionLog(NamedTuple):
    """One partition's log. `partition` is None if no directory name gives it; `copies` are those of several brokers."""

    partition: int | None
    cluster_id: str
    copies: tuple[LogCopy, ...]

    @property
    def name(self) -> str:
        """The name for messages: the partition, or else the first file."""
        return f"partition {self.partition}" if self.partition is not None else self.copies[0][0].path

    def file_of(self, offset: int) -> str:
        """Return the file of the newest copy that holds an offset, by the base offsets of its segments."""
        begun = [file.path for file in self.copies[0] if (_first_offset(file.path) or 0) <= offset]
        return begun[-1] if begun else self.copies[0][0].path


def find_group_logs(paths: Sequence[str], notes: list[str] | None = None, faults: list[SourceFault] | None = None) -> list[PartitionLog]:
    """Find the logs at some paths, by partition. Named files of one directory are one log.

    A folder that has other logs only, such as a controller's, is skipped with a line in `notes` if another path has a group log. A path
    that does not exist, cannot be read or has no log at all is skipped too, and added to `faults`.
    Errors: UsageError if no path has a group log, if the logs belong to two clusters, and if no log has a batch.
    """
    without: list[UsageError] = []
    unusable: list[PathError] = []
    found: dict[tuple[int | None, str], dict[str, list[InputFile]]] = {}
    clusters: dict[str, str] = {}
    is_empty = True
    for path in dict.fromkeys(place for named in paths for place in _places_of_path(named, unusable)):
        for directory, file, has_batches in _usable_files_of(path, without, unusable, notes):
            is_empty = is_empty and not has_batches
            partition = _partition_of(directory)
            files = found.setdefault((partition, "" if partition is not None else directory), {}).setdefault(directory, [])
            if all(file.path != known.path for known in files):
                files.append(file)
            if file.cluster_id:
                clusters.setdefault(file.cluster_id, file.path)
    if not found and (unusable or without):
        raise (unusable or without)[0]
    if notes is not None:
        notes += map(str, without)
    if faults is not None:
        faults += [SourceFault(error.argument, -1, -1, str(error).removeprefix(f"{error.argument}: ")) for error in unusable]
    if len(clusters) > 1:
        listed = ", ".join(f"{id} ({path})" for id, path in clusters.items())
        raise UsageError(f"logs of {len(clusters)} clusters, name those of one: {listed}")
    if is_empty:
        raise empty_logs_fault(" ".join(paths), [OFFSETS])
    cluster_id = next(iter(clusters), "")
    logs = [
        PartitionLog(
            partition, cluster_id, tuple(tuple(sorted(files, key=lambda file: os.path.basename(file.path))) for files in copies.values())
        )
        for (partition, _), copies in found.items()
    ]
    return sorted(logs, key=lambda log: (log.partition is None, log.partition or 0))


def _places_of_path(named: str, unusable: list[PathError]) -> list[str]:
    try:
        return paths_of(named)
    except PathError as error:
        unusable.append(error)
        return []


def _usable_files_of(
    path: str, without: list[UsageError], unusable: list[PathError], notes: list[str] | None
) -> Iterator[tuple[str, InputFile, bool]]:
    """Find the segments of a path. An unreadable path is added to `unusable`: one dead disk of three brokers does not hide the others."""
    try:
        yield from _files_of(path, without, notes)
    except PathError as error:
        unusable.append(error)


def _files_of(path: str, without: list[UsageError], notes: list[str] | None) -> Iterator[tuple[str, InputFile, bool]]:
    """Yield the segments at a path: directory, file, and whether it has batches (a named file is assumed to have some)."""
    if path == "-" or not os.path.isdir(path):
        file = named_file(path)
        if file.log not in (None, OFFSETS):
            raise other_log_fault(path, file.log, OFFSETS)
        directory = path if path == "-" else os.path.dirname(os.path.abspath(path))
        yield directory, file._replace(cluster_id=_known_cluster(file.cluster_id)), True
        return
    kinds: list[LogKind | None] = []
    try:
        for log in find_logs(path):
            if is_marked(os.path.basename(log.directory)) and os.path.abspath(log.directory) != os.path.abspath(path):
                if log.kind == OFFSETS and notes is not None:
                    notes.append(
                        f"{log.directory}: a broker deletes or moves it, or does not own it; it is read only where it is named itself"
                    )
                continue
            kinds.append(log.kind)
            if log.kind == OFFSETS:
                for file in log.files:
                    yield os.path.abspath(log.directory), file._replace(cluster_id=_known_cluster(log.cluster_id)), not log.is_empty
    except OSError as error:
        raise PathError.of(path, error) from error
    if OFFSETS not in kinds:
        if not kinds:
            raise no_log_fault(path, kinds, (OFFSETS,))
        without.append(no_log_fault(path, kinds, (OFFSETS,)))


def _known_cluster(cluster_id: str) -> str:
    """Return a cluster id; empty if it is the name of a folder, which stands in for the id where there is no meta.properties."""
    return "" if os.sep in cluster_id or cluster_id in ("", ".", "..") or os.path.isdir(cluster_id) else cluster_id


def _partition_of(directory: str) -> int | None:
    named = partition_name(os.path.basename(directory))
    return named[1] if named is not None and named[0] == "__consumer_offsets" else None


def _first_offset(path: str) -> int | None:
    """Return the base offset in a segment's name, None for a file of another name."""
    stem = os.path.basename(path).partition(".")[0]
    return int(stem) if stem.isascii() and stem.isdigit() else None


MergedItem = RecordBatch | SourceFault


def merge_batches(log: PartitionLog, quick: Callable[[OrderCheck], TakesFrames | None] | None = None) -> Iterator[MergedItem]:
    """Yield the batches of a log and the faults between them. With one copy only, `quick` may consume batches, which are not yielded."""
    if len(log.copies) == 1:
        return _of_copy(log.copies[0], quick)
    copies = put_newest_first(log).copies
    epochs = _epochs_of(copies[0])
    return _merged([_of_copy(copies[0]), *(_agreeing(_of_copy(copy), epochs) for copy in copies[1:])])


def put_newest_first(log: PartitionLog) -> PartitionLog:
    """Return the log with its newest copy first."""
    if len(log.copies) == 1:
        return log
    return log._replace(copies=tuple(sorted(log.copies, key=_standing, reverse=True)))


def _standing(copy: LogCopy) -> tuple[int, int, int]:
    """Return leader epoch and end offset of a copy, and its size, as a key to compare copies by."""
    for file in reversed(copy):
        if (header := read_last_header(file.path)) is not None:
            return header.leader_epoch, header.last_offset + 1, sum(map(_size, copy))
    return -1, -1, 0


def _size(file: InputFile) -> int:
    try:
        return os.path.getsize(file.path)
    except OSError:
        return 0


def _epochs_of(copy: LogCopy) -> list[EpochEntry]:
    """Return the leader epochs in a copy's leader-epoch-checkpoint; empty if the file is missing or damaged."""
    try:
        return sorted(read_leader_epochs(os.path.join(os.path.dirname(copy[0].path), LEADER_EPOCH_CHECKPOINT)), key=_start)
    except (OSError, LogCorruptError):
        return []


def _start(entry: EpochEntry) -> int:
    return entry.start_offset


def _agreeing(items: Iterator[MergedItem], epochs: list[EpochEntry]) -> Iterator[MergedItem]:
    """Drop batches whose leader epoch is not the one that `epochs` give for their offset."""
    for item in items:
        if isinstance(item, RecordBatch):
            index = bisect_right(epochs, item.header.base_offset, key=_start) - 1
            if index >= 0 and epochs[index].epoch != item.header.leader_epoch:
                continue
        yield item


def _of_copy(copy: LogCopy, quick: Callable[[OrderCheck], TakesFrames | None] | None = None) -> Iterator[MergedItem]:
    order = OrderCheck(None, may_skip=True)
    takes = None if quick is None else quick(order)
    for file in copy:
        try:
            opened = open_file(file.path)
        except UsageError as error:
            # A running broker may have compacted the file away since it was listed, and one unreadable file does not hide the others.
            yield SourceFault(file.path, -1, -1, str(error).removeprefix(f"{file.path}: "))
            continue
        with opened:
            for item in read_batches(opened, takes=takes):
                if isinstance(item, BadBatch | Tail):
                    yield fault_of(item, is_last=file.may_end_early)
                    order.forget()
                    continue
                if (fault := order.check(item)) is not None:
                    yield fault
                yield item


def _merged(copies: list[Iterator[MergedItem]]) -> Iterator[MergedItem]:
    """Merge the copies by offset. The next batch of any copy that begins first is yielded; the others skip what it covers."""
    heads: list[RecordBatch | None] = [None] * len(copies)
    end, epoch = -1, -1
    while True:
        for number, copy in enumerate(copies):
            head = heads[number]
            # A lower epoch after a higher one is the tail of an old leader: the newer leader's batches replaced it.
            while head is None or head.header.last_offset < end or head.header.leader_epoch < epoch:
                item = next(copy, None)
                if item is None:
                    head = None
                    break
                if isinstance(item, SourceFault):
                    yield item
                    continue
                head = item
            heads[number] = head
        left = [head for head in heads if head is not None]
        if not left:
            return
        first = min(head.header.base_offset for head in left)
        chosen = max(
            (head for head in left if head.header.base_offset == first), key=lambda head: (head.header.leader_epoch, head.header.count)
        )
        yield chosen
        end, epoch = chosen.header.last_offset + 1, chosen.header.leader_epoch


def read_last_header(path: str) -> BatchHeader | None:
    """Return the header of a segment's last good batch, None if there is none. An offset index beside the segment saves reading it all."""
    found = None
    parsed = parse_name(os.path.basename(path))
    index = f"{path.removesuffix('.log')}.index"
    try:
        with open_file(path) as file:
            start = 0
            if parsed is not None and parsed.base_offset is not None and os.path.exists(index) and file.size() is not None:
                with open_file(index) as entries:
                    start = seek_offset(entries, file, parsed.base_offset, 1 << 62)
            for item in read_batches(file, start=start):
                if not isinstance(item, BadBatch | Tail):
                    found = item.header
    except UsageError:
        return None
    return found


def end_offsets(paths: Iterable[str]) -> dict[tuple[str, int], int]:
    """Return the end offsets of all logs in the log directories of some paths, by topic and partition.

    Of several copies the longest counts. Only the end of each is read. A partition's directory, or a file in it, stands for the log
    directory around it.
    """
    found: dict[tuple[str, int], int] = {}
    for named, folder, names in _partitions(paths):
        if (end := _end_offset(folder, names)) is not None:
            found[named] = max(end, found.get(named, 0))
    return found


def stable_ends(paths: Iterable[str], wanted: Collection[tuple[str, int]]) -> dict[tuple[str, int], tuple[str, StableEnd]]:
    """Return where partitions end and what holds them, with the directory that was read: of several copies the longest.

    Only the wanted partitions are walked.
    """
    found: dict[tuple[str, int], tuple[str, StableEnd]] = {}
    longest: dict[tuple[str, int], tuple[int, str]] = {}
    for named, folder, names in _partitions(paths):
        if named in wanted and (end := _end_offset(folder, names)) is not None:
            longest[named] = max((end, folder), longest.get(named, (-1, "")))
    for named, (_, folder) in longest.items():
        with suppress(OSError):
            found[named] = folder, read_stable_end(folder)
    return found


def transaction_states(paths: Iterable[str]) -> dict[str, TransactionState]:
    """Return the newest state of each transactional id, from the logs of `__transaction_state` in the log directories of some paths."""
    folders = [folder for (topic, _), folder, _ in _partitions(paths) if TOPICS.get(topic) == TRANSACTIONS]
    try:
        return read_transaction_states(folders)
    except OSError:
        return {}


def topic_names(paths: Iterable[str]) -> dict[bytes, str]:
    """Return the names of topics by id, from the partition.metadata files in the log directories of some paths."""
    found: dict[bytes, str] = {}
    topics: set[str] = set()
    for (topic, _), folder, names in _partitions(paths):
        if topic not in topics and PARTITION_METADATA in names and (id := _topic_id(os.path.join(folder, PARTITION_METADATA))) is not None:
            found[id] = topic
            topics.add(topic)
    return found


def topic_ids(paths: Iterable[str]) -> dict[str, set[bytes]]:
    """Return the ids of each topic, from the same files. A topic without such a file has no entry."""
    found: dict[str, set[bytes]] = {}
    for (topic, _), folder, names in _partitions(paths):
        if PARTITION_METADATA in names and (id := _topic_id(os.path.join(folder, PARTITION_METADATA))) is not None:
            found.setdefault(topic, set()).add(id)
    return found


def metadata_directories(paths: Iterable[str]) -> Iterator[str]:
    """Yield the directories of the metadata log in the log directories of some paths."""
    for (topic, _), folder, _ in _partitions(paths):
        if TOPICS.get(topic) == METADATA:
            yield folder


def _partitions(paths: Iterable[str]) -> Iterator[tuple[tuple[str, int], str, list[str]]]:
    """Yield the partitions in the log directories of some paths: topic and number, directory, and the names of its files."""
    for top in dict.fromkeys(_log_directory(place) for path in paths if path != "-" for place in _places_of(path)):
        for folder, below, names in os.walk(top):
            below.sort()
            name = os.path.basename(folder)
            named = partition_name(name)
            if named is not None and not is_marked(name):
                yield named, folder, names


def _places_of(path: str) -> list[str]:
    try:
        return paths_of(path)
    except UsageError:
        return []  # `find_group_logs` reports it


def _topic_id(path: str) -> bytes | None:
    """Return the topic id in a partition.metadata, None if it has none."""
    try:
        lines = read_text_file(path).decode("ascii", "replace").splitlines()
        text = next(line.partition(":")[2].strip() for line in lines if line.startswith("topic_id:"))
        return uuid_from_text(text)
    except (OSError, LogCorruptError, StopIteration, ValueError):
        return None


def _log_directory(path: str) -> str:
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    return os.path.dirname(folder) if partition_name(os.path.basename(folder)) is not None else folder


def _end_offset(folder: str, names: list[str]) -> int | None:
    """Return the offset after the last good batch of a log, None if it has no segment."""
    segments = listing_of(names).segments
    if not segments:
        return None
    header = read_last_header(os.path.join(folder, segments[-1].name))
    return segments[-1].base_offset if header is None else header.last_offset + 1


# ---- transactions


class TransactionState(NamedTuple):
    """The newest state of a transactional id. Units: Unix ms; `started_ms` is -1 if it has none."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int


def read_transaction_states(folders: Iterable[str]) -> dict[str, TransactionState]:
    """Return the newest state of each transactional id in directories of `__transaction_state`. Records that do not decode are left out."""
    found: dict[str, TransactionState] = {}
    log = COORDINATOR_LOGS["transactions"]
    key_message, value_message = log.key_message(0), log.value_message(0)
    assert key_message is not None and value_message is not None, "its schemas are packaged"
    low, high = value_message.versions
    for folder in folders:
        for segment in listing_of(os.listdir(folder)).segments:
            for key, value in _records(os.path.join(folder, segment.name)):
                try:
                    if int16_at(key, 0) != 0:
                        continue
                    id = key_message.read(key, 0, PREFIX_SIZE).transactional_id
                    if value is None:
                        found.pop(id, None)
                        continue
                    if not low <= (version := int16_at(value, 0)) <= high:
                        continue
                    read = value_message.read(value, version, PREFIX_SIZE)
                except (DecodeError, IndexError):
                    continue
                states = TRANSACTION_STATES
                state = states[read.transaction_status] if 0 <= read.transaction_status < len(states) else str(read.transaction_status)
                found[id] = TransactionState(
                    id, read.producer_id, read.producer_epoch, state, read.transaction_timeout_ms, read.transaction_start_timestamp_ms
                )
    return found


def _records(path: str) -> Iterator[tuple[bytes, bytes | None]]:
    try:
        with open_file(path) as file:
            for item in read_batches(file):
                if isinstance(item, BadBatch | Tail) or item.header.is_control:
                    continue
                try:
                    for record in item.records():
                        if record.key is not None and len(record.key) > PREFIX_SIZE:
                            yield record.key, record.value
                except DecodeError:
                    continue
    except UsageError:
        return
