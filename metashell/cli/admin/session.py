"""A session with a cluster on a running event loop: it chooses the node, follows the leader, retries, and gives up at the deadline.

Source: org.apache.kafka.clients.admin.KafkaAdminClient (its node providers and retries), AdminBootstrapAddresses; KIP-919."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from metashell.cli.admin.protocol import (
    BROKER_ENDPOINTS,
    CONTROLLER_ENDPOINTS,
    REFUSALS,
    AdminError,
    Kind,
    Node,
    UncertainError,
    UnsupportedError,
    WrongListenerError,
    api_name,
    check_answer,
    is_change,
    java_api_name,
    lacks,
    may_repeat,
)
from metashell.codec.codes import DESCRIBE_CLUSTER, METADATA, VOTE
from metashell.codec.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    MISMATCHED_ENDPOINT_TYPE,
    NOT_CONTROLLER,
    NOT_LEADER_OR_FOLLOWER,
    UNSUPPORTED_ENDPOINT_TYPE,
    UNSUPPORTED_VERSION,
    all_error_codes,
)
from metashell.codec.messages import DescribeClusterRequest
from metashell.common.errors import EncodeError, MetashellError, UsageError
from metashell.net.addresses import PORT_MAX, Address, ConnectError
from metashell.net.client_connection import UnsupportedApiError
from metashell.net.frames import api_key_of
from metashell.net.transport import Connection, ConnectionFailedError

if TYPE_CHECKING:
    from metashell.net.client import AsyncClient

T = TypeVar("T")
ROUNDS_MAX: Final = 3
"""The number of times that all addresses are tried if none has ever answered."""
BACKOFF_S: Final = 0.05
BACKOFF_MAX_S: Final = 0.5
ANSWER_S: Final = 30.0
"""request.timeout.ms of Kafka's clients."""
NEXT_S: Final = 10.0
"""The longest wait for an answer if there are other nodes to ask."""
CONNECT_S: Final = (1.5, 5.0, 10.0)
"""The longest wait for a connection if there are other nodes: the first time, the second time, and later."""
TURNS: Final = 3
"""Turns of the event loop after which a closed connection is known: the end is read, the transport closed, and its owner notified."""
MOVED: Final = frozenset({NOT_CONTROLLER, NOT_LEADER_OR_FOLLOWER})
LARGE: Final = frozenset({3, 35, 75})
"""The api keys whose answers may have a million items; they are not searched for a missing right."""
FENCED_FROM: Final = 2
"""The version of DescribeCluster that can name fenced brokers."""


def has_moved(response: Any) -> bool:
    """Return whether every error code of an answer says that this node does not lead: then it did nothing."""
    codes = set(all_error_codes(response))
    return bool(codes) and codes <= MOVED


def uncertain(key: int) -> str:
    """Return the message for a change that had no answer."""
    return f"{api_name(key)} may or may not have been done: look before you try again"


class Unanswered(Exception):
    """A try that had no answer."""

    def __init__(self, cause: ConnectionFailedError) -> None:
        super().__init__(str(cause))
        self._cause = cause

    def note(self, address: Address, failures: dict[Address, str], silent: set[Address] | None = None) -> None:
        """Record the reason in `failures`, and an address that timed out in `silent`: it is not tried again.

        Errors: ConnectError if the credentials were refused, or if the address belongs to another node or cluster than expected.
        """
        failures[address] = str(self)
        if self._cause.authentication or self._cause.another_node:
            raise ConnectError(list(failures.items()), authentication=self._cause.authentication)
        if self._cause.timed_out and silent is not None:
            silent.add(address)


class NotSent(Unanswered):
    """A try without a connection: nothing was sent."""


class Broken(Unanswered):
    """A try whose connection broke after the request was sent: it may have been carried out."""


class Session:
    """A session with a cluster. `again` counts how often the last request was sent again after it may have been carried out.

    `active` is the last known address of the active controller, None through brokers and while it is unknown.
    """

    def __init__(
        self, kind: Kind, client: AsyncClient, timeout_s: float, *, leaderless_s: float | None = None, has_sasl: bool = False
    ) -> None:
        self.again = 0
        self.under_way = ""
        """The message for the change that is being sent; empty if there is none, or if its answer has come."""
        self.refused = -1
        """The api key of the last request that was refused for a missing right, -1 for none."""
        self.cluster_id = ""
        self.active: Address | None = None
        self._kind = kind
        self._client = client
        self.timeout_s = timeout_s
        self._leaderless_s = timeout_s if leaderless_s is None else leaderless_s
        self._has_sasl = has_sasl
        self.skipped: dict[Address, str] = {}
        """The reason for each address that was given up because it was slow to connect, and has not connected since."""
        self._slow: dict[Address, int] = {}
        """The number of connections to each address that timed out."""
        self._last: Address | None = None
        """The address that answered last, None if none has."""
        self._nodes: tuple[Node, ...] = ()
        self._refusal: AdminError | None = None
        """The error of a cluster that refuses to list its nodes."""

    # ---- requests

    async def ask(self, request: Any, to: int | Address | None = None, version: int | None = None) -> Any:
        """Return the answer of any node of the kind, or of the node `to`. Errors: see `Admin.ask`."""
        self.again = 0
        return await self._ask(request, to, version, self._deadline())

    async def _ask(self, request: Any, to: int | Address | None, version: int | None, ends_at: float) -> Any:
        async def ask_once(address: Address) -> Any:
            try:
                return await self._try(address, request, version, ends_at, alone=to is not None)
            except Broken as error:
                self._repeat(address, request, error)
                raise

        return await self._first(to, ends_at, ask_once)

    async def _first(self, to: int | Address | None, ends_at: float, attempt: Callable[[Address], Coroutine[Any, Any, T]]) -> T:
        """Return the result of `attempt` on `to`, or on the first address that answers. Errors: ConnectError; those of `attempt`."""
        addresses = [await self._address_of(to, ends_at)] if isinstance(to, int) else [to] if to else self._candidates()
        failures: dict[Address, str] = {}
        silent: set[Address] = set()
        for round_number in range(ROUNDS_MAX):
            for address in (address for address in addresses if address not in silent):
                try:
                    return await attempt(address)
                except Unanswered as error:
                    error.note(address, failures, silent)
            if silent.issuperset(addresses) or not await self._rest(round_number, ends_at):
                break
        raise ConnectError(list(failures.items()))

    async def ask_active(self, request: Any, version: int | None = None) -> Any:
        """Return the answer of the active controller. Errors: see `Admin.ask_active`."""
        self.again = 0
        ends_at = self._deadline()
        failures: dict[Address, str] = {}
        response, avoided, round_number = None, None, 0
        given_up_at = ends_at
        while True:
            address = await self._leader(avoided, ends_at, failures)
            try:
                response = await self._try(address, request, version, ends_at)
                if not has_moved(response):
                    return response
                failures[address] = "it does not lead the quorum"
                # A controller that has just lost the lead may have appended the change before, and it may yet be committed.
                self.again += is_change(api_key_of(request), request)
            except NotSent as error:
                response = None
                error.note(address, failures)
            except Broken as error:
                self._repeat(address, request, error)
                response = None
                error.note(address, failures)
            self.active, avoided = None, address
            if not round_number:
                given_up_at = min(ends_at, asyncio.get_running_loop().time() + self._leaderless_s)
            round_number += 1
            count = len(self._candidates())
            is_hopeless = (self._last is None or self._refusal is not None) and round_number >= ROUNDS_MAX * count
            # While no node has ever answered, all addresses are tried before a pause.
            rests = self._last is not None or round_number % count == 0
            if is_hopeless or (rests and not await self._pause(round_number // count, given_up_at)):
                break
        if self._refusal is not None:
            raise self._refusal
        if response is not None:
            return response
        raise ConnectError(list(failures.items()))

    async def ask_all(self, requests: Mapping[int, Any]) -> dict[int, Any]:
        """Return the answer of each node to its own request, or the MetashellError that came instead."""
        self.again = 0
        ends_at = self._deadline()

        async def one(node: int, request: Any) -> Any:
            try:
                return await self._ask(request, node, None, ends_at)
            except MetashellError as error:
                return error

        if requests:
            await self.nodes()
        return dict(zip(requests, await asyncio.gather(*(one(node, request) for node, request in requests.items())), strict=True))

    async def nodes(self, *, fenced: bool = False) -> tuple[Node, ...]:
        """Fetch and return the nodes of the kind, ordered by id. Errors: AdminError if the cluster refuses to list them; see `Admin`."""
        await self._learn(None, self._deadline(), fenced=fenced)
        if self._refusal is not None:
            raise self._refusal
        return self._nodes

    async def connection(self, to: int | Address | None = None) -> Connection:
        """Return the connection to a node, or to the first one that can be connected. Errors: see `Admin`."""
        ends_at = self._deadline()
        return await self._first(to, ends_at, lambda address: self._connect(address, ends_at))

    # ---- the choice of a node

    async def _leader(self, avoided: Address | None, ends_at: float, failures: dict[Address, str]) -> Address:
        """Return the address to ask next for the active controller. Through brokers it is any broker except `avoided`, if there are others.

        The reasons why nodes did not name the active controller go to `failures`. Errors: ConnectError.
        """
        if self._kind is Kind.CONTROLLERS:
            if self.active is None:
                await self._learn(avoided, ends_at, failures=failures)
            if self.active is not None:
                return self.active
        elif avoided is not None and self._last is not None and not self._nodes:
            await self._learn(avoided, ends_at)
        addresses = self._addresses()
        # The leader is not known: the next node in turn may have become it.
        return addresses[(addresses.index(avoided) + 1) % len(addresses)] if avoided in addresses else self._candidates()[0]

    def _candidates(self) -> list[Address]:
        """Return all addresses of the kind, the one that answered last before the others."""
        first = () if self._last is None else (self._last,)
        return list(dict.fromkeys([*first, *self._addresses()]))

    def _addresses(self) -> list[Address]:
        """Return all addresses of the kind in an order in which each has its turn: the bootstrap addresses, then the cluster's nodes."""
        known = (node.address for node in self._nodes if not node.is_fenced)
        return list(dict.fromkeys([*self._client.bootstrap, *known]))

    async def _address_of(self, node: int, ends_at: float) -> Address:
        """Return the address of a node. Errors: UsageError for an id that the cluster does not have; AdminError; ConnectError."""
        if node not in self._client.nodes:
            await self._learn(None, ends_at)
        if node not in self._client.nodes:
            if self._refusal is not None:
                raise self._refusal
            known = ", ".join(str(one.id) for one in self._nodes) or "none"
            raise UsageError(f"{node}: the cluster has no such {self._kind.noun} (it has {known})", str(node))
        return self._client.nodes[node]

    async def _learn(
        self, avoided: Address | None, ends_at: float, *, fenced: bool = False, failures: dict[Address, str] | None = None
    ) -> None:
        """Fetch the cluster's nodes, and through controllers also the active one; `avoided` is asked last.

        If no node answers, the nodes known before are kept. Errors: ConnectError if no node has ever answered; AdminError.
        """
        failures = {} if failures is None else failures
        silent: set[Address] = set()
        refusal = None
        for round_number in range(ROUNDS_MAX):
            addresses = [address for address in self._candidates() if address not in silent]
            for address in sorted(addresses, key=lambda address: address == avoided):
                try:
                    answer = await self._try(address, await self._describe(address, fenced, ends_at), None, ends_at)
                except Unanswered as error:
                    error.note(address, failures, silent)
                else:
                    if answer.error_code != UNSUPPORTED_VERSION:
                        self._keep(address, answer)
                        if self.active is None:
                            failures[address] = "it knows of no active controller"
                        elif self.active == avoided != address:
                            failures[address] = f"it names {avoided} as the active controller"
                        return
                    # A controller that has just started and has read no metadata gives this code too: ask the next one.
                    refusal = answer
            if self._last is not None or silent.issuperset(addresses) or not await self._rest(round_number, ends_at):
                break
        if refusal is not None:
            check_answer(refusal.error_code, refusal.error_message, "DescribeCluster")
        if self._last is None:
            raise ConnectError(list(failures.items()))

    async def _describe(self, address: Address, fenced: bool, ends_at: float) -> Any:
        """Return a DescribeCluster request that the node can answer: without fenced brokers if it is too old to name them."""
        if self._kind is Kind.CONTROLLERS:
            return DescribeClusterRequest(endpoint_type=CONTROLLER_ENDPOINTS)
        connection = await self._connect(address, ends_at)
        is_new = connection.versions.get(DESCRIBE_CLUSTER, 0) >= FENCED_FROM
        return DescribeClusterRequest(endpoint_type=BROKER_ENDPOINTS, include_fenced_brokers=fenced and is_new)

    def _keep(self, address: Address, answer: Any) -> None:
        """Keep the nodes of a DescribeCluster answer. Errors: AdminError; WrongListenerError."""
        if answer.error_code in (MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE):
            raise self._wrong(address)
        if answer.error_code == CLUSTER_AUTHORIZATION_FAILED:
            # Controllers list their addresses only for users who may ALTER the cluster. Other requests need not fail for that.
            self._refusal = AdminError(answer.error_code, answer.error_message, f"to ask for the {self._kind.noun}s")
            return
        check_answer(answer.error_code, answer.error_message, "DescribeCluster")
        self.cluster_id = answer.cluster_id
        nodes = [node for node in answer.brokers if node.host and 0 < node.port <= PORT_MAX]
        found = (Node(node.broker_id, Address(node.host, node.port), node.rack, node.is_fenced) for node in nodes)
        self._nodes = tuple(sorted(found, key=lambda node: node.id))
        self._client.learn(((node.id, *node.address) for node in self._nodes), answer.cluster_id)
        if self._kind is Kind.CONTROLLERS:
            self.active = next((node.address for node in self._nodes if node.id == answer.controller_id), None)

    # ---- one try

    async def _try(self, address: Address, request: Any, version: int | None, ends_at: float, *, alone: bool = False) -> Any:
        """Send a request once. `alone`: no other node can answer it. Errors: NotSent; Broken; UnsupportedError; WrongListenerError."""
        connection = await self._connect(address, ends_at)
        key = api_key_of(request)
        try:
            used = connection.core.version_of(key) if version is None else version
        except UnsupportedApiError:
            text, since = lacks(key, of_brokers=METADATA in connection.core.peer_ranges)
            java = f"The node does not support {java_api_name(key)}"
            raise UnsupportedError(f"{address} {text}", api=api_name(key), since=since, java=java) from None
        # A request that must not be sent twice gets all the time that is left for its answer.
        patience = self._patience(ends_at, alone=alone) if may_repeat(key, request) else self._left(ends_at)
        self.under_way = f"{address}: {uncertain(key)}" if is_change(key, request) else ""
        try:
            response = await connection.request(request, version=used, timeout_s=patience)
            self.under_way = ""
        except EncodeError as error:
            java = f"Attempted to write a non-default {error.field_path[:1].lower()}{error.field_path[1:]} at version {used}"
            raise UnsupportedError(f"{address} has only version {used} of {api_name(key)}: {error}", api=api_name(key), java=java) from None
        except ConnectionFailedError as error:
            if self._last != address and not (self._has_sasl or error.timed_out or error.authentication or error.another_node):
                # A listener that requires SASL answers ApiVersions without it, and closes the connection at the next request.
                error = ConnectionFailedError(f"{error} before it answered (does it want SASL? see security.protocol)", sent=error.sent)
            raise (Broken if error.sent else NotSent)(error) from None
        self._last = address
        if key not in LARGE and not REFUSALS.isdisjoint(all_error_codes(response)):
            self.refused = key
        return response

    async def _connect(self, address: Address, ends_at: float) -> Connection:
        """Return an open connection to a node. Errors: NotSent; WrongListenerError."""
        # The loop did not run between two requests, so it may not know yet that a connection was closed.
        for _ in range(TURNS):
            await asyncio.sleep(0)
        times = self._slow.get(address, 0)
        patience = self._patience(ends_at, alone=False)
        if len(self._candidates()) > 1:
            patience = min(patience, CONNECT_S[min(times, len(CONNECT_S) - 1)])
        try:
            async with asyncio.timeout(patience):
                connection = await self._client.connection(address)
        except ConnectionFailedError as error:
            raise NotSent(error) from None
        except TimeoutError:
            self._slow[address] = times + 1
            self.skipped[address] = reason = f"no answer within {patience:.3g} s"
            is_silent = times + 1 >= len(CONNECT_S) or len(self._candidates()) < 2
            raise NotSent(ConnectionFailedError(reason, timed_out=is_silent)) from None
        self.skipped.pop(address, None)
        ranges = connection.core.peer_ranges
        # Brokers answer Metadata and controllers answer Vote. The kind of a node that reports neither is not known, so it is not refused.
        if (METADATA in ranges) is (self._kind is Kind.CONTROLLERS) and (METADATA in ranges or VOTE in ranges):
            raise self._wrong(address)
        return connection

    def _wrong(self, address: Address) -> WrongListenerError:
        if self._kind is Kind.CONTROLLERS:
            return WrongListenerError(f"{address} is a broker's listener: use --bootstrap-server")
        return WrongListenerError(f"{address} is a controller's listener: use --bootstrap-controller")

    def _repeat(self, address: Address, request: Any, error: Broken) -> None:
        """Count a request that is going to be sent again. Errors: UncertainError if it must not be."""
        key = api_key_of(request)
        if not may_repeat(key, request):
            raise UncertainError(f"{address}: {error}; {uncertain(key)}") from None
        self.again += 1

    # ---- time

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.timeout_s

    def _patience(self, ends_at: float, *, alone: bool) -> float:
        """Return the seconds to wait for one node: fewer if another node could answer instead."""
        left = self._left(ends_at)
        # If other nodes can be asked, half of the time that is left stays for them.
        return min(left, ANSWER_S) if alone or len(self._candidates()) < 2 else min(left / 2, NEXT_S)

    def _left(self, ends_at: float) -> float:
        return max(0.001, ends_at - asyncio.get_running_loop().time())

    async def _pause(self, round_number: int, ends_at: float) -> bool:
        """Sleep before the next round, longer each time; return False if the deadline would pass."""
        pause = min(BACKOFF_MAX_S, BACKOFF_S * 2 ** min(round_number, 10))
        if asyncio.get_running_loop().time() + pause >= ends_at:
            return False
        await asyncio.sleep(pause)
        return True

    async def _rest(self, round_number: int, ends_at: float) -> bool:
        """Sleep between rounds as `_pause` does; return False also after round ROUNDS_MAX."""
        return round_number + 1 < ROUNDS_MAX and await self._pause(round_number, ends_at)
