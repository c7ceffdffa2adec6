"""Upgrades and downgrades of features, metadata.version among them.

Source: org.apache.kafka.controller.FeatureControlManager.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from metashell.codec import messages
from metashell.codec.config_types import BROKER_RESOURCE
from metashell.codec.error_codes import INVALID_UPDATE_VERSION, NONE
from metashell.codec.java_hash import string_hash_order
from metashell.codec.metadata_version import KRAFT_VERSION, METADATA_VERSION, REGISTER_CONTROLLER_LEVEL, metadata_version_name
from metashell.codec.releases import ELR_FEATURE, FEATURES
from metashell.controller.decision import ApiError, BoundedRecords, Decision
from metashell.controller.java import timeline_order
from metashell.controller.records import (
    MIN_ISR,
    SUPPORTED_FEATURES,
    config,
    feature_level,
    finalized_features,
)
from metashell.controller.request import Request
from metashell.controller.state import NO_OP, State
from metashell.image.loss import VersionedRecord

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3
_RESULTS_UNTIL = 1

METADATA_CHANGED_LEVELS: Final = frozenset({1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""The levels that brought a record or a field: no downgrade goes below one, for it would lose what is there."""

_NOT_SUPPORTED = (0, 0)


def update(state: State, request: Request, now_ms: int) -> Decision:
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
            _check(state, name, one.max_version_level, upgrade_type, proposed)
        except ApiError as error:
            message = f"The update failed for all features since the following feature had an error: {error.message}"
            raise ApiError(error.code, message) from None
        if name == ELR_FEATURE and one.max_version_level > 0:
            safety.extend(_safe_min_isr(state))
        if name == KRAFT_VERSION:
            kraft_version = one.max_version_level if one.max_version_level != state.image.features.kraft_version else None
            if upgrade_type == UPGRADE:
                records.append(NO_OP)
        else:
            records.append(feature_level(name, one.max_version_level))
    answer = messages.UpdateFeaturesResponse(error_code=NONE, error_message=None, results=())
    if request.version <= _RESULTS_UNTIL:
        result = messages.UpdateFeaturesResponse.UpdatableFeatureResult
        answer.results = tuple(result(feature=one.feature, error_code=NONE, error_message="NONE") for one in body.feature_updates)
    if body.validate_only:
        return Decision(answer)
    return Decision(answer, [*safety, *records], kraft_version=kraft_version)


def _check(state: State, name: str, level: int, upgrade_type: int, proposed: Mapping[str, int]) -> None:
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _invalid(name, level, "The controller does not support the given upgrade type.")
    if level < 0:
        raise _invalid(name, level, "A feature version cannot be less than 0.")
    reason = _reason_not_supported(state, name, level)
    if reason is not None:
        raise _invalid(name, level, reason)
    current = finalized_features(state.image).get(name, 0)
    if level < current and upgrade_type == UPGRADE:
        how = "without setting the upgrade type to either safe or unsafe downgrade."
        raise _invalid(name, level, f"Can't downgrade the version of this feature {how}")
    if level > current and upgrade_type != UPGRADE:
        raise _invalid(name, level, "Can't downgrade to a newer version.")
    if name == METADATA_VERSION:
        _check_metadata_version(current, level, upgrade_type)
    elif name == KRAFT_VERSION:
        if level < current:
            raise _invalid(name, level, "Can't downgrade the version of this feature.")
    else:
        _check_dependencies(name, level, proposed)


def _invalid(name: str, level: int, why: str) -> ApiError:
    return ApiError(INVALID_UPDATE_VERSION, f"Invalid update version {level} for feature {name}. {why}")


def _reason_not_supported(state: State, name: str, level: int) -> str | None:
    """Who in the cluster cannot do with a level, None if everybody can."""
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
        raise _invalid(name, level, f"Feature {name} not found.")
    if level == 0:
        return
    oldest = SUPPORTED_FEATURES[METADATA_VERSION][0]
    if proposed[METADATA_VERSION] < oldest:
        # A change of both in one request, in which this feature comes first.
        needs = f"{METADATA_VERSION}={oldest} ({metadata_version_name(oldest)})"
        raise _invalid(name, level, f"{name} could not be set to {level} because it depends on {needs}")
    needed = FEATURES[name][level].needs
    if proposed[METADATA_VERSION] < needed:
        raise _invalid(name, level, f"{name} could not be set to {level} because it depends on {METADATA_VERSION} level {needed}")


def _safe_min_isr(state: State) -> Iterator[VersionedRecord]:
    """With ELR, min.insync.replicas has a value for the whole cluster and none for single brokers."""
    configs = state.image.configs
    if MIN_ISR not in configs.get((BROKER_RESOURCE, ""), {}):
        yield config(BROKER_RESOURCE, "", MIN_ISR, str(state.settings.number(MIN_ISR)))
    for resource_type, name in sorted(configs):
        if resource_type == BROKER_RESOURCE and name and MIN_ISR in configs[resource_type, name]:
            yield config(BROKER_RESOURCE, name, MIN_ISR, None)


def refuse(request: Request, code: int, message: str | None) -> messages.UpdateFeaturesResponse:
    """The answer that refuses all updates."""
    return messages.UpdateFeaturesResponse(error_code=code, error_message=message, results=())
