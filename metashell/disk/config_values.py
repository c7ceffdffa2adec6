"""Values of a server's configuration, parsed and checked by Kafka's definitions of the keys; listeners and quorum addresses.

The keys are in config_keys.tsv, which is generated from KafkaConfig. A node finds its quorum by controller.quorum.voters or by
controller.quorum.bootstrap.servers.
Source: org.apache.kafka.common.config.ConfigDef; org.apache.kafka.raft.QuorumConfig; org.apache.kafka.common.utils.Utils.getHost, getPort;
org.apache.kafka.network.SocketServerConfigs, org.apache.kafka.server.config.AbstractKafkaConfig, kafka.server.KafkaConfig."""

from __future__ import annotations

import re
from functools import cache
from os.path import dirname, join
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from metashell.codec import validation
from metashell.codec.codes import ConfigType
from metashell.codec.java import JAVA_BLANKS, java_int
from metashell.codec.validation import NULL, REQUIRED, Check, ConfigValueError, Definition, Value
from metashell.common.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class ConfigKey(NamedTuple):
    """One key: its type, default and check, as text."""

    name: str
    type: ConfigType
    default: str
    check: str


@cache
def config_keys() -> dict[str, ConfigKey]:
    """Every key by its name, in the order in which Kafka checks them."""
    with open(join(dirname(__file__), "config_keys.tsv"), encoding="utf-8") as file:
        text = file.read()
    rows = (line.split("\t") for line in text.split("\n") if line and line[0] != "#")
    return {name: ConfigKey(name, cast(ConfigType, type), default, check) for name, type, default, check in rows}


class ConfigValues:
    """The checked values of one configuration; a key that it does not set has its default."""

    def __init__(self, originals: Mapping[str, str]) -> None:
        self.originals = dict(originals)
        self._set = _checked(self.originals)

    def is_set(self, name: str) -> bool:
        return name in self.originals

    def value(self, name: str) -> Value:
        if name in self._set:
            return self._set[name]
        key = config_keys()[name]
        return None if key.default == NULL else parse_value(key, key.default)

    def text(self, name: str) -> str | None:
        value = self.value(name)
        assert value is None or isinstance(value, str)
        return value

    def number(self, name: str) -> int:
        value = self.value(name)
        assert isinstance(value, int)
        return value

    def maybe_number(self, name: str) -> int | None:
        return None if self.value(name) is None else self.number(name)

    def words(self, name: str) -> tuple[str, ...]:
        value = self.value(name)
        assert isinstance(value, tuple)
        return value

    def maybe_words(self, name: str) -> tuple[str, ...] | None:
        return None if self.value(name) is None else self.words(name)


def _checked(originals: Mapping[str, str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for key in config_keys().values():
        if key.name in originals:
            values[key.name] = parse_value(key, originals[key.name])
            check_value(key, values[key.name])
        elif key.default == REQUIRED:
            raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.')
    return values


def parse_value(key: ConfigKey, text: str) -> Value:
    """Parse `text` by the key's type. Errors: ConfigError in Kafka's words."""
    try:
        return validation.parse_value(key, text)
    except ConfigValueError as error:
        raise ConfigError(str(error)) from None


def check_value(key: ConfigKey, value: Value) -> None:
    """Check a value by its key's definition. Errors: ConfigError in Kafka's words."""
    try:
        validation.check_value(key, value, _CHECKS)
    except ConfigValueError as error:
        raise ConfigError(str(error)) from None


def _check_quorum(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    check = voter_ports if key.check == "ControllerQuorumVotersValidator" else check_bootstrap_servers
    check(value)


_CHECKS: Final[dict[str, Check]] = {
    "ControllerQuorumVotersValidator": _check_quorum,
    "ControllerQuorumBootstrapServersValidator": _check_quorum,
}


_VOTERS: Final = "controller.quorum.voters"
_SERVERS: Final = "controller.quorum.bootstrap.servers"
_HOST_PORT = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")


def voter_ports(entries: Iterable[str]) -> dict[int, int]:
    """The ids in `id@host:port` entries, each with its port.

    Errors: ConfigError in Kafka's words.
    """
    found = {}
    for entry in entries:
        parts = entry.split("@")
        while parts and not parts[-1]:
            parts.pop()
        if len(parts) != 2:
            raise ConfigError(f"Invalid configuration value for {_VOTERS}. Each entry should be in the form `{{id}}@{{host}}:{{port}}`.")
        node_id = java_int(parts[0])
        if node_id is None:
            raise ConfigError(f"Failed to parse voter ID as an integer from {parts[0]}")
        if _HOST_PORT.fullmatch(parts[1]) is None:
            raise ConfigError(
                f"Failed to parse host name from entry {entry} for the configuration {_VOTERS}. "
                "Each entry should be in the form `{id}@{host}:{port}`."
            )
        found[node_id] = _port_of(parts[1])
    return found


def check_bootstrap_servers(entries: Iterable[str]) -> None:
    """Check `host:port` entries by Kafka's rules. Errors: ConfigError."""
    for entry in entries:
        if _HOST_PORT.fullmatch(entry) is None:
            raise ConfigError(
                f"Failed to parse host name from {entry} for the configuration {_SERVERS}. "
                'Each entry should be in the form "{host}:{port}"'
            )
        _port_of(entry)


def _port_of(address: str) -> int:
    text = address.rpartition(":")[2]
    port = java_int(text)
    if port is None:
        raise ConfigError(f'For input string: "{text}"')
    if port > 0xFFFF:
        raise ConfigError(f"port out of range:{text}")
    return port


SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_META_ADDRESS = "0.0.0.0"


class Endpoint(NamedTuple):
    """One listener; `host` is None if it is left out, which means every interface."""

    name: str
    protocol: str
    host: str | None
    port: int


class Listeners(NamedTuple):
    """The listeners of a server, and those that it advertises."""

    all: tuple[Endpoint, ...]
    of_controller: tuple[Endpoint, ...]
    advertised_to_controllers: tuple[Endpoint, ...]
    advertised_to_brokers: tuple[Endpoint, ...]
    inter_broker_name: str
    inter_broker_protocol: str


def read_listeners(values: ConfigValues) -> Listeners:
    """The listeners that a configuration describes.

    Errors: ConfigError in Kafka's words.
    """
    protocols = protocol_map(values)
    own = _endpoints(values.words("listeners"), protocols, distinct_ports=True)
    words = values.maybe_words("advertised.listeners")
    advertised = own if words is None else _endpoints(words, protocols, distinct_ports=False)
    controllers = values.words("controller.listener.names")
    of_controller = tuple(endpoint for endpoint in own if endpoint.name in controllers)
    name, protocol = _inter_broker(values, protocols)
    return Listeners(
        all=own,
        of_controller=of_controller,
        advertised_to_controllers=_advertised_controllers(controllers, () if words is None else advertised, of_controller),
        advertised_to_brokers=tuple(endpoint for endpoint in advertised if endpoint.name not in controllers),
        inter_broker_name=name,
        inter_broker_protocol=protocol,
    )


def _advertised_controllers(names: Sequence[str], advertised: Sequence[Endpoint], own: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    found = []
    for name in names:
        endpoint = next((e for e in (*advertised, *own) if e.name == name), None)
        if endpoint is not None:
            # A listener on every interface is advertised with the host's own name.
            everywhere = endpoint.host == _META_ADDRESS and endpoint not in advertised
            found.append(Endpoint(endpoint.name, endpoint.protocol, None, endpoint.port) if everywhere else endpoint)
    return tuple(found)


def protocol_map(values: ConfigValues) -> dict[str, str]:
    """The security protocol of each listener name. Controllers' listeners need no entry if all protocols are plain text."""
    text = values.text("listener.security.protocol.map") or ""
    protocols = {
        normalised_listener_name(name): _protocol(protocol) for name, protocol in name_value_pairs(text, "listener.security.protocol.map")
    }
    names = values.words("controller.listener.names")
    if values.is_set("listener.security.protocol.map") or any(map(_is_secure, names)):
        return protocols
    if not any(_is_secure(_name_of(listener)) for listener in values.words("listeners")):
        for name in names:
            if name != "PLAINTEXT":
                protocols[name] = "PLAINTEXT"
    return protocols


def name_value_pairs(text: str, setting: str) -> list[tuple[str, str]]:
    """The `name:value` entries of a list separated by commas; a name may contain colons.

    Errors: ConfigError that names `setting`.
    """
    if not text:
        return []
    entries = re.split(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*", text)
    while entries and not entries[-1]:
        entries.pop()
    found = []
    for entry in entries:
        name, colon, value = entry.rpartition(":")
        if not colon:
            raise ConfigError(f"Error parsing configuration property '{setting}': begin 0, end -1, length {len(entry)}")
        found.append((name.strip(JAVA_BLANKS), value.strip(JAVA_BLANKS)))
    return found


def _protocol(text: str) -> str:
    if text.upper() not in SECURITY_PROTOCOLS:
        raise ConfigError(f"Invalid security protocol `{text}` defined in listener.security.protocol.map")
    return text.upper()


def _is_secure(name: str) -> bool:
    return name in ("SSL", "SASL_PLAINTEXT", "SASL_SSL")


def _name_of(listener: str) -> str:
    name, colon, _ = listener.partition(":")
    if not colon:
        raise ConfigError(f"Unable to parse a listener name from {listener}")
    return name.upper()


def _endpoints(listeners: Sequence[str], protocols: dict[str, str], *, distinct_ports: bool) -> tuple[Endpoint, ...]:
    try:
        found = tuple(_endpoint(listener, protocols) for listener in listeners)
        _check_names(found, listeners)
        if distinct_ports:
            _check_ports(found, listeners)
    except ConfigError as error:
        raise ConfigError(f"Error creating broker listeners from '[{', '.join(listeners)}]': {error}") from None
    return found


def _endpoint(listener: str, protocols: dict[str, str]) -> Endpoint:
    match = _LISTENER.fullmatch(listener)
    if match is None:
        raise ConfigError(f"Unable to parse {listener} to a broker endpoint")
    name = normalised_listener_name(match[1])
    port = java_int(match[3])
    if port is None:
        raise ConfigError(f'For input string: "{match[3]}"')
    if name not in protocols:
        raise ConfigError(f"No security protocol defined for listener {name}")
    return Endpoint(name, protocols[name], match[2] or None, port)


def _check_names(endpoints: Sequence[Endpoint], listeners: Sequence[str]) -> None:
    if len({endpoint.name for endpoint in endpoints}) != len(endpoints):
        raise ConfigError(f"Each listener must have a different name, listeners: [{', '.join(listeners)}]")


def _check_ports(endpoints: Sequence[Endpoint], listeners: Sequence[str]) -> None:
    """Two listeners may share a port only with one IPv4 and one IPv6 address; port 0 means any free port."""
    shown = f"[{', '.join(listeners)}]"
    by_port: dict[int, list[str | None]] = {}
    for endpoint in endpoints:
        if endpoint.port != 0:
            by_port.setdefault(endpoint.port, []).append(endpoint.host)
    for port, hosts in by_port.items():
        if len(hosts) > 1:
            _check_shared_port(port, hosts, shown)


def _check_shared_port(port: int, hosts: Sequence[str | None], shown: str) -> None:
    versions = [version for host in hosts if (version := _ip_version(host)) is not None]
    names_count = len(hosts) - len(versions)
    if names_count > 1:
        raise ConfigError(f"Each listener must have a different port, listeners: {shown}")
    if len(versions) != 2:
        raise ConfigError(
            "Each listener must have a different port unless exactly one listener has an IPv4 address and the other IPv6 address, "
            f"listeners: {shown}, port: {port}"
        )
    if names_count or versions[0] == versions[1]:
        raise ConfigError(
            f"If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, listeners: {shown}, port: {port}"
        )


def _ip_version(host: str | None) -> int | None:
    """4 or 6 for an address, None for a name. An IPv6 address may have a zone."""
    from ipaddress import ip_address

    try:
        return ip_address(host.partition("%")[0] if host and ":" in host else host or "").version
    except ValueError:
        return None


def _inter_broker(values: ConfigValues, protocols: dict[str, str]) -> tuple[str, str]:
    """The name and protocol of the listener that brokers use among themselves."""
    name = values.text("inter.broker.listener.name")
    protocol = values.text("security.inter.broker.protocol") or "PLAINTEXT"
    if name is None:
        return protocol, protocol
    if values.is_set("security.inter.broker.protocol"):
        raise ConfigError("Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.")
    name = normalised_listener_name(name)
    if name not in protocols:
        raise ConfigError(f"Listener with name {name} defined in inter.broker.listener.name not found in listener.security.protocol.map.")
    return name, protocols[name]


def normalised_listener_name(name: str) -> str:
    """A listener's name in the form in which names are compared. Errors: ConfigError for an empty name."""
    if not name:
        raise ConfigError("The provided listener name is null or empty string")
    return name.upper()


def names_of(endpoints: Iterable[Endpoint]) -> list[str]:
    return [endpoint.name for endpoint in endpoints]
