"""Which logs of `__consumer_offsets` some paths stand for: each partition once, however many brokers' copies of it were named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from metashell.errors import PathError, UsageError
from metashell.log.identity import is_marked, partition_name
from metashell.log.inputs import InputFile, all_empty, find_logs, named_file, nothing_found, other_log, paths_of
from metashell.log.kinds import OFFSETS, LogKind
from metashell.log.source_fault import SourceFault

Copy = tuple[InputFile, ...]
"""The segments of one directory, in order."""


class PartitionLog(NamedTuple):
    """One partition's log. `partition` is None where no directory says it; `copies` are those of several brokers."""

    partition: int | None
    cluster_id: str
    copies: tuple[Copy, ...]

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"partition {self.partition}" if self.partition is not None else self.copies[0][0].path

    def file_of(self, offset: int) -> str:
        """The file of the newest copy in which a record lies, by the offsets that its segments begin with."""
        begun = [file.path for file in self.copies[0] if (_first_offset(file.path) or 0) <= offset]
        return begun[-1] if begun else self.copies[0][0].path


def offsets_logs(paths: Sequence[str], notes: list[str] | None = None, faults: list[SourceFault] | None = None) -> list[PartitionLog]:
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
    for path in dict.fromkeys(place for named in paths for place in _places_of(named, unusable)):
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
        raise all_empty(" ".join(paths), [OFFSETS])
    cluster_id = next(iter(clusters), "")
    logs = [
        PartitionLog(partition, cluster_id, tuple(tuple(sorted(files, key=_order)) for files in copies.values()))
        for (partition, _), copies in found.items()
    ]
    return sorted(logs, key=lambda log: (log.partition is None, log.partition or 0))


def _places_of(named: str, unusable: list[PathError]) -> list[str]:
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
            raise other_log(path, file.log, OFFSETS)
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
            raise nothing_found(path, kinds, (OFFSETS,))
        without.append(nothing_found(path, kinds, (OFFSETS,)))


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
