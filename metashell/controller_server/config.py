"""A controller's configuration, read from Kafka's server.properties. What Kafka refuses is refused in its words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from metashell.controller.settings import Settings
from metashell.errors import MetashellError, PathError
from metashell.log.properties import parse_properties
from metashell.log.text_files import read_text_file
from metashell.net.addresses import parse_address
from metashell.net.listener_options import ListenerOptions, options_of
from metashell.net.security import security_config
from metashell.raft.config import RaftConfig
from metashell.raft.messages import Endpoint
from metashell.server.peer_security import PeerSecurity
from metashell.storage.config import NodeConfig
from metashell.storage.config import config_of as checked_config
from metashell.storage.errors import ConfigError
from metashell.values import ReplicaKey

if TYPE_CHECKING:
    from metashell.net.sasl import Credentials, SaslClient

ALL_INTERFACES: Final = "0.0.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """What a controller is started with; the directory is looked at when it starts, not here.

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
        """Where the metadata log is."""
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
    """The configuration in a properties file, with others in place of some. Errors: MetashellError with the file at fault."""
    try:
        properties = {**parse_properties(read_text_file(path)), **overrides}
        return config_of(properties, path, allow_plaintext=allow_plaintext, accept_loss=accept_loss)
    except OSError as error:
        raise PathError.of(path, error) from None
    except ConfigError as error:
        raise MetashellError(f"{path}: {error.plain}") from None
    except ValueError as error:
        raise MetashellError(f"{path}: {error}") from None


def config_of(
    properties: Mapping[str, str], name: str = "", *, allow_plaintext: bool = False, accept_loss: bool = False
) -> ControllerConfig:
    """The configuration that properties describe. Errors: MetashellError."""
    # Before anything that a broker would need is asked for.
    roles = properties.get("process.roles", "")
    if "broker" in [role.strip() for role in roles.split(",")]:
        where = f"{name}: " if name else ""
        raise MetashellError(f"{where}process.roles={roles}: must be controller alone; metashell has no broker")
    node = checked_config(properties)
    return ControllerConfig(properties=properties, node=node, name=name, allow_plaintext=allow_plaintext, accept_loss=accept_loss)


def settings_of(config: ControllerConfig, cluster_id: str) -> Settings:
    """What the core wants to know."""
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
    """How to listen, for each of the controller's listeners; what is served there the server fills in. Errors: UsageError."""
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


def peer_security(config: ControllerConfig) -> PeerSecurity:
    """How to connect to the other controllers. Errors: UsageError."""
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
    """Where others find this controller, by listener; one whose port is 0 has that which the system chose."""
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
