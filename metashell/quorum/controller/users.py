"""SCRAM credentials of users, and quotas of users, clients and addresses.

Source: org.apache.kafka.controller.ScramControlManager, ClientQuotaControlManager."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from math import isfinite
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    DUPLICATE_RESOURCE,
    INVALID_REQUEST,
    NONE,
    NOT_CONTROLLER,
    POLICY_VIOLATION,
    RESOURCE_NOT_FOUND,
    UNACCEPTABLE_CREDENTIAL,
    UNSUPPORTED_SASL_MECHANISM,
    UNSUPPORTED_VERSION,
)
from metashell.codec.java import string_hash_order
from metashell.codec.releases import SCRAM_LEVEL
from metashell.metadata.image import QuotaEntity
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.decision import TOO_LARGE, ApiError, BoundedRecords, Decision, Request, Steps
from metashell.quorum.controller.state import State

HASHES: Final = {1: "sha256", 2: "sha512"}
ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384


def alter_scram_credentials(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Delete and set credentials: a user that is named twice gets none of its changes."""
    body = request.body
    if state.level < SCRAM_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM")
    deletions: dict[str, Any] = {}
    upsertions: dict[str, Any] = {}
    errors: dict[str, ApiError] = {}
    for kept, changes, check in ((deletions, body.deletions, _check_deletion), (upsertions, body.upsertions, _check_upsertion)):
        for one in changes:
            yield
            if one.name in errors:
                # The first thing that is wrong about a user counts.
                continue
            try:
                if any(found.pop(one.name, None) is not None for found in (deletions, upsertions)):
                    raise ApiError(DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
                check(state, one)
                kept[one.name] = one
            except ApiError as error:
                errors[one.name] = error
    records = BoundedRecords()
    results = []
    for name, one in deletions.items():
        records.append((messages.RemoveUserScramCredentialRecord(name=name, mechanism=one.mechanism), 0))
        results.append(_scram_result(name, ApiError(NONE)))
    for name, one in upsertions.items():
        try:
            record = _upsertion(one)
        except ApiError as error:
            errors[name] = error
        else:
            records.append(record)
            results.append(_scram_result(name, ApiError(NONE)))
    results += [_scram_result(name, error) for name, error in errors.items()]
    return Decision(messages.AlterUserScramCredentialsResponse(results=tuple(results)), records)


def _check_scram(name: str, mechanism: int) -> None:
    if not name:
        raise ApiError(UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in HASHES:
        raise ApiError(UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")


def _check_deletion(state: State, one: messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion) -> None:
    _check_scram(one.name, one.mechanism)
    if one.name not in state.image.scram.get(one.mechanism, {}):
        raise ApiError(RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")


def _check_upsertion(state: State, one: messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion) -> None:
    _check_scram(one.name, one.mechanism)
    if one.iterations < ITERATIONS_MIN:
        raise ApiError(UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if one.iterations > ITERATIONS_MAX:
        raise ApiError(UNACCEPTABLE_CREDENTIAL, "Too many iterations")


def _upsertion(one: messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion) -> VersionedRecord:
    if not one.salted_password:
        raise ApiError(UNACCEPTABLE_CREDENTIAL, "The salted password is empty")
    algorithm = HASHES[one.mechanism]
    client_key = hmac.digest(one.salted_password, b"Client Key", algorithm)
    record = messages.UserScramCredentialRecord(
        name=one.name,
        mechanism=one.mechanism,
        salt=one.salt,
        stored_key=hashlib.new(algorithm, client_key).digest(),
        server_key=hmac.digest(one.salted_password, b"Server Key", algorithm),
        iterations=one.iterations,
    )
    return record, 0


def _scram_result(name: str, error: ApiError) -> messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult:
    return messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult(
        user=name, error_code=error.code, error_message=error.message
    )


def refuse_alter_scram_credentials(request: Request, code: int, message: str | None) -> messages.AlterUserScramCredentialsResponse:
    """The answer that refuses every user of a request."""
    names = dict.fromkeys(one.name for one in (*request.body.deletions, *request.body.upsertions))
    error = ApiError(code, message)
    return messages.AlterUserScramCredentialsResponse(results=tuple(_scram_result(name, error) for name in names))


# Quotas


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


def alter_client_quotas(state: State, request: Request, now_ms: int) -> Steps[Decision]:
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
        results[_entity(entry)] = _quota_result(entry, error)
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
    return list(_quota_records(state, entity, entry, _ADDRESS_KEYS if ADDRESS in names else _USER_KEYS))


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


def _quota_records(
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


def _quota_result(entry: messages.AlterClientQuotasRequest.EntryData, error: ApiError) -> messages.AlterClientQuotasResponse.EntryData:
    names = {part.entity_type: part.entity_name for part in entry.entity}
    return _refused_entry(names.items(), error)


def _refused_entry(parts: Iterable[tuple[str, str | None]], error: ApiError) -> messages.AlterClientQuotasResponse.EntryData:
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


def refuse_alter_client_quotas(request: Request, code: int, message: str | None) -> messages.AlterClientQuotasResponse:
    error = ApiError(code, _REFUSALS.get(code, message))
    entries = (_refused_entry(((part.entity_type, part.entity_name) for part in entry.entity), error) for entry in request.body.entries)
    return messages.AlterClientQuotasResponse(entries=tuple(entries))
