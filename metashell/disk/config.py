"""The configuration of a server: the parts that formatting needs, the rules that KafkaConfig checks, and warnings.

A configuration that Kafka's own tool refuses to load is refused here too, with the same message. Two things are not checked: classes,
which may be anywhere on the server's class path, and values that a config provider would have to fetch. `config_warnings` warns of
settings that Kafka accepts and that fail when the server runs; for example, a listener without a host is advertised as
InetAddress.getCanonicalHostName.
Source: kafka.server.KafkaConfig.validateValues, GroupCoordinatorConfig, ShareGroupConfig of 4.4.0; SocketServerConfigs and KafkaConfig of
4.3.1."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.java import java_int, string_order
from metashell.common.errors import ConfigError, MetashellError
from metashell.disk.config_values import (
    ConfigValues,
    name_value_pairs,
    names_of,
    normalised_listener_name,
    protocol_map,
    read_listeners,
    voter_ports,
)
from metashell.disk.properties import parse_properties, read_text_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metashell.disk.config_values import Endpoint, Listeners


class NodeConfig(NamedTuple):
    """The configured identity of a node.

    `log_directories` are all directories including the one for metadata, each once, sorted by their text.
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
        """The endpoint at which other nodes reach this controller."""
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
    return tuple(sorted({*log_dirs(values), _metadata_directory(values)}, key=string_order))


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


_CODEC_MAX: Final = 4
_HOUR: Final = 3_600_000
_REQUIREMENT: Final = "requirement failed: "
_HOST_CHARACTERS = re.compile(r"[0-9a-zA-Z\-%._:]*")
_AT_LEAST, _AT_MOST, _LESS = "greater than or equal to", "less than or equal to", "less than"


def check_rules(values: ConfigValues, listeners: Listeners) -> None:
    """Check a whole configuration by every rule between its settings.

    Errors: ConfigError in Kafka's words, for the first rule that is broken.
    """
    _check_groups(values)
    _check_early_start(values, listeners)
    _check_logs(values)
    _check_roles(values, listeners)
    if "broker" in values.words("process.roles"):
        _check_cordoned(values)
    _check_addresses(values, listeners)
    _check_connections(values, listeners)


def _require(holds: bool, message: str, plain: str = "") -> None:
    if not holds:
        raise ConfigError(_REQUIREMENT + message, plain or message)


def _group_rules() -> list[tuple[str, str, str]]:
    rules = []
    for kind in ("consumer", "share", "streams"):
        for name in ("heartbeat.interval.ms", "session.timeout.ms"):
            rules += _bounded(f"group.{kind}", name)
        rules.append((f"group.{kind}.heartbeat.interval.ms", _LESS, f"group.{kind}.session.timeout.ms"))
        rules += _bounded(f"group.{kind}", "assignment.interval.ms")
    rules.append(("group.streams.num.standby.replicas", _AT_MOST, "group.streams.max.standby.replicas"))
    rules.append(("group.streams.task.offset.interval.ms", _AT_LEAST, "group.streams.min.task.offset.interval.ms"))
    rules.append(("group.streams.num.warmup.replicas", _AT_MOST, "group.streams.max.warmup.replicas"))
    for name in ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms"):
        rules.append((f"group.share.max.{name}", _AT_LEAST, f"group.share.{name}"))
        rules.append((f"group.share.{name}", _AT_LEAST, f"group.share.min.{name}"))
    rules.append(("group.share.max.share.sessions", _AT_LEAST, "group.share.max.size"))
    return rules


def _bounded(prefix: str, name: str) -> list[tuple[str, str, str]]:
    least, most, value = f"{prefix}.min.{name}", f"{prefix}.max.{name}", f"{prefix}.{name}"
    return [(most, _AT_LEAST, least), (value, _AT_LEAST, least), (value, _AT_MOST, most)]


def _check_groups(values: ConfigValues) -> None:
    for left, relation, right in _group_rules():
        if not (values.is_set(left) or values.is_set(right)):
            continue  # defaults obey the rules
        a, b = values.maybe_number(left), values.maybe_number(right)
        if a is None or b is None:
            continue
        holds = a >= b if relation == _AT_LEAST else a <= b if relation == _AT_MOST else a < b
        if not holds:
            raise ConfigError(f"{left} must be {relation} {right}")
    name = "group.streams.rack.aware.assignment.tags"
    # Parsing drops the duplicates of a list, so this looks at the text.
    tags = [word.strip() for word in values.originals.get(name, "").split(",")]
    if len(set(tags)) < len(tags):
        raise ConfigError(f"{name} must not contain duplicate tag keys.")
    assignors = values.words("group.share.assignors")
    if len(assignors) != 1:
        raise ConfigError(f"group.share.assignors must contain exactly one assignor, but found {len(assignors)}")
    for name in ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"):
        codec = values.number(name)
        if not 0 <= codec <= _CODEC_MAX:
            raise ConfigError(f"Unknown compression type id: {codec}")


def _check_early_start(values: ConfigValues, listeners: Listeners) -> None:
    known = names_of(listeners.all)
    for name in values.maybe_words("early.start.listeners") or ():
        if name not in known:
            raise ConfigError(
                f"early.start.listeners contains listener {name}, but this is not contained in listeners or controller.listener.names"
            )


def _check_logs(values: ConfigValues) -> None:
    number = values.number
    if number("node.id") != number("broker.id"):
        raise ConfigError(
            "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, please use `node.id` instead."
        )
    _require(_milliseconds(values, ("log.roll.ms", 1), ("log.roll.hours", _HOUR)) >= 1, "log.roll.ms must be greater than or equal to 1")
    jitter = _milliseconds(values, ("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR))
    _require(jitter >= 0, "log.roll.jitter.ms must be greater than or equal to 0")
    retention = _milliseconds(values, ("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", _HOUR))
    # Every negative number is unlimited.
    _require(retention != 0, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
    if number("log.cleaner.threads") == 0:
        raise ConfigError("/ by zero")
    _require(
        number("log.cleaner.dedupe.buffer.size") // number("log.cleaner.threads") > 1024 * 1024,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    wait = number("replica.fetch.wait.max.ms")
    _require(
        wait <= number("replica.socket.timeout.ms"),
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts",
    )
    _require(
        wait <= number("replica.lag.time.max.ms"),
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR",
    )


def _milliseconds(values: ConfigValues, *settings: tuple[str, int]) -> int:
    """The first of the settings that has a value, in ms; each comes with its unit in ms, and the last has a default."""
    counts = ((values.maybe_number(name), unit_ms) for name, unit_ms in settings)
    return next(count * unit_ms for count, unit_ms in counts if count is not None)


def _check_roles(values: ConfigValues, listeners: Listeners) -> None:
    roles = set(values.words("process.roles"))
    voters = set(voter_ports(values.words("controller.quorum.voters")))
    if not voters and not values.words("controller.quorum.bootstrap.servers"):
        raise ConfigError(
            "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap controllers "
            "or controller.quorum.voters must contain a parseable set of controllers."
        )
    if roles == {"broker"}:
        _check_broker(values, listeners, voters)
    elif roles == {"controller"}:
        _check_only_controller(values, listeners)
    if "controller" in roles:
        _check_controller(values, listeners, voters)
    if "broker" in roles:
        _check_broker_listeners(listeners)


def _check_broker(values: ConfigValues, listeners: Listeners, voters: set[int]) -> None:
    node_id = values.number("node.id")
    _require(
        node_id not in voters,
        f"If process.roles contains just the 'broker' role, the node id {node_id} must not be included in the set of voters "
        f"controller.quorum.voters={_scala_set(voters)}",
    )
    names = values.words("controller.listener.names")
    _require(bool(names), "controller.listener.names must contain at least one value when running KRaft with just the broker role")
    _require(
        not listeners.of_controller,
        "controller.listener.names must not contain a value appearing in the 'listeners' configuration "
        "when running KRaft with just the broker role",
    )
    for name in names:
        _check_mapped(values, name)
    _require(
        not values.value("controller.quorum.auto.join.enable"),
        "controller.quorum.auto.join.enable is only supported when process.roles contains the 'controller' role.",
    )


def _check_mapped(values: ConfigValues, name: str) -> None:
    if normalised_listener_name(name) not in protocol_map(values):
        raise ConfigError(
            f"Controller listener with name {normalised_listener_name(name)} defined in controller.listener.names not found in "
            "listener.security.protocol.map  "
            "(an explicit security mapping for each controller listener is required if listener.security.protocol.map is "
            "non-empty, or if there are security protocols other than PLAINTEXT in use)"
        )


def _check_only_controller(values: ConfigValues, listeners: Listeners) -> None:
    _require(
        len(listeners.advertised_to_controllers) == len(listeners.all),
        "The listeners config must only contain KRaft controller listeners from controller.listener.names when process.roles=controller",
    )
    _require(
        values.text("inter.broker.listener.name") is None or listeners.inter_broker_name not in values.words("controller.listener.names"),
        "controller.listener.names must not contain an explicitly set inter.broker.listener.name configuration value "
        "when process.roles=controller'",
    )


def _check_controller(values: ConfigValues, listeners: Listeners, voters: set[int]) -> None:
    node_id = values.number("node.id")
    _require(
        not voters or node_id in voters,
        f"If process.roles contains the 'controller' role, the node id {node_id} must be included in the set of voters "
        f"controller.quorum.voters={_scala_set(voters)}",
    )
    _require(
        bool(listeners.advertised_to_controllers),
        "controller.listener.names must contain at least one value appearing in the 'listeners' configuration "
        "when running the KRaft controller role",
    )
    _require(
        set(values.words("controller.listener.names")) <= set(names_of(listeners.all)),
        "controller.listener.names must only contain values appearing in the 'listeners' configuration "
        "when running the KRaft controller role",
    )


def _check_broker_listeners(listeners: Listeners) -> None:
    advertised = names_of(listeners.advertised_to_brokers)
    _require(
        bool(advertised),
        "There must be at least one broker advertised listener. Perhaps all listeners appear in controller.listener.names?",
    )
    _require(
        listeners.inter_broker_name in advertised,
        "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
        f"The valid options based on currently configured listeners are {','.join(advertised)}",
    )
    own = names_of(listeners.all)
    _require(
        set(advertised) <= set(own),
        "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
        f"Found {','.join(advertised)}. The valid options based on the current configuration are {','.join(own)}",
    )


def _check_cordoned(values: ConfigValues) -> None:
    cordoned = values.words("cordoned.log.dirs")
    if "*" in cordoned:
        _require(len(cordoned) == 1, "When cordoned.log.dirs is set to *, it must not contain other values")
        return
    missing = [path for path in cordoned if path not in log_dirs(values)]
    _require(
        not missing,
        f"All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : {', '.join(missing)}",
    )


def log_dirs(values: ConfigValues) -> tuple[str, ...]:
    """The directories for data: log.dirs, or else log.dir."""
    return values.words("log.dir" if values.value("log.dirs") is None else "log.dirs")


def _check_addresses(values: ConfigValues, listeners: Listeners) -> None:
    is_set = values.is_set("advertised.listeners")
    plain = f"{'advertised.listeners' if is_set else 'listeners'}: 0.0.0.0 cannot be advertised; "
    for endpoint in (*listeners.advertised_to_brokers, *listeners.advertised_to_controllers):
        _require(
            endpoint.host != "0.0.0.0",
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
            plain + ("name an address that others can reach" if is_set else "set advertised.listeners"),
        )


def _check_connections(values: ConfigValues, listeners: Listeners) -> None:
    if listeners.inter_broker_protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
        _require(
            values.text("sasl.mechanism.inter.broker.protocol") in _sasl_mechanisms(values, listeners.inter_broker_name),
            "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used for "
            "inter-broker communication",
        )
    queued = values.number("queued.max.request.bytes")
    _require(
        queued <= 0 or queued >= values.number("socket.request.max.bytes"),
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    _check_overrides(values)
    idle = values.number("connections.max.idle.ms")
    delay = values.number("connection.failed.authentication.delay.ms")
    _require(
        idle < 0 or delay < idle,
        f"connection.failed.authentication.delay.ms={delay} should always be less than connections.max.idle.ms={idle} "
        "to prevent failed authentication responses from timing out",
    )


def _sasl_mechanisms(values: ConfigValues, listener: str) -> tuple[str, ...]:
    """The mechanisms of a listener: from the setting with its name in lower case, or from the general one."""
    own = values.originals.get(f"listener.name.{listener.lower()}.sasl.enabled.mechanisms")
    return values.words("sasl.enabled.mechanisms") if own is None else tuple(re.split(r"\s*,\s*", own.strip()))


def _check_overrides(values: ConfigValues) -> None:
    name = "max.connections.per.ip.overrides"
    overrides = dict(name_value_pairs(values.text(name) or "", name))
    _require(
        values.number("max.connections.per.ip") != 0 or bool(overrides),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    )
    for count in overrides.values():
        if java_int(count) is None:
            raise ConfigError(f'For input string: "{count}"')
    invalid = [address for address in overrides if not _HOST_CHARACTERS.fullmatch(address)]
    if invalid:
        raise ConfigError(f"max.connections.per.ip.overrides contains invalid addresses : {','.join(invalid)}")


def _scala_set(ids: set[int]) -> str:
    return f"Set({', '.join(map(str, sorted(ids)))})"


_EVERYWHERE: Final = (None, "0.0.0.0", "::")
_CLEARED: Final = ("/tmp", "/var/run", "/run", "/dev/shm")


def config_warnings(config: NodeConfig) -> list[str]:
    """The warnings, in the order of listeners and directories; each begins with its setting."""
    return [*_listener_warnings(config), *_directory_warnings(config)]


def _listener_warnings(config: NodeConfig) -> Iterator[str]:
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


def _directory_warnings(config: NodeConfig) -> Iterator[str]:
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
