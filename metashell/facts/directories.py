"""Log directories as facts: who they belong to, the metadata log in them, and the partitions' directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from metashell.checks.facts import CheckpointFacts, Facts, Identity, LogDirectory, MetadataLog, PartitionDirectory, QuorumNote
from metashell.checks.health import Health
from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.errors import MetashellError
from metashell.facts.events import read_events
from metashell.facts.replaced import replaced_disks
from metashell.image import load_image
from metashell.log.directory import MetadataDirectory
from metashell.log.directory_source import DirectorySource
from metashell.log.identity import partition_name
from metashell.log.meta_properties import read_meta_properties
from metashell.log.names import (
    BOOTSTRAP_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    QUORUM_STATE,
)
from metashell.log.quorum_state import read_quorum_state
from metashell.log.text_checkpoints import read_leader_epochs, read_topic_id

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_DEPTH_MAX: Final = 3
_SUFFIXES: Final = ("stray", "delete", "future")


def gather_directories(paths: Iterable[str], *, max_decompressed: int = MAX_DECOMPRESSED) -> Facts:
    """The facts of all log directories at and below the paths; the image is the newest of theirs."""
    directories = tuple(read_log_directory(place, max_decompressed) for path in paths for place in log_directories(path))
    logs = [one.metadata for one in directories if one.metadata is not None and one.metadata.image is not None]
    newest = max(logs, key=lambda log: (log.last_epoch, log.end_offset), default=None)
    health = None
    if newest is not None and newest.image is not None:
        note = newest.quorum_note
        health = Health(newest.image, voter_ids=lambda: note.voter_ids if isinstance(note, QuorumNote) else ())
    return Facts(
        health=health,
        directories=directories,
        events=() if newest is None else newest.events,
        replaced=() if newest is None else replaced_disks(newest.path, newest.events),
        now_ms=-1 if newest is None else newest.last_timestamp_ms,
    )


def log_directories(path: str, depth: int = _DEPTH_MAX) -> Iterator[str]:
    """The log directories at or below a path, in order: the path itself where it is one, is empty, or is not there."""
    if os.path.basename(os.path.abspath(path)) == METADATA_DIRECTORY:
        yield os.path.dirname(os.path.abspath(path)) if os.path.isabs(path) else os.path.normpath(os.path.join(path, os.pardir))
        return
    names = os.listdir(path) if os.path.isdir(path) else []
    if not names or any(name in names for name in (META_PROPERTIES, METADATA_DIRECTORY, BOOTSTRAP_CHECKPOINT)):
        yield path
    elif depth:
        folders = [folder for name in sorted(names) if os.path.isdir(folder := os.path.join(path, name))]
        yield from (place for folder in folders if os.listdir(folder) for place in log_directories(folder, depth - 1))


def read_log_directory(path: str, max_decompressed: int = MAX_DECOMPRESSED) -> LogDirectory:
    """One log directory, whatever state it is in."""
    if not os.path.isdir(path):
        return LogDirectory(path=path, state="not_a_directory" if os.path.lexists(path) else "missing")
    names = sorted(os.listdir(path))
    metadata = None
    if METADATA_DIRECTORY in names:
        metadata = read_metadata_log(os.path.join(path, METADATA_DIRECTORY), max_decompressed)
    try:
        disk = os.statvfs(path)
    except OSError:
        disk = None
    return LogDirectory(
        path=path,
        identity=_told(lambda: _identity(os.path.join(path, META_PROPERTIES))),
        metadata=metadata,
        partitions=tuple(_partitions(path, names)),
        is_empty=not names,
        free_bytes=None if disk is None else disk.f_bavail * disk.f_frsize,
        total_bytes=None if disk is None else disk.f_blocks * disk.f_frsize,
    )


def read_metadata_log(path: str, max_decompressed: int = MAX_DECOMPRESSED) -> MetadataLog:
    """The metadata log in a directory."""
    image, trouble, found = None, "", read_events(iter(()))
    checkpoints: tuple[CheckpointFacts, ...] = ()
    try:
        with DirectorySource(path) as source:
            image = load_image(source, max_decompressed=max_decompressed)
        with DirectorySource(path, log_from=0) as source:
            found = read_events(source.log_batches(0), max_decompressed)
        with MetadataDirectory(path) as directory:
            entries = directory.list().checkpoints
        checkpoints = tuple(CheckpointFacts(name, at.offset, at.epoch, os.path.getsize(os.path.join(path, name))) for at, name in entries)
    except (MetashellError, OSError) as error:
        trouble = str(error)
    epochs = _told(lambda: tuple((one.epoch, one.start_offset) for one in read_leader_epochs(os.path.join(path, LEADER_EPOCH_CHECKPOINT))))
    return MetadataLog(
        path=path,
        image=image,
        trouble=trouble,
        start_offset=found.start_offset,
        end_offset=found.end_offset,
        last_epoch=found.last_epoch,
        last_timestamp_ms=found.last_timestamp_ms,
        last_leader=found.last_leader,
        quorum_note=_told(lambda: _quorum_note(os.path.join(path, QUORUM_STATE))),
        epochs=epochs,
        checkpoints=checkpoints,
        voter_sets=found.voter_sets,
        events=found.events,
    )


def _told(read: Callable[[], T]) -> T | str | None:
    """What a small file says, None where there is none, the reason where it cannot be read."""
    try:
        return read()
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror or str(error)
    except MetashellError as error:
        return getattr(error, "reason", "") or str(error)


def _identity(path: str) -> Identity:
    return Identity(*read_meta_properties(path))


def _quorum_note(path: str) -> QuorumNote:
    os.stat(path)  # A missing file is no election state here.
    state = read_quorum_state(path)
    return QuorumNote(state.leader_epoch, state.leader_id, state.voted_id, state.current_voters, state.data_version)


def _partitions(path: str, names: Iterable[str]) -> Iterator[PartitionDirectory]:
    for name in names:
        stem, _, suffix = name.rpartition("-")
        has_suffix = suffix in _SUFFIXES and "." in stem
        found = partition_name(stem.rpartition(".")[0] if has_suffix else name)
        place = os.path.join(path, name)
        if found is not None and name != METADATA_DIRECTORY and os.path.isdir(place):
            topic_id = _told(lambda place=place: read_topic_id(os.path.join(place, PARTITION_METADATA)))  # type: ignore[misc]
            yield PartitionDirectory(place, *found, topic_id, suffix if has_suffix else "")
