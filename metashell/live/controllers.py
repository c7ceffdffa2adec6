"""Connections to controllers: made when they are needed, checked to be controllers of one cluster, kept one an address.

This module's functions run on the observer's loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from metashell.codec.api_keys import DESCRIBE_CLUSTER, FETCH, VOTE
from metashell.codec.messages import DescribeClusterRequest
from metashell.errors import MetashellError
from metashell.live.failures import Refused
from metashell.net.addresses import PORT_MAX, Address, AddressMap
from metashell.net.reuse import Reusable, reusable

ENDPOINTS_FROM: Final = 17
"""The version of Fetch from which an answer says where the leader is."""
CONTROLLERS_FROM: Final = 1
"""The version of DescribeCluster from which controllers can be asked about."""
CONTROLLER_ENDPOINTS: Final = 2
CONTROLLERS_MAX: Final = 100


class Link(Reusable, Protocol):
    """A connection that is ready for requests; net's Connection is one. Errors of `request`: ConnectionFailedError."""

    @property
    def versions(self) -> Mapping[int, int]: ...
    @property
    def core(self) -> Any: ...
    async def request(self, message: Any, *, version: int | None = None, timeout_s: float = ...) -> Any: ...
    def close(self, reason: str = ...) -> None: ...


Dial = Callable[[Address, str], Awaitable[Link]]
"""Opens a connection to an address whose certificate has that host's name. Errors: ConnectionFailedError."""


class MixedClustersError(Refused):
    """A controller is of another cluster than the first one."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, final=True)


class Controllers:
    """The connections to a quorum. `address_map` says where an address is really to be found."""

    def __init__(self, dial: Dial, address_map: AddressMap, timeout_s: float) -> None:
        self._dial = dial
        self._map = address_map
        self._timeout_s = timeout_s
        self._open: dict[Address, Link] = {}
        self.learned: dict[Address, None] = {}
        """Where controllers say that all of them are, in the order in which they were named."""
        self._cluster_id: str | None = None
        self._named_by: Address | None = None

    @property
    def cluster_id(self) -> str | None:
        """The id that the first controller named, None while none has."""
        return self._cluster_id

    async def link(self, address: Address) -> Link:
        """A connection to a controller of this cluster. Errors: Refused."""
        link = await self._connect(address)
        if self._open.get(address) is link:
            return link
        try:
            self._check_role(link)
            await self._check_cluster(address, link)
        except BaseException:
            link.close()
            raise
        other = self._open.get(address)
        if other is not None and not other.closed:
            link.close()
            return other
        self._open[address] = link
        return link

    async def broker(self, address: Address) -> Link:
        """A new connection to a broker, which the caller closes. Errors: Refused."""
        link = await self._connect(address)
        if VOTE in link.core.peer_ranges:
            link.close()
            raise Refused("is a controller, not a broker: name it with --bootstrap-controller", final=True)
        return link

    async def _connect(self, address: Address) -> Link:
        if (found := reusable(self._open, address)) is not None:
            return found
        place = self._map.resolve(address)
        try:
            return await self._dial(place, address.host)
        except MetashellError as error:
            failure = refused(error)
            reason = str(failure) if place == address else f"at {place}: {failure}"
            is_absent = not getattr(error, "timed_out", False)
            raise Refused(reason, final=failure.final, absent=is_absent, credential=failure.credential) from None

    def _check_role(self, link: Link) -> None:
        ranges = link.core.peer_ranges
        if VOTE not in ranges:
            raise Refused("is a broker, not a controller: name it with --bootstrap-server", final=True)
        if FETCH not in ranges or ranges[FETCH][1] < ENDPOINTS_FROM:
            raise Refused("is older than Kafka 3.9 and does not say where its leader is", final=True)

    async def _check_cluster(self, address: Address, link: Link) -> None:
        """Every controller has to name the same cluster; what it says of the others is kept."""
        try:
            answer = await self._describe(link)
        except MetashellError as error:
            raise refused(error) from None
        if answer is None or not answer.cluster_id:
            return
        if self._cluster_id is None:
            self._cluster_id, self._named_by = answer.cluster_id, address
        elif answer.cluster_id != self._cluster_id:
            raise MixedClustersError(f"is of cluster {answer.cluster_id}, {self._named_by} of {self._cluster_id}")
        self._learn_from(answer)

    async def learn(self) -> None:
        """Ask a controller once more where all of them are: they come and go, and register some time after they have started."""
        link = next((link for link in self._open.values() if not link.closed), None)
        if link is None:
            return
        with suppress(MetashellError):  # whoever fetches over it reports that
            answer = await self._describe(link)
            if answer is not None and answer.cluster_id == self._cluster_id:
                self._learn_from(answer)

    async def _describe(self, link: Link) -> Any | None:
        """What a controller says of all of them, None where it is too old or answers with an error. Errors: those of the connection."""
        if link.versions.get(DESCRIBE_CLUSTER, 0) < CONTROLLERS_FROM:
            return None
        answer = await link.request(DescribeClusterRequest(endpoint_type=CONTROLLER_ENDPOINTS), timeout_s=self._timeout_s)
        return None if answer.error_code else answer

    def _learn_from(self, answer: Any) -> None:
        nodes = answer.brokers[:CONTROLLERS_MAX]
        found = dict.fromkeys(Address(node.host, node.port) for node in nodes if node.host and 0 < node.port <= PORT_MAX)
        self.learned = found or self.learned

    def drop(self, address: Address) -> None:
        """Close the connection to an address, if there is one."""
        link = self._open.pop(address, None)
        if link is not None:
            link.close()

    def close(self) -> None:
        """Close all connections."""
        for link in self._open.values():
            link.close()
        self._open.clear()


def refused(error: MetashellError) -> Refused:
    """A failure of a connection; refused credentials or certificates are final."""
    return Refused(str(error), credential=bool(getattr(error, "authentication", False)))
