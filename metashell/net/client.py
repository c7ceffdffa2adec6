"""A client of a cluster: requests to any of its nodes, or to one by its id, with retries, back-off and a deadline.

`AsyncClient` works on a running loop. `Client` is the blocking one for tools: it runs its own loop, and nothing goes on between two calls.
This module imports asyncio, so it is itself imported inside functions.

Source: org.apache.kafka.clients.NetworkClient, ClientUtils; reconnect.backoff.ms and retry.backoff.ms."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from metashell.common.errors import UsageError
from metashell.net.addresses import Address, AddressMap, ConnectError, reusable_connection
from metashell.net.api_versions import NodeIdentity
from metashell.net.client_connection import VALUES_MAX, ClientConnection
from metashell.net.frames import FRAME_LIMIT
from metashell.net.security import PLAINTEXT, SecurityConfig
from metashell.net.transport import Connection, ConnectionFailedError, connect

if TYPE_CHECKING:
    import ssl

    from metashell.net.api_versions import ApiRanges


DEADLINE_MS: Final = 60_000
"""default.api.timeout.ms of Kafka's clients."""
BACKOFF_MS: Final = 50
BACKOFF_MAX_MS: Final = 1_000
CONNECT_TIMEOUT_MS: Final = 10_000
"""socket.connection.setup.timeout.ms."""


class AsyncClient:
    """Keeps one connection a node. See the package for what it promises.

    `bootstrap` are the addresses that are tried in turn for a request to any node; `nodes` (id to address) are those that can be asked
    by id and may be added to at any time. `deadline_ms` bounds a whole call with all its retries. `attempts_max` bounds how often each
    address is tried, 0 for as often as there is time. `checks_cluster`: a broker that is another one than was learned is an error at once.
    All answers since the last `renew_values` have at most `VALUES_MAX` values together; `request` renews them by itself.
    """

    def __init__(
        self,
        bootstrap: Sequence[Address],
        *,
        security: SecurityConfig = PLAINTEXT,
        client_id: str = "metashell",
        deadline_ms: int = DEADLINE_MS,
        connect_timeout_ms: int = CONNECT_TIMEOUT_MS,
        backoff_ms: int = BACKOFF_MS,
        backoff_max_ms: int = BACKOFF_MAX_MS,
        attempts_max: int = 3,
        address_map: AddressMap | None = None,
        checks_cluster: bool = True,
        ranges: ApiRanges | None = None,
        frame_limit: int = FRAME_LIMIT,
        chance: random.Random | None = None,
    ) -> None:
        self.bootstrap = list(bootstrap)
        self.nodes: dict[int, Address] = {}
        self.cluster_id = ""
        self._security = security
        self._client_id = client_id
        self._deadline_s = deadline_ms / 1000
        self._connect_timeout_s = connect_timeout_ms / 1000
        self._backoff_s = backoff_ms / 1000
        self._backoff_max_s = backoff_max_ms / 1000
        self._attempts_max = attempts_max
        self._checks_cluster = checks_cluster
        self._map = address_map or AddressMap()
        self._ranges = ranges
        self._frame_limit = frame_limit
        self._chance = chance or random.Random()
        self._tls: ssl.SSLContext | None = None
        self._connections: dict[Address, Connection] = {}
        self._locks: dict[Address, asyncio.Lock] = {}
        self._values = [VALUES_MAX]

    def renew_values(self) -> None:
        """Let a new call begin, whose answers have `VALUES_MAX` values together."""
        self._values[0] = VALUES_MAX

    async def request(self, message: Any, *, node: int | Address | None = None, version: int | None = None) -> Any:
        """The response to a request, from any bootstrap address or from that node.

        A request is sent again only when its connection could not be made or broke, so it may have been carried out already, as with
        Kafka's own clients; an answer, whatever error code it holds, is the caller's. Refused credentials and APIs that a node lacks are
        not tried again at the same address. Errors: ConnectError; UsageError for a node whose address is not known; EncodeError.
        """
        self.renew_values()
        addresses = self._addresses(node)
        failures: dict[Address, str] = {}
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._deadline_s
        round_number = 0
        refused = hopeless = False
        while True:
            for address in addresses:
                left = ends_at - loop.time()
                if left <= 0:
                    raise self._out_of_time(failures, addresses, refused)
                try:
                    async with asyncio.timeout(left):
                        connection = await self.connection(address)
                        return await connection.request(message, version=version, timeout_s=left)
                except ConnectionFailedError as error:
                    failures[address] = str(error)
                    refused = refused or error.authentication
                    hopeless = hopeless or refused or error.unsupported or error.another_node
                except TimeoutError:
                    failures.setdefault(address, f"no answer within {self._deadline_s:g} s")
            round_number += 1
            if hopeless or round_number == self._attempts_max:
                raise ConnectError(list(failures.items()), authentication=refused)
            pause = min(self._backoff_max_s, self._backoff_s * 2 ** min(round_number - 1, 20)) * self._chance.uniform(0.8, 1.2)
            await asyncio.sleep(max(0.0, min(pause, ends_at - loop.time())))

    def _addresses(self, node: int | Address | None) -> list[Address]:
        if node is None:
            return self._by_liveness()
        return [node if isinstance(node, Address) else self.address_of(node)]

    def _by_liveness(self) -> list[Address]:
        """The bootstrap addresses, those with an open connection first."""
        return sorted(self.bootstrap, key=lambda address: address not in self._connections)

    def address_of(self, node: int) -> Address:
        """Return the address of a node. Errors: UsageError for an id that no answer has named."""
        if node not in self.nodes:
            known = ", ".join(map(str, sorted(self.nodes))) or "none"
            raise UsageError(f"node {node}: its address is not known (known are: {known})", str(node))
        return self.nodes[node]

    def learn(self, nodes: Iterable[tuple[int, str, int]], cluster_id: str = "") -> None:
        """Remember where nodes are, (id, host, port) as responses give them, and of which cluster."""
        self.cluster_id = cluster_id or self.cluster_id
        for node, host, port in nodes:
            self.nodes[node] = Address(host, port)

    async def connection(self, address: Address) -> Connection:
        """The open connection to an address, made if there is none. Errors: ConnectionFailedError."""
        async with self._locks.setdefault(address, asyncio.Lock()):
            if (found := reusable_connection(self._connections, address)) is not None:
                return found
            made = await self._connect(address)
            self._connections[address] = made
            return made

    async def _connect(self, address: Address) -> Connection:
        core = ClientConnection(
            client_id=self._client_id,
            sasl=self._security.sasl_client(),
            ranges=self._ranges,
            frame_limit=self._frame_limit,
            identity=self._identity_at(address),
            values=self._values,
        )
        if self._security.tls is not None and self._tls is None:
            from metashell.net.tls import client_context

            self._tls = client_context(self._security.tls)
        target = self._map.resolve(address)
        # The name in a certificate is that of the node, not of a tunnel to it.
        return await connect(target, core=core, tls=self._tls, server_hostname=address.host, timeout_s=self._connect_timeout_s)

    def _identity_at(self, address: Address) -> NodeIdentity | None:
        """Return the node that must answer at an address; None where it is unknown, or several nodes share the address."""
        if not (self.cluster_id and self._checks_cluster):
            return None
        ids = [node for node, known in self.nodes.items() if known == address]
        return NodeIdentity(self.cluster_id, ids[0]) if len(ids) == 1 else None

    def _out_of_time(self, failures: dict[Address, str], addresses: Sequence[Address], refused: bool) -> ConnectError:
        reasons = failures or dict.fromkeys(addresses, f"no answer within {self._deadline_s:g} s")
        return ConnectError(list(reasons.items()), authentication=refused)

    async def close(self) -> None:
        """Close all connections."""
        open_ones, self._connections = list(self._connections.values()), {}
        for connection in open_ones:
            connection.close()
        for connection in open_ones:
            await connection.wait_closed()


class Client:
    """`AsyncClient` for callers without a loop; the same arguments. Close it, or use it as a context manager."""

    def __init__(self, bootstrap: Sequence[Address], **options: Any) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(bootstrap, **options)

    def request(self, message: Any, *, node: int | Address | None = None, version: int | None = None) -> Any:
        """The response to a request, from any bootstrap address or from a node. Errors: ConnectError, EncodeError."""
        return self.run(lambda client: client.request(message, node=node, version=version))

    def run(self, work: Callable[[AsyncClient], Coroutine[Any, Any, Any]]) -> Any:
        """Run a coroutine made from the client and return its result; for calls to several nodes at once."""
        return self._runner.run(work(self._client))

    def learn(self, nodes: Iterable[tuple[int, str, int]], cluster_id: str = "") -> None:
        """Remember where nodes are, (id, host, port) as responses give them, and of which cluster."""
        self._client.learn(nodes, cluster_id)

    @property
    def nodes(self) -> dict[int, Address]:
        """Id to address of the nodes that can be asked by id."""
        return self._client.nodes

    def close(self) -> None:
        """Close all connections."""
        try:
            self._runner.run(self._client.close())
        finally:
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
