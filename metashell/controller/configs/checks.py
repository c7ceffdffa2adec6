"""Whether the settings of a resource fit together: what Kafka's controller looks at before it takes a change.

Source: kafka.server.ControllerConfigurationValidator, LogConfig.validate, GroupConfig.validate, ClientMetricsConfigs.validate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metashell.codec.config_def import Value
from metashell.codec.config_types import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import INVALID_CONFIG, INVALID_REQUEST, INVALID_TOPIC_EXCEPTION
from metashell.codec.java_text import JAVA_BLANKS
from metashell.codec.topic_names import fault_of_name
from metashell.controller.configs.effective import topic_value
from metashell.controller.configs.java_regex import is_java_pattern
from metashell.controller.configs.keys import ConfigKey, check_value, config_keys, parse_value
from metashell.controller.decision import ApiError
from metashell.controller.java import java_int
from metashell.controller.settings import Settings
from metashell.image import ConfigsImage

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
    fault = fault_of_name(name)
    if fault is not None:
        raise ApiError(INVALID_TOPIC_EXCEPTION, fault)
    keys = config_keys("topic")
    for key in values:
        if key not in keys:
            raise ApiError(INVALID_CONFIG, f"Unknown topic config name: {key}")
    # What the node's own file says counts here where the topic sets nothing.
    nothing: ConfigsImage = ConfigsImage()
    complete = {key.name: topic_value(settings, nothing, values, key).value for key in keys.values()}
    parsed = _parsed("topic", {key: value for key, value in complete.items() if value is not None})
    low, high = _number(parsed, "min.compaction.lag.ms"), _number(parsed, "max.compaction.lag.ms")
    if low > high:
        why = f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        raise ApiError(INVALID_CONFIG, why)
    if parsed["remote.storage.enable"]:
        _check_remote_storage(settings, parsed)
    elif before.get("remote.storage.enable", "false").lower() == "true" and not parsed["remote.log.delete.on.disable"]:
        raise ApiError(INVALID_CONFIG, _REMOTE_DATA_WOULD_STAY)


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
    id = java_int(name)
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
    complete = dict(values)
    for definition in keys.values():
        for synonym, _ in definition.synonyms:
            if definition.name not in complete and synonym in settings.static:
                complete[definition.name] = settings.static[synonym]
    parsed = _parsed("group", complete)
    for own, broker, is_minimum in _GROUP_BOUNDS:
        if own in _GROUP_OPTIONAL and own not in values:
            continue
        bound = settings.number(broker)
        if is_minimum and _number(parsed, own) < bound:
            raise ApiError(INVALID_CONFIG, f"{own} must be greater than or equal to {broker}")
        if not is_minimum and _number(parsed, own) > bound:
            raise ApiError(INVALID_CONFIG, f"{own} must be less than or equal to {broker}")
    for kind in ("consumer", "share", "streams"):
        session, interval = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if _number(parsed, session) <= _number(parsed, interval):
            raise ApiError(INVALID_CONFIG, f"{session} must be greater than {interval}")


def _bounds(kind: str, setting: str, *, has_minimum: bool = True) -> list[tuple[str, str, bool]]:
    own = f"{kind}.{setting}"
    short = setting.removeprefix("num.")
    found = [(own, f"group.{kind}.min.{short}", True)] if has_minimum else []
    return [*found, (own, f"group.{kind}.max.{short}", False)]


_GROUP_BOUNDS: Final = (
    *_bounds("consumer", "heartbeat.interval.ms"),
    *_bounds("consumer", "session.timeout.ms"),
    *_bounds("consumer", "assignment.interval.ms"),
    *_bounds("share", "heartbeat.interval.ms"),
    *_bounds("share", "session.timeout.ms"),
    *_bounds("share", "record.lock.duration.ms"),
    *_bounds("share", "delivery.count.limit"),
    *_bounds("share", "partition.max.record.locks"),
    *_bounds("share", "assignment.interval.ms"),
    *_bounds("streams", "heartbeat.interval.ms"),
    *_bounds("streams", "session.timeout.ms"),
    *_bounds("streams", "num.standby.replicas", has_minimum=False),
    *_bounds("streams", "assignment.interval.ms"),
)
"""(group setting, broker setting that bounds it, whether from below), in the order in which Kafka looks."""
_GROUP_OPTIONAL: Final = {f"{kind}.assignment.interval.ms" for kind in ("consumer", "share", "streams")}


def _number(values: Mapping[str, Any], name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value
