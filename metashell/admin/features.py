"""The features of a cluster: what its nodes support, what is finalized, and changes of that.

Source: KIP-584, KIP-1022; org.apache.kafka.clients.admin.KafkaAdminClient.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from metashell.admin.errors import AdminError
from metashell.admin.nodes import Kind
from metashell.codec.error_codes import NONE, UNKNOWN_SERVER_ERROR
from metashell.codec.messages import UpdateFeaturesRequest

if TYPE_CHECKING:
    from metashell.admin.admin import Admin

TIMEOUT_MS = 60_000


class Change(IntEnum):
    """What may happen to a feature's level, as the protocol numbers it."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature: the levels that a node supports, and the finalized one, 0 where none is."""

    name: str
    low: int
    high: int
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesDescription:
    """The features that a node supports, by name; `epoch` is that of the finalized levels, None where the node knows none."""

    features: tuple[Feature, ...]
    epoch: int | None


def describe_features(admin: Admin, *, node: int | None = None) -> FeaturesDescription:
    """The features as one node tells them: that one, else the active controller, else any node that answers. Errors: see `Admin`."""
    if node is None and admin.kind is Kind.CONTROLLERS:
        # Who may not ask which controller is active is still answered by any of them.
        with suppress(AdminError):
            node = admin.active_id()
    found = admin.features(node)
    features = tuple(
        Feature(name=name, low=low, high=high, level=found.finalized.get(name, 0)) for name, (low, high) in sorted(found.supported.items())
    )
    return FeaturesDescription(features=features, epoch=None if found.finalized_epoch < 0 else found.finalized_epoch)


def update_features(admin: Admin, levels: Mapping[str, int], change: Change, *, dry_run: bool = False) -> dict[str, AdminError | None]:
    """Set levels, all together; for each feature the error, or None. `dry_run`: only ask whether that would do.

    Errors: see `Admin`.
    """
    update = UpdateFeaturesRequest.FeatureUpdateKey
    updates = tuple(update(feature=name, max_version_level=level, upgrade_type=change) for name, level in levels.items())
    answer = admin.ask_active(UpdateFeaturesRequest(timeout_ms=TIMEOUT_MS, feature_updates=updates, validate_only=dry_run))
    if answer.error_code != NONE:
        return {name: AdminError(answer.error_code, answer.error_message, name) for name in levels}
    if not answer.results:
        # From version 2 on an answer without an error is enough.
        return dict.fromkeys(levels)
    told = {result.feature: result for result in answer.results}
    errors: dict[str, AdminError | None] = {}
    for name in levels:
        result = told.get(name)
        if result is None:
            text = f"The controller response did not contain a result for feature {name}"
            errors[name] = AdminError(UNKNOWN_SERVER_ERROR, text, name)
        else:
            errors[name] = AdminError(result.error_code, result.error_message, name) if result.error_code else None
    return errors
