"""One log directory as facts: who it belongs to, the metadata log in it, and the partitions' directories."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from metashell.checks.facts import CheckpointFacts, Identity, LogDirectory, MetadataLog, PartitionDirectory, QuorumNote
from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.errors import MetashellError
from metashell.facts.events import read_events
from metashell.image import load_image
from metashell.log.directory import CheckpointEntry, MetadataDirectory
from metashell.log.directory_source import DirectorySource
from metashell.log.identity import partition_name
from metashell.log.inputs import log_folder
from metashell.log.kinds import METADATA
from metashell.log.meta_properties import read_meta_properties
from metashell.log.names import (
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    QUORUM_STATE,
)
from metashell.log.quorum_state import read_quorum_state
from metashell.log.snapshot import first_snapshot_fault
from metashell.log.text_checkpoints import read_leader_epochs, read_topic_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from metashell.image import MetadataImage

T = TypeVar("T")
_SUFFIXES: Final = ("stray", "delete", "future")


def metadata_folder(path: str) -> str | None:
    """Where the metadata log is that a path means: the folder itself, of any name, or that in a log directory; None where there is none."""
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
    """Whether a directory is one of a partition by its name and its small files: folders of nodes may be named alike."""
    if partition_name(os.path.basename(path)) is None:
        return False
    return any(os.path.exists(os.path.join(path, name)) for name in (PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT))


def read_log_directory(path: str) -> LogDirectory:
    """One log directory, whatever state it is in, without its metadata log."""
    if metadata_folder(path) == path:
        above = os.path.dirname(os.path.abspath(path)) if os.path.isabs(path) else os.path.normpath(os.path.join(path, os.pardir))
        return LogDirectory(path=above, identity=_told(os.path.join(above, META_PROPERTIES), _identity), is_alone=True)
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
        identity=_told(os.path.join(path, META_PROPERTIES), _identity),
        partitions=tuple(_partitions(path, names)),
        is_empty=not names,
        free_bytes=None if disk is None else disk.f_bavail * disk.f_frsize,
        total_bytes=None if disk is None else disk.f_blocks * disk.f_frsize,
    )


def read_metadata_log(
    path: str,
    topics: Collection[str | bytes] = (),
    max_decompressed: int = MAX_DECOMPRESSED,
    known: MetadataImage | None = None,
) -> MetadataLog:
    """The metadata log in a directory, with notes of the topics of these names or ids; `known` is its image, where that was read."""
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
    # The one that the image begins with was found whole by whoever loaded it.
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
        quorum_note=_told(os.path.join(path, QUORUM_STATE), _quorum_note),
        epochs=_told(os.path.join(path, LEADER_EPOCH_CHECKPOINT), _epochs),
        checkpoints=checkpoints,
        voter_sets=found.voter_sets,
        events=found.events,
        topics=found.topics,
    )


def _checkpoint(directory: MetadataDirectory, entry: CheckpointEntry, *, is_whole: bool) -> CheckpointFacts:
    """A checkpoint, and whether it is whole, where that is not known."""
    at = entry.snapshot_id
    try:
        with directory.open(entry.name) as file:
            fault = None if is_whole else first_snapshot_fault(file)
            return CheckpointFacts(entry.name, at.offset, at.epoch, file.size() or 0, "" if fault is None else fault.reason)
    except (MetashellError, OSError) as error:
        return CheckpointFacts(entry.name, at.offset, at.epoch, 0, str(error))


def _told(path: str, read: Callable[[str], T]) -> T | str | None:
    """What a small file says, None where there is none, the reason where it cannot be read."""
    if os.path.exists(path) and not os.path.isfile(path):  # nobody may ever write to a pipe
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
            topic_id = _told(os.path.join(place, PARTITION_METADATA), read_topic_id)
            yield PartitionDirectory(place, *found, topic_id, suffix if has_suffix else "")
