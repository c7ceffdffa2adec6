"""What a controller writes when it becomes the active one.

Source: org.apache.kafka.controller.ActivationRecordsGenerator.
"""

from __future__ import annotations

from collections.abc import Sequence

from metashell.codec import messages
from metashell.codec.config_types import BROKER_RESOURCE
from metashell.codec.metadata_version import METADATA_VERSION
from metashell.codec.releases import ELR_FEATURE, NEWEST_RELEASE
from metashell.controller.decision import Decision
from metashell.controller.records import MIN_ISR, TRANSACTIONS_LEVEL, config, feature_level, level_of
from metashell.controller.state import State
from metashell.image import EMPTY_IMAGE, ReplayError
from metashell.image.loss import VersionedRecord


def activate(state: State, bootstrap: Sequence[VersionedRecord]) -> Decision:
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
    bootstrap = bootstrap or [feature_level(METADATA_VERSION, NEWEST_RELEASE.newest_level)]
    levels = {record.name: record.feature_level for record, _ in bootstrap if isinstance(record, messages.FeatureLevelRecord)}
    in_transaction = levels.get(METADATA_VERSION, level_of(settled.image)) >= TRANSACTIONS_LEVEL
    if in_transaction:
        records.append((messages.BeginTransactionRecord(name="Bootstrap records"), 0))
    records += bootstrap
    if levels.get(ELR_FEATURE, 0) > 0:
        records.append(config(BROKER_RESOURCE, "", MIN_ISR, str(state.settings.number(MIN_ISR))))
    if in_transaction:
        records.append((messages.EndTransactionRecord(), 0))
    return Decision(None, records, atomic=not in_transaction)
