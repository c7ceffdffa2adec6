"""Delegation tokens: made, renewed, expired, and swept away.

Source: org.apache.kafka.controller.DelegationTokenControlManager, kafka.server.ControllerApis.
"""

from __future__ import annotations

import hmac
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    DELEGATION_TOKEN_AUTH_DISABLED,
    DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    DELEGATION_TOKEN_EXPIRED,
    DELEGATION_TOKEN_NOT_FOUND,
    DELEGATION_TOKEN_OWNER_MISMATCH,
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    INVALID_PRINCIPAL_TYPE,
    NONE,
    UNSUPPORTED_VERSION,
)
from metashell.codec.metadata_version import DELEGATION_TOKEN_LEVEL
from metashell.controller.access.authorizer import Operation, Resource
from metashell.controller.chance import new_uuid
from metashell.controller.decision import ApiError, Decision
from metashell.controller.request import ANONYMOUS, Request
from metashell.controller.state import State
from metashell.controller.steps import Steps
from metashell.image import DelegationToken
from metashell.image.loss import VersionedRecord
from metashell.values import uuid_text

EXPIRATIONS_MAX: Final = 1000
"""The tokens that one run of the periodic task removes."""
_LONG_MAX: Final = (1 << 63) - 1
_PLAINTEXT: Final = 0
_SSL: Final = 1
_OWNER_FROM = 3


def create(state: State, request: Request, now_ms: int) -> Decision:
    """Make a token for the sender, or for somebody that it may make tokens for."""
    body = request.body
    _check_sender(request)
    owner = _owner(request)
    if owner != request.principal and not state.authorizer.allows(request, Operation.CREATE_TOKENS, Resource.USER, owner):
        raise ApiError(DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    _check_enabled(state)
    if any(one.principal_type != "User" for one in body.renewers):
        raise ApiError(INVALID_PRINCIPAL_TYPE)
    wall_ms = state.wall_ms
    settings = state.settings
    life_ms = settings.number("delegation.token.max.lifetime.ms")
    if body.max_lifetime_ms > 0:
        life_ms = min(life_ms, body.max_lifetime_ms)
    max_ms = _sum(wall_ms, life_ms)
    expiry_ms = min(max_ms, _sum(wall_ms, settings.number("delegation.token.expiry.time.ms")))
    token = DelegationToken(
        owner=owner,
        requester=request.principal,
        renewers=tuple(f"{one.principal_type}:{one.principal_name}" for one in body.renewers),
        issue_timestamp=wall_ms,
        max_timestamp=max_ms,
        expiration_timestamp=expiry_ms,
        token_id=uuid_text(new_uuid(state.chance)),
    )
    owner_type, _, owner_name = owner.partition(":")
    requester_type, _, requester_name = request.principal.partition(":")
    answer = messages.CreateDelegationTokenResponse(
        error_code=NONE,
        principal_type=owner_type,
        principal_name=owner_name,
        issue_timestamp_ms=wall_ms,
        expiry_timestamp_ms=expiry_ms,
        max_timestamp_ms=max_ms,
        token_id=token.token_id,
        hmac=token_hmac(state, token.token_id),
    )
    if request.version >= _OWNER_FROM:
        answer.token_requester_principal_type, answer.token_requester_principal_name = requester_type, requester_name
    return Decision(answer, [_record(token)])


def _owner(request: Request) -> str:
    """Whose token is asked for: the sender's own where it says nothing else."""
    body = request.body
    if request.version >= _OWNER_FROM and body.owner_principal_name:
        return f"{body.owner_principal_type}:{body.owner_principal_name}"
    return request.principal


def renew(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Let a token live on, at most to its maximum."""
    _check_sender(request)
    _check_enabled(state)
    wall_ms = state.wall_ms
    token = yield from _find(state, request.body.hmac)
    if token.max_timestamp < wall_ms or token.expiration_timestamp < wall_ms:
        raise ApiError(DELEGATION_TOKEN_EXPIRED)
    _check_owner(request, token)
    period_ms = state.settings.number("delegation.token.expiry.time.ms")
    if request.body.renew_period_ms > 0:
        period_ms = min(period_ms, request.body.renew_period_ms)
    expiry_ms = min(token.max_timestamp, _sum(wall_ms, period_ms))
    answer = messages.RenewDelegationTokenResponse(error_code=NONE, expiry_timestamp_ms=expiry_ms)
    return Decision(answer, [_record(token._replace(expiration_timestamp=expiry_ms))])


def expire(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """End a token, now for a negative period, else after it."""
    _check_sender(request)
    _check_enabled(state)
    wall_ms = state.wall_ms
    token = yield from _find(state, request.body.hmac)
    _check_owner(request, token)
    period_ms = request.body.expiry_time_period_ms
    if period_ms < 0:
        answer = messages.ExpireDelegationTokenResponse(error_code=NONE, expiry_timestamp_ms=wall_ms)
        return Decision(answer, [_removal(token)])
    if token.max_timestamp < wall_ms or token.expiration_timestamp < wall_ms:
        raise ApiError(DELEGATION_TOKEN_EXPIRED)
    expiry_ms = min(token.max_timestamp, _sum(wall_ms, period_ms))
    answer = messages.ExpireDelegationTokenResponse(error_code=NONE, expiry_timestamp_ms=expiry_ms)
    return Decision(answer, [_record(token._replace(expiration_timestamp=expiry_ms))])


def sweep(state: State, now_ms: int) -> tuple[Decision, bool]:
    """Periodic: remove tokens whose time is over."""
    wall_ms = state.wall_ms
    over = [token for token in state.image.delegation_tokens.values() if min(token.max_timestamp, token.expiration_timestamp) < wall_ms]
    records = [_removal(token) for token in over[:EXPIRATIONS_MAX]]
    return Decision(None, records), len(over) > EXPIRATIONS_MAX


def token_hmac(state: State, token_id: str) -> bytes:
    """The secret of a token."""
    assert state.settings.token_secret is not None
    return hmac_of_token(state.settings.token_secret, token_id)


def hmac_of_token(secret: str, token_id: str) -> bytes:
    """The secret of a token, made from its id and the secret that all controllers share."""
    return hmac.digest(secret.encode(), token_id.encode(), "sha512")


def _check_sender(request: Request) -> None:
    """Tokens are not made with tokens, nor by somebody whom nobody knows."""
    is_unknown = not request.is_forwarded and (
        request.security_protocol == _PLAINTEXT or (request.security_protocol == _SSL and request.principal == ANONYMOUS)
    )
    if request.is_token_authenticated or is_unknown:
        raise ApiError(DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def _check_enabled(state: State) -> None:
    if state.settings.token_secret is None:
        raise ApiError(DELEGATION_TOKEN_AUTH_DISABLED)
    if state.level < DELEGATION_TOKEN_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION)


def _find(state: State, secret: bytes) -> Steps[DelegationToken]:
    """A token by its secret, among those that are committed."""
    for token in state.stable.delegation_tokens.values():
        if hmac.compare_digest(token_hmac(state, token.token_id), bytes(secret)):
            return token
        yield
    raise ApiError(DELEGATION_TOKEN_NOT_FOUND)


def _check_owner(request: Request, token: DelegationToken) -> None:
    if request.principal != token.owner and request.principal not in token.renewers:
        raise ApiError(DELEGATION_TOKEN_OWNER_MISMATCH)


def _record(token: DelegationToken) -> VersionedRecord:
    return messages.DelegationTokenRecord(**token._asdict()), 0


def _removal(token: DelegationToken) -> VersionedRecord:
    return messages.RemoveDelegationTokenRecord(token_id=token.token_id), 0


def _sum(left: int, right: int) -> int:
    return min(_LONG_MAX, left + right)


def refuse_create(request: Request, code: int, message: str | None) -> Any:
    owner_type, _, owner_name = _owner(request).partition(":")
    requester_type, _, requester_name = request.principal.partition(":")
    answer = messages.CreateDelegationTokenResponse(
        error_code=code,
        principal_type=owner_type,
        principal_name=owner_name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
        token_id="",
        hmac=b"",
    )
    if request.version >= _OWNER_FROM:
        answer.token_requester_principal_type, answer.token_requester_principal_name = requester_type, requester_name
    return answer


def refuse_renew(request: Request, code: int, message: str | None) -> messages.RenewDelegationTokenResponse:
    return messages.RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


def refuse_expire(request: Request, code: int, message: str | None) -> messages.ExpireDelegationTokenResponse:
    return messages.ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)
