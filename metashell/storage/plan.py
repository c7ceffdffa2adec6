"""What a format would write, decided from the configuration, the command line and what is on disk; nothing is written here.

The order of the checks is Kafka's, so that of two mistakes the same one is reported.
Source: kafka.tools.StorageTool, org.apache.kafka.metadata.storage.Formatter of 4.4.0, and of 4.3.1 for its layout.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from metashell.codec.messages import FeatureLevelRecord
from metashell.codec.metadata_version import BOOTSTRAP_SNAPSHOT_LEVEL, KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.log.meta_properties import META_PROPERTIES, MetaProperties, format_meta_properties
from metashell.log.names import BOOTSTRAP_CHECKPOINT, BOOTSTRAP_SNAPSHOT, METADATA_DIRECTORY
from metashell.storage.checkpoints import first_checkpoint, quorum_controls
from metashell.storage.ensemble import Ensemble, in_hash_order, load_ensemble, verify_ensemble
from metashell.storage.errors import ConfigError, StorageError
from metashell.storage.features import (
    check_scram_allowed,
    effective_levels,
    effective_metadata_version,
    parse_feature_levels,
    release_level,
)
from metashell.storage.scram import parse_scram
from metashell.storage.voters import Voter, parse_voters, stored_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metashell.storage.config import NodeConfig

Layout = Literal["4.4", "4.3"]
"""Where the first records of a cluster lie, named by the newest release that writes them there. `4.4`: in the bootstrap snapshot of a
controller's metadata directory, from where only servers from 4.4 on take them into the log. `4.3`: in a bootstrap.checkpoint of each
directory, which all servers read; the bootstrap snapshot then only names voters."""
FIRST_CHECKPOINT: Final = f"{METADATA_DIRECTORY}/{BOOTSTRAP_SNAPSHOT}"

DATA, METADATA = "data directory", "metadata directory"
DYNAMIC, VOTER = "dynamic metadata directory", "dynamic metadata voter directory"
_FILE_MODE, _FROZEN_MODE = 0o666, 0o400


class FormatRequest(NamedTuple):
    """The arguments of the command line.

    `quorum` is "standalone", "initial" (with `initial_controllers`), "none" (join one that is or will be there), or "". Without a `layout`
    it is that of the metadata.version's release: who asks for an older one may start an older server.
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
    """Time and chance, from outside: `date` is the line in properties files."""

    now_ms: int
    date: str
    new_uuid: Callable[[], bytes]
    new_salt: Callable[[], bytes]


class PlannedFile(NamedTuple):
    """One file: its name below the directory, its bytes, its mode before the umask."""

    name: str
    data: bytes
    mode: int = _FILE_MODE


class PlannedDirectory(NamedTuple):
    """A directory to format, with its files in the order in which they come to count: meta.properties is the last."""

    path: str
    kind: str
    directory_id: bytes
    files: tuple[PlannedFile, ...]

    @property
    def holds_partition(self) -> bool:
        """Whether a file of the metadata directory is among them."""
        return any(file.name == FIRST_CHECKPOINT for file in self.files)


class FormatPlan(NamedTuple):
    """All that a format does.

    `refusal` is why it cannot begin; `unreadable` are directories that are left alone, with the reason; `formatted` those
    that need nothing. `finishes` says that an earlier format was cut off and this one completes it.
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
        """Whether a server that knows the metadata.version may be too old for the layout, and so not take the records into the log."""
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
    """Whether a server has begun the metadata log of a log directory. Errors: OSError."""
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
        # kraft.version lives in control records.
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
        """The planned files of a directory; with `keeps_log` it is the one in which a controller keeps the metadata log."""
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


def _kind(path: str, config: NodeConfig, voters: Sequence[Voter], own: Voter | None) -> str:
    if path != config.metadata_log_directory:
        return DATA
    if not voters:
        return METADATA
    return DYNAMIC if own is None else VOTER
