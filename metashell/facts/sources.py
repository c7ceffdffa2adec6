"""All sources of one cluster joined: log directories, configurations, and which of them belong to one node."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.checks.facts import NO_NODE, Facts, Identity, LogDirectory, QuorumNote
from metashell.checks.health import Health
from metashell.checks.min_isr import MIN_ISR
from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.codec.releases import NEWEST_RELEASE
from metashell.facts.configuration import read_configuration
from metashell.facts.directories import is_partition, metadata_folder, read_log_directory, read_metadata_log
from metashell.facts.replaced import replaced_disks
from metashell.log.names import BOOTSTRAP_CHECKPOINT, META_PROPERTIES, METADATA_DIRECTORY

if TYPE_CHECKING:
    from metashell.checks.facts import Configuration
    from metashell.codec.releases import Release
    from metashell.image import MetadataImage

_DEPTH_MAX: Final = 3
_SIBLINGS_MAX: Final = 1000
"""Folders beside a log directory that are looked at: a folder of temporary files may hold many more."""


def gather(
    paths: Iterable[str],
    configs: Iterable[str] = (),
    *,
    release: Release = NEWEST_RELEASE,
    max_decompressed: int = MAX_DECOMPRESSED,
    known: MetadataImage | None = None,
) -> Facts:
    """The facts of all log directories at and below the paths, and of those that the configurations name; the image is the newest.

    A broker's other log directories that lie beside one that is given are read too: the metadata log is in only one of them.
    Errors: MetashellError for a configuration that cannot be read.
    """
    configurations = [read_configuration(path) for path in configs]
    named = [place for path in paths for place in log_directories(path)]
    configurations = [_with_directories(one, named) for one in configurations]
    places = list(dict.fromkeys((*(place for one in configurations for place in one.log_directories), *named)))
    bare: dict[str, tuple[str, LogDirectory]] = {}
    for place in places:
        bare.setdefault(os.path.realpath(place), (place, read_log_directory(place)))
    folders = {directory.path: metadata_folder(place) for place, directory in bare.values()}
    directories = [directory for _, directory in bare.values()]
    for other in _beside(directories, folders):
        directories.append(other)
        folders[other.path] = metadata_folder(other.path)
    directories, configurations = _grouped(directories, configurations, folders)
    topics: set[str | bytes] = set()
    for directory in directories:
        topics.update(one.topic for one in directory.partitions)
        topics.update(one.topic_id for one in directory.partitions if isinstance(one.topic_id, bytes))
    known_place = None if known is None else known.provenance.source
    read = tuple(
        directory
        if (folder := folders[directory.path]) is None
        else replace(directory, metadata=read_metadata_log(folder, topics, max_decompressed, known if folder == known_place else None))
        for directory in directories
    )
    return _joined(read, tuple(configurations), release)


def _joined(directories: tuple[LogDirectory, ...], configurations: tuple[Configuration, ...], release: Release) -> Facts:
    logs = [one.metadata for one in directories if one.metadata is not None and one.metadata.image is not None]
    newest = max(logs, key=lambda log: (log.last_epoch, log.end_offset), default=None)
    health = None
    if newest is not None and newest.image is not None:
        note = newest.quorum_note
        voter_ids = note.voter_ids if isinstance(note, QuorumNote) else ()
        health = Health(newest.image, static_min_isr=_static_min_isr(configurations), voter_ids=lambda: voter_ids)
    return Facts(
        health=health,
        directories=directories,
        configurations=configurations,
        events=() if newest is None else newest.events,
        replaced=() if newest is None else replaced_disks(newest.path, newest.events),
        release=release,
        now_ms=-1 if newest is None else newest.last_timestamp_ms,
    )


def _static_min_isr(configurations: Iterable[Configuration]) -> int:
    """What the brokers' own settings say of min.insync.replicas: the highest where they differ, 1 where none says anything."""
    named = (one.values.get(MIN_ISR, "").strip() for one in configurations if "broker" in one.roles)
    return max((int(text) for text in named if text.isascii() and text.isdigit() and len(text) < 10), default=1) or 1


# ---- where log directories are


def log_directories(path: str, depth: int = _DEPTH_MAX) -> Iterator[str]:
    """The log directories at or below a path, in order: the path itself where it is one, is empty, or is not there."""
    try:
        names = os.listdir(path) if os.path.isdir(path) else []
    except OSError:
        return  # whoever names it is told so
    is_one = any(name in names for name in (META_PROPERTIES, METADATA_DIRECTORY, BOOTSTRAP_CHECKPOINT))
    if not names or is_one or metadata_folder(path) is not None or any(is_partition(os.path.join(path, name)) for name in names):
        yield path
    elif depth:
        folders = [folder for name in sorted(names) if os.path.isdir(folder := os.path.join(path, name))]
        yield from (
            place for folder in folders for place in log_directories(folder, depth - 1) if place != folder or _has_something(folder)
        )


def _has_something(folder: str) -> bool:
    """An empty folder is a log directory only where it was named."""
    return bool(os.listdir(folder))


def _with_directories(config: Configuration, named: Sequence[str]) -> Configuration:
    """Of a configuration of another machine, whose directories are not here, those that were named stand for them."""
    if not named or any(os.path.exists(place) for place in config.log_directories):
        return config
    return replace(config, log_directories=(), metadata_directory="")


def _beside(directories: Sequence[LogDirectory], folders: dict[str, str | None]) -> Iterator[LogDirectory]:
    """The other log directories of the same nodes in the same folders; a copy of one that is known is none."""
    known = {os.path.realpath(one.path) for one in directories}
    for directory in directories:
        mine = directory.identity
        above = os.path.dirname(os.path.abspath(directory.path))
        if not isinstance(mine, Identity) or mine.directory_id is None or directory.is_alone:
            continue
        node = [one for one in directories if isinstance(one.identity, Identity) and one.identity.node_id == mine.node_id]
        seen = {one.identity.directory_id for one in node if isinstance(one.identity, Identity)}
        has_log = any(folders[one.path] is not None for one in node)
        for place in _folders_with_identity(above):
            if os.path.realpath(place) in known:
                continue
            other = read_log_directory(place)
            its = other.identity
            if not isinstance(its, Identity) or its.directory_id in {None, *seen}:
                continue
            brings_log = metadata_folder(place) is not None
            if (its.node_id, its.cluster_id) == (mine.node_id, mine.cluster_id) and not (has_log and brings_log):
                known.add(os.path.realpath(place))
                seen.add(its.directory_id)
                has_log = has_log or brings_log
                shown = os.path.join(os.path.dirname(directory.path.rstrip("/")), os.path.basename(place))
                yield replace(other, path=shown if os.path.exists(shown) else place)


def _folders_with_identity(above: str) -> list[str]:
    try:
        with os.scandir(above) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_SIBLINGS_MAX), strict=False)]
    except OSError:
        return []
    return [place for name in sorted(names) if os.path.isfile(os.path.join(place := os.path.join(above, name), META_PROPERTIES))]


# ---- which belong together


def _grouped(
    directories: Sequence[LogDirectory], configurations: Sequence[Configuration], folders: dict[str, str | None]
) -> tuple[list[LogDirectory], list[Configuration]]:
    """Directories and configurations with the number of their node.

    Those of a configuration are one node's; else those of one node.id of which at most one has a metadata log. What lies beside them
    and says nothing of itself, or holds partitions without a metadata log, is taken for theirs.
    """
    groups: list[list[LogDirectory]] = []
    left = list(directories)
    numbered: list[Configuration] = []
    for config in configurations:
        own = {os.path.realpath(place) for place in config.log_directories}
        mine = [one for one in left if os.path.realpath(one.path) in own]
        if not own:
            mine = [one for one in left if _node_id(one) == config.node_id] or (left if len(configurations) == 1 else [])
            mine = mine if sum(folders[one.path] is not None for one in mine) <= 1 else []
        left = [one for one in left if one not in mine]
        numbered.append(replace(config, node=len(groups)))
        groups.append(mine)
    first_free = len(groups)
    for one in left:
        group = next((group for group in groups[first_free:] if _fits(one, group, folders)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    _attach(groups, first_free, folders)
    number = {one.path: index for index, group in enumerate(groups) for one in group}
    return [replace(one, node=number[one.path]) for one in directories], numbered


def _node_id(directory: LogDirectory) -> int:
    identity = directory.identity
    return NO_NODE if not isinstance(identity, Identity) or identity.node_id is None else identity.node_id


def _fits(one: LogDirectory, group: Sequence[LogDirectory], folders: dict[str, str | None]) -> bool:
    """Whether a directory is another one of a node, and not a copy of one that is there."""
    id = _node_id(one)
    if id == NO_NODE or any(_node_id(other) != id for other in group):
        return False
    if folders[one.path] is not None and any(folders[other.path] is not None for other in group):
        return False
    names = {(place.topic, place.partition) for place in one.partitions}
    same = [other for other in group if isinstance(one.identity, Identity) and one.identity == other.identity]
    return not any(names & {(place.topic, place.partition) for place in other.partitions} for other in same)


def _attach(groups: list[list[LogDirectory]], first: int, folders: dict[str, str | None]) -> None:
    """Give directories that say nothing of themselves, and those with partitions and no log, to the one node beside them."""
    by_folder: dict[str, list[list[LogDirectory]]] = defaultdict(list)
    for group in groups[first:]:
        for above in {os.path.dirname(os.path.abspath(one.path)) for one in group}:
            by_folder[above].append(group)
    for beside in by_folder.values():
        whole = [group for group in beside if _node_id(group[0]) != NO_NODE]
        hosts = [group for group in whole if any(folders[one.path] is not None for one in group)] or whole
        if len(hosts) != 1:
            continue
        for group in beside:
            is_unknown = _node_id(group[0]) == NO_NODE
            has_no_log = all(folders[one.path] is None for one in group)
            if group is not hosts[0] and (is_unknown or (has_no_log and any(one.partitions for one in group))):
                hosts[0].extend(group)
                group.clear()
