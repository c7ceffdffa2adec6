"""Access control entries (create, delete, describe) and delegation tokens (create, renew, expire, sweep).

Source: org.apache.kafka.controller.AclControlManager, DelegationTokenControlManager; kafka.server.AclApis, ControllerApis."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
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
    INVALID_REQUEST,
    NONE,
    SECURITY_DISABLED,
    UNSUPPORTED_VERSION,
)
from metashell.codec.releases import ACL_RANGES_LEVEL, DELEGATION_TOKEN_LEVEL
from metashell.codec.validation import is_range, parse_host_range
from metashell.common.values import uuid_text
from metashell.metadata.image import Acl, DelegationToken
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.authorizer import CLUSTER_NAME, WILDCARD, Operation, Pattern, Permission, Resource
from metashell.quorum.controller.decision import (
    ANONYMOUS,
    RECORDS_MAX,
    TOO_LARGE,
    ApiError,
    BoundedRecords,
    Decision,
    Request,
    Steps,
    new_uuid,
)
from metashell.quorum.controller.state import State

_PIECE: Final = 1000
"""Entries that are held against a filter in one piece."""
NO_AUTHORIZER: Final = "No Authorizer is configured."


def create_acls(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Make entries; one that is there already, or comes twice, is a success without a record."""
    body = request.body
    if not state.settings.has_authorizer:
        raise ApiError(SECURITY_DISABLED, NO_AUTHORIZER)
    made: set[Acl] = set()
    records = BoundedRecords()
    results = []
    for one in body.creations:
        yield
        error = ApiError(NONE, "")
        _check_codes(one.resource_type, one.resource_pattern_type, one.operation, one.permission_type)
        try:
            acl = Acl(
                one.resource_type,
                one.resource_name,
                one.resource_pattern_type,
                one.principal,
                one.host,
                one.operation,
                one.permission_type,
            )
            _check_new(acl, state.level)
            # Looked up in the newest image, not the stable one: the same entry may be on its way from an earlier request, and would be
            # written twice.
            if acl not in made and acl not in state.acl_hints.at(state.image.acls, acl.resource_type, acl.pattern_type, acl.resource_name):
                made.add(acl)
                records.append((messages.AccessControlEntryRecord(id=new_uuid(state.chance), **acl._asdict()), 0))
        except ApiError as refusal:
            # An entry that is refused has its own error in the answer, and the others are still made. Too many records are the
            # fault of the request as a whole.
            if refusal.message == TOO_LARGE:
                raise
            error = refusal
        results.append(messages.CreateAclsResponse.AclCreationResult(error_code=error.code, error_message=error.message))
    return Decision(messages.CreateAclsResponse(results=tuple(results)), records)


def _check_new(acl: Acl, level: int) -> None:
    """Check the fields of a new entry. Errors: ApiError, in Kafka's order."""
    if acl.resource_type == Resource.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise ApiError(INVALID_REQUEST, f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        raise ApiError(INVALID_REQUEST, "Invalid empty resource name")
    _check_code("resourceType", acl.resource_type, Resource)
    if acl.pattern_type not in (Pattern.LITERAL, Pattern.PREFIXED):
        raise ApiError(INVALID_REQUEST, f"Invalid patternType {_name_of(acl.pattern_type, Pattern)}")
    _check_code("operation", acl.operation, Operation)
    _check_code("permissionType", acl.permission_type, Permission)
    if ":" not in acl.principal:
        why = "(no colon is present separating the principal type from the principal name)"
        raise ApiError(INVALID_REQUEST, f"Could not parse principal from `{acl.principal}` {why}")
    _check_host(acl.host, level)


def _check_host(host: str, level: int) -> None:
    if not host:
        raise ApiError(INVALID_REQUEST, "Host pattern cannot be null or empty")
    if not is_range(host):
        return
    if level < ACL_RANGES_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION, "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher.")
    try:
        parse_host_range(host)
    except ValueError as error:
        raise ApiError(INVALID_REQUEST, f"Invalid CIDR notation '{host}': {error}") from None


def _check_codes(resource_type: int, pattern_type: int, operation: int, permission_type: int) -> None:
    """Refuse the whole request where a code stands for none or for any: Kafka closes the connection or answers with a server error.

    Errors: ApiError INVALID_REQUEST.
    """
    for what, code, codes in (
        ("resourceType", resource_type, Resource),
        ("patternType", pattern_type, Pattern),
        ("operation", operation, Operation),
        ("permissionType", permission_type, Permission),
    ):
        if code in (0, 1) or (codes is Pattern and code == Pattern.MATCH):
            raise ApiError(INVALID_REQUEST, f"Invalid {what} {_name_of(code, codes)}")


def _check_code(what: str, code: int, codes: Any) -> None:
    if code < 2 or code not in iter(codes):
        raise ApiError(INVALID_REQUEST, f"Invalid {what} {_name_of(code, codes)}")


def _name_of(code: int, codes: Any) -> str:
    return str(codes(code).name) if code in iter(codes) else "UNKNOWN"


class AclFilter:
    """A filter of entries; an unknown code matches none.

    Errors: ApiError INVALID_REQUEST for a code that stands for none: Kafka closes the connection.
    """

    def __init__(self, one: Any) -> None:
        self._resource_type = one.resource_type_filter
        self._name = one.resource_name_filter
        self._pattern = one.pattern_type_filter
        self._principal = one.principal_filter
        self._host = one.host_filter
        self._operation = one.operation
        self._permission = one.permission_type
        for what, code in (
            ("patternType", self._pattern),
            ("resourceType", self._resource_type),
            ("operation", self._operation),
            ("permissionType", self._permission),
        ):
            if code == 0:
                raise ApiError(INVALID_REQUEST, f"Unknown {what}.")

    def check(self) -> None:
        """Errors: ApiError INVALID_REQUEST for a code that nobody knows, which a deletion may not have."""
        if self._resource_type not in iter(Resource) or self._pattern not in iter(Pattern):
            raise ApiError(INVALID_REQUEST, "Unknown patternFilter.")
        if self._operation not in iter(Operation) or self._permission not in iter(Permission):
            raise ApiError(INVALID_REQUEST, "Unknown entryFilter.")

    def matches(self, acl: Acl) -> bool:
        return (
            self._resource_type in (Resource.ANY, acl.resource_type)
            and self._matches_name(acl)
            and self._principal in (None, acl.principal)
            and self._host in (None, acl.host)
            and self._operation in (Operation.ANY, acl.operation)
            and self._permission in (Permission.ANY, acl.permission_type)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self._pattern not in (Pattern.ANY, Pattern.MATCH, acl.pattern_type):
            return False
        if self._name is None:
            return True
        if self._pattern != Pattern.MATCH:
            return bool(self._name == acl.resource_name)
        # MATCH asks for the entries that apply to a resource of this name: `orders` is matched by the literal `orders`, the literal `*`
        # and the prefix `ord`.
        if acl.pattern_type == Pattern.PREFIXED:
            return bool(self._name.startswith(acl.resource_name))
        return acl.resource_name in (self._name, WILDCARD)


def delete_acls(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Remove what filters match; an entry that several match is removed once and listed for each."""
    if not state.settings.has_authorizer:
        raise ApiError(SECURITY_DISABLED, NO_AUTHORIZER)
    response = messages.DeleteAclsResponse
    removed: dict[bytes, None] = {}
    results = []
    # All filters are built before the first is applied: a code that stands for none refuses the request. What `check` refuses is
    # answered for its filter alone.
    filters = [AclFilter(one) for one in request.body.filters]
    for wanted in filters:
        try:
            wanted.check()
            matching = []
            for number, (id, acl) in enumerate(state.image.acls.by_id.items(), 1):
                if not number % _PIECE:
                    yield
                if wanted.matches(acl):
                    removed[id] = None
                    matching.append(response.DeleteAclsMatchingAcl(error_code=NONE, error_message=None, **acl._asdict()))
            if len(removed) > RECORDS_MAX:
                raise ApiError(INVALID_REQUEST, f"Cannot remove more than {RECORDS_MAX} acls in a single delete operation.")
            results.append(response.DeleteAclsFilterResult(error_code=NONE, error_message=None, matching_acls=tuple(matching)))
        except ApiError as error:
            # The limit counts the entries of all filters, so passing it fails the whole request: nothing is removed.
            if len(removed) > RECORDS_MAX:
                raise
            results.append(response.DeleteAclsFilterResult(error_code=error.code, error_message=error.message))
    records = [(messages.RemoveAccessControlEntryRecord(id=id), 0) for id in removed]
    return Decision(response(filter_results=tuple(results)), records)


def describe_acls(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Return the entries that a filter matches, grouped by resource."""
    if not state.settings.has_authorizer:
        raise ApiError(SECURITY_DISABLED, "No Authorizer is configured on the broker")
    wanted = AclFilter(request.body)
    matching = []
    # Readers see committed entries only; a deletion goes by the newest image, which has those that are about to be.
    for number, acl in enumerate(state.stable.acls.by_id.values(), 1):
        if not number % _PIECE:
            yield
        if wanted.matches(acl):
            matching.append(acl)
    return Decision(_acl_description(matching))


def _acl_description(acls: Iterable[Acl]) -> Any:
    response = messages.DescribeAclsResponse
    by_resource: dict[tuple[int, str, int], list[Any]] = {}
    for acl in acls:
        made = response.AclDescription(principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission_type)
        by_resource.setdefault((acl.resource_type, acl.resource_name, acl.pattern_type), []).append(made)
    return response(
        error_code=NONE,
        error_message="",
        resources=tuple(
            response.DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=tuple(made))
            for (kind, name, pattern), made in by_resource.items()
        ),
    )


# Delegation tokens


EXPIRATIONS_MAX: Final = 1000
"""The tokens that one run of the periodic task removes."""
_LONG_MAX: Final = (1 << 63) - 1
_PLAINTEXT: Final = 0
_SSL: Final = 1
_OWNER_FROM = 3
"""The version of CreateDelegationToken from which a token may be made for another owner (KIP-373)."""


def create_token(state: State, request: Request, now_ms: int) -> Decision:
    """Make a token for the sender, or for somebody that it may make tokens for."""
    body = request.body
    # The order is Kafka's, and a client sees the first refusal: ControllerApis checks the sender and its rights, then the control manager
    # whether tokens are enabled.
    _check_sender(request)
    owner = _token_owner(request)
    if owner != request.principal and not state.authorizer.allows(request, Operation.CREATE_TOKENS, Resource.USER, owner):
        raise ApiError(DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    _check_enabled(state)
    if any(one.principal_type != "User" for one in body.renewers):
        raise ApiError(INVALID_PRINCIPAL_TYPE)
    # Token times are Unix time, which clients and other nodes read. `now_ms` is on a clock that never jumps and has no date.
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
    return Decision(answer, [_token_record(token)])


def _token_owner(request: Request) -> str:
    """Return the owner of a requested token: the sender, unless the request names another."""
    body = request.body
    if request.version >= _OWNER_FROM and body.owner_principal_name:
        return f"{body.owner_principal_type}:{body.owner_principal_name}"
    return request.principal


def renew_token(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Let a token live on, at most to its maximum."""
    _check_sender(request)
    _check_enabled(state)
    wall_ms = state.wall_ms
    token = yield from _find_token(state, request.body.hmac)
    if token.max_timestamp < wall_ms or token.expiration_timestamp < wall_ms:
        raise ApiError(DELEGATION_TOKEN_EXPIRED)
    _check_owner(request, token)
    period_ms = state.settings.number("delegation.token.expiry.time.ms")
    if request.body.renew_period_ms > 0:
        period_ms = min(period_ms, request.body.renew_period_ms)
    expiry_ms = min(token.max_timestamp, _sum(wall_ms, period_ms))
    answer = messages.RenewDelegationTokenResponse(error_code=NONE, expiry_timestamp_ms=expiry_ms)
    return Decision(answer, [_token_record(token._replace(expiration_timestamp=expiry_ms))])


def expire_token(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """End a token, now for a negative period, else after it."""
    _check_sender(request)
    _check_enabled(state)
    wall_ms = state.wall_ms
    token = yield from _find_token(state, request.body.hmac)
    _check_owner(request, token)
    period_ms = request.body.expiry_time_period_ms
    # A negative period removes the token now, even one that has expired and still waits for the sweep: hence it precedes that check.
    if period_ms < 0:
        answer = messages.ExpireDelegationTokenResponse(error_code=NONE, expiry_timestamp_ms=wall_ms)
        return Decision(answer, [_token_removal(token)])
    if token.max_timestamp < wall_ms or token.expiration_timestamp < wall_ms:
        raise ApiError(DELEGATION_TOKEN_EXPIRED)
    expiry_ms = min(token.max_timestamp, _sum(wall_ms, period_ms))
    answer = messages.ExpireDelegationTokenResponse(error_code=NONE, expiry_timestamp_ms=expiry_ms)
    return Decision(answer, [_token_record(token._replace(expiration_timestamp=expiry_ms))])


def sweep_expired_tokens(state: State, now_ms: int) -> tuple[Decision, bool]:
    """Remove tokens whose time is over, and return whether more are left. The periodic task runs it."""
    wall_ms = state.wall_ms
    # The newest image, not the stable one: it lacks the tokens that an earlier run removes and that are not committed yet.
    over = [token for token in state.image.delegation_tokens.values() if min(token.max_timestamp, token.expiration_timestamp) < wall_ms]
    records = [_token_removal(token) for token in over[:EXPIRATIONS_MAX]]
    return Decision(None, records), len(over) > EXPIRATIONS_MAX


def token_hmac(state: State, token_id: str) -> bytes:
    """Return the secret of a token. The configuration must have the controllers' shared secret."""
    assert state.settings.token_secret is not None
    return hmac_of_token(state.settings.token_secret, token_id)


def hmac_of_token(secret: str, token_id: str) -> bytes:
    """Return the secret of a token, made from its id and the secret that all controllers share."""
    return hmac.digest(secret.encode(), token_id.encode(), "sha512")


def _check_sender(request: Request) -> None:
    """Refuse a sender that logged in with a token, or is anonymous. Errors: ApiError.

    Were a token enough to make or renew tokens, a stolen one could be kept alive for ever.
    """
    # The protocol of a forwarded request is that of the broker's connection, and says nothing about the client's.
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


def _find_token(state: State, secret: bytes) -> Steps[DelegationToken]:
    """Return the committed token that has this secret. Errors: ApiError DELEGATION_TOKEN_NOT_FOUND."""
    # A request names a token by its secret only, and neither records nor snapshots hold that, so each is made anew. That costs an HMAC
    # a token, hence the rests. `compare_digest` takes the same time however much of a guess is right.
    for token in state.stable.delegation_tokens.values():
        if hmac.compare_digest(token_hmac(state, token.token_id), bytes(secret)):
            return token
        yield
    raise ApiError(DELEGATION_TOKEN_NOT_FOUND)


def _check_owner(request: Request, token: DelegationToken) -> None:
    if request.principal != token.owner and request.principal not in token.renewers:
        raise ApiError(DELEGATION_TOKEN_OWNER_MISMATCH)


def _token_record(token: DelegationToken) -> VersionedRecord:
    return messages.DelegationTokenRecord(**token._asdict()), 0


def _token_removal(token: DelegationToken) -> VersionedRecord:
    return messages.RemoveDelegationTokenRecord(token_id=token.token_id), 0


def _sum(left: int, right: int) -> int:
    # Timestamps are 64 bits wide in records and answers, and a lifetime may be configured as the largest such number.
    return min(_LONG_MAX, left + right)


def refuse_create_token(request: Request, code: int, message: str | None) -> Any:
    owner_type, _, owner_name = _token_owner(request).partition(":")
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
