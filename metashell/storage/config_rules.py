"""Rules between the settings of a server's configuration: what KafkaConfig refuses once each value alone is right.

Source: kafka.server.KafkaConfig.validateValues, GroupCoordinatorConfig, ShareGroupConfig of 4.4.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from metashell.codec.java_text import java_int
from metashell.storage.errors import ConfigError
from metashell.storage.listeners import names_of, normalised, pairs, protocol_map
from metashell.storage.quorum_servers import voter_ports

if TYPE_CHECKING:
    from metashell.storage.config_values import ConfigValues
    from metashell.storage.listeners import Listeners

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
            continue  # The defaults keep the rules.
        a, b = values.maybe_number(left), values.maybe_number(right)
        if a is None or b is None:
            continue
        holds = a >= b if relation == _AT_LEAST else a <= b if relation == _AT_MOST else a < b
        if not holds:
            raise ConfigError(f"{left} must be {relation} {right}")
    name = "group.streams.rack.aware.assignment.tags"
    # A list loses its duplicates when it is read, so these are looked for in the text.
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
    if normalised(name) not in protocol_map(values):
        raise ConfigError(
            f"Controller listener with name {normalised(name)} defined in controller.listener.names not found in "
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
    """The mechanisms of a listener: its own setting, under its name in lower case, or the general one."""
    own = values.originals.get(f"listener.name.{listener.lower()}.sasl.enabled.mechanisms")
    return values.words("sasl.enabled.mechanisms") if own is None else tuple(re.split(r"\s*,\s*", own.strip()))


def _check_overrides(values: ConfigValues) -> None:
    name = "max.connections.per.ip.overrides"
    overrides = dict(pairs(values.text(name) or "", name))
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
