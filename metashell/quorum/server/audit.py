"""The audit log of a controller, and who is told once that it asks wrongly.

`Audit` gives one entry for each change that was applied or refused: who asked, from where, through which API, and about what.

- Applied: when the change is committed, one entry for each resource, never left out. A change that was written when leadership ended may be
  committed by the next leader or not: its entry says `unknown`.
- Refused, for want of a right: one entry for a principal, an address and an API in a minute, with the first resources and how many
  entries were left out before it. Who asks without end fills no disk.
- What brokers report all the time is no change that somebody decides: heartbeats, AlterPartition, directories, producer ids. Refusals of
  these are in it too.

`ToldClients` gives one line for a client that asks what a controller does not serve, or that is refused, or cannot log in: who, what was
asked, and where it should go. Another line about it comes after an hour at the earliest; many clients share a rate.

Both keep bounded memory. Source: kafka.authorizer.logger, org.apache.kafka.metadata.authorizer.StandardAuthorizerData.logAuditMessage."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from metashell.codec import codes
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED,
    NONE,
    TOPIC_AUTHORIZATION_FAILED,
)
from metashell.common.values import uuid_text
from metashell.metadata.image import MetadataImage
from metashell.quorum.controller import Request
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.controller import ROUTES
from metashell.quorum.server.event_queue import ServerEvent

REFUSED_EVERY_S: Final = 60.0
"""How often a refusal of one principal, address and API is in the audit log."""
REFUSERS_MAX: Final = 1000
"""Of how many of these the last entry is remembered."""
COUNTED_MAX: Final = 1000
"""Resources of a refusal that are counted."""
NAMES_MAX: Final = 5
"""Resources that the entry of a refusal names."""
TOLD_EVERY_S: Final = 3600.0
CLIENTS_MAX: Final = 1000
LINES_PER_MINUTE: Final = 20
TEXT_MAX: Final = 200
"""Characters of a name that a client chose."""

_REFUSALS: Final = frozenset(
    (CLUSTER_AUTHORIZATION_FAILED, DELEGATION_TOKEN_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED)
)
_REPORTS: Final = frozenset((codes.ALTER_PARTITION, codes.ASSIGN_REPLICAS_TO_DIRS, codes.BROKER_HEARTBEAT, codes.ALLOCATE_PRODUCER_IDS))
_CLUSTER: Final = "Cluster:kafka-cluster"
_CONFIG_TYPES: Final = {
    codes.TOPIC_RESOURCE: "Topic",
    codes.BROKER_RESOURCE: "Broker",
    codes.BROKER_LOGGER_RESOURCE: "BrokerLogger",
    codes.CLIENT_METRICS_RESOURCE: "ClientMetrics",
    codes.GROUP_RESOURCE: "Group",
}
Item = tuple[str, int]
"""A resource (`Topic:orders`) and the error code of what was asked about it."""
Pairs = Callable[[Any, Any], Iterable[Item]]


def _named(field: str, kind: str, name: str) -> Pairs:
    """Items of an answer that have a name and an error code."""
    return lambda body, answer: ((f"{kind}:{getattr(one, name)}", one.error_code) for one in getattr(answer, field))


def _configs(field: str) -> Pairs:
    return lambda body, answer: (
        (f"{_CONFIG_TYPES.get(one.resource_type, one.resource_type)}:{one.resource_name}", one.error_code) for one in getattr(answer, field)
    )


def _deleted_topics(body: Any, answer: Any) -> Iterator[Item]:
    for one in answer.responses:
        yield f"Topic:{one.name if one.name is not None else uuid_text(one.topic_id)}", one.error_code


def _created_acls(body: Any, answer: Any) -> Iterator[Item]:
    for asked, one in zip(body.creations, answer.results, strict=False):
        yield f"Acl:{asked.principal} {asked.operation} {asked.resource_type} {asked.resource_name}", one.error_code


def _deleted_acls(body: Any, answer: Any) -> Iterator[Item]:
    for result in answer.filter_results:
        if result.error_code or not result.matching_acls:
            yield _CLUSTER, result.error_code
        for one in result.matching_acls:
            yield f"Acl:{one.principal} {one.operation} {one.resource_type} {one.resource_name}", one.error_code


def _elected(body: Any, answer: Any) -> Iterator[Item]:
    if answer.error_code:
        yield _CLUSTER, answer.error_code
    for topic in answer.replica_election_results:
        for one in topic.partition_result:
            yield f"Topic:{topic.topic}-{one.partition_id}", one.error_code


def _reassigned(body: Any, answer: Any) -> Iterator[Item]:
    if answer.error_code:
        yield _CLUSTER, answer.error_code
    for topic in answer.responses:
        for one in topic.partitions:
            yield f"Topic:{topic.name}-{one.partition_index}", one.error_code


def _quotas(body: Any, answer: Any) -> Iterator[Item]:
    for one in answer.entries:
        yield f"Quota:{' '.join(f'{part.entity_type}={part.entity_name}' for part in one.entity)}", one.error_code


def _features(body: Any, answer: Any) -> Iterator[Item]:
    for one in body.feature_updates:
        yield f"Feature:{one.feature}", answer.error_code


def _numbered(kind: str, name: str) -> Pairs:
    """An answer whose request is about one node."""
    return lambda body, answer: ((f"{kind}:{getattr(body, name)}", answer.error_code),)


_ITEMS: Final[Mapping[int, Pairs]] = {
    19: _named("topics", "Topic", "name"),
    20: _deleted_topics,
    30: _created_acls,
    31: _deleted_acls,
    32: _configs("results"),
    33: _configs("responses"),
    37: _named("results", "Topic", "name"),
    43: _elected,
    44: _configs("responses"),
    45: _reassigned,
    49: _quotas,
    51: _named("results", "User", "user"),
    57: _features,
    62: _numbered("Broker", "broker_id"),
    64: _numbered("Broker", "broker_id"),
    70: _numbered("Controller", "controller_id"),
    80: _numbered("Voter", "voter_id"),
    81: _numbered("Voter", "voter_id"),
    82: _numbered("Voter", "voter_id"),
    94: _numbered("Controller", "controller_id"),
}
"""What a request was about, by api key; of the others, the cluster."""


def items_of(request: Request, answer: Any) -> Iterator[Item]:
    """Give each resource of a request and the error code of the answer about it."""
    pairs = _ITEMS.get(request.api_key)
    if pairs is None:
        yield _CLUSTER, getattr(answer, "error_code", NONE)
    else:
        yield from pairs(request.body, answer)


def refusals_of(request: Request, answer: Any) -> Iterator[str]:
    """Give the resources for which a sender had no right."""
    return (resource for resource, code in items_of(request, answer) if code in _REFUSALS)


def api_name(key: int) -> str:
    """Return the name of an API, its number where it has none."""
    return REQUESTS[key].removesuffix("Request") if key in REQUESTS else f"api key {key}"


class _Written(NamedTuple):
    """A change that waits until it is committed."""

    offset: int
    request: Request
    answer: Any


class Audit:
    """See the module. `write` takes the entries; its call may be slow only by as much as writing a line is."""

    def __init__(self, write: Callable[[ServerEvent], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._written: deque[_Written] = deque()
        self._refused: OrderedDict[tuple[str, str, int], tuple[float, int]] = OrderedDict()

    def written(self, request: Request, answer: Any, offset: int) -> None:
        """The records of a request are in the log up to `offset`, and may not be committed."""
        if request.api_key not in _REPORTS:
            self._written.append(_Written(offset, request, answer))

    def committed(self, offset: int) -> None:
        """Everything up to `offset` is committed."""
        while self._written and self._written[0].offset <= offset:
            self._tell_all(self._written.popleft(), "applied")

    def leadership_ended(self) -> None:
        """What is not committed may be lost."""
        while self._written:
            self._tell_all(self._written.popleft(), "unknown")

    def refused(self, request: Request, resources: Iterable[str]) -> None:
        """Note a refusal of a request about some resources."""
        key = request.principal, request.host, request.api_key
        told_at, left_out = self._refused.pop(key, (-REFUSED_EVERY_S, 0))
        now = self._clock()
        if now < told_at + REFUSED_EVERY_S:
            self._refused[key] = told_at, left_out + 1
            return
        self._refused[key] = now, 0
        if len(self._refused) > REFUSERS_MAX:
            self._refused.popitem(last=False)
        names = list(islice(resources, COUNTED_MAX))
        shown = [name[:TEXT_MAX] for name in names[:NAMES_MAX]]
        more = {"more_resources": len(names) - len(shown)} if len(names) > len(shown) else {}
        self._tell(request, " ".join(shown), "refused", **more, **({"left_out": left_out} if left_out else {}))

    def applied_by_raft(self, request: Request, answer: Any) -> None:
        """Raft has answered a change of its voters."""
        for resource, code in items_of(request, answer):
            if code == NONE:
                self._tell(request, resource, "applied")

    def _tell_all(self, written: _Written, result: str) -> None:
        for resource, code in items_of(written.request, written.answer):
            if code == NONE:
                self._tell(written.request, resource, result)

    def _tell(self, request: Request, resource: str, result: str, **more: object) -> None:
        fields = {"principal": request.principal, "address": request.host, "api": api_name(request.api_key), "resource": resource}
        if request.is_forwarded:
            fields["forwarded"] = "true"
        text = " ".join(f"{name}={value}" for name, value in {"result": result, **fields, **more}.items())
        self._write(ServerEvent(f"audit: {text}", "audit", result=result, **fields, **more))


def is_change(key: int) -> bool:
    """Whether requests of an API change something that somebody decides."""
    route = ROUTES.get(key)
    return key not in _REPORTS and ((route is not None and route.is_write) or key in _OF_RAFT)


_OF_RAFT: Final = frozenset((codes.ADD_RAFT_VOTER, codes.REMOVE_RAFT_VOTER, codes.UPDATE_RAFT_VOTER))


class ToldClients:
    """See the module. `on_event` takes the lines; `image` has the brokers."""

    def __init__(
        self, on_event: Callable[[str], None], image: Callable[[], MetadataImage], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._on_event = on_event
        self._image = image
        self._clock = clock
        self._told: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        self._minute_at = -60.0
        self._lines = 0
        self._left_out = 0

    def asks_for_unserved(self, principal: str, host: str, key: int) -> None:
        """A client asks for what no controller serves, or in a version that is not served."""
        name = api_name(key)
        if key in APIS:
            self._tell(principal, host, "version", name, f"asks for a version of {name} that is not served here")
            return
        text = f"asks for {name}, which a controller does not serve: {self._where()}"
        self._tell(principal, host, "unserved", name, text)

    def asks_for_versions_alone(self, principal: str, host: str) -> None:
        """A client has asked which APIs are served, and went, as Kafka's clients of brokers do here."""
        text = f"asks for versions and leaves: a client of brokers finds nothing at a controller: {self._where()}"
        self._tell(principal, host, "unserved", "ApiVersions", text)

    def _where(self) -> str:
        brokers = self._brokers()
        return f"{f'brokers listen on {brokers}' if brokers else 'no broker is registered'} (bootstrap.servers)"

    def is_refused(self, principal: str, host: str, key: int) -> None:
        """A client has no right to what it asks for."""
        name = api_name(key)
        self._tell(principal, host, "refused", name, f"is refused {name}: no ACL allows it (the audit log has each API and resource)")

    def fails_to_log_in(self, host: str, reason: str) -> None:
        """A client could not log in."""
        self._tell("", host, "login", "", f"cannot log in: {reason}")

    def is_malformed(self, principal: str, host: str, reason: str) -> None:
        """A client does not keep to the protocol."""
        self._tell(principal, host, "malformed", "", f"does not keep to the protocol: {reason}")

    def _brokers(self) -> str:
        endpoints = (endpoint for broker in self._image().cluster.brokers.values() for endpoint in broker.listeners[:1])
        return ", ".join(f"{endpoint.host}:{endpoint.port}" for endpoint, _ in zip(endpoints, range(3), strict=False))

    def _tell(self, principal: str, host: str, kind: str, asked: str, text: str) -> None:
        now = self._clock()
        key = principal, host, kind
        told_at = self._told.get(key)
        if told_at is not None and now < told_at + TOLD_EVERY_S:
            self._told.move_to_end(key)
            return
        if now >= self._minute_at + 60.0:
            if self._left_out:
                self._on_event(ServerEvent(f"{self._left_out} more clients were refused", "client", left_out=self._left_out))
            self._minute_at, self._lines, self._left_out = now, 0, 0
        if self._lines >= LINES_PER_MINUTE:
            self._left_out += 1
            return
        self._lines += 1
        self._told[key] = now
        self._told.move_to_end(key)
        if len(self._told) > CLIENTS_MAX:
            self._told.popitem(last=False)
        who = f"{principal} at {host}" if principal else host
        line = f"{who[:TEXT_MAX]} {text[: 2 * TEXT_MAX]}"
        self._on_event(ServerEvent(line, "client", principal=principal, host=host, asked=asked, reason=kind))
