"""Turns the options that name a cluster and how to reach it into what `metashell.live` and `metashell.admin` take."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from metashell.errors import UsageError

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.client.config import ClientConfig
    from metashell.live.target import Target
    from metashell.net.addresses import Address


def names_quorum(values: SimpleNamespace) -> bool:
    """Whether the command line names a quorum. Errors: UsageError for its options without one."""
    found = bool(values.bootstrap_controller or values.bootstrap_server)
    for name, given in (("--command-config", values.command_config), ("--address-map", values.address_map)):
        if given and not found:
            raise UsageError(f"{name} goes with --bootstrap-controller or --bootstrap-server", name)
    return found


def target_of(values: SimpleNamespace) -> Target:
    """What the options name. Errors: UsageError with the option or property at fault."""
    from metashell.live.target import ABSENT_TIMEOUT_S, ATTACH_TIMEOUT_S, Target
    from metashell.net.addresses import AddressMap, parse_addresses

    controllers = addresses_of(values.bootstrap_controller) if values.bootstrap_controller else ()
    brokers = parse_addresses(values.bootstrap_server) if values.bootstrap_server else ()
    return Target(
        controllers=tuple(controllers),
        brokers=tuple(brokers),
        security=client_config_of(values.command_config).security,
        address_map=AddressMap.parse(",".join(values.address_map)),
        timeout_s=ATTACH_TIMEOUT_S if values.timeout is None else values.timeout,
        absent_s=ABSENT_TIMEOUT_S if values.timeout is None else values.timeout,
        max_decompressed=values.max_decompressed,
    )


def addresses_of(text: str) -> list[Address]:
    """Addresses as controller.quorum.voters and KIP-631 write them, `1@host:9093`, the ids left out. Errors: UsageError."""
    from metashell.net.addresses import parse_addresses

    return parse_addresses(",".join(re.sub(r"^\s*[0-9]+@", "", part) for part in text.split(",")))


def client_config_of(path: str | None) -> ClientConfig:
    """What the property file of --command-config says; plain defaults without one. Errors: UsageError with the file and the property."""
    from metashell.client.config import ClientConfig, client_config

    if path is None:
        return ClientConfig()
    from metashell.log.properties import parse_properties
    from metashell.log.text_files import read_text_file

    try:
        properties = parse_properties(read_text_file(path))
        return client_config(properties, environ=os.environ, parse=parse_properties)
    except ValueError as error:
        raise UsageError(f"{path}: {error}", path) from None
    except UsageError as error:
        raise UsageError(f"{path}: {error}", error.argument) from None


def read_properties(path: str | None) -> dict[str, str]:
    """The properties in a file, none for None. Errors: PathError, UsageError."""
    from metashell.log.properties import parse_properties
    from metashell.log.text_files import read_text_file

    if path is None:
        return {}
    try:
        return parse_properties(read_text_file(path))
    except ValueError as error:
        raise UsageError(f"{path}: {error}", path) from None
