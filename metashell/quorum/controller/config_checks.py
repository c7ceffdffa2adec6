"""Checks of a resource's settings before a change is taken, and the value of a setting that is in force.

The value of a topic's setting is the first of these that is set: the topic's own, this node's, the cluster's, the static one, the default.

Source: kafka.server.ControllerConfigurationValidator, LogConfig.validate, GroupConfig.validate, ClientMetricsConfigs.validate;
org.apache.kafka.controller.ConfigurationControlManager.getTopicConfig, KafkaConfigSchema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, Final, NamedTuple, TypeVar

from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import INVALID_CONFIG, INVALID_REQUEST, INVALID_TOPIC_EXCEPTION
from metashell.codec.java import JAVA_BLANKS, java_int, java_text
from metashell.codec.validation import Value, topic_name_fault
from metashell.metadata.image import ConfigsImage
from metashell.quorum.controller.decision import MIN_ISR, UNCLEAN_ELECTION, ApiError
from metashell.quorum.controller.java import is_java_pattern, parse_java_int
from metashell.quorum.controller.settings import ConfigKey, Settings, check_value, config_keys, parse_value

_INTERVAL_MIN_MS: Final = 100
_INTERVAL_MAX_MS: Final = 3_600_000
_CLIENT_KEYS: Final = {
    *("client_instance_id", "client_id", "client_software_name"),
    *("client_software_version", "client_source_address", "client_source_port"),
}


def check_resource(settings: Settings, resource: tuple[int, str], values: Mapping[str, str], before: Mapping[str, str]) -> None:
    """Whether a resource may have exactly `values`, where it had `before`.

    Errors: ApiError, in Kafka's words.
    """
    kind, name = resource
    match kind:
        case _ if kind == TOPIC_RESOURCE:
            _check_topic(settings, name, values, before)
        case _ if kind == BROKER_RESOURCE:
            _check_broker_name(name)
        case _ if kind == CLIENT_METRICS_RESOURCE:
            _check_client_metrics(name, values)
        case _ if kind == GROUP_RESOURCE:
            _check_group(settings, name, values)
        case _:
            raise ApiError(INVALID_REQUEST, f"Unknown resource type {kind}")


def _parsed(kind: str, values: Mapping[str, str]) -> dict[str, Value]:
    """Every setting of a kind with its parsed value, or its default; all values are parsed before any is used."""
    parsed: dict[str, Value] = {}
    for key in config_keys(kind).values():
        text = values.get(key.name, key.default)
        value = parsed[key.name] = parse_value(key, text)
        if key.name in values:
            check_value(key, value)
    return parsed


def _check_topic(settings: Settings, name: str, values: Mapping[str, str], before: Mapping[str, str]) -> None:
    if not name:
        raise ApiError(INVALID_REQUEST, "Default topic resources are not allowed.")
    fault = topic_name_fault(name)
    if fault is not None:
        raise ApiError(INVALID_TOPIC_EXCEPTION, fault)
    keys = config_keys("topic")
    for key in values:
        if key not in keys:
            raise ApiError(INVALID_CONFIG, f"Unknown topic config name: {key}")
    parsed: dict[str, Value] = {}
    # What the node's own file says counts here where the topic sets nothing. It is parsed once, not for each of 60 000 topics.
    for key_name, found in _topic_defaults(settings).items():
        if key_name in values:
            found = _checked(keys[key_name], values[key_name])
        elif isinstance(found, ApiError):
            raise ApiError(found.code, found.message)
        parsed[key_name] = found
    low, high = _number(parsed, "min.compaction.lag.ms"), _number(parsed, "max.compaction.lag.ms")
    if low > high:
        why = f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        raise ApiError(INVALID_CONFIG, why)
    if parsed["remote.storage.enable"]:
        _check_remote_storage(settings, parsed)
    elif before.get("remote.storage.enable", "false").lower() == "true" and not parsed["remote.log.delete.on.disable"]:
        raise ApiError(INVALID_CONFIG, _REMOTE_DATA_WOULD_STAY)


def _topic_defaults(settings: Settings) -> Mapping[str, Value | ApiError]:
    """The values of a topic that sets nothing, or what is wrong with them."""
    found = settings.topic_defaults
    if not found:
        for key in config_keys("topic").values():
            text = topic_value(settings, ConfigsImage(), {}, key).value
            try:
                found[key.name] = None if text is None else _checked(key, text)
            except ApiError as error:
                found[key.name] = error
    return found


def _checked(key: ConfigKey, text: str) -> Value:
    """A parsed value. Errors: ApiError."""
    value = parse_value(key, text)
    check_value(key, value)
    return value


_REMOTE_DATA_WOULD_STAY = (
    "It is invalid to disable remote storage without deleting remote data. If you want to keep the remote data and turn to read only, "
    "please set `remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable remote storage and delete all remote "
    "data, please set `remote.storage.enable=false,remote.log.delete.on.disable=true`."
)


def _check_remote_storage(settings: Settings, values: Mapping[str, Value]) -> None:
    if not settings.value("remote.log.storage.system.enable"):
        why = "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
        raise ApiError(INVALID_CONFIG, why)
    if values["cleanup.policy"] not in ((), ("delete",)):
        why = "Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list."
        raise ApiError(INVALID_CONFIG, why)
    for local, overall in (("local.retention.bytes", "retention.bytes"), ("local.retention.ms", "retention.ms")):
        _check_local_retention(values, local, overall)
    if values["remote.log.copy.disable"]:
        for local, overall in (("local.retention.ms", "retention.ms"), ("local.retention.bytes", "retention.bytes")):
            if _number(values, local) not in (-2, _number(values, overall)):
                raise ApiError(
                    INVALID_CONFIG,
                    f"When `remote.log.copy.disable` is set to true, the `{local}` and `{overall}` must be set to the identical value "
                    "because there will be no more logs copied to the remote storage.",
                )


def _check_local_retention(values: Mapping[str, Value], local: str, overall: str) -> None:
    own, limit = _number(values, local), _number(values, overall)
    if own == -2 or limit == -1:
        return
    key = config_keys("topic")[local]
    if own == -1:
        raise ApiError(INVALID_CONFIG, _invalid_text(key, own, f"Value must not be -1 as {overall} value is set as {limit}."))
    if own > limit:
        raise ApiError(INVALID_CONFIG, _invalid_text(key, own, f"Value must not be more than {overall} property value: {limit}"))


def _invalid_text(key: ConfigKey, value: object, why: str) -> str:
    return f"Invalid value {value} for configuration {key.name}: {why}"


def _check_broker_name(name: str) -> None:
    """A broker's resource is named by its id; the empty name stands for all brokers. Its keys are the broker's own affair."""
    if not name:
        return
    id = parse_java_int(name)
    if id is None:
        raise ApiError(INVALID_REQUEST, "Unable to parse broker name as a base 10 number.")
    if id < 0:
        raise ApiError(INVALID_REQUEST, "Invalid negative broker ID.")


def _check_client_metrics(name: str, values: Mapping[str, str]) -> None:
    if not name:
        raise ApiError(INVALID_REQUEST, "Subscription name can't be empty")
    for key in values:
        if key not in config_keys("client_metrics"):
            raise ApiError(INVALID_REQUEST, f"Unknown client metrics configuration: {key}")
    parsed = _parsed("client_metrics", values)
    if "interval.ms" in values:
        interval = _number(parsed, "interval.ms")
        if not _INTERVAL_MIN_MS <= interval <= _INTERVAL_MAX_MS:
            limits = f"interval must be between {_INTERVAL_MIN_MS} and {_INTERVAL_MAX_MS} (1 hour)"
            raise ApiError(INVALID_REQUEST, f"Invalid value {interval} for interval.ms, {limits}")
    patterns = parsed["match"]
    assert isinstance(patterns, tuple)
    for pattern in patterns:
        if not _is_match_pattern(pattern):
            raise ApiError(INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")


def _is_match_pattern(pattern: str) -> bool:
    """Whether a pattern is `key=regular expression`."""
    # Java's split leaves out what is empty at the end.
    parts = pattern.rstrip("=").split("=")
    return len(parts) == 2 and parts[0].strip(JAVA_BLANKS) in _CLIENT_KEYS and is_java_pattern(parts[1].strip(JAVA_BLANKS))


def _check_group(settings: Settings, name: str, values: Mapping[str, str]) -> None:
    if not name:
        raise ApiError(INVALID_REQUEST, "Default group resources are not allowed.")
    keys = config_keys("group")
    for key in values:
        if key not in keys:
            raise ApiError(INVALID_CONFIG, f"Unknown group config name: {key}")
    _check_tags(values.get(_TAGS))
    own = {name: value for name, value in _parsed("group", values).items() if name in values}
    for setting in _GROUP_BOUNDED:
        if setting in own:
            _check_bounds(settings, setting, _number(own, setting))
    _check_assignor(settings, own.get("streams.assignor.name"))
    for kind in ("consumer", "share", "streams"):
        session, interval = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        # The broker's values count for what the group does not set.
        session_ms, interval_ms = (_number(own, name) if name in own else settings.number(f"group.{name}") for name in (session, interval))
        if (session in own or interval in own) and session_ms <= interval_ms:
            raise ApiError(INVALID_CONFIG, f"{session} must be greater than {interval}")
    if str(own.get(_DEAD_LETTERS, "")).startswith("__"):
        raise ApiError(INVALID_CONFIG, f"{_DEAD_LETTERS}: DLQ topic name must not start with '__'")


def _check_tags(text: str | None) -> None:
    """Find repeated tags in the text, as Kafka does: parsing drops repetitions."""
    tags = re.split(r"\s*,\s*", (text or "").strip(JAVA_BLANKS), flags=re.ASCII)
    if len(set(tags)) != len(tags):
        raise ApiError(INVALID_CONFIG, f"{_TAGS} must not contain duplicate tag keys.")


def _check_bounds(settings: Settings, own: str, value: int) -> None:
    kind, _, rest = own.partition(".")
    low, high = (_broker_number(settings, f"group.{kind}.{end}.{rest.removeprefix('num.')}") for end in ("min", "max"))
    if low is not None and high is not None:
        if not low <= value <= high:
            raise ApiError(INVALID_CONFIG, f"{own} must be in the range {low} to {high} inclusive.")
    elif high is not None and value > high:
        raise ApiError(INVALID_CONFIG, f"{own} must be less than or equal to {high}")
    elif low is not None and value < low:
        raise ApiError(INVALID_CONFIG, f"{own} must be greater than or equal to {low}")


def _broker_number(settings: Settings, name: str) -> int | None:
    """A broker's setting, None where there is none of that name: some bounds have one end only."""
    return settings.number(name) if name in config_keys("broker") else None


def _check_assignor(settings: Settings, name: Value) -> None:
    assignors = settings.value("group.streams.assignors")
    assert isinstance(assignors, tuple)
    if name is not None and name not in assignors:
        registered = f"Registered assignors are: {java_text(assignors)}."
        raise ApiError(INVALID_CONFIG, f"streams.assignor.name '{name}' is not a registered task assignor. {registered}")


_TAGS: Final = "streams.rack.aware.assignment.tags"
_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
_GROUP_BOUNDED: Final = (
    *("consumer.heartbeat.interval.ms", "consumer.session.timeout.ms", "consumer.assignment.interval.ms"),
    *("share.heartbeat.interval.ms", "share.session.timeout.ms", "share.record.lock.duration.ms", "share.delivery.count.limit"),
    *("share.partition.max.record.locks", "share.assignment.interval.ms"),
    *("streams.heartbeat.interval.ms", "streams.session.timeout.ms", "streams.num.standby.replicas", "streams.assignment.interval.ms"),
    *("streams.task.offset.interval.ms", "streams.num.warmup.replicas"),
)
"""The settings of groups that the broker bounds, in the order in which Kafka looks."""


def _number(values: Mapping[str, Any], name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value


# Values in force


Made = TypeVar("Made")
_NOTHING: Final[Mapping[str, str]] = {}
TOPIC_SOURCE: Final = 1
NODE_SOURCE: Final = 2
CLUSTER_SOURCE: Final = 3
STATIC_SOURCE: Final = 4
DEFAULT_SOURCE: Final = 5


class Effective(NamedTuple):
    """A value and where it comes from, as DescribeConfigs numbers sources."""

    value: str | None
    source: int


def topic_value(settings: Settings, configs: ConfigsImage, own: Mapping[str, str], key: ConfigKey) -> Effective:
    """The value of a topic's setting; `own` is what the topic itself sets."""
    if key.name in own:
        return Effective(own[key.name], TOPIC_SOURCE)
    for layer, source in broker_layers(settings, configs):
        for name, factor in key.synonyms:
            if name in layer:
                return Effective(_scaled(layer[name], factor), source)
    return Effective(key.default, DEFAULT_SOURCE)


def broker_layers(settings: Settings, configs: ConfigsImage) -> tuple[tuple[Mapping[str, str], int], ...]:
    """Return the layers of broker settings, the nearest first: this node's, all nodes', the file's."""
    return (
        (configs.get((BROKER_RESOURCE, str(settings.node_id)), _NOTHING), NODE_SOURCE),
        (configs.get((BROKER_RESOURCE, ""), _NOTHING), CLUSTER_SOURCE),
        (settings.static, STATIC_SOURCE),
    )


def _scaled(value: str, factor: int) -> str:
    if factor == 1:
        return value
    try:
        return str(int(value.strip(JAVA_BLANKS)) * factor)
    except ValueError:
        return value


class PartitionRules:
    """The settings of topics that concern partitions: how many replicas must be in sync, and whether any replica may lead.

    Good for one image of configurations; it remembers what it looked up.
    """

    def __init__(self, settings: Settings, configs: ConfigsImage) -> None:
        self.configs = configs
        self._settings = settings
        self._min_isr: dict[str, int | None] = {}
        self._unclean: dict[str, bool] = {}

    def min_isr(self, topic_name: str) -> int:
        """The fewest replicas in sync that accept writes.

        Nonsense in a cluster-wide value counts as 1, so that brokers can still be fenced; Kafka's controller gives up its leadership
        over it, for as long as it is there.
        """
        found = self._configured_min_isr(topic_name)
        return 1 if found is None else found

    def check_min_isr(self, topic_name: str) -> None:
        """Errors: ApiError INVALID_REQUEST where min.insync.replicas is no number, as only a cluster-wide value can be."""
        if self._configured_min_isr(topic_name) is None:
            raise ApiError(INVALID_REQUEST, f"{MIN_ISR} is {self._text(topic_name, MIN_ISR)!r}, which is no number.")

    def _configured_min_isr(self, topic_name: str) -> int | None:
        if topic_name not in self._min_isr:
            self._min_isr[topic_name] = java_int(self._text(topic_name, MIN_ISR).strip(JAVA_BLANKS))
        return self._min_isr[topic_name]

    def allows_unclean(self, topic_name: str) -> bool:
        """Whether a replica may lead that is not in sync."""
        known = self._unclean.get(topic_name)
        if known is None:
            known = self._unclean[topic_name] = self._text(topic_name, UNCLEAN_ELECTION).strip(JAVA_BLANKS).lower() == "true"
        return known

    def _text(self, topic_name: str, name: str) -> str:
        own: Mapping[str, str] = self.configs.get((TOPIC_RESOURCE, topic_name), {})
        return topic_value(self._settings, self.configs, own, config_keys("topic")[name]).value or ""


class EffectiveConfig(NamedTuple):
    """A setting with the value that counts and its source."""

    key: ConfigKey
    value: str | None
    source: int


class TopicDefaults:
    """The settings in force for a topic that sets none itself; made anew when a broker setting changes."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._layers: tuple[object, ...] = ()
        self._listing: tuple[EffectiveConfig, ...] = ()
        self._made: object = None

    def listing(self, configs: ConfigsImage, own: Mapping[str, str | None]) -> tuple[EffectiveConfig, ...]:
        """Every setting, ordered by name; internal ones only where the topic sets them."""
        self._refresh(configs)
        if not own:
            return self._listing
        keys = config_keys("topic")
        changed = {name: EffectiveConfig(keys[name], value, TOPIC_SOURCE) for name, value in own.items()}
        listed = {item.key.name: item for item in self._listing} | changed
        return tuple(listed[name] for name in sorted(listed))

    def made_of(self, configs: ConfigsImage, make: Callable[[tuple[EffectiveConfig, ...]], Made]) -> Made:
        """Return `make` of the listing of a topic that sets nothing: made once, then shared."""
        self._refresh(configs)
        if self._made is None:
            self._made = make(self._listing)
        return self._made  # type: ignore[return-value]

    def _refresh(self, configs: ConfigsImage) -> None:
        current = tuple(layer for layer, _ in broker_layers(self._settings, configs))
        if len(current) == len(self._layers) and all(map(is_, current, self._layers)):
            return
        self._layers, self._made = current, None
        found = []
        for _, key in sorted(config_keys("topic").items()):
            if not key.is_internal:
                found.append(EffectiveConfig(key, *topic_value(self._settings, configs, _NOTHING, key)))
        self._listing = tuple(found)
