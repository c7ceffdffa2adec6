"""Formats log directories: makes a plan from the configuration, the command line and the files on disk, and writes it.

Planning writes nothing. Its checks have Kafka's order, so that of two mistakes the same one is reported.

A plan is written so that it may be interrupted at any moment.

1. Directories are created, each name synced in its parent, and locked.
2. Every file of every directory is written under another name and synced, and so are these names.
3. In one directory after the other, the files get their names, which are synced; then meta.properties gets its name, which is synced too.

An interruption before the third step leaves nothing that counts: no directory has a meta.properties, and the next format starts over. An
interruption of the third step leaves formatted directories beside others that have all their files under other names. A server refuses to
start on them, `info` explains them, and the next format completes them. Why not one directory after the other, start to end: if the second
directory then failed (a full disk, no permission), the first one would already be formatted.
Source: kafka.tools.StorageTool, org.apache.kafka.metadata.storage.Formatter of 4.4.0, and of 4.3.1 for its layout."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from metashell.codec.java import string_hash_order
from metashell.codec.messages import FeatureLevelRecord
from metashell.codec.releases import BOOTSTRAP_SNAPSHOT_LEVEL, KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.common.errors import ConfigError, MetashellError, StorageError
from metashell.disk.bootstrap import (
    Voter,
    check_scram_allowed,
    effective_levels,
    effective_metadata_version,
    first_checkpoint,
    parse_feature_levels,
    parse_scram,
    parse_voters,
    quorum_controls,
    release_level,
    stored_host,
)
from metashell.disk.file_system import ASIDE_SUFFIX, DirectoryLock, Disk, make_directories
from metashell.disk.names import BOOTSTRAP_CHECKPOINT, BOOTSTRAP_SNAPSHOT, META_PROPERTIES, METADATA_DIRECTORY
from metashell.disk.properties import (
    PREPARED,
    Ensemble,
    MetaProperties,
    format_meta_properties,
    load_ensemble,
    verify_ensemble,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metashell.disk.config import NodeConfig


Layout = Literal["4.4", "4.3"]
"""The file with the first records of a cluster, named by the newest release that writes it. `4.4`: the bootstrap snapshot of a controller's
metadata directory, which only servers from 4.4 on write into the log. `4.3`: a bootstrap.checkpoint in each directory, which all servers
read; the bootstrap snapshot then only names voters."""
FIRST_CHECKPOINT: Final = f"{METADATA_DIRECTORY}/{BOOTSTRAP_SNAPSHOT}"

DATA, METADATA = "data directory", "metadata directory"
DYNAMIC, VOTER = "dynamic metadata directory", "dynamic metadata voter directory"
_FILE_MODE, _FROZEN_MODE = 0o666, 0o400


class FormatRequest(NamedTuple):
    """The arguments of the command line.

    `quorum` is "standalone", "initial" (with `initial_controllers`), "none" (join an existing or future quorum), or "". The default
    `layout` is that of the metadata.version's release: a user who requests an older version may start an older server.
    """

    cluster_id: str
    release: str | None = None
    features: tuple[str, ...] = ()
    scram: tuple[str, ...] = ()
    quorum: str = ""
    initial_controllers: str = ""
    ignore_formatted: bool = False
    layout: Layout | None = None


class Given(NamedTuple):
    """Time and random values from the caller; `date` is the comment line in properties files."""

    now_ms: int
    date: str
    new_uuid: Callable[[], bytes]
    new_salt: Callable[[], bytes]


class PlannedFile(NamedTuple):
    """One file: its name below the directory, its bytes, and its mode before the umask."""

    name: str
    data: bytes
    mode: int = _FILE_MODE


class PlannedDirectory(NamedTuple):
    """A directory to format, with its files in the order in which they are renamed: meta.properties is the last."""

    path: str
    kind: str
    directory_id: bytes
    files: tuple[PlannedFile, ...]

    @property
    def holds_partition(self) -> bool:
        """Whether one of the files lies in the metadata directory."""
        return any(file.name == FIRST_CHECKPOINT for file in self.files)


class FormatPlan(NamedTuple):
    """The whole work of a format.

    `refusal` is the reason why it cannot begin. `unreadable` are directories that are left alone, with the reasons; `formatted` are those
    that are formatted already. `finishes` means that this format completes an interrupted one.
    """

    cluster_id: str
    node_id: int
    levels: dict[str, int]
    voters: tuple[Voter, ...]
    records: tuple[Any, ...]
    directories: tuple[PlannedDirectory, ...]
    formatted: tuple[str, ...]
    unreadable: dict[str, str]
    metadata_log_directory: str
    layout: Layout
    refusal: str | None = None
    finishes: bool = False

    @property
    def metadata_version(self) -> int:
        return self.levels[METADATA_VERSION]

    @property
    def release(self) -> str:
        return metadata_version_name(self.metadata_version)

    @property
    def needs_newer_server(self) -> bool:
        """Whether a server may know the metadata.version but be too old for the layout: it would not write the records into the log."""
        return self.layout == "4.4" and self.metadata_version < BOOTSTRAP_SNAPSHOT_LEVEL


def plan_format(config: NodeConfig, request: FormatRequest, given: Given) -> FormatPlan:
    """The plan for a node.

    Errors: StorageError and ConfigError in Kafka's words.
    """
    unstable = config.unstable_features
    release = None if request.release is None else release_level(request.release, unstable=unstable)
    asked = parse_feature_levels(request.features)
    voters = _initial_voters(config, request, given)
    metadata_version = effective_metadata_version(release, asked, unstable=unstable)
    levels = effective_levels(metadata_version, asked, dynamic_quorum=not config.static_voters)
    records = [*_feature_records(levels), *_scram_records(request.scram, metadata_version, given)]
    layout = request.layout or ("4.4" if metadata_version >= BOOTSTRAP_SNAPSHOT_LEVEL else "4.3")
    contents = _Contents(layout, tuple(records), tuple(quorum_controls(levels[KRAFT_VERSION], voters, config.controller_listener)))
    ensemble = load_ensemble(config.log_directories)
    verify_ensemble(ensemble, request.cluster_id, config.node_id)
    finishes = ensemble.is_unfinished(request.cluster_id, config.node_id)
    if ensemble.formatted and not (request.ignore_formatted or finishes):
        raise StorageError(
            f"Log directory {in_hash_order(list(ensemble.formatted))[0]} is already formatted. "
            "Use --ignore-formatted to ignore this directory and format the others."
        )
    return FormatPlan(
        cluster_id=request.cluster_id,
        node_id=config.node_id,
        levels=levels,
        voters=voters,
        records=tuple(records),
        directories=_directories(config, request, given, ensemble, voters, contents),
        formatted=tuple(sorted(ensemble.formatted)),
        unreadable={path: ensemble.errors[path] for path in in_hash_order(list(ensemble.errors))},
        metadata_log_directory=config.metadata_log_directory,
        layout=layout,
        refusal=_refusal(ensemble),
        finishes=finishes,
    )


def has_log(directory: str) -> bool:
    """Whether a server has started the metadata log of a log directory. Errors: OSError."""
    partition = os.path.join(directory, METADATA_DIRECTORY)
    return os.path.isdir(partition) and any(name.endswith(".log") for name in os.listdir(partition))


def _refusal(ensemble: Ensemble) -> str | None:
    nothing_left = ensemble.errors and not ensemble.empty and not ensemble.formatted
    return "No available log directories to format." if nothing_left else None


def _initial_voters(config: NodeConfig, request: FormatRequest, given: Given) -> tuple[Voter, ...]:
    if config.static_voters:
        if request.quorum in ("initial", "standalone"):
            raise StorageError(
                "You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. "
                "If you want to use dynamic quorum, please remove controller.quorum.voters and specify "
                "controller.quorum.bootstrap.servers instead."
            )
        return ()
    if request.quorum == "initial":
        return parse_voters(request.initial_controllers)
    if request.quorum == "standalone":
        return (_standalone_voter(config, given),)
    if request.quorum != "none" and config.is_controller:
        raise StorageError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )
    return ()


def _standalone_voter(config: NodeConfig, given: Given) -> Voter:
    if not config.is_controller:
        raise StorageError("You can only use --standalone on a controller.")
    endpoint = config.controller_endpoint
    if endpoint is None:
        raise ConfigError("No controller listeners found.")
    if not 0 <= endpoint.port <= 0xFFFF:
        raise ConfigError(f"Invalid port {endpoint.port} in dynamic voter string.")
    return Voter(config.node_id, stored_host(endpoint.host or "localhost"), endpoint.port, given.new_uuid())


def _feature_records(levels: dict[str, int]) -> list[Any]:
    records = [FeatureLevelRecord(name=METADATA_VERSION, feature_level=levels[METADATA_VERSION])]
    for name in sorted(levels):
        # Control records hold kraft.version.
        if name not in (METADATA_VERSION, KRAFT_VERSION) and levels[name] > 0:
            records.append(FeatureLevelRecord(name=name, feature_level=levels[name]))
    return records


def _scram_records(words: Sequence[str], metadata_version: int, given: Given) -> list[Any]:
    if not words:
        return []
    check_scram_allowed(metadata_version)
    return [parse_scram(word, given.new_salt) for word in words]


class _Contents(NamedTuple):
    """The records of a new cluster, and the control records that name its voters."""

    layout: Layout
    records: tuple[Any, ...]
    controls: tuple[tuple[int, Any], ...]

    def files(self, now_ms: int, *, keeps_log: bool, names_voters: bool) -> list[PlannedFile]:
        """The planned files of a directory; `keeps_log` if a controller keeps the metadata log in it."""
        if self.layout == "4.4":
            files = [(FIRST_CHECKPOINT, first_checkpoint(now_ms, now_ms, self.controls, self.records))] if keeps_log else []
        else:
            files = [(BOOTSTRAP_CHECKPOINT, first_checkpoint(0, now_ms, (), self.records))]
            files += [(FIRST_CHECKPOINT, first_checkpoint(now_ms, now_ms, self.controls, ()))] if names_voters else []
        return [PlannedFile(name, data, _FROZEN_MODE if name == FIRST_CHECKPOINT else _FILE_MODE) for name, data in files]


def _directories(
    config: NodeConfig,
    request: FormatRequest,
    given: Given,
    ensemble: Ensemble,
    voters: Sequence[Voter],
    contents: _Contents,
) -> tuple[PlannedDirectory, ...]:
    order = in_hash_order([*ensemble.formatted, *ensemble.empty])
    own = next((voter for voter in voters if voter.node_id == config.node_id), None)
    planned = []
    for path in order:
        if path not in ensemble.empty:
            continue
        kind = _kind(path, config, voters, own)
        directory_id = own.directory_id if kind == VOTER and own is not None else given.new_uuid()
        meta = MetaProperties(version=1, cluster_id=request.cluster_id, node_id=config.node_id, directory_id=directory_id)
        keeps_log = config.is_controller and path == config.metadata_log_directory
        files = contents.files(given.now_ms, keeps_log=keeps_log, names_voters=kind in (DYNAMIC, VOTER))
        files.append(PlannedFile(name=META_PROPERTIES, data=format_meta_properties(meta, date=given.date)))
        planned.append(PlannedDirectory(path=path, kind=kind, directory_id=directory_id, files=tuple(files)))
    return tuple(planned)


def in_hash_order(paths: Sequence[str]) -> list[str]:
    """The paths in the order of a Java HashMap, which is the order of Kafka's own output."""
    return list(string_hash_order(paths))


def _kind(path: str, config: NodeConfig, voters: Sequence[Voter], own: Voter | None) -> str:
    if path != config.metadata_log_directory:
        return DATA
    if not voters:
        return METADATA
    return DYNAMIC if own is None else VOTER


_NEW_SUFFIX = ".new"


class Formatting:
    """One run of a plan."""

    def __init__(self, plan: FormatPlan, disk: Disk) -> None:
        self._plan = plan
        self._disk = disk
        self._locks: list[DirectoryLock] = []
        self._aside: list[str] = []
        self._made: list[str] = []
        self._seen: dict[tuple[int, int], str] = {}
        self._failed: PlannedDirectory | None = None

    def run(self, report: Callable[[PlannedDirectory], None]) -> None:
        """Write everything. `report` is called before each directory's third step; after an error, for all directories up to the bad one.

        Errors: StorageError that names the directory; temporary files are removed then.
        """
        try:
            try:
                self._prepare()
            except StorageError:
                self._report_tried(report)
                raise
            for directory in self._plan.directories:
                report(directory)
                self._attempt(directory, self._put_in_place)
        finally:
            for lock in self._locks:
                lock.release()

    def _report_tried(self, report: Callable[[PlannedDirectory], None]) -> None:
        """Report the directories as Kafka's tool does, which formats one after the other until one fails."""
        for directory in self._plan.directories:
            report(directory)
            if directory is self._failed:
                break

    def _prepare(self) -> None:
        try:
            for path in self._plan.formatted:
                # A server that uses one directory of the node uses them all, so formatted ones are locked too.
                if os.path.exists(os.path.join(path, DirectoryLock.NAME)):
                    self._lock(path)
            for directory in self._plan.directories:
                self._attempt(directory, self._make_and_lock)
            for directory in self._plan.directories:
                self._attempt(directory, self._write_aside)
        except BaseException:
            self._undo()
            raise

    def _attempt(self, directory: PlannedDirectory, step: Callable[[PlannedDirectory], None]) -> None:
        try:
            step(directory)
        except OSError as error:
            self._failed = directory
            place = f"{error.filename}: " if isinstance(error.filename, str) and error.filename != directory.path else ""
            raise StorageError(f"Error while writing meta.properties file {directory.path}: {place}{error.strerror or error}") from None

    def _make_and_lock(self, directory: PlannedDirectory) -> None:
        make_directories(self._disk, directory.path, self._made)
        self._lock(directory.path)
        if directory.holds_partition:
            # Its name is synced later, together with the temporary files' names.
            self._make_directory_below(directory.path)

    def _make_directory_below(self, path: str) -> None:
        partition = os.path.join(path, METADATA_DIRECTORY)
        if not os.path.isdir(partition):
            self._disk.make_directory(partition)
            self._made.append(partition)

    def _lock(self, path: str) -> None:
        status = os.stat(path)
        other = self._seen.setdefault((status.st_dev, status.st_ino), path)
        if other != path:
            raise MetashellError(f"{path}: is the same directory as {other}")
        try:
            self._locks.append(DirectoryLock(path, self._disk))
        except BlockingIOError:
            raise MetashellError(f"{path}: in use by a running process, which holds its .lock") from None

    def _write_aside(self, directory: PlannedDirectory) -> None:
        for file in directory.files:
            path = path_before_rename(directory, file)
            if file.name == META_PROPERTIES:
                # The next format recognizes an interrupted one by this name. The file must be whole or absent at any moment, also while
                # this format completes another one. So it is written under a third name first.
                self._write(path + _NEW_SUFFIX, file)
                self._disk.rename(path + _NEW_SUFFIX, path)
                self._aside.append(path)
            else:
                self._write(path, file)
        for path in _places(directory):
            self._disk.sync_directory(path)

    def _write(self, path: str, file: PlannedFile) -> None:
        self._aside.append(path)
        fd = self._disk.create_file(path, file.mode)
        try:
            self._disk.append(fd, file.data)
            self._disk.sync_file(fd)
        finally:
            self._disk.close_file(fd)

    def _put_in_place(self, directory: PlannedDirectory) -> None:
        *others, meta = directory.files
        assert meta.name == META_PROPERTIES
        self._drop_stale(directory)
        for file in others:
            self._disk.rename(path_before_rename(directory, file), os.path.join(directory.path, file.name))
        for path in _places(directory):
            self._disk.sync_directory(path)
        self._disk.rename(path_before_rename(directory, meta), os.path.join(directory.path, meta.name))
        self._disk.sync_directory(directory.path)

    def _drop_stale(self, directory: PlannedDirectory) -> None:
        """Remove leftovers of an interrupted format that this one does not write: a server would read an old bootstrap snapshot.

        A metadata directory with a log was in use; nothing in it is touched.
        """
        wanted = {file.name for file in directory.files}
        stale = [BOOTSTRAP_CHECKPOINT + ASIDE_SUFFIX] if BOOTSTRAP_CHECKPOINT not in wanted else []
        if FIRST_CHECKPOINT not in wanted and not has_log(directory.path):
            stale += [FIRST_CHECKPOINT, FIRST_CHECKPOINT + ASIDE_SUFFIX]
        for path in (os.path.join(directory.path, name) for name in stale):
            if os.path.lexists(path):
                self._disk.remove_file(path)
                self._disk.sync_directory(os.path.dirname(path))

    def _undo(self) -> None:
        """Remove the temporary files, the locks and the created directories, as far as possible."""
        for path in self._aside:
            # The mark of an earlier interrupted format stays, so that the next format can complete that one.
            if not (self._plan.finishes and path.endswith(PREPARED)):
                with suppress(OSError):
                    self._disk.remove_file(path)
        for lock in self._locks:
            lock.release()
        for path in reversed(self._made):
            with suppress(OSError):
                self._disk.remove_directory(path)


def write_format(plan: FormatPlan, report: Callable[[PlannedDirectory], None], disk: Disk | None = None) -> None:
    """Write a plan.

    Shape: `report` gets each directory just before it becomes a formatted one; `disk` replaces the file system in tests.
    Errors: StorageError if something cannot be written; MetashellError if a running process holds a directory.
    """
    Formatting(plan, disk or Disk()).run(report)


def path_before_rename(directory: PlannedDirectory, file: PlannedFile) -> str:
    """The name of a file before its rename."""
    return os.path.join(directory.path, file.name + ASIDE_SUFFIX)


def _places(directory: PlannedDirectory) -> list[str]:
    """The directories that hold the files, the innermost first."""
    inner = [os.path.join(directory.path, METADATA_DIRECTORY)] if directory.holds_partition else []
    return [*inner, directory.path]
