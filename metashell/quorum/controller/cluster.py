"""The cluster as a whole: ApiVersions and DescribeCluster, upgrades of features, the records of activation, blocks of producer ids.

Source: kafka.server.ControllerApis, SimpleApiVersionManager; org.apache.kafka.controller.FeatureControlManager, ActivationRecordsGenerator,
ProducerIdControlManager."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE
from metashell.codec.error_codes import (
    INVALID_REQUEST,
    INVALID_UPDATE_VERSION,
    MISMATCHED_ENDPOINT_TYPE,
    NONE,
    UNKNOWN_SERVER_ERROR,
    UNSUPPORTED_ENDPOINT_TYPE,
    UNSUPPORTED_VERSION,
)
from metashell.codec.java import string_hash_order
from metashell.codec.releases import (
    ELR_FEATURE,
    FEATURES,
    KRAFT_VERSION,
    METADATA_VERSION,
    NEWEST_RELEASE,
    REGISTER_CONTROLLER_LEVEL,
    metadata_version_name,
)
from metashell.codec.validation import is_valid_api_versions
from metashell.metadata.image import EMPTY_IMAGE, MetadataImage, ReplayError
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.authorizer import APIS, Operation
from metashell.quorum.controller.decision import (
    MIN_ISR,
    SUPPORTED_FEATURES,
    TRANSACTIONS_LEVEL,
    ApiError,
    BoundedRecords,
    Decision,
    Request,
    config_record,
    feature_level_record,
    finalized_features,
    metadata_level_of,
)
from metashell.quorum.controller.java import timeline_order
from metashell.quorum.controller.state import NO_OP, State, check_broker_epoch

_FEATURES_FROM_ZERO_SINCE = 4
_BROKER_ENDPOINT: Final = 1
_CONTROLLER_ENDPOINT: Final = 2
_NOT_ASKED: Final = -(1 << 31)
_CLUSTER_OPERATIONS: Final = (
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)


def api_versions(state: State, request: Request, now_ms: int) -> Decision:
    """The APIs, and the features that this node supports and the cluster has."""
    response = messages.ApiVersionsResponse
    if not is_valid_api_versions(request.body, request.version):
        raise ApiError(INVALID_REQUEST)
    # A client that does not know ranges from 0 is better off without them.
    supported = [
        response.SupportedFeatureKey(name=name, min_version=low, max_version=high)
        for name, (low, high) in SUPPORTED_FEATURES.items()
        if low > 0 or request.version >= _FEATURES_FROM_ZERO_SINCE
    ]
    return Decision(
        response(
            error_code=NONE,
            api_keys=_api_keys(),
            supported_features=tuple(supported),
            finalized_features_epoch=state.stable_offset,
            finalized_features=tuple(
                response.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
                for name, level in published_features(state.stable).items()
            ),
        )
    )


def published_features(image: MetadataImage) -> dict[str, int]:
    """Return the finalized features: those with a level above 0; none before the first metadata is there."""
    if image.features.metadata_version is None:
        return {}
    finalized = dict(image.features.levels.items())
    finalized[METADATA_VERSION] = image.features.metadata_version
    if image.features.kraft_version:
        finalized[KRAFT_VERSION] = image.features.kraft_version
    return finalized


def _api_keys() -> tuple[Any, ...]:
    made = messages.ApiVersionsResponse.ApiVersion
    return tuple(made(api_key=key, min_version=api.low, max_version=api.high) for key, api in APIS.items())


def describe_cluster(state: State, request: Request, now_ms: int) -> Decision:
    """The controllers that have registered, for clients that ask controllers directly."""
    body = request.body
    if (state.stable.features.metadata_version or 0) < REGISTER_CONTROLLER_LEVEL:
        why = "Direct-to-controller communication is not supported with the current MetadataVersion."
        raise ApiError(UNSUPPORTED_VERSION, why)
    if body.endpoint_type == _BROKER_ENDPOINT:
        code = INVALID_REQUEST if request.version == 0 else MISMATCHED_ENDPOINT_TYPE
        why = "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
        raise ApiError(code, why)
    if body.endpoint_type != _CONTROLLER_ENDPOINT:
        raise ApiError(UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {body.endpoint_type}")
    response = messages.DescribeClusterResponse
    brokers = []
    for id, controller in sorted(state.stable.cluster.controllers.items()):
        for listener in controller.listeners:
            if listener.name == request.listener:
                brokers.append(response.DescribeClusterBroker(broker_id=id, host=listener.host, port=listener.port, rack=None))
    leader = state.leader_id
    return Decision(
        response(
            error_code=NONE,
            error_message=None,
            endpoint_type=_CONTROLLER_ENDPOINT,
            cluster_id=state.settings.cluster_id,
            controller_id=leader if any(broker.broker_id == leader for broker in brokers) else -1,
            brokers=tuple(brokers),
            cluster_authorized_operations=_allowed(state, request) if body.include_cluster_authorized_operations else _NOT_ASKED,
        )
    )


def _allowed(state: State, request: Request) -> int:
    """Return the operations that the sender may do on the cluster, a bit for each."""
    allows = state.authorizer.allows_cluster
    if not allows(request, Operation.DESCRIBE):
        return 0
    return sum(1 << operation for operation in _CLUSTER_OPERATIONS if allows(request, operation))


# Features


UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3
_RESULTS_UNTIL = 1

METADATA_CHANGED_LEVELS: Final = frozenset({1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""The levels that brought a record or a field: no downgrade goes below one, for it would lose what is there."""

_NOT_SUPPORTED = (0, 0)


UPDATE_REFUSED: Final = "The update failed for all features since the following feature had an error: "


def update_features(state: State, request: Request, now_ms: int) -> Decision:
    """Change the levels of features, all of them or none."""
    body = request.body
    updates = {one.feature: one for one in body.feature_updates}
    proposed = {**finalized_features(state.image), **{name: one.max_version_level for name, one in updates.items()}}
    records = BoundedRecords()
    safety = BoundedRecords()
    kraft_version: int | None = None
    for name in string_hash_order(updates):
        one = updates[name]
        upgrade_type = UPGRADE if request.version == 0 and not one.allow_downgrade else one.upgrade_type
        try:
            _check_update(state, name, one.max_version_level, upgrade_type, proposed)
        except ApiError as error:
            raise ApiError(error.code, UPDATE_REFUSED + (error.message or "")) from None
        if name == ELR_FEATURE and one.max_version_level > 0:
            safety.extend(_safe_min_isr(state))
        if name == KRAFT_VERSION:
            kraft_version = one.max_version_level if one.max_version_level != state.image.features.kraft_version else None
            if upgrade_type == UPGRADE:
                records.append(NO_OP)
        else:
            records.append(feature_level_record(name, one.max_version_level))
    answer = messages.UpdateFeaturesResponse(error_code=NONE, error_message=None, results=())
    if request.version <= _RESULTS_UNTIL:
        result = messages.UpdateFeaturesResponse.UpdatableFeatureResult
        answer.results = tuple(result(feature=one.feature, error_code=NONE, error_message="NONE") for one in body.feature_updates)
    if body.validate_only:
        return Decision(answer)
    return Decision(answer, [*safety, *records], kraft_version=kraft_version)


def _check_update(state: State, name: str, level: int, upgrade_type: int, proposed: Mapping[str, int]) -> None:
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _invalid_update(name, level, "The controller does not support the given upgrade type.")
    if level < 0:
        raise _invalid_update(name, level, "A feature version cannot be less than 0.")
    reason = _reason_not_supported(state, name, level)
    if reason is not None:
        raise _invalid_update(name, level, reason)
    current = finalized_features(state.image).get(name, 0)
    if level < current and upgrade_type == UPGRADE:
        how = "without setting the upgrade type to either safe or unsafe downgrade."
        raise _invalid_update(name, level, f"Can't downgrade the version of this feature {how}")
    if level > current and upgrade_type != UPGRADE:
        raise _invalid_update(name, level, "Can't downgrade to a newer version.")
    if name == METADATA_VERSION:
        _check_metadata_version(current, level, upgrade_type)
    elif name == KRAFT_VERSION:
        if level < current:
            raise _invalid_update(name, level, "Can't downgrade the version of this feature.")
    else:
        _check_dependencies(name, level, proposed)


def _invalid_update(name: str, level: int, why: str) -> ApiError:
    return ApiError(INVALID_UPDATE_VERSION, f"Invalid update version {level} for feature {name}. {why}")


def _reason_not_supported(state: State, name: str, level: int) -> str | None:
    """Return the text that names a node without support for a level, None if all support it."""
    own_id = state.settings.node_id
    ranges: list[tuple[str, Mapping[str, tuple[int, int]]]] = [(f"Local controller {own_id}", SUPPORTED_FEATURES)]
    cluster = state.image.cluster
    ranges += [(f"Broker {id}", cluster.brokers[id].supported_features) for id in timeline_order(sorted(cluster.brokers))]
    registered = {own_id}
    if state.level >= REGISTER_CONTROLLER_LEVEL:
        for id in timeline_order(sorted(cluster.controllers)):
            if id != own_id:
                ranges.append((f"Controller {id}", cluster.controllers[id].supported_features))
                registered.add(id)
    for who, features in ranges:
        low, high = features.get(name, _NOT_SUPPORTED)
        if not low <= level <= high:
            if (low, high) == _NOT_SUPPORTED:
                return f"{who} does not support this feature."
            return f"{who} only supports versions {low if low == high else f'{low}-{high}'}"
    if state.level >= REGISTER_CONTROLLER_LEVEL and state.image.voters is not None:
        for voter in state.image.voters.voters:
            if voter.id not in registered:
                return f"controller {voter.id} has not registered, and may not support this feature"
    return None


def _check_metadata_version(current: int, level: int, upgrade_type: int) -> None:
    if level >= current or not any(changed in METADATA_CHANGED_LEVELS for changed in range(level + 1, current + 1)):
        return
    if upgrade_type == UNSAFE_DOWNGRADE:
        why = "Unsafe metadata downgrade is not supported in this version."
    else:
        why = "Refusing to perform the requested downgrade because it might delete metadata information."
    raise ApiError(INVALID_UPDATE_VERSION, f"Unsupported metadata.version downgrade from {current} to {level}. {why}")


def _check_dependencies(name: str, level: int, proposed: Mapping[str, int]) -> None:
    if name not in SUPPORTED_FEATURES:
        raise _invalid_update(name, level, f"Feature {name} not found.")
    if level == 0:
        return
    oldest = SUPPORTED_FEATURES[METADATA_VERSION][0]
    if proposed[METADATA_VERSION] < oldest:
        # A change of both in one request, in which this feature comes first.
        needs = f"{METADATA_VERSION}={oldest} ({metadata_version_name(oldest)})"
        raise _invalid_update(name, level, f"{name} could not be set to {level} because it depends on {needs}")
    needed = FEATURES[name][level].needs
    if proposed[METADATA_VERSION] < needed:
        raise _invalid_update(name, level, f"{name} could not be set to {level} because it depends on {METADATA_VERSION} level {needed}")


def _safe_min_isr(state: State) -> Iterator[VersionedRecord]:
    """With ELR, min.insync.replicas has a value for the whole cluster and none for single brokers."""
    configs = state.image.configs
    if MIN_ISR not in configs.get((BROKER_RESOURCE, ""), {}):
        yield config_record(BROKER_RESOURCE, "", MIN_ISR, str(state.settings.number(MIN_ISR)))
    for resource_type, name in sorted(configs):
        if resource_type == BROKER_RESOURCE and name and MIN_ISR in configs[resource_type, name]:
            yield config_record(BROKER_RESOURCE, name, MIN_ISR, None)


def decide_activation(state: State, bootstrap: Sequence[VersionedRecord]) -> Decision:
    """The records of a new active controller: the bootstrap records on an empty log, and the end of a transaction that was left open.

    Shape: `bootstrap` are the records that formatting left; without any, the newest metadata.version is assumed.
    Errors: ReplayError for records in the log and no metadata.version, where its beginning is missing: Kafka's controllers end over it too.
    """
    records: list[VersionedRecord] = []
    if state.tip.before_transaction is not None:
        records.append((messages.AbortTransactionRecord(reason="Controller failover"), 0))
    settled = state.settled
    if settled.image.features.metadata_version is not None:
        return Decision(None, records)
    if not settled.image.has_same_metadata(EMPTY_IMAGE):
        raise ReplayError(f"the log has records, and no {METADATA_VERSION} by which to read them")
    bootstrap = bootstrap or [feature_level_record(METADATA_VERSION, NEWEST_RELEASE.newest_level)]
    levels = {record.name: record.feature_level for record, _ in bootstrap if isinstance(record, messages.FeatureLevelRecord)}
    in_transaction = levels.get(METADATA_VERSION, metadata_level_of(settled.image)) >= TRANSACTIONS_LEVEL
    if in_transaction:
        records.append((messages.BeginTransactionRecord(name="Bootstrap records"), 0))
    records += bootstrap
    if levels.get(ELR_FEATURE, 0) > 0:
        records.append(config_record(BROKER_RESOURCE, "", MIN_ISR, str(state.settings.number(MIN_ISR))))
    if in_transaction:
        records.append((messages.EndTransactionRecord(), 0))
    return Decision(None, records, atomic=not in_transaction)


# Producer ids


BLOCK_SIZE: Final = 1000
_LONG_MAX: Final = (1 << 63) - 1


def allocate_producer_ids(state: State, request: Request, now_ms: int) -> Decision:
    """The next block of ids."""
    body = request.body
    check_broker_epoch(state, body)
    first = max(0, state.image.producer_ids.next_producer_id)
    if first > _LONG_MAX - BLOCK_SIZE:
        raise ApiError(
            UNKNOWN_SERVER_ERROR, "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit"
        )
    record = messages.ProducerIdsRecord(broker_id=body.broker_id, broker_epoch=body.broker_epoch, next_producer_id=first + BLOCK_SIZE)
    answer = messages.AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
    return Decision(answer, [(record, 0)])
