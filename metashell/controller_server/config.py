"""A controller's configuration, read from Kafka's server.properties. What Kafka refuses is refused in its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metashell.controller.settings import Settings
from metashell.net.listener_options import ListenerOptions
from metashell.raft.config import RaftConfig
from metashell.storage.config import NodeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """What a controller is started with; the directory is looked at when it starts, not here.

    Shape: `properties` are the file's, `node` the checked values. Units: bytes, ms.
    """

    properties: Mapping[str, str]
    node: NodeConfig = field(repr=False)
    name: str = ""
    """What messages call it: the path of the file."""
    allow_plaintext: bool = False
    accept_loss: bool = False

    @property
    def directory(self) -> str:
        """Where meta.properties and the metadata log are."""
        return self.node.metadata_log_directory


def load_config(path: str, *, allow_plaintext: bool = False, accept_loss: bool = False) -> ControllerConfig:
    """The configuration in a properties file. Errors: MetashellError."""
    raise NotImplementedError


def config_of(
    properties: Mapping[str, str], name: str = "", *, allow_plaintext: bool = False, accept_loss: bool = False
) -> ControllerConfig:
    """The configuration that properties describe. Errors: MetashellError."""
    raise NotImplementedError


def settings_of(config: ControllerConfig, cluster_id: str) -> Settings:
    """What the core wants to know."""
    raise NotImplementedError


def listener_options(config: ControllerConfig) -> list[ListenerOptions]:
    """How to listen, for each of the controller's listeners; `ranges` are filled in by the server."""
    raise NotImplementedError


def raft_config(config: ControllerConfig, cluster_id: str, directory_id: bytes, ports: Mapping[str, int]) -> RaftConfig:
    """The settings of raft; a listener whose port is 0 advertises the one that the system chose."""
    raise NotImplementedError
