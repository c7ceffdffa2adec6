"""Gathers the facts that checks need from disks: log directories, server.properties, and which of them belong to one node.

Promises: files are only read, never written, locked or deleted. A file that cannot be read is a fact with its reason, and never raises. A
server.properties that Kafka refuses still gives the settings that can be read. For a broker that came back with other log directories, the
image of that moment shows which records no other replica had."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from metashell.codec.java import java_int
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.codec.releases import NEWEST_RELEASE
from metashell.common.errors import ConfigError, MetashellError
from metashell.disk.config import config_of
from metashell.disk.names import BOOTSTRAP_CHECKPOINT, META_PROPERTIES, METADATA_DIRECTORY
from metashell.disk.properties import parse_properties, read_text_file
from metashell.disk.source import DirectorySource
from metashell.metadata.checks.facts import NO_NODE, Configuration, Facts, Identity, Listener, LogDirectory, QuorumNote, ReplacedDisk
from metashell.metadata.checks.health import Health
from metashell.metadata.checks.partitions import MIN_ISR
from metashell.metadata.checks.rules.brokers import Registration, registrations
from metashell.metadata.directory_facts import is_partition, metadata_folder, read_log_directory, read_metadata_log, read_open_transactions
from metashell.metadata.image import load_image

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.codec.releases import Release
    from metashell.disk.config import NodeConfig
    from metashell.disk.config_values import Endpoint
    from metashell.metadata.checks.facts import LogEvent
    from metashell.metadata.image import MetadataImage


_DEPTH_MAX: Final = 3
_SIBLINGS_MAX: Final = 1000
"""Folders beside a log directory that are looked at: a folder of temporary files may hold many more."""


def gather_facts(
    paths: Iterable[str],
    configs: Iterable[str] = (),
    *,
    release: Release = NEWEST_RELEASE,
    max_decompressed: int = MAX_DECOMPRESSED,
    known: MetadataImage | None = None,
) -> Facts:
    """The facts of all log directories at and below the paths, and of those that the configurations name, with the newest image.

    Other log directories of the same broker beside a given one are read too, since only one of them has the metadata log.
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
    directories = [replace(one, transactions=read_open_transactions(one.partitions)) if one.partitions else one for one in directories]
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
    """min.insync.replicas of the brokers' own settings: the highest if they differ, 1 if none sets it."""
    named = (one.values.get(MIN_ISR, "").strip() for one in configurations if "broker" in one.roles)
    return max((int(text) for text in named if text.isascii() and text.isdigit() and len(text) < 10), default=1) or 1


# ---- where log directories are


def log_directories(path: str, depth: int = _DEPTH_MAX) -> Iterator[str]:
    """The log directories at or below a path, in order; the path itself if it is one, is empty, or does not exist."""
    try:
        names = os.listdir(path) if os.path.isdir(path) else []
    except OSError:
        return  # The path is a fact of its own, with this reason, if it was named.
    is_one = any(name in names for name in (META_PROPERTIES, METADATA_DIRECTORY, BOOTSTRAP_CHECKPOINT))
    if not names or is_one or metadata_folder(path) is not None or any(is_partition(os.path.join(path, name)) for name in names):
        yield path
    elif depth:
        folders = [folder for name in sorted(names) if os.path.isdir(folder := os.path.join(path, name))]
        # An empty folder is a log directory only if it was named itself.
        yield from (place for folder in folders for place in log_directories(folder, depth - 1) if place != folder or os.listdir(folder))


def _with_directories(config: Configuration, named: Sequence[str]) -> Configuration:
    """The configuration; without its directories if it is another machine's, so that the named directories take their place."""
    if not named or any(os.path.exists(place) for place in config.log_directories):
        return config
    return replace(config, log_directories=(), metadata_directory="")


def _beside(directories: Sequence[LogDirectory], folders: dict[str, str | None]) -> Iterator[LogDirectory]:
    """The other log directories of the same nodes in the same folders, without copies of known ones."""
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


# ---- which directories belong to one node


def _grouped(
    directories: Sequence[LogDirectory], configurations: Sequence[Configuration], folders: dict[str, str | None]
) -> tuple[list[LogDirectory], list[Configuration]]:
    """Directories and configurations with the number of their node.

    The directories of a configuration are one node's; without one, those of one node.id of which at most one has a metadata log. A
    directory beside them without an identity, or with partitions and no metadata log, is taken for theirs.
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
    """Return whether a directory is another one of a node, and no copy of one of its directories."""
    id = _node_id(one)
    if id == NO_NODE or any(_node_id(other) != id for other in group):
        return False
    if folders[one.path] is not None and any(folders[other.path] is not None for other in group):
        return False
    names = {(place.topic, place.partition) for place in one.partitions}
    same = [other for other in group if isinstance(one.identity, Identity) and one.identity == other.identity]
    return not any(names & {(place.topic, place.partition) for place in other.partitions} for other in same)


def _attach(groups: list[list[LogDirectory]], first: int, folders: dict[str, str | None]) -> None:
    """Give directories without an identity, and those with partitions and no log, to the one node beside them."""
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


# ---- brokers on other disks


_MOMENTS_MAX: Final = 4
"""The metadata is read once more for each such return, so only the newest ones count."""


def replaced_disks(path: str, events: tuple[LogEvent, ...]) -> tuple[ReplacedDisk, ...]:
    """The newest return of each broker with other log directories, in the order of the log, if the log still reaches back to it."""
    last = [found[-1] for id, all in registrations(Facts(events=events)).items() if (found := list(_replaced(id, all)))]
    disks = []
    for broker, now, gone in sorted(last, key=lambda found: found[1].offset)[-_MOMENTS_MAX:]:
        try:
            disks.append(ReplacedDisk(broker, now.offset, now.timestamp_ms, gone, tuple(_alone(path, now.offset, broker, gone))))
        except (MetashellError, OSError):
            continue
    return tuple(disks)


def _replaced(id: int, all: Sequence[Registration]) -> Iterator[tuple[int, Registration, frozenset[bytes]]]:
    for before, now in pairwise(all):
        gone = before.directories - now.directories
        # A failed directory has no new one in its place, and its replicas wait for it.
        if gone and now.directories - before.directories:
            yield id, now, gone


def _alone(path: str, offset: int, broker: int, gone: frozenset[bytes]) -> Iterator[tuple[bytes, int]]:
    with DirectorySource(path, up_to=offset) as source:
        image = load_image(source, end_offset=offset)
    for topic in image.topics:
        for id, partition in topic.partitions.items():
            # With KIP-966 the last replica in sync stays eligible, until its broker is known to have stopped uncleanly.
            last = partition.isr or partition.elr or partition.last_known_elr
            if tuple(last) == (broker,):
                directories = dict(zip(partition.replicas, partition.directories, strict=False))
                if directories.get(broker) in gone:
                    yield topic.id, id


# ---- server.properties


def read_configuration(path: str) -> Configuration:
    """The configuration in a properties file, its directories as they are found from here.

    Errors: MetashellError for a file that cannot be read or is no properties file. If Kafka refuses it, `trouble` says why.
    """
    try:
        properties = parse_properties(read_text_file(path))
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise MetashellError(f"{path}: {reason}") from error
    try:
        return _of_config(path, config_of(properties), properties)
    except ConfigError as error:
        return _of_properties(path, properties, error.plain)


def _of_config(path: str, config: NodeConfig, properties: Mapping[str, str]) -> Configuration:
    values, listeners = config.values, config.listeners
    return Configuration(
        path=path,
        node_id=config.node_id,
        roles=config.roles,
        voters=_voters(config.static_voters),
        bootstrap_servers=values.words("controller.quorum.bootstrap.servers"),
        controller_listeners=values.words("controller.listener.names"),
        listeners=_listeners(listeners.all),
        advertised=_listeners((*listeners.advertised_to_brokers, *listeners.advertised_to_controllers)),
        log_directories=tuple(found_from(path, place) for place in config.log_directories),
        metadata_directory=found_from(path, config.metadata_log_directory),
        values=properties,
    )


def _of_properties(path: str, properties: Mapping[str, str], trouble: str) -> Configuration:
    """The settings of a file that Kafka refuses, read from its plain text."""
    places = _words(properties.get("log.dirs") or properties.get("log.dir"))
    own = properties.get("metadata.log.dir")
    first = own or next(iter(places), "")
    return Configuration(
        path=path,
        trouble=trouble,
        node_id=java_int((properties.get("node.id") or properties.get("broker.id") or "").strip()),
        roles=frozenset(_words(properties.get("process.roles"))),
        voters=_voters(_words(properties.get("controller.quorum.voters"))),
        bootstrap_servers=_words(properties.get("controller.quorum.bootstrap.servers")),
        controller_listeners=_words(properties.get("controller.listener.names")),
        log_directories=tuple(sorted({found_from(path, place) for place in (*places, *([own] if own else []))})),
        metadata_directory=found_from(path, first) if first else "",
        values=properties,
    )


def found_from(config: str, place: str) -> str:
    """The path of a configured directory: relative to the current directory, as for Kafka, else beside the file."""
    beside = os.path.join(os.path.dirname(config), place)
    return place if os.path.isabs(place) or os.path.exists(place) or not os.path.exists(beside) else beside


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word for part in (text or "").split(",") if (word := part.strip()))


def _voters(entries: Iterable[str]) -> tuple[tuple[int, str, int], ...]:
    """The `id@host:port` entries; any other entry is left out, since Kafka refuses the configuration for it."""
    found = []
    for entry in entries:
        text, _, address = entry.partition("@")
        host, _, port = address.rpartition(":")
        id, number = java_int(text), java_int(port)
        if id is not None and number is not None:
            found.append((id, host.strip("[]"), number))
    return tuple(found)


def _listeners(endpoints: Iterable[Endpoint]) -> tuple[Listener, ...]:
    return tuple(Listener(one.name, one.host or "", one.port, one.protocol) for one in endpoints)
