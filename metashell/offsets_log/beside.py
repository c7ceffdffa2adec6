"""What lies beside the log of groups in a log directory: where the logs of topics end, which a lag is counted from, and topics' names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from metashell.errors import LogCorruptError, UsageError
from metashell.log.directory import listing_of
from metashell.log.identity import is_marked, partition_name
from metashell.log.inputs import paths_of
from metashell.log.kinds import METADATA, TOPICS
from metashell.log.names import PARTITION_METADATA
from metashell.log.text_files import read_text_file
from metashell.offsets_log.ends import last_header
from metashell.values import uuid_from_text


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
    header = last_header(os.path.join(folder, segments[-1].name))
    return segments[-1].base_offset if header is None else header.last_offset + 1
