"""What a record of a coordinator's log means beyond its fields: names of states, and the blobs inside it.

Kept apart from the record's own fields, so that those stay what was written. Never raises for what a record holds.
Source: the enumerations MemberState, TransactionState and RecordState of Kafka's coordinators.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from metashell.codec.blobs.embedded import CONSUMER, decode_assignment, decode_subscription

CONSUMER_STATES = {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"}
STREAMS_STATES = {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"}
DELIVERY_STATES = {0: "AVAILABLE", 1: "ACQUIRED", 2: "ACKNOWLEDGED", 4: "ARCHIVED"}
TRANSACTION_STATES = (
    "EMPTY",
    "ONGOING",
    "PREPARE_COMMIT",
    "PREPARE_ABORT",
    "COMPLETE_COMMIT",
    "COMPLETE_ABORT",
    "DEAD",
    "PREPARE_EPOCH_FENCE",
)
MEMBER_STATES = {
    "ConsumerGroupCurrentMemberAssignmentValue": CONSUMER_STATES,
    "ShareGroupCurrentMemberAssignmentValue": CONSUMER_STATES,
    "StreamsGroupCurrentMemberAssignmentValue": STREAMS_STATES,
}
"""The messages with a member's state, and what their states are called."""
_UNKNOWN = "UNKNOWN"


class DecodedRecord(NamedTuple):
    """The members derived from a record as JSON values, and what was odd about it."""

    value: dict[str, Any]
    findings: tuple[str, ...] = ()


def decode_group_record(value_name: str, value: Any) -> DecodedRecord | None:
    """Derive members from the value of a coordinator's record; None for records of which nothing is derived.

    `value_name` is the name of its message, `value` its object.
    """
    derive = DERIVED.get(value_name)
    return None if derive is None else derive(value)


def _classic_group(value: Any) -> DecodedRecord:
    findings: list[str] = []
    members = []
    for member in value.members:
        subscription = decode_subscription(value.protocol_type, value.protocol, member.subscription)
        assignment = decode_assignment(value.protocol_type, value.protocol, member.assignment)
        members.append({"memberId": member.member_id, "subscription": subscription.value, "assignment": assignment.value})
        findings += [f"member {member.member_id}: {text}" for text in (*subscription.findings, *assignment.findings)]
    return DecodedRecord({"members": members}, tuple(findings))


def _consumer_member(value: Any) -> DecodedRecord | None:
    classic = getattr(value, "classic_member_metadata", None)
    if classic is None or not classic.supported_protocols:
        return None
    findings: list[str] = []
    protocols = []
    for protocol in classic.supported_protocols:
        subscription = decode_subscription(CONSUMER, protocol.name, protocol.metadata)
        protocols.append({"name": protocol.name, "subscription": subscription.value})
        findings += [f"protocol {protocol.name}: {text}" for text in subscription.findings]
    return DecodedRecord({"supportedProtocols": protocols}, tuple(findings))


def _state(names: dict[int, str]) -> Callable[[Any], DecodedRecord | None]:
    def derive(value: Any) -> DecodedRecord | None:
        state = getattr(value, "state", None)  # the early dialect has none
        return None if state is None else DecodedRecord({"stateName": names.get(state, _UNKNOWN)})

    return derive


def _transaction(value: Any) -> DecodedRecord:
    status = value.transaction_status
    known = 0 <= status < len(TRANSACTION_STATES)
    findings = []
    if not known:
        findings.append(f"transaction status {status} is not known")
    elif status == 0 and value.transaction_partitions:
        findings.append("an empty transaction has partitions")
    return DecodedRecord({"transactionStatusName": TRANSACTION_STATES[status] if known else _UNKNOWN}, tuple(findings))


def _share_state(value: Any) -> DecodedRecord:
    names = [DELIVERY_STATES.get(batch.delivery_state, _UNKNOWN) for batch in value.state_batches]
    return DecodedRecord({"deliveryStateNames": names})


DERIVED: dict[str, Callable[[Any], DecodedRecord | None]] = {
    "GroupMetadataValue": _classic_group,
    "ConsumerGroupMemberMetadataValue": _consumer_member,
    **{name: _state(names) for name, names in MEMBER_STATES.items()},
    "TransactionLogValue": _transaction,
    "ShareSnapshotValue": _share_state,
    "ShareUpdateValue": _share_state,
}
"""The messages of which something is derived, and how; of the others no object need be made."""
