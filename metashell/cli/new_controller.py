"""Who a controller is that is to be added to a quorum, from its server.properties and the meta.properties in its directory."""

from __future__ import annotations

import os
from typing import NamedTuple

from metashell.admin.quorum import Endpoint
from metashell.errors import MetashellError
from metashell.net.addresses import Address
from metashell.values import ReplicaKey


class NewController(NamedTuple):
    """Its id and directory id, the listeners that it advertises, and the cluster that it was formatted for, where that is known."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None = None


def read_new_controller(path: str) -> NewController:
    """What the configuration at `path` says. Errors: MetashellError with the file at fault."""
    from metashell.log.meta_properties import read_meta_properties
    from metashell.storage.config import load_config
    from metashell.storage.errors import ConfigError

    try:
        config = load_config(path)
    except ConfigError as error:
        raise MetashellError(f"{path}: {error.plain}") from None
    if not config.is_controller:
        raise MetashellError(f"{path}: process.roles does not have controller")
    file = os.path.join(config.metadata_log_directory, "meta.properties")
    try:
        meta = read_meta_properties(file)
    except FileNotFoundError:
        raise MetashellError(
            f"{file}: is not there: format the directory first (metashell storage format --no-initial-controllers)"
        ) from None
    if meta.directory_id is None:
        raise MetashellError(f"{file}: has no directory.id")
    endpoints = tuple(Endpoint(one.name, Address(one.host or "localhost", one.port)) for one in config.listeners.advertised_to_controllers)
    return NewController(ReplicaKey(config.node_id, meta.directory_id), endpoints, meta.cluster_id)
