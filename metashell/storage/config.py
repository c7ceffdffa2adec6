"""The configuration of a server: what formatting its directories needs of it, and a check of the rest.

What Kafka's own tool refuses to load is refused here too, with the same message. Two things are not checked: classes, which may be
anywhere on the server's class path, and values that a config provider would have to fetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from metashell.errors import MetashellError
from metashell.log.properties import parse_properties
from metashell.log.text_files import read_text_file
from metashell.storage.config_rules import check_rules, log_dirs
from metashell.storage.config_values import ConfigValues
from metashell.storage.errors import ConfigError
from metashell.storage.listeners import read_listeners

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.storage.listeners import Endpoint, Listeners


class NodeConfig(NamedTuple):
    """The configured identity of a node.

    `log_directories` are all directories, the one for metadata too, each once, sorted as their text.
    """

    node_id: int
    roles: frozenset[str]
    static_voters: tuple[str, ...]
    controller_listener: str
    values: ConfigValues
    listeners: Listeners
    log_directories: tuple[str, ...]
    metadata_log_directory: str
    unstable_features: bool

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    @property
    def controller_endpoint(self) -> Endpoint | None:
        """Where other nodes find this controller."""
        return next(iter(self.listeners.advertised_to_controllers), None)


def load_config(path: str) -> NodeConfig:
    """The configuration in the properties file at `path`.

    Errors: ConfigError for what Kafka refuses; MetashellError for a file that cannot be read or is not a properties file.
    """
    try:
        properties = parse_properties(read_text_file(path))
    except ValueError as error:
        raise MetashellError(f"{path}: {error}") from None
    try:
        return config_of(properties)
    except ConfigError as error:
        error.file = path
        raise


def config_of(properties: Mapping[str, str]) -> NodeConfig:
    """The configuration that the properties describe.

    Errors: ConfigError in Kafka's words.
    """
    values = ConfigValues(_with_synonyms(properties))
    try:
        listeners = read_listeners(values)
        check_rules(values, listeners)
    except ConfigError as error:
        if log_dirs(values):
            error.directories = _directories(values)
        raise
    return NodeConfig(
        node_id=values.number("node.id"),
        roles=frozenset(values.words("process.roles")),
        static_voters=values.words("controller.quorum.voters"),
        controller_listener=values.words("controller.listener.names")[0],
        values=values,
        listeners=listeners,
        log_directories=_directories(values),
        metadata_log_directory=_metadata_directory(values),
        unstable_features=bool(values.value("unstable.feature.versions.enable")),
    )


def _metadata_directory(values: ConfigValues) -> str:
    own = values.text("metadata.log.dir")
    return log_dirs(values)[0] if own is None else own


def _directories(values: ConfigValues) -> tuple[str, ...]:
    return tuple(sorted({*log_dirs(values), _metadata_directory(values)}, key=_utf16))


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _with_synonyms(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties with node.id and broker.id standing for each other where one is missing."""
    values = dict(properties)
    for name in [name for name, value in values.items() if "${" in value and values.get("config.providers")]:
        if name.startswith(("process.", "node.", "broker.id", "controller.", "listener", "log.dir", "metadata.")):
            raise ConfigError(f"{name}: values from config providers are not supported")
        del values[name]
    for name, other in (("broker.id", "node.id"), ("node.id", "broker.id")):
        if name not in values and other in values:
            values[name] = values[other]
    return values
