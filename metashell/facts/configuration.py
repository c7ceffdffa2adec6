"""A server.properties as a fact: also of one that Kafka refuses there is what can be read of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.checks.facts import Configuration, Listener
from metashell.codec.java_text import java_int
from metashell.errors import MetashellError
from metashell.log.properties import parse_properties
from metashell.log.text_files import read_text_file
from metashell.storage.config import config_of
from metashell.storage.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from metashell.storage.config import NodeConfig
    from metashell.storage.listeners import Endpoint


def read_configuration(path: str) -> Configuration:
    """The configuration in a properties file, its directories as they are found from here.

    Errors: MetashellError for a file that cannot be read or is not a properties file; what Kafka refuses it for is its `trouble`.
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
    """What the plain text says where Kafka takes none of it."""
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
    """Where a directory of a configuration lies: Kafka takes it from where it is started, so here first, then beside the file."""
    beside = os.path.join(os.path.dirname(config), place)
    return place if os.path.isabs(place) or os.path.exists(place) or not os.path.exists(beside) else beside


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word for part in (text or "").split(",") if (word := part.strip()))


def _voters(entries: Iterable[str]) -> tuple[tuple[int, str, int], ...]:
    """`id@host:port` entries; one that is none is left out, since Kafka refuses the configuration for it."""
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
