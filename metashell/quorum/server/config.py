"""A controller's configuration, read from server.properties, and its directories on disk held against it.

What Kafka refuses is refused in its words.

`ElectionStore` reads and writes `quorum-state`: it alone can say that an election state survives a crash. `PeerSecurity` is how a replica
connects to its peers.

Source: kafka.server.KafkaConfig, kafka.server.KafkaRaftServer.initializeLogDirs, org.apache.kafka.metadata.bootstrap.BootstrapDirectory,
org.apache.kafka.raft.FileQuorumStateStore."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.framing import checked_batches
from metashell.codec.messages import FeatureLevelRecord
from metashell.codec.releases import METADATA_VERSION
from metashell.common.errors import ConfigError, LogCorruptError, MetashellError, PathError
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID, ZERO_UUID, ReplicaKey
from metashell.disk.config import NodeConfig, config_of
from metashell.disk.directory import first_records_file
from metashell.disk.file_system import Disk
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import BOOTSTRAP_CHECKPOINT, META_PROPERTIES, METADATA_DIRECTORY
from metashell.disk.properties import AcknowledgedFile, load_ensemble, parse_properties, read_text_file, verify_ensemble
from metashell.disk.state_files import NO_NODE, QuorumState, read_quorum_state, ways_back, write_quorum_state
from metashell.metadata.image.provenance import VersionedRecord
from metashell.net.addresses import parse_address
from metashell.net.listener_options import ListenerOptions, options_of
from metashell.net.security import listener_security, security_config
from metashell.quorum.controller.settings import Settings
from metashell.quorum.raft.messages import Endpoint, RaftConfig
from metashell.quorum.raft.ready import Durable, ElectionState
from metashell.quorum.raft.replicated_log import ReplicatedLog
from metashell.quorum.server.records import records_of

if TYPE_CHECKING:
    import ssl

    from metashell.net.sasl import Credentials, SaslClient


ALL_INTERFACES: Final = "0.0.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """The settings with which a controller starts; its directory is read at the start, not here.

    Shape: `properties` are the file's, `node` the checked values, `name` is what messages call it: the path of the file.
    `allow_plaintext` lets other machines reach a listener that does not know who asks; `accept_loss` starts on a damaged log as Kafka does.
    """

    properties: Mapping[str, str] = field(repr=False)
    node: NodeConfig = field(repr=False)
    name: str = ""
    allow_plaintext: bool = False
    accept_loss: bool = False

    @property
    def directory(self) -> str:
        """The directory of the metadata log."""
        return self.node.metadata_log_directory

    def number(self, name: str) -> int:
        return self.node.values.number(name)

    @property
    def protocols(self) -> dict[str, str]:
        """The security protocol of each of the controller's listeners."""
        return {endpoint.name: endpoint.protocol for endpoint in self.node.listeners.of_controller}


def load_config(
    path: str, overrides: Mapping[str, str] = {}, *, allow_plaintext: bool = False, accept_loss: bool = False
) -> ControllerConfig:
    """Read the configuration in a properties file, with `overrides`. Errors: MetashellError with the file at fault."""
    try:
        properties = {**parse_properties(read_text_file(path)), **overrides}
        return controller_config(properties, path, allow_plaintext=allow_plaintext, accept_loss=accept_loss)
    except OSError as error:
        raise PathError.of(path, error) from None
    except ConfigError as error:
        raise MetashellError(f"{path}: {error.plain}") from None
    except ValueError as error:
        raise MetashellError(f"{path}: {error}") from None


def controller_config(
    properties: Mapping[str, str], name: str = "", *, allow_plaintext: bool = False, accept_loss: bool = False
) -> ControllerConfig:
    """The configuration that properties describe. Errors: MetashellError."""
    # Before anything that a broker would need is asked for.
    roles = properties.get("process.roles", "")
    if "broker" in [role.strip() for role in roles.split(",")]:
        where = f"{name}: " if name else ""
        raise MetashellError(f"{where}process.roles={roles}: must be controller alone; metashell has no broker")
    node = config_of(properties)
    return ControllerConfig(properties=properties, node=node, name=name, allow_plaintext=allow_plaintext, accept_loss=accept_loss)


def settings_of(config: ControllerConfig, cluster_id: str) -> Settings:
    """Return the settings for the core."""
    return Settings(config.node.values.originals, cluster_id, config.node.node_id)


def static_voters(config: ControllerConfig) -> dict[int, Endpoint]:
    """controller.quorum.voters by id."""
    found: dict[int, Endpoint] = {}
    for entry in config.node.static_voters:
        id, _, address = entry.partition("@")
        host, port = parse_address(address)
        found[int(id)] = host, port
    return found


def listener_options(config: ControllerConfig, credentials: Credentials | None = None) -> list[ListenerOptions]:
    """Return the options of each of the controller's listeners; the server adds the APIs. Errors: UsageError."""
    return [
        options_of(
            config.properties,
            endpoint.name,
            ranges={},
            host=endpoint.host or ALL_INTERFACES,
            port=endpoint.port,
            credentials=credentials,
            allow_plaintext=config.allow_plaintext,
        )
        for endpoint in config.node.listeners.of_controller
    ]


def plain_passwords(config: ControllerConfig) -> list[str]:
    """Return the passwords of the users of PLAIN on the controller's listeners. Errors: UsageError."""
    found = (listener_security(config.properties, endpoint.name).plain_users for endpoint in config.node.listeners.of_controller)
    return sorted({password for users in found for password in users.values()})


def peer_security(config: ControllerConfig) -> PeerSecurity:
    """Return the security for connections to the other controllers. Errors: UsageError."""
    security = security_config(config.properties, config.node.controller_listener)
    tls = None
    if security.tls is not None:
        from metashell.net.tls import client_context

        tls = client_context(security.tls)
    if not security.mechanism:
        return PeerSecurity(tls=tls)

    def client() -> SaslClient:
        made = security.sasl_client()
        assert made is not None, "there is a mechanism"
        return made

    return PeerSecurity(tls=tls, sasl=client)


def advertised_endpoints(config: ControllerConfig, ports: Mapping[str, int]) -> dict[str, Endpoint]:
    """Return this controller's advertised endpoints by listener; port 0 becomes the port that the system chose."""
    host_name = os.uname().nodename
    return {
        endpoint.name: (endpoint.host or host_name, endpoint.port or ports[endpoint.name])
        for endpoint in config.node.listeners.advertised_to_controllers
        if endpoint.name in ports
    }


def raft_config(
    config: ControllerConfig, cluster_id: str, directory_id: bytes, ports: Mapping[str, int], voters: Mapping[int, Endpoint]
) -> RaftConfig:
    """The settings of raft; `voters` are those of the configuration."""
    listeners = advertised_endpoints(config, ports)
    values, number = config.node.values, config.number
    quorum = "controller.quorum."
    servers = tuple((host, port) for host, port in map(parse_address, values.words(quorum + "bootstrap.servers")))
    return RaftConfig(
        cluster_id=cluster_id,
        local=ReplicaKey(config.node.node_id, directory_id),
        listeners=listeners,
        default_listener=next(iter(listeners)),
        static_voters=voters,
        bootstrap_servers=servers,
        auto_join=bool(values.value(quorum + "auto.join.enable")),
        election_timeout_ms=number(quorum + "election.timeout.ms"),
        fetch_timeout_ms=number(quorum + "fetch.timeout.ms"),
        election_backoff_max_ms=number(quorum + "election.backoff.max.ms"),
        append_linger_ms=number(quorum + "append.linger.ms"),
        request_timeout_ms=number(quorum + "request.timeout.ms"),
        retry_backoff_ms=number(quorum + "retry.backoff.ms"),
        fetch_max_size=number(quorum + "fetch.max.bytes"),
        fetch_snapshot_max_size=number(quorum + "fetch.snapshot.max.bytes"),
        retention_size=number("metadata.max.retention.bytes"),
        retention_ms=number("metadata.max.retention.ms"),
    )


class Formatted(NamedTuple):
    """Whose directory it is."""

    cluster_id: str
    directory_id: bytes


def formatted_for(config: ControllerConfig) -> Formatted:
    """The meta.properties of the metadata directory, held against the configuration and all other directories.

    Errors: MetashellError, in Kafka's words.
    """
    node = config.node
    ensemble = load_ensemble(node.log_directories)
    if not ensemble.formatted:
        raise MetashellError(f"No readable meta.properties files found. ({', '.join(node.log_directories)}: not formatted)")
    clusters = [meta.cluster_id for _, meta in sorted(ensemble.formatted.items()) if meta.cluster_id is not None]
    if not clusters:
        raise MetashellError(f"{config.directory}: {META_PROPERTIES} has no cluster.id")
    verify_ensemble(ensemble, clusters[0], node.node_id)
    if config.directory in ensemble.errors:
        raise MetashellError(f"Encountered I/O error in metadata log directory {config.directory}. Cannot continue.")
    for directory in sorted(ensemble.formatted):
        # A log that is left alone would be an empty cluster in place of the one that was.
        elsewhere = os.path.join(directory, METADATA_DIRECTORY)
        if directory != config.directory and os.path.exists(elsewhere):
            where = f"`{elsewhere}` (the configured metadata directory is {config.directory})"
            raise MetashellError(f"Found unexpected metadata location in data directory {where}.")
    if ensemble.empty:
        why = "(have you run `kafka-storage.sh` to format the directory?)"
        raise MetashellError(f"No `meta.properties` found in {min(ensemble.empty)} {why}")
    meta = ensemble.formatted[config.directory]
    if meta.node_id is None or meta.directory_id is None:
        raise MetashellError(f"{config.directory}: {META_PROPERTIES} has no {'node.id' if meta.node_id is None else 'directory.id'}")
    return Formatted(clusters[0], meta.directory_id)


def bootstrap_records(directory: str, log: MetadataLog) -> list[VersionedRecord]:
    """The first records of a new cluster, as formatting left them; none where it left no file.

    Errors: LogCorruptError, also for what this release must not run on; MetashellError for records without a metadata.version; OSError.
    """
    # Behind a newer snapshot nobody looks into the bootstrap snapshot any more.
    is_new = log.snapshots()[-1:] == [BOOTSTRAP_SNAPSHOT_ID]
    path = first_records_file(directory) if is_new else os.path.join(directory, BOOTSTRAP_CHECKPOINT)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    records = [record for batch in checked_batches(data, path) if not batch.header.is_control for record in records_of(batch)]
    if not any(isinstance(body, FeatureLevelRecord) and body.name == METADATA_VERSION for body, _ in records):
        # Who led with these would lead without a metadata.version.
        raise MetashellError(f"{path}: No FeatureLevelRecord for {METADATA_VERSION} was found in the bootstrap metadata")
    return records


def open_log(config: ControllerConfig) -> MetadataLog:
    """The metadata log, recovered and locked. Errors: MetashellError, OSError."""
    segment_size, segment_ms = config.number("metadata.log.segment.bytes"), config.number("metadata.log.segment.ms")
    # Kafka's own tests set it, below what the other one may be.
    segment_size = config.node.values.maybe_number("internal.metadata.log.segment.bytes") or segment_size
    try:
        return MetadataLog.open(config.directory, segment_size=segment_size, segment_ms=segment_ms, accept_loss=config.accept_loss)
    except BlockingIOError:
        where = f"Failed to acquire lock on file .lock in {config.directory}."
        raise MetashellError(f"{where} A Kafka instance in another process or thread is using this directory.") from None


FILE_NAME: Final = "quorum-state"


class ElectionStore:
    """The file in the directory of the metadata log.

    `static_voters` are the ids that version 0 of the file repeats; nobody reads them. `acknowledged` is the proof outside of the directory.
    """

    def __init__(
        self, directory: str, static_voters: Sequence[int] = (), disk: Disk | None = None, acknowledged: AcknowledgedFile | None = None
    ) -> None:
        self._path = os.path.join(directory, FILE_NAME)
        self._acknowledged = acknowledged
        self._static_voters = tuple(static_voters)
        self._disk = disk or Disk()

    def read(self) -> ElectionState:
        """Read the election state; epoch 0 without a file. Errors: LogCorruptError, OSError."""
        state = read_quorum_state(self._path)
        voted = None if state.voted_id == NO_NODE else ReplicaKey(state.voted_id, state.voted_directory_id)
        return ElectionState(max(state.leader_epoch, 0), state.leader_id, voted)

    def read_for(self, log_epoch: int, *, accept_loss: bool = False, is_recovering: bool = False) -> ElectionState:
        """Read the election state for a log whose newest batch or snapshot is of `log_epoch`.

        An epoch is on disk before anything of it is in the log, so a state of an older one is not the last that was written. That one is
        lost, and with it perhaps a vote that this replica gave, and its promise not to follow an older leader: neither can be known again.
        With `accept_loss` it starts in the log's epoch all the same, as Kafka's replicas do.
        A log that `is_recovering` has no vote, so none can be given twice: with a proof of the last epoch it starts in that one.
        Errors: LogCorruptError for a state that is older, missing or cannot be read; OSError.
        """
        proven = self._acknowledged.epoch if self._acknowledged is not None and (is_recovering or accept_loss) else 0
        newest = ElectionState(max(log_epoch, proven))
        may_be_lost = accept_loss or proven > 0
        try:
            election = self.read()
        except LogCorruptError as error:
            if may_be_lost:
                return newest
            raise LogCorruptError(self._path, error.offset, f"{error.reason}; {self._ways_out()}") from error
        if election.epoch < proven:
            return newest
        if election.epoch < log_epoch and not may_be_lost:
            found = f"is of epoch {election.epoch}" if os.path.lexists(self._path) else "is missing"
            reason = f"{found}, but the log goes on to epoch {log_epoch}: a vote may be lost; {self._ways_out()}"
            raise LogCorruptError(self._path, 0, reason)
        return election

    def _ways_out(self) -> str:
        log_directory = os.path.dirname(os.path.dirname(self._path))
        return f"metashell storage repair writes one in which no vote can come back; or {ways_back(log_directory, not self._static_voters)}"

    def write(self, election: ElectionState, kraft_version: int) -> Durable:
        """Replace the file, durably: version 0 of it, without directory ids, at kraft.version 0.

        May run in any thread, one at a time. Errors: OSError; the older state may then be on disk, or the new one.
        """
        voted = election.voted or ReplicaKey(NO_NODE, ZERO_UUID)
        has_keys = kraft_version > 0
        state = QuorumState(
            leader_epoch=election.epoch,
            leader_id=election.leader_id,
            voted_id=voted.id,
            voted_directory_id=voted.directory_id if has_keys else ZERO_UUID,
            current_voters=() if has_keys else self._static_voters,
            data_version=int(has_keys),
        )
        write_quorum_state(self._path, state, self._disk)
        if self._acknowledged is not None:
            self._acknowledged.reach_epoch(election.epoch)
        return Durable(election, kraft_version)


def newest_epoch(log: ReplicatedLog) -> int:
    """The latest epoch of which the log has a batch or a snapshot."""
    return max([0, *(epoch for epoch, _ in log.leader_epochs()), *(id.epoch for id in log.snapshots())])


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSecurity:
    """TLS and a login, where there are any; `sasl` makes the client's side for each connection."""

    tls: ssl.SSLContext | None = None
    sasl: Callable[[], SaslClient] | None = None
