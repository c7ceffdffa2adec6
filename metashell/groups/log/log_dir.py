"""Log directories: the copies of each partition of `__consumer_offsets`, merged; topics and their end offsets.

A copy may be behind, compacted further, or hold an uncommitted tail of an old leader. The newest copy is the one with the newest leader
epoch at its end, and of these the longest. It alone decides the state, since compaction removed from it only what was replaced or deleted.
The others hold more of the past: for the timeline of a group all copies are merged. Where they overlap, the batch of the newest leader
epoch counts; of one epoch the one with most records, which is the least compacted. Batches that contradict the leader epochs of the newest
copy were truncated by their broker, and are skipped."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from metashell.codec.batches import BatchHeader, RecordBatch
from metashell.common.errors import LogCorruptError, PathError, UsageError
from metashell.common.values import uuid_from_text
from metashell.disk.directory import is_marked, listing_of, partition_name
from metashell.disk.files import open_file
from metashell.disk.indexes import seek_offset
from metashell.disk.inputs import InputFile, empty_logs_fault, find_logs, named_file, no_log_fault, other_log_fault, paths_of
from metashell.disk.names import LEADER_EPOCH_CHECKPOINT, METADATA, OFFSETS, PARTITION_METADATA, TOPICS, LogKind, parse_name
from metashell.disk.properties import read_text_file
from metashell.disk.segment import BadBatch, OrderCheck, SourceFault, Tail, TakesFrames, fault_of, read_batches
from metashell.disk.state_files import EpochEntry, read_leader_epochs

LogCopy = tuple[InputFile, ...]
"""The segments of one directory, in order."""


class PartitionLog(NamedTuple):
    """One partition's log. `partition` is None where no directory says it; `copies` are those of several brokers."""

    partition: int | None
    cluster_id: str
    copies: tuple[LogCopy, ...]

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"partition {self.partition}" if self.partition is not None else self.copies[0][0].path

    def file_of(self, offset: int) -> str:
        """The file of the newest copy in which a record lies, by the offsets that its segments begin with."""
        begun = [file.path for file in self.copies[0] if (_first_offset(file.path) or 0) <= offset]
        return begun[-1] if begun else self.copies[0][0].path


def find_group_logs(paths: Sequence[str], notes: list[str] | None = None, faults: list[SourceFault] | None = None) -> list[PartitionLog]:
    """The logs at some paths, by partition; files that were named belong together by their directory.

    A folder that has logs, but not this one, is passed over and told in `notes` if another path has it: controllers have none. So is a
    path that is not there, may not be read or has no log at all, which is one of `faults`.
    Errors: UsageError where no path has such a log, for logs of two clusters, and where no batch was ever written.
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
        PartitionLog(partition, cluster_id, tuple(tuple(sorted(files, key=_order)) for files in copies.values()))
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
    """One dead disk of three brokers does not hide the other two."""
    try:
        yield from _files_of(path, without, notes)
    except PathError as error:
        unusable.append(error)


def _files_of(path: str, without: list[UsageError], notes: list[str] | None) -> Iterator[tuple[str, InputFile, bool]]:
    """The segments that a path stands for: directory, file, and whether it has batches as far as was looked."""
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
            if is_marked(os.path.basename(log.directory)) and not _is_same(log.directory, path):
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


def _is_same(directory: str, path: str) -> bool:
    return os.path.abspath(directory) == os.path.abspath(path)


def _known_cluster(cluster_id: str) -> str:
    """The id of a cluster; empty where a folder stands for one, because no meta.properties says it."""
    return "" if os.sep in cluster_id or cluster_id in ("", ".", "..") or os.path.isdir(cluster_id) else cluster_id


def _partition_of(directory: str) -> int | None:
    named = partition_name(os.path.basename(directory))
    return named[1] if named is not None and named[0] == "__consumer_offsets" else None


def _first_offset(path: str) -> int | None:
    """The offset that a segment begins with, by its name; None for a file of another name."""
    stem = os.path.basename(path).partition(".")[0]
    return int(stem) if stem.isascii() and stem.isdigit() else None


def _order(file: InputFile) -> str:
    return os.path.basename(file.path)


MergedItem = RecordBatch | SourceFault


def merge_batches(log: PartitionLog, quick: Callable[[OrderCheck], TakesFrames | None] | None = None) -> Iterator[MergedItem]:
    """The batches of a log, and what is wrong between them, without those that `quick` takes where there is one copy only."""
    if len(log.copies) == 1:
        return _of_copy(log.copies[0], quick)
    copies = put_newest_first(log).copies
    epochs = _epochs_of(copies[0])
    return _merged([_of_copy(copies[0]), *(_agreeing(_of_copy(copy), epochs) for copy in copies[1:])])


def put_newest_first(log: PartitionLog) -> PartitionLog:
    """The log with its newest copy as the first one."""
    if len(log.copies) == 1:
        return log
    return log._replace(copies=tuple(sorted(log.copies, key=_standing, reverse=True)))


def _standing(copy: LogCopy) -> tuple[int, int, int]:
    """Leader epoch and offset at the end of a copy, and how much of it there is."""
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
    """What a copy's broker knows of leader epochs and where they began; nothing where its file is not there or not whole."""
    try:
        return sorted(read_leader_epochs(os.path.join(os.path.dirname(copy[0].path), LEADER_EPOCH_CHECKPOINT)), key=_start)
    except (OSError, LogCorruptError):
        return []


def _start(entry: EpochEntry) -> int:
    return entry.start_offset


def _agreeing(items: Iterator[MergedItem], epochs: list[EpochEntry]) -> Iterator[MergedItem]:
    """Without batches at offsets that were written in another epoch, as far as that is known."""
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
            # A broker that runs may have compacted it away since, and what it may not read is no reason to hide the rest.
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
    """Of the batches at hand, one of each copy, the one that begins first is next; what it covers is passed over in the others."""
    heads: list[RecordBatch | None] = [None] * len(copies)
    end, epoch = -1, -1
    while True:
        for number, copy in enumerate(copies):
            head = heads[number]
            # Also what an old leader wrote behind the end of the others: a newer one has written since.
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
    """The header of the last good batch of a segment; None where there is none to read. An offset index beside it says where to look."""
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
    """Where the logs end that lie in the log directories of some paths, by topic and partition.

    Of several copies the longest counts. Only the end of each is read. A partition's directory, or a file in it, stands for the log
    directory around it.
    """
    found: dict[tuple[str, int], int] = {}
    for named, folder, names in _partitions(paths):
        if (end := _end_offset(folder, names)) is not None:
            found[named] = max(end, found.get(named, 0))
    return found


def topic_names(paths: Iterable[str]) -> dict[bytes, str]:
    """The names of the topics of which partitions lie in the log directories of some paths, by id: each directory says its topic's id."""
    found: dict[bytes, str] = {}
    topics: set[str] = set()
    for (topic, _), folder, names in _partitions(paths):
        if topic not in topics and PARTITION_METADATA in names and (id := _topic_id(os.path.join(folder, PARTITION_METADATA))) is not None:
            found[id] = topic
            topics.add(topic)
    return found


def topic_ids(paths: Iterable[str]) -> dict[str, set[bytes]]:
    """The ids that the directories of each topic's partitions say; a topic of which none says one has no entry."""
    found: dict[str, set[bytes]] = {}
    for (topic, _), folder, names in _partitions(paths):
        if PARTITION_METADATA in names and (id := _topic_id(os.path.join(folder, PARTITION_METADATA))) is not None:
            found.setdefault(topic, set()).add(id)
    return found


def metadata_directories(paths: Iterable[str]) -> Iterator[str]:
    """The metadata directories in the log directories of some paths."""
    for (topic, _), folder, _ in _partitions(paths):
        if TOPICS.get(topic) == METADATA:
            yield folder


def _partitions(paths: Iterable[str]) -> Iterator[tuple[tuple[str, int], str, list[str]]]:
    """The partitions in the log directories of some paths: topic and number, directory, and the names of its files."""
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
        return []  # whoever reads the logs of groups says so


def _topic_id(path: str) -> bytes | None:
    """The id in a partition.metadata, None where it says none."""
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
    """The offset after the last good batch of a log's last segment; None where there is none to read."""
    segments = listing_of(names).segments
    if not segments:
        return None
    header = read_last_header(os.path.join(folder, segments[-1].name))
    return segments[-1].base_offset if header is None else header.last_offset + 1
