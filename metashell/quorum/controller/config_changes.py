"""Dynamic configuration: changes key by key, changes that replace everything, and what a topic's settings come to.

Source: org.apache.kafka.controller.ConfigurationControlManager, kafka.server.ControllerApis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.codes import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    CLUSTER_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_CONFIG,
    INVALID_REQUEST,
    NONE,
    POLICY_VIOLATION,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
)
from metashell.codec.java import string_hash_order
from metashell.codec.releases import CORDONED_DIRECTORIES_LEVEL
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.authorizer import CLUSTER_NAME, Operation, Resource
from metashell.quorum.controller.config_checks import check_resource
from metashell.quorum.controller.decision import (
    MIN_ISR,
    RECORDS_MAX,
    TOO_LARGE,
    ApiError,
    BoundedRecords,
    Decision,
    Request,
    Steps,
    clear_elr_record,
    config_record,
    elr_enabled,
    is_config_of,
)
from metashell.quorum.controller.java import parse_java_int
from metashell.quorum.controller.settings import ConfigKey, ConfigsToAlter, config_keys
from metashell.quorum.controller.state import State

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
_OPERATION_NAMES: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}
VALUE_LENGTH_MAX: Final = 32_767
CORDONED_KEY: Final = "cordoned.log.dirs"

ResourceKey = tuple[int, str]
"""(resource type, name)."""

RecordsOf = Callable[[Any, ResourceKey], list[VersionedRecord]]
STORED_TYPES: Final = {TOPIC_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE}
KINDS: Final = {TOPIC_RESOURCE: "topic", CLIENT_METRICS_RESOURCE: "client_metrics", GROUP_RESOURCE: "group"}
"""The kinds of resource whose keys are all known; brokers may have any."""
RESOURCE_TYPES: Final = {*STORED_TYPES, BROKER_LOGGER_RESOURCE}


class ConfigChange(NamedTuple):
    """The change of one key."""

    operation: int
    value: str | None


class ConfigChecker:
    """Makes the records of changes of configuration, for one request."""

    def __init__(self, state: State, *, is_forwarded: bool = True) -> None:
        self._state = state
        self._configs = state.image.configs
        self._elr_enabled = elr_enabled(state.image)
        self._is_forwarded = is_forwarded

    def incremental(self, resource: ResourceKey, changes: Mapping[str, ConfigChange], *, is_new: bool = False) -> list[VersionedRecord]:
        """The records of changes key by key. Errors: ApiError if anything about them is wrong; then nothing of the resource changes."""
        before: Mapping[str, str] = {} if is_new else self._stored(resource)
        altered: dict[str, str | None] = {}
        for key in string_hash_order(changes):
            change = changes[key]
            value = self._new_value(resource[0], key, before.get(key), change)
            # A broker reads files again that a setting names, also where the setting stays as it is.
            if value != before.get(key) or resource[0] == BROKER_RESOURCE:
                altered[key] = value
        self._check(resource, before, altered, altered, is_new=is_new)
        return [config_record(*resource, key, value) for key, value in altered.items()]

    def replacing(self, resource: ResourceKey, wanted: Mapping[str, str | None]) -> list[VersionedRecord]:
        """The records that leave a resource with `wanted` and nothing else. Errors: as `incremental`."""
        before = self._stored(resource)
        altered: dict[str, str | None] = {
            key: wanted[key] for key in string_hash_order(wanted) if wanted[key] != before.get(key) or resource[0] == BROKER_RESOURCE
        }
        named = dict(altered)
        altered.update({key: None for key in before if key not in wanted})
        self._check(resource, before, altered, named, is_new=False)
        return [config_record(*resource, key, value) for key, value in altered.items()]

    def elr_clearings(self, records: Iterable[VersionedRecord]) -> list[VersionedRecord]:
        """Return the records that clear ELRs where min.insync.replicas changes: an ELR holds only for the old minimum."""
        if not self._elr_enabled:
            return []
        return [
            clear_elr_record(record.resource_name if record.resource_type == TOPIC_RESOURCE else "")
            for record, _ in records
            if is_config_of(record, MIN_ISR)
        ]

    def _stored(self, resource: ResourceKey) -> Mapping[str, str]:
        """Return the settings of a resource, without keys that this release does not know."""
        stored: Mapping[str, str] = self._configs.get(resource, {})
        kind = KINDS.get(resource[0])
        if kind is None or all(key in config_keys(kind) for key in stored):
            return stored
        return {key: value for key, value in stored.items() if key in config_keys(kind)}

    def _new_value(self, kind: int, key: str, current: str | None, change: ConfigChange) -> str | None:
        match change.operation:
            case 0:
                return change.value
            case 1:
                return None
            case 2 | 3:
                return self._changed_list(kind, key, current, change)
            case _:
                raise ApiError(INVALID_REQUEST, f"Unknown operation {change.operation} for key {key}.")

    def _changed_list(self, kind: int, key: str, current: str | None, change: ConfigChange) -> str:
        definition = _definition(kind, key)
        if definition is None or definition.type != "LIST":
            name = _OPERATION_NAMES[change.operation]
            raise ApiError(INVALID_CONFIG, f"Can't {name} to key {key} because its type is not LIST.")
        if change.value is None:
            raise ApiError(INVALID_REQUEST, f"Key {key} has no value to {_OPERATION_NAMES[change.operation].lower()}.")
        start = definition.default if current is None else current
        items = start.split(",") if start else []
        for item in change.value.split(","):
            if change.operation == SUBTRACT:
                if item in items:
                    items.remove(item)
            elif item not in items:
                items.append(item)
        return ",".join(items)

    def _check(
        self,
        resource: ResourceKey,
        before: Mapping[str, str],
        altered: Mapping[str, str | None],
        named: Mapping[str, str | None],
        *,
        is_new: bool,
    ) -> None:
        """Check altered settings; a policy sees only those that the request has `named`."""
        after = dict(before)
        for key, value in altered.items():
            self._check_key(resource, before, key, value)
            if value is None:
                after.pop(key, None)
            else:
                after[key] = value
        check_resource(self._state.settings, resource, after, before)
        if not is_new:
            self._check_existence(resource)
        self._state.settings.policies.check_configs(ConfigsToAlter(*resource, named))

    def _check_key(self, resource: ResourceKey, before: Mapping[str, str], key: str, value: str | None) -> None:
        kind, name = resource
        if kind == BROKER_RESOURCE and key == MIN_ISR and self._elr_enabled:
            if name:
                raise ApiError(INVALID_CONFIG, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
            if value is None:
                raise ApiError(INVALID_CONFIG, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
        if kind == BROKER_RESOURCE and key == CORDONED_KEY:
            self._check_cordoned(before.get(key), value)
        if value is not None and len(value) > VALUE_LENGTH_MAX:
            why = f"The configuration value cannot be added because it exceeds the maximum value size of {VALUE_LENGTH_MAX} bytes."
            raise ApiError(INVALID_CONFIG, why)

    def _check_cordoned(self, before: str | None, value: str | None) -> None:
        if self._state.level < CORDONED_DIRECTORIES_LEVEL:
            why = f"The {CORDONED_KEY} configuration value cannot be set because it requires metadata.version >= 4.3-IV0"
            raise ApiError(INVALID_CONFIG, why)
        if not self._is_forwarded and not set(_split_list(value)) <= set(_split_list(before)):
            why = f"When updating {CORDONED_KEY} via controllers,  the new value must be a subset of the current configuration value."
            raise ApiError(INVALID_CONFIG, why)

    def _check_existence(self, resource: ResourceKey) -> None:
        kind, name = resource
        image = self._state.image
        if kind == BROKER_RESOURCE and name:
            id = int(name)
            voters = () if image.voters is None else image.voters.voters
            is_known = id in image.cluster.brokers or id in image.cluster.controllers or any(voter.id == id for voter in voters)
            if not is_known:
                raise ApiError(BROKER_ID_NOT_REGISTERED, f"No node with id {id} found.")
        elif kind == TOPIC_RESOURCE and name not in image.topics.by_name:
            raise ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")


def check_count(changes: Collection[Any]) -> None:
    """Refuse what cannot fit one batch before it is looked at: one resource is one piece of work, and holds the loop.

    Kafka looks first: where a change is wrong by itself, it says that. Errors: ApiError.
    """
    if len(changes) > RECORDS_MAX:
        raise ApiError(POLICY_VIOLATION, TOO_LARGE)


def _split_list(value: str | None) -> list[str]:
    return [word.strip() for word in value.split(",") if word.strip()] if value else []


def _definition(kind: int, key: str) -> ConfigKey | None:
    """The definition that says whether a key is a list; only topics and brokers have one here, as in Kafka."""
    if kind == TOPIC_RESOURCE:
        return config_keys("topic").get(key)
    return config_keys("broker").get(key) if kind == BROKER_RESOURCE else None


def incremental_alter_configs(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """IncrementalAlterConfigs: changes key by key."""
    checker = ConfigChecker(state, is_forwarded=request.is_forwarded)

    def records_of(resource: Any, key: ResourceKey) -> list[VersionedRecord]:
        if key[0] == BROKER_LOGGER_RESOURCE:
            _alter_loggers(state, request, resource)
            return []
        check_config_right(state, request, key, Operation.ALTER_CONFIGS)
        check_count(resource.configs)
        return checker.incremental(key, {one.name: ConfigChange(one.config_operation, one.value) for one in resource.configs})

    return _alter_resource(state, request, checker, records_of, messages.IncrementalAlterConfigsResponse, STORED_TYPES)


def alter_configs(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """AlterConfigs, which replaces everything that a resource sets."""
    checker = ConfigChecker(state, is_forwarded=request.is_forwarded)

    def records_of(resource: Any, key: ResourceKey) -> list[VersionedRecord]:
        check_config_right(state, request, key, Operation.ALTER_CONFIGS)
        check_count(resource.configs)
        return checker.replacing(key, {one.name: one.value for one in resource.configs})

    return _alter_resource(state, request, checker, records_of, messages.AlterConfigsResponse, RESOURCE_TYPES)


def _alter_resource(
    state: State, request: Request, checker: ConfigChecker, records_of: RecordsOf, response: Any, single_types: Collection[int]
) -> Steps[Decision]:
    """Each resource by itself, all records in one batch, what clears the ELR last. Of `single_types`, none may come twice."""
    body = request.body
    counts = Counter((one.resource_type, one.resource_name) for one in body.resources)
    results: dict[object, Any] = {}
    records, clearings = BoundedRecords(), BoundedRecords()
    for number, resource in enumerate(body.resources):
        yield
        key = resource.resource_type, resource.resource_name
        error = ApiError(NONE, None)
        is_repeated = key[0] in single_types and counts[key] > 1
        try:
            if is_repeated:
                raise ApiError(INVALID_REQUEST, "Duplicate resource.")
            if key[0] not in RESOURCE_TYPES:
                raise ApiError(UNSUPPORTED_VERSION, f"Unknown resource type {key[0]}.")
            made = records_of(resource, key)
            records.extend(made)
            clearings.extend(checker.elr_clearings(made))
        except ApiError as refusal:
            if refusal.message == TOO_LARGE:
                raise
            error = refusal
        # A resource that comes twice is answered once.
        results[key if is_repeated else number] = response.AlterConfigsResourceResponse(
            error_code=error.code, error_message=error.message, resource_type=key[0], resource_name=key[1]
        )
    answer = response(responses=tuple(results.values()))
    if body.validate_only:
        return Decision(answer)
    records.extend(clearings)
    return Decision(answer, records)


def check_config_right(state: State, request: Request, key: ResourceKey, operation: Operation) -> None:
    """Whether a sender may do something with the configuration of a resource. Errors: ApiError of the resource's kind."""
    kind, name = key
    allows = state.authorizer.allows
    if kind == TOPIC_RESOURCE:
        is_allowed = allows(request, operation, Resource.TOPIC, name)
    elif kind == GROUP_RESOURCE:
        is_allowed = allows(request, operation, Resource.GROUP, name)
    elif kind in (BROKER_RESOURCE, CLIENT_METRICS_RESOURCE):
        is_allowed = allows(request, operation, Resource.CLUSTER, CLUSTER_NAME)
    else:
        raise ApiError(INVALID_REQUEST, f"Unexpected resource type {'BROKER_LOGGER' if kind == BROKER_LOGGER_RESOURCE else kind}.")
    if not is_allowed:
        raise ApiError(*_REFUSALS[kind])


def refuse_rights(items: Iterable[Any]) -> None:
    """Give each item of an answer the refusal of `check_config_right` for its type."""
    for one in items:
        unknown = INVALID_REQUEST, f"Unexpected resource type {one.resource_type}."
        one.error_code, one.error_message = _REFUSALS.get(one.resource_type, unknown)


_REFUSALS: Final = {
    TOPIC_RESOURCE: (TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."),
    GROUP_RESOURCE: (GROUP_AUTHORIZATION_FAILED, "Group authorization failed."),
    **dict.fromkeys(
        (BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, BROKER_LOGGER_RESOURCE),
        (CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."),
    ),
}


def _alter_loggers(state: State, request: Request, resource: Any) -> None:
    """Refuse changes of loggers: this process has none that a client knows by name."""
    if not state.authorizer.allows_cluster(request, Operation.CLUSTER_ACTION):
        raise ApiError(CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    name, own_id = resource.resource_name, state.settings.node_id
    node_id = parse_java_int(name)
    if node_id is None:
        raise ApiError(INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if node_id != own_id:
        raise ApiError(INVALID_REQUEST, f"Unexpected node id. Expected {own_id}, but received {node_id}")
    for one in resource.configs:
        raise ApiError(INVALID_CONFIG, f"Logger {one.name} does not exist!")
