"""DescribeConfigs: the settings in force, where each comes from, and its synonyms.

Source: kafka.server.ConfigHelper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.codes import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, NONE, UNKNOWN_TOPIC_OR_PARTITION
from metashell.codec.validation import topic_name_fault
from metashell.metadata.image import MetadataImage
from metashell.quorum.controller.authorizer import Operation
from metashell.quorum.controller.config_changes import check_config_right
from metashell.quorum.controller.config_checks import (
    CLUSTER_SOURCE,
    DEFAULT_SOURCE,
    STATIC_SOURCE,
    TOPIC_SOURCE,
    broker_layers,
    topic_value,
)
from metashell.quorum.controller.decision import ApiError, Decision, Request, Steps
from metashell.quorum.controller.java import parse_java_int
from metashell.quorum.controller.settings import TYPE_CODES, ConfigKey, Settings, check_value, config_keys, parse_value
from metashell.quorum.controller.state import State

CLIENT_METRICS_SOURCE: Final = 7
GROUP_SOURCE: Final = 8
_TYPES = (TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER_RESOURCE, GROUP_RESOURCE, CLIENT_METRICS_RESOURCE)
_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible "
    "broker. See the broker logs for more details."
)


class Node(NamedTuple):
    """The node whose settings are described: its own, and what the cluster's metadata sets."""

    settings: Settings
    image: MetadataImage


class Synonym(NamedTuple):
    """A place where a value is set, the nearest first."""

    name: str
    value: str | None
    source: int


class Described(NamedTuple):
    """One setting of a resource. A key that nobody defines is taken for a secret."""

    name: str
    value: str | None
    source: int
    key: ConfigKey | None
    is_read_only: bool
    synonyms: list[Synonym]


def describe_configs(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """The settings of topics, of this node, of all brokers, of groups and of client metrics."""
    if any(one.resource_type not in _TYPES for one in request.body.resources):
        raise ApiError(INVALID_REQUEST, _MALFORMED)
    node = Node(state.settings, state.stable)
    allowed, refused = [], []
    for one in request.body.resources:
        yield
        try:
            check_config_right(state, request, (_right_of(one.resource_type), one.resource_name), Operation.DESCRIBE_CONFIGS)
        except ApiError as error:
            refused.append(_refused(one, error))
        else:
            allowed.append(describe_resource(node, request.body, one))
    return Decision(messages.DescribeConfigsResponse(results=(*allowed, *refused)))


def _right_of(kind: int) -> int:
    """Loggers are described by whoever may describe their node."""
    return BROKER_RESOURCE if kind == BROKER_LOGGER_RESOURCE else kind


def _refused(one: Any, error: ApiError) -> Any:
    return messages.DescribeConfigsResponse.DescribeConfigsResult(
        error_code=error.code, error_message=error.message, resource_type=one.resource_type, resource_name=one.resource_name
    )


def describe_resource(node: Node, body: Any, one: Any) -> Any:
    """Describe one resource of a DescribeConfigs request, whose sender may ask: a DescribeConfigsResult, with an error or configs."""
    result = _refused(one, ApiError(NONE, ""))
    try:
        # No names at all mean every one.
        wanted = set(one.configuration_keys or ()) or None
        listed = [item for item in _listing(node, one.resource_type, one.resource_name) if wanted is None or item.name in wanted]
    except ApiError as error:
        return _refused(one, error)
    result.configs = tuple(_entry(body, item) for item in listed)
    return result


def _entry(body: Any, item: Described) -> Any:
    response = messages.DescribeConfigsResponse
    is_sensitive = item.key is None or item.key.is_sensitive
    entry = response.DescribeConfigsResourceResult(
        name=item.name,
        value=None if is_sensitive else item.value,
        read_only=item.is_read_only,
        config_source=item.source,
        is_sensitive=is_sensitive,
        config_type=0 if item.key is None else TYPE_CODES[item.key.type],
        documentation=item.key.documentation if item.key is not None and body.include_documentation else None,
    )
    if body.include_synonyms:
        entry.synonyms = tuple(
            response.DescribeConfigsSynonym(name=one.name, value=None if is_sensitive else one.value, source=one.source)
            for one in item.synonyms
        )
    return entry


def _listing(node: Node, kind: int, name: str) -> Iterable[Described]:
    match kind:
        case _ if kind == TOPIC_RESOURCE:
            return _topic(node, name)
        case _ if kind == BROKER_RESOURCE:
            return _broker(node, name)
        case _ if kind == BROKER_LOGGER_RESOURCE:
            return _loggers(node, name)
        case _ if kind == GROUP_RESOURCE:
            return _group(node, name)
        case _:
            assert kind == CLIENT_METRICS_RESOURCE, "the caller refused all others"
            return _client_metrics(node, name)


def _topic(node: Node, name: str) -> list[Described]:
    fault = topic_name_fault(name)
    if fault is not None:
        raise ApiError(INVALID_TOPIC_EXCEPTION, fault)
    if name not in node.image.topics.by_name:
        raise ApiError(UNKNOWN_TOPIC_OR_PARTITION, "")
    configs = node.image.configs
    own: Mapping[str, str] = configs.get((TOPIC_RESOURCE, name), {})
    listed = []
    for key in config_keys("topic").values():
        if key.is_internal and key.name not in own:
            continue
        value = topic_value(node.settings, configs, own, key).value
        synonyms = _broker_synonyms(node, key.synonyms[0][0]) if key.synonyms else []
        if key.name in own:
            synonyms.insert(0, Synonym(key.name, value, TOPIC_SOURCE))
        listed.append(Described(key.name, value, synonyms[0].source if synonyms else DEFAULT_SOURCE, key, False, synonyms))
    return listed


def _broker(node: Node, name: str) -> list[Described]:
    if not name:
        return list(_cluster_wide(node))
    own_id = node.settings.node_id
    if _node_id(name) != own_id:
        raise ApiError(INVALID_REQUEST, f"Unexpected broker id, expected {own_id} or empty string, but received {name}")
    set_somewhere = [key for layer, _ in _running_layers(node) for key in layer]
    names = dict.fromkeys([*(key.name for key in config_keys("broker").values() if not key.is_internal), *set_somewhere])
    return [_broker_setting(node, key) for key in names]


def _loggers(node: Node, name: str) -> list[Described]:
    """The loggers of this node: it has none that a client could set."""
    own_id = node.settings.node_id
    if not name:
        raise ApiError(INVALID_REQUEST, "Broker id must not be empty")
    if _node_id(name) != own_id:
        raise ApiError(INVALID_REQUEST, f"Unexpected broker id, expected {own_id} but received {name}")
    return []


def _node_id(name: str) -> int:
    id = parse_java_int(name)
    if id is None:
        raise ApiError(INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    return id


def _broker_setting(node: Node, name: str) -> Described:
    key = config_keys("broker").get(name)
    synonyms = _broker_synonyms(node, name)
    if synonyms:
        value: str | None = synonyms[0].value
    else:
        value = None if key is None else key.default
    source = synonyms[0].source if synonyms else DEFAULT_SOURCE
    return Described(name, value, source, key, key is None or not key.is_dynamic, synonyms)


def _cluster_wide(node: Node) -> Iterator[Described]:
    """Describe only the settings for all brokers."""
    for name, value in node.image.configs.get((BROKER_RESOURCE, ""), {}).items():
        if not _is_taken(name, value):
            continue
        key = config_keys("broker").get(name)
        synonyms = [one for one in _broker_synonyms(node, name) if one.source == CLUSTER_SOURCE]
        yield Described(name, value, CLUSTER_SOURCE, key, key is None or not key.is_dynamic, synonyms)


def _broker_synonyms(node: Node, name: str) -> list[Synonym]:
    """List the sources of a broker's setting, under its own name or a synonym; synonyms before its own name do not count."""
    key = config_keys("broker").get(name)
    names = [synonym for synonym, _ in key.synonyms] if key is not None and key.synonyms else [name]
    found = [Synonym(synonym, layer[synonym], source) for layer, source in _running_layers(node) for synonym in names if synonym in layer]
    for synonym in names:
        default = config_keys("broker")[synonym].default if synonym in config_keys("broker") else None
        if default is not None:
            found.append(Synonym(synonym, default, DEFAULT_SOURCE))
    while found and found[0].name != name:
        found.pop(0)
    return found


def _running_layers(node: Node) -> list[tuple[Mapping[str, str], int]]:
    """Return the layers of broker settings, the nearest first, as a running node uses them: it ignores those that only a start can take."""
    return [
        (layer if source == STATIC_SOURCE else {name: value for name, value in layer.items() if _is_taken(name, value)}, source)
        for layer, source in broker_layers(node.settings, node.image.configs)
    ]


def _is_taken(name: str, value: str) -> bool:
    """Whether a running node takes a setting; unknown ones are kept."""
    key = config_keys("broker").get(name)
    if key is None:
        return True
    try:
        check_value(key, parse_value(key, value))
    except ApiError:
        return False
    return key.is_dynamic


def _group(node: Node, name: str) -> list[Described]:
    """Describe a group; settings that it lacks come from this node's settings for all groups."""
    if not name:
        raise ApiError(INVALID_REQUEST, "Group name must not be empty")
    own: Mapping[str, str] = node.image.configs.get((GROUP_RESOURCE, name), {})
    listed = []
    for key in config_keys("group").values():
        if key.is_internal and key.name not in own:
            continue
        synonyms = _broker_synonyms(node, key.synonyms[0][0]) if key.synonyms else [Synonym(key.name, key.default, DEFAULT_SOURCE)]
        if key.name in own:
            synonyms.insert(0, Synonym(key.name, own[key.name], GROUP_SOURCE))
        value, source = (synonyms[0].value, synonyms[0].source) if synonyms else (key.default, DEFAULT_SOURCE)
        listed.append(Described(key.name, value, source, key, False, synonyms))
    return listed


def _client_metrics(node: Node, name: str) -> list[Described]:
    if not name:
        raise ApiError(INVALID_REQUEST, "Client metrics subscription name must not be empty")
    own: Mapping[str, str] = node.image.configs.get((CLIENT_METRICS_RESOURCE, name), {})
    listed = []
    for key in config_keys("client_metrics").values():
        value, at = (own[key.name], CLIENT_METRICS_SOURCE) if key.name in own else (key.default, DEFAULT_SOURCE)
        synonyms = [Synonym(key.name, value, at)] if key.name in own else []
        listed.append(Described(key.name, value, at, key, False, synonyms))
    return listed
