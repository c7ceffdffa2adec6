"""The controller that a server.properties describes, for those who want to make it a voter.

Source: org.apache.kafka.tools.MetadataQuorumCommand of 4.4.0, whose words the errors have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.admin.quorum import Endpoint
from metashell.errors import MetashellError
from metashell.net.addresses import Address
from metashell.values import ReplicaKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.log.meta_properties import MetaProperties

_IS_IT: Final = "in configuration file. Is this a valid controller configuration file?"
_LISTENER: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class NewController(NamedTuple):
    """Its id and directory id, the listeners that it advertises, and the cluster that it was formatted for, where that is known."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None = None


def read_new_controller(path: str) -> NewController:
    """What a server's configuration, and the meta.properties in its metadata directory, say. Errors: MetashellError; PathError."""
    from metashell.cli.attaching import read_properties

    values = read_properties(path)
    id = _id(values)
    meta = _meta_properties(_metadata_directory(values))
    assert meta.directory_id is not None
    return NewController(ReplicaKey(id, meta.directory_id), _endpoints(values), meta.cluster_id)


def _id(values: Mapping[str, str]) -> int:
    from metashell.codec.java_text import java_int

    if "node.id" not in values:
        raise MetashellError(f"node.id not found {_IS_IT}")
    id = java_int(values["node.id"])
    if id is None:
        raise MetashellError(f'For input string: "{values["node.id"]}"')
    if id < 0:
        raise MetashellError(f"node.id was negative {_IS_IT}")
    if "controller" not in values.get("process.roles", ""):
        raise MetashellError(f"process.roles did not contain 'controller' {_IS_IT}")
    return id


def _metadata_directory(values: Mapping[str, str]) -> str:
    if "metadata.log.dir" in values:
        return values["metadata.log.dir"]
    if "log.dirs" in values:
        return values["log.dirs"].strip().split(",")[0]
    raise MetashellError("Neither metadata.log.dir nor log.dirs were found. Is this a valid controller configuration file?")


def _meta_properties(directory: str) -> MetaProperties:
    """Errors: MetashellError, also where they have no directory.id."""
    from metashell.storage.ensemble import read_meta

    meta = read_meta(directory)
    if meta is None or isinstance(meta, str):
        raise MetashellError(f"Unable to read meta.properties from {directory}{f': {meta}' if meta else ': is it formatted?'}")
    if meta.directory_id is None:
        raise MetashellError(f"No directory id found in {directory}")
    return meta


def _endpoints(values: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Of each controller listener what is advertised, else what it listens on."""
    found = {**_listeners(values.get("listeners", "")), **_listeners(values.get("advertised.listeners", ""))}
    if "controller.listener.names" not in values:
        raise MetashellError("controller.listener.names was not found. Is this a valid controller configuration file?")
    names = [name.strip().upper() for name in values["controller.listener.names"].split(",")]
    for name in names:
        if name not in found:
            raise MetashellError(f"Cannot find information about controller listener name: {name}")
    return tuple(Endpoint(name, found[name]) for name in dict.fromkeys(names))


def _listeners(text: str) -> dict[str, Address]:
    found = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        match = _LISTENER.fullmatch(word)
        if match is None:
            raise MetashellError(f"Unable to parse {word} to a broker endpoint")
        found[match[1].upper()] = Address(match[2] or "localhost", int(match[3]))
    return found
