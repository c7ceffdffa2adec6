"""Coordinator and remote-log records as the own voice shows them: every dialect, and what lies inside.

`key` and `data` are what was written, under Kafka's names; `decoded` is what follows from it (embedded blobs, names of states),
`findings` what is odd inside a blob, `dialect` the release whose layout it was where that is not the newest. Nothing that was
read is dropped: what does not decode is hex, with a `fault`, unless it could hold a secret of another log.
"""

from __future__ import annotations

import re
from json import dumps
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.codec.blobs import decode_group_record
from metashell.codec.blobs.groups import CONSUMER_STATES, STREAMS_STATES, TRANSACTION_STATES
from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, CoordinatorLog, int16_at
from metashell.codec.dispatch import REMOTE_LOG_TYPES
from metashell.codec.frame import FrameError, read_frame, version_fault
from metashell.codec.json_forms import string_text
from metashell.codec.redaction import hex_text
from metashell.codec.registry import MessageType, message_type
from metashell.dump.fast_loop import ValueText
from metashell.dump.kafka.remote_log import DELETE_STATES, SEGMENT_STATES
from metashell.dump.keyed_loop import KeyTexts, Versions
from metashell.errors import DecodeError

if TYPE_CHECKING:
    from metashell.dump.own.filters import Filters

DIALECTS = {
    "offsets": (("4.0", "offsets_4_0"), ("3.7", "offsets_3_7"), ("later", "offsets_later")),
    "transactions": (),
    "share": (("4.0", "share_4_0"),),
}
"""The log -> releases whose layouts differ without a version of their own, and the families of their messages, newest first."""
_EXTRA_TYPES = {9: "ShareGroupPartitionMetadata", 24: "StreamsGroupTargetAssignmentResolvedTopicIds"}
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class RecordMembers(NamedTuple):
    """The members of a record's line after its place.

    `type_id` is -1 where it could not be read; `key` and `value` are the texts that patterns are held against.
    """

    text: str
    type_id: int
    key: str | None
    value: str | None
    fault: str | None = None


def upper_name(name: str) -> str:
    """A message's name in Kafka's upper snake case."""
    return _WORD.sub("_", name).upper()


def coordinator_type_names(decoder: str) -> dict[int, str]:
    """The record types of a coordinator's log and what `type` calls them."""
    names = {type: upper_name(name.removesuffix("Key")) for type, name in COORDINATOR_LOGS[decoder].keys.items()}
    if decoder == "offsets":
        names.update({type: upper_name(name) for type, name in _EXTRA_TYPES.items()})
    return names


def remote_log_type_names() -> dict[int, str]:
    return {type: upper_name(name) for type, name in REMOTE_LOG_TYPES.items()}


class CoordinatorMembers:
    """Forms the lines' members for one of the coordinators' logs."""

    def __init__(self, decoder: str, show_secrets: bool) -> None:
        self.show_secrets = show_secrets
        self.log: CoordinatorLog = COORDINATOR_LOGS[decoder]
        self.dialects = DIALECTS[decoder]
        self.names = coordinator_type_names(decoder)

    def members(self, key: bytes | None, value: bytes | None) -> RecordMembers:
        """What a record holds; never raises for it."""
        if key is None or len(key) < PREFIX_SIZE:
            shown = "null" if key is None else self._hex(key)
            fault = "the record has no key" if key is None else "the key has no type"
            return self._undecoded(-1, "null", shown, value, fault)
        type = int16_at(key, 0)
        name = self.names.get(type)
        if name is None:
            return self._undecoded(type, "null", self._hex(key), value, f"record type {type} is not known")
        key_message = self.log.key_message(type) or self._message(f"{_EXTRA_TYPES.get(type)}Key")
        assert key_message is not None, "its name is known"
        try:
            key_text = key_message.json(key, 0, PREFIX_SIZE)
        except DecodeError as error:
            return self._undecoded(type, f'"{name}"', self._hex(key), value, str(error))
        head = f'"type":"{name}","type_id":{type},"key":{key_text}'
        if value is None:
            return RecordMembers(f'{head},"version":null,"data":null,"tombstone":true', type, key_text, None)
        return self._with_value(head, type, key_text, value)

    def _with_value(self, head: str, type: int, key_text: str, value: bytes) -> RecordMembers:
        if len(value) < PREFIX_SIZE:
            shown = self._hex(value)
            return _faulty(f'{head},"version":null,"data":{shown}', type, key_text, shown, "the value has no version")
        version = int16_at(value, 0)
        try:
            message, dialect = self._fitting(type, version, value)
        except DecodeError as error:
            shown = self._hex(value)
            return _faulty(f'{head},"version":{version},"data":{shown}', type, key_text, shown, str(error))
        shown = value_writer(message, version)(value, PREFIX_SIZE, len(value))
        extra = "" if dialect is None else f',"dialect":"{dialect}"'
        return RecordMembers(f'{head},"version":{version},"data":{shown}{extra}', type, key_text, shown)

    def loop_texts(self, filters: Filters) -> KeyTexts:
        """What the tight loop needs: the text of a key, and the writers of its values; `None` for types that are not wanted."""
        versions: dict[bytes, Versions | None] = {}

        def make(key: bytes) -> tuple[str, Versions | None]:
            start, type = key[:PREFIX_SIZE], int16_at(key, 0)
            message = self.log.key_message(type)
            if message is None or len(key) < PREFIX_SIZE:
                raise DecodeError("a key to be looked at with care")
            text = f'"type":"{self.names[type]}","type_id":{type},"key":{message.json(key, 0, PREFIX_SIZE)},"version":'
            if start not in versions:
                versions[start] = _LoopValues(self.log, type) if filters.wants_type(type) else None
            return text, versions[start]

        return KeyTexts(make)

    def _fitting(self, type: int, version: int, value: bytes) -> tuple[MessageType, str | None]:
        """The message, and the dialect, whose layout takes all of the value: the newest comes first. Errors: DecodeError."""
        newest = self.log.value_message(type)
        trouble = DecodeError(f"record type {type} has no value")
        name = f"{_EXTRA_TYPES.get(type)}Value"
        if newest is not None:
            name = newest.name
            if not newest.versions[0] <= version <= newest.versions[1]:
                raise DecodeError(f"{name} version {version} is not known")
            try:
                newest.read(value, version, PREFIX_SIZE)
            except DecodeError as error:
                trouble = error
            else:
                return newest, None
        for dialect, family in self.dialects:
            message = _optional_message(family, name)
            if message is not None and message.versions[0] <= version <= message.versions[1]:
                try:
                    message.read(value, version, PREFIX_SIZE)
                except DecodeError as error:
                    trouble = error if newest is None else trouble
                else:
                    return message, dialect
        raise trouble

    def _hex(self, raw: bytes) -> str:
        return hex_text(raw, show_secrets=self.show_secrets)

    def _undecoded(self, type: int, name: str, key: str, value: bytes | None, fault: str) -> RecordMembers:
        return _undecoded(type, name, key, "null" if value is None else self._hex(value), fault)

    def _message(self, name: str) -> MessageType | None:
        found = (_optional_message(family, name) for _, family in self.dialects)
        return next((message for message in found if message is not None), None)


class _LoopValues(dict[bytes, tuple[ValueText | None, str]]):
    """The values of one type for the tight loop: version -> writer, and the text before the fields."""

    def __init__(self, log: CoordinatorLog, type: int) -> None:
        super().__init__()
        self.message = log.value_message(type)

    def __missing__(self, raw: bytes) -> tuple[ValueText | None, str]:
        version = int16_at(raw, 0)
        message = self.message
        if message is None or len(raw) < PREFIX_SIZE or not message.versions[0] <= version <= message.versions[1]:
            raise DecodeError("a value to be looked at with care")
        made = self[raw] = (value_writer(message, version), f'{version},"data":')
        return made


def value_writer(message: MessageType, version: int) -> ValueText:
    """What writes a value's JSON text and the members after `data` that follow from it. Errors: DecodeError, of the writer."""
    quick = message.json_reader(version)
    states = _STATES.get(message.name)
    if states is not None and message.family == "offsets":
        return _with_state(quick, states)
    if message.name == "TransactionLogValue":
        return _with_status(quick, _deriving(message, version))
    return _deriving(message, version) if message.name in _DERIVING else quick


def _deriving(message: MessageType, version: int) -> ValueText:
    quick, read = message.json_reader(version), message.reader(version)

    def write(buf: bytes, start: int, end: int) -> str:
        text = quick(buf, start, end)
        derived = decode_group_record(message.name, read(buf, start, end))
        if derived is None:
            return text
        text += f',"decoded":{dumps(derived.value, ensure_ascii=False, separators=(",", ":"))}'
        if derived.findings:
            text += f',"findings":[{",".join(map(string_text, derived.findings))}]'
        return text

    return write


def _with_state(quick: ValueText, states: dict[int, str]) -> ValueText:
    def write(buf: bytes, start: int, end: int) -> str:
        text = quick(buf, start, end)
        return f'{text},"decoded":{{"stateName":"{states.get(buf[start + _STATE_INDEX], "UNKNOWN")}"}}'

    return write


def _with_status(quick: ValueText, careful: ValueText) -> ValueText:
    known = range(1, len(TRANSACTION_STATES))

    def write(buf: bytes, start: int, end: int) -> str:
        text = quick(buf, start, end)
        status = buf[start + _STATUS_INDEX]
        if status not in known and ',"transactionPartitions":null' not in text:
            return careful(buf, start, end)
        return f'{text},"decoded":{{"transactionStatusName":"{TRANSACTION_STATES[status]}"}}' if status <= 7 else careful(buf, start, end)

    return write


_STATE_INDEX = 8
"""Where the state stands in a member's current assignment: after two epochs."""
_STATUS_INDEX = 14
"""Where the status stands in a transaction: after producer id, producer epoch and timeout."""
_STATES = {
    "ConsumerGroupCurrentMemberAssignmentValue": CONSUMER_STATES,
    "ShareGroupCurrentMemberAssignmentValue": CONSUMER_STATES,
    "StreamsGroupCurrentMemberAssignmentValue": STREAMS_STATES,
}
_DERIVING = frozenset((*_STATES, "GroupMetadataValue", "ConsumerGroupMemberMetadataValue", "ShareSnapshotValue", "ShareUpdateValue"))
"""The messages of which something is derived; of the others no object is made."""


def _optional_message(family: str, name: str) -> MessageType | None:
    try:
        return message_type(family, name)
    except KeyError:
        return None


def remote_log_members(value: bytes | None, show_secrets: bool) -> RecordMembers:
    """What a record of the remote log's metadata holds; never raises for it."""
    if value is None:
        return _undecoded(-1, "null", "null", "null", "the record has no value")
    try:
        frame = read_frame(value, 0, len(value))
    except FrameError as error:
        return _undecoded(-1, "null", "null", hex_text(value, show_secrets=show_secrets), str(error))
    name = REMOTE_LOG_TYPES.get(frame.type_id)
    if name is None:
        shown = hex_text(value, show_secrets=show_secrets)
        return _undecoded(frame.type_id, "null", "null", shown, f"record type {frame.type_id} is not known")
    message = message_type("remote_log", name)
    head = f'"type":"{upper_name(name)}","version":{frame.version}'
    try:
        body = message.read(value, frame.version, frame.body_start)
    except DecodeError as error:
        shown = hex_text(value, frame.body_start, show_secrets=show_secrets)
        return _faulty(f'{head},"data":{shown}', frame.type_id, None, shown, str(error))
    data = message.json(value, frame.version, frame.body_start)
    text = f'{head},"data":{data},"decoded":{{"stateName":"{_remote_state(body)}"}}'
    fault = version_fault(message, frame.version)
    if fault is not None:
        return _faulty(text, frame.type_id, None, data, fault)
    return RecordMembers(text, frame.type_id, None, data)


def _remote_state(body: Any) -> str:
    state = getattr(body, "remote_log_segment_state", None)
    names = DELETE_STATES if state is None else SEGMENT_STATES
    number = body.remote_partition_delete_state if state is None else state
    return names[number] if 0 <= number < len(names) else "UNKNOWN"


def _undecoded(type: int, name: str, key: str, shown: str, fault: str) -> RecordMembers:
    type_id = "null" if type < 0 and name == "null" and fault.startswith("the ") else type
    return _faulty(f'"type":{name},"type_id":{type_id},"key":{key},"version":null,"data":{shown}', type, key, shown, fault)


def _faulty(text: str, type: int, key: str | None, value: str | None, fault: str) -> RecordMembers:
    return RecordMembers(f'{text},"fault":{string_text(fault)}', type, key, value, fault)
