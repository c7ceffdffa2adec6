"""Records of the coordinators' logs as text: every dialect, and what lies inside. See `record_text` for the others.

`key` and `data` are what was written, under Kafka's names; `derived` is what follows from it (embedded blobs, names of states,
what is odd inside a blob, the release whose layout it was where that is not the newest). Nothing that was read is dropped: what
does not decode is hex, with a fault, unless it could hold a secret of another log.
"""

from collections.abc import Callable
from json import dumps
from typing import NamedTuple

from metashell.codec.blobs import decode_group_record
from metashell.codec.blobs.groups import DERIVED, MEMBER_STATES, TRANSACTION_STATES
from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, int16_at
from metashell.codec.frame import unknown_type, unknown_version
from metashell.codec.json_forms import string_text
from metashell.codec.redaction import JsonText, hex_text, json_writer
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import snake_case
from metashell.errors import DecodeError

DIALECTS = {
    "offsets": (("4.0", "offsets_4_0"), ("3.7", "offsets_3_7"), ("later", "offsets_later")),
    "transactions": (),
    "share": (("4.0", "share_4_0"),),
}
"""The log -> releases whose layouts differ without a version of their own, and the families of their messages, newest first."""
_EXTRA_TYPES = {"offsets": {9: "ShareGroupPartitionMetadata", 24: "StreamsGroupTargetAssignmentResolvedTopicIds"}}
"""Types that only some releases write."""


class CoordinatorText(NamedTuple):
    """A record's text. `key` and `data` are JSON text; `fault` says what is odd.

    `type_id`, `type_name` and `version` are None where they could not be read; the version of a tombstone is None too. `derived` holds
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
        """The text of a record; never raises for what it holds."""
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
        """Type and text of a key of a type that is known. Errors: DecodeError for any other."""
        message = self.log.key_message(int16_at(key, 0))
        if message is None or len(key) < PREFIX_SIZE:
            raise DecodeError("no usual key")
        return self.names[int16_at(key, 0)], message.json(key, 0, PREFIX_SIZE)

    def usual_value(self, type_id: int, version: int) -> JsonText:
        """The writer of the data of values of a known type and version, and of the members derived from it.

        Errors: DecodeError for any other, and of the writer for a value of another layout.
        """
        message = self.log.value_message(type_id)
        if message is None or not message.versions[0] <= version <= message.versions[1]:
            raise DecodeError("no usual value")
        return with_derived(message, version, self.writer(message, version))

    def writer(self, message: MessageType, version: int) -> JsonText:
        """The writer of a message's data."""
        return json_writer(message, version, show_secrets=self.show_secrets)

    def key_message_of(self, type_id: int) -> MessageType:
        """Errors: DecodeError for a type that is not known."""
        message = self.log.key_message(type_id)
        if message is None and type_id in self._extra:
            found = (_optional_message(family, f"{self._extra[type_id]}Key") for _, family in self._dialects)
            message = next((message for message in found if message is not None), None)
        if message is None:
            raise DecodeError(unknown_type(type_id))
        return message

    def fitting(self, type_id: int, version: int, value: bytes) -> tuple[MessageType, str | None]:
        """The message, and the dialect, whose layout takes all of the value: the newest comes first. Errors: DecodeError."""
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


# ---- what follows from a value ---------------------------------------------------------------------------------------

_STATE_INDEX = 8
"""Where the state stands in a member's current assignment: after two epochs."""
_STATUS_INDEX = 14
"""Where the status stands in a transaction: after producer id, producer epoch and timeout."""


def _derived(message: MessageType, version: int, value: bytes, start: int, end: int) -> str:
    """The members that follow from a value's data, with a comma before each. Errors: DecodeError."""
    if message.name not in DERIVED:
        return ""
    derived = decode_group_record(message.name, message.reader(version)(value, start, end))
    if derived is None:
        return ""
    text = f',"decoded":{dumps(derived.value, ensure_ascii=False, separators=(",", ":"))}'
    return f'{text},"findings":[{",".join(map(string_text, derived.findings))}]' if derived.findings else text


def with_derived(message: MessageType, version: int, write: JsonText) -> JsonText:
    """The writer of a value's data and of the members that follow from it. States and statuses are read without making an object."""
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
