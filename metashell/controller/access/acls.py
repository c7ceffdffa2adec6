"""Access control entries: made, removed and described.

Source: org.apache.kafka.controller.AclControlManager, kafka.server.AclApis.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.acl_hosts import is_range, parse_host_range
from metashell.codec.error_codes import INVALID_REQUEST, NONE, SECURITY_DISABLED, UNSUPPORTED_VERSION
from metashell.codec.metadata_version import ACL_RANGES_LEVEL
from metashell.controller.access.authorizer import CLUSTER_NAME, WILDCARD, Operation, Pattern, Permission, Resource
from metashell.controller.chance import new_uuid
from metashell.controller.decision import RECORDS_MAX, TOO_LARGE, ApiError, BoundedRecords, Decision
from metashell.controller.request import Request
from metashell.controller.state import State
from metashell.controller.steps import Steps
from metashell.image import Acl

_PIECE: Final = 1000
"""Entries that are held against a filter in one piece."""
NO_AUTHORIZER: Final = "No Authorizer is configured."


def create(state: State, request: Request, now_ms: int) -> Steps[Decision]:
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
            if acl not in made and acl not in state.acl_hints.at(state.image.acls, acl.resource_type, acl.pattern_type, acl.resource_name):
                made.add(acl)
                records.append((messages.AccessControlEntryRecord(id=new_uuid(state.chance), **acl._asdict()), 0))
        except ApiError as refusal:
            if refusal.message == TOO_LARGE:
                raise
            error = refusal
        results.append(messages.CreateAclsResponse.AclCreationResult(error_code=error.code, error_message=error.message))
    return Decision(messages.CreateAclsResponse(results=tuple(results)), records)


def refuse_create(request: Request, code: int, message: str | None) -> messages.CreateAclsResponse:
    made = messages.CreateAclsResponse.AclCreationResult
    return messages.CreateAclsResponse(results=tuple(made(error_code=code, error_message=message) for _ in request.body.creations))


def _check_new(acl: Acl, level: int) -> None:
    """Whether an entry means something. Errors: ApiError, in Kafka's order."""
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
    """Which entries are meant; a code that nobody knows matches none.

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
        if acl.pattern_type == Pattern.PREFIXED:
            return bool(self._name.startswith(acl.resource_name))
        return acl.resource_name in (self._name, WILDCARD)


def delete(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Remove what filters match; an entry that several match is removed once and listed for each."""
    if not state.settings.has_authorizer:
        raise ApiError(SECURITY_DISABLED, NO_AUTHORIZER)
    response = messages.DeleteAclsResponse
    removed: dict[bytes, None] = {}
    results = []
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
            if len(removed) > RECORDS_MAX:
                raise
            results.append(response.DeleteAclsFilterResult(error_code=error.code, error_message=error.message))
    records = [(messages.RemoveAccessControlEntryRecord(id=id), 0) for id in removed]
    return Decision(response(filter_results=tuple(results)), records)


def refuse_delete(request: Request, code: int, message: str | None) -> messages.DeleteAclsResponse:
    made = messages.DeleteAclsResponse.DeleteAclsFilterResult
    return messages.DeleteAclsResponse(filter_results=tuple(made(error_code=code, error_message=message) for _ in request.body.filters))


def describe(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """The entries that a filter matches, by what they are about."""
    if not state.settings.has_authorizer:
        raise ApiError(SECURITY_DISABLED, "No Authorizer is configured on the broker")
    wanted = AclFilter(request.body)
    matching = []
    for number, acl in enumerate(state.stable.acls.by_id.values(), 1):
        if not number % _PIECE:
            yield
        if wanted.matches(acl):
            matching.append(acl)
    return Decision(_description(matching))


def _description(acls: Iterable[Acl]) -> Any:
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
