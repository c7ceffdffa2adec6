"""Quotas of users, clients and addresses.

Source: org.apache.kafka.controller.ClientQuotaControlManager.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from math import isfinite
from typing import Final

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_REQUEST, NONE, NOT_CONTROLLER, POLICY_VIOLATION
from metashell.codec.java_hash import string_hash_order
from metashell.controller.decision import TOO_LARGE, ApiError, BoundedRecords, Decision
from metashell.controller.request import Request
from metashell.controller.state import State
from metashell.controller.steps import Steps
from metashell.image import QuotaEntity
from metashell.image.loss import VersionedRecord

USER: Final = "user"
CLIENT: Final = "client-id"
ADDRESS: Final = "ip"
_LONG_MAX = (1 << 63) - 1
_INT_MAX = (1 << 31) - 1
_USER_KEYS: Final = {
    "producer_byte_rate": "LONG",
    "consumer_byte_rate": "LONG",
    "request_percentage": "DOUBLE",
    "controller_mutation_rate": "DOUBLE",
}
_ADDRESS_KEYS: Final = {"connection_creation_rate": "INT"}
_LIMITS: Final = {"LONG": _LONG_MAX, "INT": _INT_MAX}
_FRACTION_MAX: Final = 1e-6
_NUMBERS = re.compile(r"[0-9]+(\.[0-9]+){0,3}", re.ASCII)
_HOST = re.compile(r"(?=.{1,253}$)(?!.*\.\d+$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")


def alter(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Set and remove quotas, each entity by itself, all in one batch."""
    body = request.body
    records = BoundedRecords()
    seen: set[QuotaEntity] = set()
    results: dict[QuotaEntity, messages.AlterClientQuotasResponse.EntryData] = {}
    for entry in body.entries:
        yield
        error = ApiError(NONE)
        try:
            records.extend(_alter_entry(state, entry, seen))
        except ApiError as refusal:
            if refusal.message == TOO_LARGE:
                raise
            error = refusal
        results[_entity(entry)] = _result(entry, error)
    answer = messages.AlterClientQuotasResponse(entries=tuple(results.values()))
    return Decision(answer, () if body.validate_only else records)


def _alter_entry(state: State, entry: messages.AlterClientQuotasRequest.EntryData, seen: set[QuotaEntity]) -> list[VersionedRecord]:
    names = {part.entity_type: part.entity_name for part in entry.entity}
    entity = _entity(entry)
    keys = [op.key for op in entry.ops]
    is_repeated = entity in seen or len(set(keys)) != len(keys)
    seen.add(entity)
    if is_repeated:
        kinds = string_hash_order(names, len(entry.entity))
        shown = ", ".join(f"{kind}={'null' if names[kind] is None else names[kind]}" for kind in kinds)
        raise ApiError(INVALID_REQUEST, f"Ignoring duplicate entity ClientQuotaEntity(entries={{{shown}}})")
    _check_entity(names)
    return list(_records(state, entity, entry, _ADDRESS_KEYS if ADDRESS in names else _USER_KEYS))


def _entity(entry: messages.AlterClientQuotasRequest.EntryData) -> QuotaEntity:
    """The entity of an entry; of a type that comes twice, the later name counts."""
    names = {part.entity_type: part.entity_name for part in entry.entity}
    return tuple(sorted(names.items(), key=lambda part: part[0]))


def _check_entity(names: dict[str, str | None]) -> None:
    if not names:
        raise ApiError(INVALID_REQUEST, "Invalid empty client quota entity")
    for kind in string_hash_order(names, len(names)):
        name = names[kind]
        if kind not in (USER, CLIENT, ADDRESS):
            raise ApiError(INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise ApiError(INVALID_REQUEST, f"Empty {kind} not supported")
    if ADDRESS in names:
        if len(names) > 1:
            why = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
            raise ApiError(INVALID_REQUEST, why)
        address = names[ADDRESS]
        if address is not None and not _is_address(address):
            raise ApiError(INVALID_REQUEST, f"{address} is not a valid IP or resolvable host.")


def _is_address(text: str) -> bool:
    """Whether InetAddress.getByName takes a text: an address in any of its forms, or a name.

    Kafka asks the name service and refuses names that it does not know; nothing is looked up here, so a quota may be for a host that is
    not there.
    """
    if _NUMBERS.fullmatch(text):
        *first, last = map(int, text.split("."))
        return all(part < 256 for part in first) and last < 256 ** (4 - len(first))
    try:
        ip_address(text[1:-1] if text[:1] == "[" and text[-1:] == "]" and ":" in text else text)
    except ValueError:
        return _HOST.fullmatch(text) is not None
    return True


def _records(
    state: State, entity: QuotaEntity, entry: messages.AlterClientQuotasRequest.EntryData, types: dict[str, str]
) -> Iterator[VersionedRecord]:
    made = messages.ClientQuotaRecord
    parts = tuple(made.EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
    present: Mapping[str, float] = state.image.client_quotas.get(entity, {})
    changes = []
    by_key = {op.key: op for op in entry.ops}
    for key in string_hash_order(by_key, len(entry.ops)):
        op = by_key[key]
        if op.remove:
            if op.key in present:
                changes.append(made(entity=parts, key=op.key, value=0.0, remove=True))
        else:
            _check_value(op.key, op.value, types)
            if present.get(op.key) != op.value:
                changes.append(made(entity=parts, key=op.key, value=op.value, remove=False))
    yield from ((change, 0) for change in changes)


def _check_value(key: str, value: float, types: dict[str, str]) -> None:
    if key not in types:
        raise ApiError(INVALID_REQUEST, f"Invalid configuration key {key}")
    if not isfinite(value):
        raise ApiError(INVALID_REQUEST, f"Quota {key} must be a finite number")
    if value <= 0:
        raise ApiError(INVALID_REQUEST, f"Quota {key} must be greater than 0")
    kind = types[key]
    if kind in _LIMITS:
        if value > float(_LIMITS[kind]):
            raise ApiError(INVALID_REQUEST, f"Proposed value for {key} is too large for {'an' if kind == 'INT' else 'a'} {kind}.")
        if abs(value - int(value)) > _FRACTION_MAX:
            raise ApiError(INVALID_REQUEST, f"{key} cannot be a fractional value.")


def _result(entry: messages.AlterClientQuotasRequest.EntryData, error: ApiError) -> messages.AlterClientQuotasResponse.EntryData:
    names = {part.entity_type: part.entity_name for part in entry.entity}
    return _told(names.items(), error)


def _told(parts: Iterable[tuple[str, str | None]], error: ApiError) -> messages.AlterClientQuotasResponse.EntryData:
    made = messages.AlterClientQuotasResponse
    return made.EntryData(
        error_code=error.code,
        error_message=error.message,
        entity=tuple(made.EntityData(entity_type=kind, entity_name=name) for kind, name in parts),
    )


_REFUSALS: Final = {
    NOT_CONTROLLER: "This is not the correct controller for this cluster.",
    POLICY_VIOLATION: "Request parameters do not satisfy the configured policy.",
}
"""What Kafka says here, whatever the reason was."""


def refuse(request: Request, code: int, message: str | None) -> messages.AlterClientQuotasResponse:
    error = ApiError(code, _REFUSALS.get(code, message))
    entries = (_told(((part.entity_type, part.entity_name) for part in entry.entity), error) for entry in request.body.entries)
    return messages.AlterClientQuotasResponse(entries=tuple(entries))
