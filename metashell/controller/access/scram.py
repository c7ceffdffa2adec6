"""SCRAM credentials of users.

Source: org.apache.kafka.controller.ScramControlManager.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    DUPLICATE_RESOURCE,
    NONE,
    RESOURCE_NOT_FOUND,
    UNACCEPTABLE_CREDENTIAL,
    UNSUPPORTED_SASL_MECHANISM,
    UNSUPPORTED_VERSION,
)
from metashell.codec.metadata_version import SCRAM_LEVEL
from metashell.controller.decision import ApiError, BoundedRecords, Decision
from metashell.controller.request import Request
from metashell.controller.state import State
from metashell.controller.steps import Steps
from metashell.image.loss import VersionedRecord

HASHES: Final = {1: "sha256", 2: "sha512"}
ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384


def alter(state: State, request: Request, now_ms: int) -> Steps[Decision]:
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
        results.append(_result(name, ApiError(NONE)))
    for name, one in upsertions.items():
        try:
            record = _upsertion(one)
        except ApiError as error:
            errors[name] = error
        else:
            records.append(record)
            results.append(_result(name, ApiError(NONE)))
    results += [_result(name, error) for name, error in errors.items()]
    return Decision(messages.AlterUserScramCredentialsResponse(results=tuple(results)), records)


def _check(name: str, mechanism: int) -> None:
    if not name:
        raise ApiError(UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in HASHES:
        raise ApiError(UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")


def _check_deletion(state: State, one: messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion) -> None:
    _check(one.name, one.mechanism)
    if one.name not in state.image.scram.get(one.mechanism, {}):
        raise ApiError(RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")


def _check_upsertion(state: State, one: messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion) -> None:
    _check(one.name, one.mechanism)
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


def _result(name: str, error: ApiError) -> messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult:
    return messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult(
        user=name, error_code=error.code, error_message=error.message
    )


def refuse(request: Request, code: int, message: str | None) -> messages.AlterUserScramCredentialsResponse:
    """The answer that refuses every user of a request."""
    names = dict.fromkeys(one.name for one in (*request.body.deletions, *request.body.upsertions))
    error = ApiError(code, message)
    return messages.AlterUserScramCredentialsResponse(results=tuple(_result(name, error) for name in names))
