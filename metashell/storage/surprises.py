"""Settings that Kafka accepts and that surprise when the server runs: `info` warns of them.

Source: SocketServerConfigs and KafkaConfig of 4.3.1; a host that is left out of a listener is advertised as
InetAddress.getCanonicalHostName.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.storage.config import NodeConfig
    from metashell.storage.listeners import Endpoint

_EVERYWHERE: Final = (None, "0.0.0.0", "::")
_CLEARED: Final = ("/tmp", "/var/run", "/run", "/dev/shm")


def surprises(config: NodeConfig) -> list[str]:
    """A warning for each, in the order of listeners and directories; each begins with its setting."""
    return [*_of_listeners(config), *_of_directories(config)]


def _of_listeners(config: NodeConfig) -> Iterator[str]:
    for endpoint in config.listeners.all:
        if endpoint.host in _EVERYWHERE and endpoint.protocol == "PLAINTEXT":
            yield (
                f"listeners: {endpoint.name} accepts connections on every interface "
                f"(port {endpoint.port}, PLAINTEXT: neither encrypted nor authenticated)"
            )
    setting = "advertised.listeners" if config.values.is_set("advertised.listeners") else "listeners"
    own_controllers = config.listeners.advertised_to_controllers if config.is_controller else ()
    for endpoint in (*own_controllers, *config.listeners.advertised_to_brokers):
        if endpoint.host in _EVERYWHERE:
            yield (
                f"{setting}: {endpoint.name} has no host and is advertised under the name of this host; name one in "
                "advertised.listeners if others cannot resolve that"
            )
        elif _is_loopback(endpoint.host or ""):
            yield f"{setting}: {endpoint.name} is advertised as {_address(endpoint)}, which only this host can reach"


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())


def _address(endpoint: Endpoint) -> str:
    host = endpoint.host or ""
    return f"[{host}]:{endpoint.port}" if ":" in host else f"{host}:{endpoint.port}"


def _of_directories(config: NodeConfig) -> Iterator[str]:
    has_list = config.values.value("log.dirs") is not None
    if has_list and config.values.is_set("log.dir"):
        yield "log.dir: not used, because log.dirs is set"
    for path in config.log_directories:
        setting = "log.dirs" if has_list else "log.dir"
        if path == config.metadata_log_directory and config.values.is_set("metadata.log.dir"):
            setting = "metadata.log.dir"
        if not os.path.isabs(path):
            yield f"{setting}: {path} is relative to the directory in which the server starts"
        elif any(os.path.commonpath((path, top)) == top for top in _CLEARED):
            is_default = not config.values.is_set(setting)
            yield f"{setting}: {path}{', the default,' if is_default else ''} may be emptied when the machine starts"
