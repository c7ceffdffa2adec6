"""The facts that a repair of a log directory rests on: the directory, its log, the sources that were named, and what belongs together.

Nothing is assumed of a source. It counts as one of the same cluster only if both have the same cluster.id, if the two logs have a batch in
common, or if its metadata and this directory share an id that was drawn at random: of a topic, a directory, or a start of a node.
Example: a directory lost its meta.properties; its voter set names the directory ids of voters 1, 2 and 3, and so does the source's. No
other cluster has these ids.

The state of the log is what an opening would do to it, by the rules of `disk/opening.py`. Nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import MetashellError, StorageError
from metashell.common.values import ZERO_UUID
from metashell.disk.file_system import Disk
from metashell.disk.log_segment import SegmentIndex
from metashell.disk.names import BOOTSTRAP_CHECKPOINT, META_PROPERTIES, METADATA_DIRECTORY
from metashell.disk.opening import Opening
from metashell.disk.properties import PREPARED
from metashell.disk.recovery import FoundFiles, list_files
from metashell.disk.source import DirectorySource, open_source
from metashell.metadata.checks.facts import Configuration, Facts, Identity, LogDirectory
from metashell.metadata.checks.nodes import ServerNode, is_whole
from metashell.metadata.directory_facts import metadata_folder
from metashell.metadata.facts import gather_facts
from metashell.metadata.image import load_image

if TYPE_CHECKING:
    from metashell.codec.batches import RecordBatch
    from metashell.common.values import OffsetAndEpoch
    from metashell.disk.mend import FileChange
    from metashell.disk.opening import OpeningPlan
    from metashell.disk.recovery import Flaw, Run
    from metashell.metadata.checks.facts import MetadataLog
    from metashell.metadata.image import MetadataImage


class LogState(NamedTuple):
    """What an opening would do to a log, with the files as they are now.

    `reason` says why the log cannot start, and is empty if it can. `flaws` are the places where segments would be cut, by path; `found` are
    the names in the directory. The segments of `plan.run` are closed.
    """

    found: FoundFiles
    plan: OpeningPlan | None
    flaws: dict[str, Flaw]
    run: Run | None
    reason: str = ""


class ReadingDisk(Disk):
    """The real file system for what only reads: files are opened without the right to write."""

    def open_file(self, path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def judge_log(directory: str, assumed: OffsetAndEpoch | None = None) -> LogState:
    """Judge the log in a directory by the rules of `open_metadata`, and change nothing.

    `assumed` is a snapshot that is to be put there, and whole. Errors: OSError.
    """
    disk = ReadingDisk()
    found = list_files(directory)
    if assumed is not None:
        found.snapshots = sorted({*found.snapshots, assumed})

    def index_of(base_offset: int) -> SegmentIndex:
        return SegmentIndex(disk, directory, base_offset, _UNUSED_INDEX, _UNUSED_INDEX)

    plan, flaws, run, reason = Opening(disk, directory, index_of, accept_loss=True, assumed=assumed).judge(found)
    return LogState(found, plan, flaws, run, reason)


_UNUSED_INDEX: Final = 4096
"""The interval and size of indexes that are never written."""


_CHECKPOINT: Final = ".checkpoint"
_COMPARED_MAX: Final = 10_000
"""The batches of a log that are looked for in another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    """The command line. `sources` are paths to read, `epoch` the highest epoch that the other voters know if the operator says it.

    `date` is the comment line of a properties file, `new_uuid` makes a directory id.
    """

    path: str
    sources: tuple[str, ...] = ()
    config: str | None = None
    epoch: int | None = None
    date: str = ""
    new_uuid: Callable[[], bytes] = lambda: ZERO_UUID


class Step(NamedTuple):
    """One change: the check that found its cause, the cause, and why the change is safe."""

    check: str
    change: FileChange
    cause: str
    reason: str


class Refusal(NamedTuple):
    """Something that is not changed: the check that found it, the place, the cause with the reason, and the ways out."""

    check: str
    place: str
    cause: str
    ways: tuple[str, ...] = ()


class CheckpointSource(NamedTuple):
    """A checkpoint file that was named as a source, and its image, None if it cannot be loaded."""

    path: str
    image: MetadataImage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairFacts:
    """What is known. `others` are the directories that the operator named, `siblings` those that the configuration has beside this one.

    `node_id` and `directory_id` are proven; None if they are not. `proven` are the paths of the sources that are of the same cluster.
    """

    request: RepairRequest
    own: LogDirectory
    node: ServerNode
    facts: Facts
    others: tuple[LogDirectory, ...]
    siblings: tuple[LogDirectory, ...]
    checkpoints: tuple[CheckpointSource, ...]
    configuration: Configuration | None
    log: LogState | None
    node_id: int | None = None
    directory_id: bytes | None = None
    proven: frozenset[str] = frozenset()

    @property
    def folder(self) -> str:
        return os.path.join(self.own.path, METADATA_DIRECTORY)

    @property
    def own_log(self) -> MetadataLog | None:
        return self.own.metadata

    def image(self) -> MetadataImage | None:
        """The newest metadata of this directory's cluster: of its own log, the siblings' or a source's that is proven to be of it."""
        logs = [one.metadata for one in (self.own, *self.siblings, *self.related())]
        loaded = [log for log in logs if log is not None and log.image is not None]
        newest = max(loaded, key=lambda log: (log.last_epoch, log.end_offset), default=None)
        if newest is not None and not (newest.image is None or newest.image.provenance.begins_at):
            return newest.image
        from_file = next((one.image for one in self.checkpoints if one.image is not None and self.shares_ids(one.image)), None)
        return from_file or (None if newest is None else newest.image)

    def related(self) -> tuple[LogDirectory, ...]:
        """The sources that are proven to be of this directory's cluster."""
        return tuple(one for one in self.others if one.path in self.proven)

    def is_related(self, other: LogDirectory) -> bool:
        """Whether a source is proven to be of this directory's cluster. Its log is read, so ask once."""
        own, its = self.own.identity, other.identity
        batches = NOTHING_COMPARED
        if self.own_log is not None and other.metadata is not None:
            batches = compare_batches(self.own_log.path, other.metadata.path)
        if batches.has_other:
            return False  # A copy of a cluster that went its own way has the same ids.
        if is_whole(own) and is_whole(its):
            assert isinstance(own, Identity)
            assert isinstance(its, Identity)
            return own.cluster_id == its.cluster_id
        if other.metadata is None:
            return False
        return batches.has_common or (other.metadata.image is not None and self.shares_ids(other.metadata.image))

    def shares_ids(self, image: MetadataImage) -> bool:
        """Whether metadata and this directory share an id that was drawn at random."""
        return bool(self._own_ids() & random_ids(image))

    def _own_ids(self) -> frozenset[bytes]:
        ids = {place.topic_id for place in self.own.partitions if isinstance(place.topic_id, bytes)}
        if isinstance(self.own.identity, Identity) and self.own.identity.directory_id is not None:
            ids.add(self.own.identity.directory_id)
        log = self.own_log
        if log is not None:
            for _, _, voters in log.voter_sets:
                ids.update(voter.directory_id for voter in voters.voters)
            for event in log.events:
                ids.update(id for id in (getattr(event.record, "incarnation_id", None),) if isinstance(id, bytes))
            if log.image is not None:
                ids |= random_ids(log.image)
        return frozenset(ids - {ZERO_UUID})


def random_ids(image: MetadataImage) -> frozenset[bytes]:
    """The ids in an image that were drawn at random: of topics, directories, voters, and starts of nodes."""
    ids: set[bytes] = set(image.topics.by_id)
    for broker in image.cluster.brokers.values():
        ids.update((broker.incarnation_id, *broker.directories))
    ids.update(controller.incarnation_id for controller in image.cluster.controllers.values())
    if image.voters is not None:
        ids.update(voter.directory_id for voter in image.voters.voters)
    return frozenset(id for id in ids if int.from_bytes(id, "big") >= 100)


class Compared(NamedTuple):
    """Whether two logs have a batch in common, and whether one has another batch than the other at the same offset in the same epoch."""

    has_common: bool = False
    has_other: bool = False


NOTHING_COMPARED: Final = Compared()


def compare_batches(own: str, other: str) -> Compared:
    """Compare two metadata logs by the checksums and times of their batches.

    An epoch has one leader, so within a cluster one offset and epoch has one batch; two clusters have none in common.
    """
    try:
        with DirectorySource(own, log_from=0) as source:
            heads = {key[:2]: key for key in islice(map(_head, source.log_batches(0)), _COMPARED_MAX)}
        if not heads:
            return NOTHING_COMPARED
        first, last = min(heads)[0], max(heads)[0]
        with DirectorySource(other, log_from=0) as source:
            found = list(takewhile(lambda key: key[0] <= last, map(_head, source.log_batches(first))))
    except (MetashellError, OSError):
        return NOTHING_COMPARED
    both = [(heads[key[:2]], key) for key in found if key[:2] in heads]
    return Compared(any(one == other for one, other in both), any(one != other for one, other in both))


def _head(batch: RecordBatch) -> tuple[int, int, int, int]:
    header = batch.header
    return header.base_offset, header.leader_epoch, header.crc, header.max_timestamp


def read_repair_facts(request: RepairRequest) -> RepairFacts:
    """Read the directory and the sources. Nothing is written.

    Errors: StorageError if the path is no log directory; MetashellError for a source or configuration that cannot be read; OSError.
    """
    path = request.path.rstrip("/") or "/"
    _check_directory(path)
    folders, files = _split_sources(request.sources)
    facts = gather_facts([path, *folders], [request.config] if request.config else [])
    own = _directory_at(facts, path)
    config = next((one for one in facts.configurations if _lists(one, path)), None)
    if request.config and config is None:
        raise StorageError(f"{request.config}: its log.dirs do not name {path}")
    named = {os.path.realpath(folder) for folder in folders}
    beside = () if config is None else tuple(one for one in facts.directories if _lists(config, one.path) and one is not own)
    folder = metadata_folder(path)
    found = RepairFacts(
        request=request,
        own=own,
        node=ServerNode((own, *beside), config, tuple((one, one.identity) for one in (own, *beside) if is_whole(one.identity))),  # type: ignore[misc]
        facts=facts,
        others=tuple(one for one in facts.directories if os.path.realpath(one.path) in named and one not in beside and one is not own),
        siblings=beside,
        checkpoints=tuple(files),
        configuration=config,
        log=None if folder is None else judge_log(folder),
    )
    return replace(found, proven=frozenset(one.path for one in found.others if found.is_related(one)))


def _check_directory(path: str) -> None:
    if not os.path.isdir(path):
        raise StorageError(f"{path}: {'is not a directory' if os.path.lexists(path) else 'does not exist'}")
    if os.path.basename(os.path.abspath(path)) == METADATA_DIRECTORY:
        raise StorageError(f"{path}: is the metadata log itself; name the log directory above it")
    names = os.listdir(path)
    if META_PROPERTIES not in names and PREPARED in names:
        raise StorageError(f"{path}: an interrupted format left it; the same metashell storage format completes it")
    is_one = {META_PROPERTIES, METADATA_DIRECTORY, BOOTSTRAP_CHECKPOINT} & set(names)
    if not is_one and not any("-" in name and os.path.isdir(os.path.join(path, name)) for name in names):
        raise StorageError(f"{path}: has nothing of a log directory that could be repaired; metashell storage format makes a new one")


def _split_sources(paths: tuple[str, ...]) -> tuple[list[str], list[CheckpointSource]]:
    """The sources that are directories, and the checkpoints among the files. Errors: MetashellError for other files."""
    folders, files = [], []
    for path in paths:
        if os.path.isdir(path):
            folders.append(path)
        elif path.endswith(_CHECKPOINT) and os.path.isfile(path):
            files.append(CheckpointSource(path, _checkpoint_image(path)))
        else:
            raise MetashellError(f"{path}: {'is neither a directory nor a checkpoint' if os.path.lexists(path) else 'does not exist'}")
    return folders, files


def _checkpoint_image(path: str) -> MetadataImage | None:
    with suppress(MetashellError), open_source(path) as source:
        image = load_image(source)
        return None if image.faults else image
    return None


def _directory_at(facts: Facts, path: str) -> LogDirectory:
    found = next((one for one in facts.directories if os.path.realpath(one.path) == os.path.realpath(path)), None)
    if found is None:
        raise StorageError(f"{path}: has nothing of a log directory that could be repaired; metashell storage format makes a new one")
    return found


def _lists(config: Configuration, path: str) -> bool:
    places = {os.path.realpath(place) for place in (*config.log_directories, *filter(None, [config.metadata_directory]))}
    return os.path.realpath(path) in places
