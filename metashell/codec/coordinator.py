"""Records of the coordinators' logs (`__consumer_offsets`, `__transaction_state`, `__share_group_state`): their layout, meaning and text.

A key begins with an int16, the record type; a value, where there is one, with an int16, the version of its message. Keys are never
flexible and have one version. A record without a value deletes what its key names.

In the text, `key` and `data` are the written fields under Kafka's names. `derived` follows from them: embedded blobs, names of states,
findings inside a blob, and the release of the layout if it is not the newest. It is a separate object, so that the record's own fields
stay what was written. Nothing is dropped: bytes that do not decode are hex with a fault, unless they could hold a secret of another log.
Decoding never raises for a record's content. `record_text` has the text of all other records.

Why several layouts are tried: some releases changed a message without a new version (`DIALECTS`). Nothing in a record says which layout
it has, so the newest is tried first, and the next one if that does not take every byte of the value.
Source: org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde; enumerations MemberState,
TransactionState and RecordState."""

from collections.abc import Callable
from json import dumps
from typing import Any, NamedTuple

from metashell.codec.consumer_protocol import CONSUMER, decode_assignment, decode_subscription, one_type
from metashell.codec.dispatch import OFFSETS_KEYS, OFFSETS_VALUES, SHARE_KEYS, SHARE_VALUES, TRANSACTION_KEYS, TRANSACTION_VALUES
from metashell.codec.java import string_hash, string_text
from metashell.codec.metadata_records import unknown_type, unknown_version
from metashell.codec.redaction import JsonText, hex_text, json_writer
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import snake_case
from metashell.common.errors import DecodeError

PREFIX_SIZE = 2
"""The bytes of the type before a key's fields, and of the version before a value's."""


class CoordinatorLog(NamedTuple):
    """One of these logs: the family of its messages, and the messages of its keys and values by record type."""

    family: str
    keys: dict[int, str]
    values: dict[int, str]

    def type_name(self, type: int) -> str | None:
        """The name of a type of record, `OffsetCommit`; None for an unknown type."""
        name = self.keys.get(type)
        return None if name is None else name.removesuffix("Key")

    def key_message(self, type: int) -> MessageType | None:
        """The message of a key; None for an unknown type."""
        name = self.keys.get(type)
        return None if name is None else message_type(self.family, name)

    def value_message(self, type: int) -> MessageType | None:
        """The message of the value for a key's type; None for an unknown type."""
        name = self.values.get(type)
        return None if name is None else message_type(self.family, name)


COORDINATOR_LOGS = {
    "offsets": CoordinatorLog("offsets", OFFSETS_KEYS, OFFSETS_VALUES),
    "transactions": CoordinatorLog("transactions", TRANSACTION_KEYS, TRANSACTION_VALUES),
    "share": CoordinatorLog("share", SHARE_KEYS, SHARE_VALUES),
}


def int16_at(buf: bytes, at: int) -> int:
    """The int16 at `buf[at]`: types and versions are int16."""
    return int.from_bytes(buf[at : at + PREFIX_SIZE], "big", signed=True)


def coordinator_partition(id: str, partition_count: int) -> int:
    """The partition of a coordinator's log that has the records of a group or transaction.

    Source: org.apache.kafka.common.utils.Utils.abs: of the least number, which has no absolute value, it is 0.
    """
    number = string_hash(id) & 0xFFFFFFFF
    number = number - (1 << 32) if number >= 1 << 31 else number
    return 0 if number == -(1 << 31) else abs(number) % partition_count


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
"""The messages with a member's state, and the names of the states."""
_UNKNOWN = "UNKNOWN"


class DecodedRecord(NamedTuple):
    """The JSON members derived from a record, and findings about it."""

    value: dict[str, Any]
    findings: tuple[str, ...] = ()


def decode_group_record(value_name: str, value: Any) -> DecodedRecord | None:
    """Derive members from the value of a coordinator's record; None if the record has none.

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
        blobs = {**one_type("subscription", subscription.value), **one_type("assignment", assignment.value)}
        members.append({"memberId": member.member_id, **blobs})
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
        protocols.append({"name": protocol.name, **one_type("subscription", subscription.value)})
        findings += [f"protocol {protocol.name}: {text}" for text in subscription.findings]
    return DecodedRecord({"supportedProtocols": protocols}, tuple(findings))


def _state(names: dict[int, str]) -> Callable[[Any], DecodedRecord | None]:
    def derive(value: Any) -> DecodedRecord | None:
        state = getattr(value, "state", None)  # layouts of preview releases lack it
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
"""The messages with derived members, and the functions that derive them. For all others no object need be made."""


DIALECTS = {
    "offsets": (("4.0", "offsets_4_0"), ("3.7", "offsets_3_7"), ("later", "offsets_later")),
    "transactions": (),
    "share": (("4.0", "share_4_0"),),
}
"""The log -> releases whose layouts differ without a version of their own, and the families of their messages, newest first."""
_EXTRA_TYPES = {"offsets": {9: "ShareGroupPartitionMetadata", 24: "StreamsGroupTargetAssignmentResolvedTopicIds"}}
"""Record types that only some releases write."""


class CoordinatorText(NamedTuple):
    """A record's text. `key` and `data` are JSON text; `fault` says what is wrong, if anything.

    `type_id`, `type_name` and `version` are None if they could not be read; the version of a tombstone is None too. `derived` holds
    further JSON members that follow from the data, each with a comma before it.
    """

    type_id: int | None
    type_name: str | None
    key: str
    version: int | None
    data: str
    fault: str | None = None
    derived: str = ""


def coordinator_type_names(log: str) -> dict[int, str]:
    """The record types of a coordinator's log and their upper-case names."""
    known = COORDINATOR_LOGS[log]
    names = {type: known.type_name(type) or "" for type in known.keys} | _EXTRA_TYPES.get(log, {})
    return {type: snake_case(name).upper() for type, name in names.items()}


class CoordinatorTexts:
    """The text of the records of one of the coordinators' logs: `offsets`, `transactions` or `share`."""

    def __init__(self, log: str, *, show_secrets: bool) -> None:
        self.show_secrets = show_secrets
        self.log = COORDINATOR_LOGS[log]
        self.names = coordinator_type_names(log)
        self._dialects = DIALECTS[log]
        self._extra = _EXTRA_TYPES.get(log, {})

    def text(self, key: bytes | None, value: bytes | None) -> CoordinatorText:
        """The text of a record; never raises for its content."""
        if key is None or len(key) < PREFIX_SIZE:
            fault = "the record has no key" if key is None else "the key has no type"
            return CoordinatorText(None, None, self._hex(key), None, self._hex(value), fault)
        type_id = int16_at(key, 0)
        name = self.names.get(type_id, f"UNKNOWN_RECORD_{type_id}")
        version = None if value is None or len(value) < PREFIX_SIZE else int16_at(value, 0)
        try:
            key_text = self.key_message_of(type_id).json(key, 0, PREFIX_SIZE)
        except DecodeError as error:
            return CoordinatorText(type_id, name, self._hex(key), version, self._hex(value), str(error))
        if value is None:
            return CoordinatorText(type_id, name, key_text, None, "null")
        try:
            if version is None:
                raise DecodeError("the value has no version")
            message, dialect = self.fitting(type_id, version, value)
        except DecodeError as error:
            return CoordinatorText(type_id, name, key_text, version, self._hex(value), str(error))
        data = self.writer(message, version)(value, PREFIX_SIZE, len(value))
        derived = _derived(message, version, value, PREFIX_SIZE, len(value))
        if dialect is not None:
            derived += f',"dialect":"{dialect}"'
        return CoordinatorText(type_id, name, key_text, version, data, None, derived)

    def usual_key(self, key: bytes) -> tuple[str, str]:
        """The type and text of a key of a known type. Errors: DecodeError for any other."""
        message = self.log.key_message(int16_at(key, 0))
        if message is None or len(key) < PREFIX_SIZE:
            raise DecodeError("no usual key")
        return self.names[int16_at(key, 0)], message.json(key, 0, PREFIX_SIZE)

    def usual_value(self, type_id: int, version: int) -> JsonText:
        """The writer of the data of values of a known type and version, and of the derived members.

        Errors: DecodeError for any other; the writer raises DecodeError for a value of another layout.
        """
        message = self.log.value_message(type_id)
        if message is None or not message.versions[0] <= version <= message.versions[1]:
            raise DecodeError("no usual value")
        return with_derived(message, version, self.writer(message, version))

    def writer(self, message: MessageType, version: int) -> JsonText:
        """The writer of a message's data."""
        return json_writer(message, version, show_secrets=self.show_secrets)

    def key_message_of(self, type_id: int) -> MessageType:
        """The message of a key type. Errors: DecodeError for an unknown type."""
        message = self.log.key_message(type_id)
        if message is None and type_id in self._extra:
            found = (_optional_message(family, f"{self._extra[type_id]}Key") for _, family in self._dialects)
            message = next((message for message in found if message is not None), None)
        if message is None:
            raise DecodeError(unknown_type(type_id))
        return message

    def fitting(self, type_id: int, version: int, value: bytes) -> tuple[MessageType, str | None]:
        """The first message, newest layout first, that takes all of the value, and its release if older. Errors: DecodeError."""
        newest = self.log.value_message(type_id)
        trouble = DecodeError(f"record type {type_id} has no value")
        name = f"{self._extra.get(type_id)}Value"
        if newest is not None:
            name = newest.name
            if not newest.versions[0] <= version <= newest.versions[1]:
                raise DecodeError(unknown_version(newest, version))
            try:
                newest.read(value, version, PREFIX_SIZE)
            except DecodeError as error:
                trouble = error
            else:
                return newest, None
        for dialect, family in self._dialects:
            message = _optional_message(family, name)
            if message is not None and message.versions[0] <= version <= message.versions[1]:
                try:
                    message.read(value, version, PREFIX_SIZE)
                except DecodeError as error:
                    trouble = error if newest is None else trouble
                else:
                    return message, dialect
        raise trouble

    def _hex(self, raw: bytes | None) -> str:
        return "null" if raw is None else hex_text(raw, show_secrets=self.show_secrets)


def _optional_message(family: str, name: str) -> MessageType | None:
    try:
        return message_type(family, name)
    except KeyError:
        return None


# ---- derived members -------------------------------------------------------------------------------------------------

_STATE_INDEX = 8
"""The index of the state in a member's current assignment: after the value's version, two epochs precede it."""
_STATUS_INDEX = 14
"""The index of the status in a transaction: producer id, producer epoch and timeout precede it."""


def _derived(message: MessageType, version: int, value: bytes, start: int, end: int) -> str:
    """The members derived from a value's data, with a comma before each. Errors: DecodeError."""
    if message.name not in DERIVED:
        return ""
    derived = decode_group_record(message.name, message.reader(version)(value, start, end))
    if derived is None:
        return ""
    text = f',"decoded":{dumps(derived.value, ensure_ascii=False, separators=(",", ":"))}'
    return f'{text},"findings":[{",".join(map(string_text, derived.findings))}]' if derived.findings else text


def with_derived(message: MessageType, version: int, write: JsonText) -> JsonText:
    """The writer of a value's data and its derived members. States and statuses are read without making an object."""
    if message.name not in DERIVED:
        return write

    def careful(buf: bytes, start: int, end: int) -> str:
        return f"{write(buf, start, end)}{_derived(message, version, buf, start, end)}"

    states = MEMBER_STATES.get(message.name)
    if states is not None and message.family == "offsets":
        return _with_state(write, states)
    return _with_status(write, careful) if message.name == "TransactionLogValue" else careful


def _with_state(write: JsonText, states: dict[int, str]) -> JsonText:
    def quick(buf: bytes, start: int, end: int) -> str:
        text = write(buf, start, end)
        return f'{text},"decoded":{{"stateName":"{states.get(buf[start + _STATE_INDEX], "UNKNOWN")}"}}'

    return quick


def _with_status(write: JsonText, careful: Callable[[bytes, int, int], str]) -> JsonText:
    known = range(1, len(TRANSACTION_STATES))

    def quick(buf: bytes, start: int, end: int) -> str:
        text = write(buf, start, end)
        status = buf[start + _STATUS_INDEX]
        if status not in known and ',"transactionPartitions":null' not in text:
            return careful(buf, start, end)
        return f'{text},"decoded":{{"transactionStatusName":"{TRANSACTION_STATES[status]}"}}' if status <= 7 else careful(buf, start, end)

    return quick
