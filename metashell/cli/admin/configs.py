"""Settings of topics, brokers, groups and client metrics: their values and sources, changes of single keys, and the risks of a change.

A request about a broker or its loggers goes to that broker, all other requests to any node. So a broker that is down fails only its own
request. `warnings_of` reports the changes that can lose records or make a topic unavailable.

Source: KIP-226, KIP-339 (incremental changes), KIP-412 (loggers), kafka.server.ConfigHelper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.cli.admin.protocol import AdminError, Kind
from metashell.codec import messages
from metashell.codec.codes import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import NONE
from metashell.codec.java import java_int
from metashell.common.errors import MetashellError, UsageError

if TYPE_CHECKING:
    from metashell.cli.admin.client import Admin


KINDS: Final = {
    "topic": TOPIC_RESOURCE,
    "broker": BROKER_RESOURCE,
    "broker-logger": BROKER_LOGGER_RESOURCE,
    "group": GROUP_RESOURCE,
    "client-metrics": CLIENT_METRICS_RESOURCE,
}
DEFAULT_NAME: Final = "default"
"""The name of the resource with the settings of all brokers: `broker:default`."""
SOURCES: Final = {
    1: "topic",
    2: "broker",
    3: "all brokers",
    4: "server.properties",
    5: "default",
    6: "logger",
    7: "client metrics",
    8: "group",
}
"""Names of the places where a value can be set, by Kafka's code of the source."""
DEFAULT_SOURCE: Final = 5
STATIC_SOURCE: Final = 4


class Resource(NamedTuple):
    """A resource that has settings: the code of its type, and its name, which is empty for the default of all brokers."""

    kind: int
    name: str

    def __str__(self) -> str:
        word = next((word for word, kind in KINDS.items() if kind == self.kind), str(self.kind))
        return f"{word}:{self.name or DEFAULT_NAME}"

    @property
    def node_id(self) -> int | None:
        """The id of the broker that must be asked; None if any node can answer."""
        is_node = self.kind in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE) and self.name
        return int(self.name) if is_node else None


def is_resource(word: str) -> bool:
    """Return whether a word of a command line names a resource rather than a setting."""
    kind, colon, _ = word.partition(":")
    return bool(colon) and "=" not in kind


def parse_resource(text: str) -> Resource:
    """Parse `topic:orders`, `broker:1`, `broker:default` or `group:g`; the type in any case, and with `_` or `-`. Errors: UsageError."""
    word, colon, name = text.partition(":")
    kind = KINDS.get(word.lower().replace("_", "-"))
    if not colon or kind is None:
        raise UsageError(f"{text!r} is not TYPE:NAME with a type of {', '.join(KINDS)}", text)
    if kind == BROKER_RESOURCE and name in ("", DEFAULT_NAME):
        return Resource(kind, "")
    if not name:
        raise UsageError(f"{text!r}: the name is missing", text)
    if kind in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        id = java_int(name) if name.isascii() and name.isdigit() else None
        if id is None:
            raise UsageError(f"{text!r}: {name!r} is not the id of a broker", text)
        name = str(id)
    return Resource(kind, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting in force. `value` is None if it has none or is secret; `source` is Kafka's code of the place where it is set."""

    name: str
    value: str | None
    source: int
    is_sensitive: bool = False
    is_read_only: bool = False
    documentation: str | None = None
    behind: str | None = None
    """The value that would be in force without this source; None if there is none, or if it is not known."""

    @property
    def is_set(self) -> bool:
        """Whether the value was set by a command or in a file, rather than being the default."""
        return self.source != DEFAULT_SOURCE

    def is_set_on(self, resource: Resource) -> bool:
        """Return whether a command set the value on this resource itself."""
        own = {
            TOPIC_RESOURCE: 1,
            BROKER_RESOURCE: 2 if resource.name else 3,
            BROKER_LOGGER_RESOURCE: 6,
            CLIENT_METRICS_RESOURCE: 7,
            GROUP_RESOURCE: 8,
        }
        return self.source == own.get(resource.kind)

    @property
    def is_dynamic(self) -> bool:
        """Whether a command set the value."""
        return self.source not in (DEFAULT_SOURCE, STATIC_SOURCE)


class Operation(IntEnum):
    """The operation of a change, with the protocol's code."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """One change of a key; `value` is None for DELETE."""

    name: str
    operation: Operation
    value: str | None = None


Settings = tuple[Setting, ...]


def describe_configs(
    admin: Admin, resources: Iterable[Resource], keys: Sequence[str] | None = None, *, documentation: bool = False
) -> dict[Resource, Settings | MetashellError]:
    """Return the settings of each resource, ordered by name; an error if they could not be read. `keys` None: all settings."""
    make = messages.DescribeConfigsRequest

    def request(some: Sequence[Resource]) -> Any:
        wanted = None if keys is None else tuple(keys)
        asked = tuple(
            make.DescribeConfigsResource(resource_type=one.kind, resource_name=one.name, configuration_keys=wanted) for one in some
        )
        return make(resources=asked, include_synonyms=True, include_documentation=documentation)

    found: dict[Resource, Settings | MetashellError] = {}
    for some, answer in _ask_each(admin, list(resources), request):
        if isinstance(answer, MetashellError):
            found.update(dict.fromkeys(some, answer))
            continue
        for result in answer.results:
            resource = Resource(result.resource_type, result.resource_name)
            found[resource] = _error(result, resource) or tuple(sorted(map(_setting, result.configs), key=lambda setting: setting.name))
    return found


def _setting(entry: Any) -> Setting:
    # Kafka lists the synonyms by precedence, and the first one is the value in force.
    behind = next((synonym.value for synonym in entry.synonyms if synonym.source != entry.config_source), None)
    return Setting(
        name=entry.name,
        value=entry.value,
        source=entry.config_source,
        is_sensitive=entry.is_sensitive,
        is_read_only=entry.read_only,
        documentation=entry.documentation,
        behind=behind,
    )


def alter_configs(
    admin: Admin, changes: Mapping[Resource, Sequence[Change]], *, validate_only: bool = False
) -> dict[Resource, MetashellError | None]:
    """Change settings. All changes of a resource are made, or none. Return for each resource None, or the error."""
    make = messages.IncrementalAlterConfigsRequest

    def request(some: Sequence[Resource]) -> Any:
        asked = (make.AlterConfigsResource(resource_type=one.kind, resource_name=one.name, configs=_entries(changes[one])) for one in some)
        return make(resources=tuple(asked), validate_only=validate_only)

    found: dict[Resource, MetashellError | None] = {}
    for some, answer in _ask_each(admin, list(changes), request):
        if isinstance(answer, MetashellError):
            found.update(dict.fromkeys(some, answer))
            continue
        for result in answer.responses:
            resource = Resource(result.resource_type, result.resource_name)
            found[resource] = _error(result, resource)
    return found


def _entries(changes: Iterable[Change]) -> tuple[Any, ...]:
    make = messages.IncrementalAlterConfigsRequest.AlterableConfig
    return tuple(make(name=change.name, config_operation=int(change.operation), value=change.value) for change in changes)


def _ask_each(admin: Admin, resources: Sequence[Resource], request: Any) -> Iterable[tuple[list[Resource], Any]]:
    """Group the resources by the node to ask, and yield each group with the node's answer, or the error in its place."""
    by_node: dict[int | None, list[Resource]] = defaultdict(list)
    for resource in resources:
        # A controller accepts changes of any broker's settings, but the loggers of a node are known only to that node.
        is_own = admin.kind is Kind.BROKERS or resource.kind == BROKER_LOGGER_RESOURCE
        by_node[resource.node_id if is_own else None].append(resource)
    anywhere = by_node.pop(None, None)
    if anywhere is not None:
        yield anywhere, admin.ask_active(request(anywhere))
    if by_node:
        answers = admin.ask_all({node: request(some) for node, some in by_node.items() if node is not None})
        yield from ((by_node[node], answer) for node, answer in answers.items())


def _error(result: Any, resource: Resource) -> AdminError | None:
    return None if result.error_code == NONE else AdminError(result.error_code, result.error_message, str(resource))


_LESS_KEPT = frozenset(
    f"{prefix}{key}"
    for prefix, keys in (
        ("", ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes", "delete.retention.ms")),
        (
            "log.",
            ("retention.ms", "retention.bytes", "retention.hours", "retention.minutes", "local.retention.ms", "local.retention.bytes"),
        ),
    )
    for key in keys
)


def warnings_of(resources: Sequence[Resource], changes: Sequence[Change], before: Mapping[tuple[Resource, str], Setting]) -> list[str]:
    """Return one warning for each change that can lose records or availability; `before` has the settings as they are now."""
    found = []
    for resource in resources:
        for change in changes:
            setting = before.get((resource, change.name))
            is_vain = change.operation is Operation.DELETE and (setting is None or not setting.is_set_on(resource))
            if not is_vain and (cost := _cost(change, setting)) is not None:
                found.append(f"{resource}: {change.name}: {cost}")
    return found


def value_after(change: Change, before: Setting | None) -> str | None:
    """Return the value of the change; for DELETE, the value that is then in force, or None if it is not known."""
    if change.operation is Operation.DELETE:
        if before is not None and before.behind is not None:
            return before.behind
        # Kafka reports no synonyms for some keys, such as retention.ms: assume Kafka's own default for them.
        from metashell.quorum.controller.settings import config_keys

        known = config_keys("topic").get(change.name) or config_keys("broker").get(change.name)
        return None if known is None else known.default
    return change.value


def _cost(change: Change, before: Setting | None) -> str | None:
    key, was = change.name, None if before is None else before.value
    value = value_after(change, before) or ""
    is_whole = change.operation in (Operation.SET, Operation.DELETE)
    if key in _LESS_KEPT and is_whole:
        return f"{value.strip()} is less than {was or 'before'}: older records are deleted for good" if _keeps_less(value, was) else None
    if key in ("cleanup.policy", "log.cleanup.policy") and change.operation is not Operation.SUBTRACT:
        added = _words(value) - _words(was or "")
        lost = {"delete": "records older than the retention are deleted", "compact": "all but the newest record of each key are deleted"}
        return "; ".join(f"{policy}: {lost[policy]} for good" for policy in sorted(added & lost.keys())) or None
    if key == "unclean.leader.election.enable" and _is(value, "true") and not _is(was, "true"):
        return "a replica that is not in sync may then lead, and acknowledged records are lost"
    if key == "min.insync.replicas" and is_whole and (now := _number(value)) is not None:
        then = _number(was)
        if then is not None and now < then:
            return "records are acknowledged with fewer copies than before"
        return "producers with acks=all are refused where fewer replicas are in sync" if now > (then or 1) else None
    if key in ("max.message.bytes", "message.max.bytes") and is_whole and (now := _number(value)) is not None:
        then = _number(was)
        return "producers of larger batches are refused" if then is not None and now < then else None
    if key == "remote.storage.enable" and _is(value, "false") and _is(was, "true"):
        return "what lies in the remote storage is deleted or cannot be read any more"
    return None


def _words(text: str) -> set[str]:
    """Return the entries of a list, trimmed as Kafka trims them."""
    return {word.strip() for word in text.split(",")} - {""}


def _is(text: str | None, word: str) -> bool:
    return text is not None and text.strip().lower() == word


def _number(text: str | None) -> int | None:
    """Parse a number as Kafka does: blanks around it and a plus sign are ignored. None for other text."""
    return None if text is None else java_int(text.strip(), 64)


def _keeps_less(value: str, was: str | None) -> bool:
    """Return whether a retention keeps less than before; a negative value keeps records for ever. An unknown old value counts as more."""
    now, then = _number(value), _number(was)
    if now is None or now < 0:
        return False
    return then is None or then < 0 or now < then
