"""Connections of an observer to controllers: how they are dialed and found, and why they fail.

They are made when they are needed, checked to be controllers of one cluster, and kept one an address; functions here run on the observer's
loop. `Target` says what to attach to and how. DescribeQuorum version 2 names the listeners of every voter, which is how more controllers
are found. `AttachError` says address by address why nobody could be attached to.

Source: KIP-853."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from metashell.codec.codes import DESCRIBE_CLUSTER, DESCRIBE_QUORUM, FETCH, VOTE
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, error_text
from metashell.codec.messages import DescribeClusterRequest, DescribeQuorumRequest
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.errors import MetashellError
from metashell.net.addresses import PORT_MAX, Address, AddressMap, Reusable, reusable_connection
from metashell.net.client_connection import ClientConnection
from metashell.net.security import PLAINTEXT, SecurityConfig

ATTACH_TIMEOUT_S = 10.0
ABSENT_TIMEOUT_S = 2.0
"""As long as somebody waits for the line that says the port is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A quorum, by its controllers, or by brokers that know them: exactly one of both is not empty.

    `address_map` says where to connect instead. Units: `timeout_s` bounds attaching only, and not while a leader sends what is missing;
    `load_timeout_s` bounds that too, None does not. `absent_s` bounds it where no address takes a connection. `waited_s` of all these
    are over already.
    """

    controllers: tuple[Address, ...] = ()
    brokers: tuple[Address, ...] = ()
    security: SecurityConfig = PLAINTEXT
    address_map: AddressMap = field(default_factory=AddressMap)
    timeout_s: float = ATTACH_TIMEOUT_S
    absent_s: float = ABSENT_TIMEOUT_S
    load_timeout_s: float | None = None
    waited_s: float = 0.0
    max_decompressed: int = MAX_DECOMPRESSED

    @property
    def label(self) -> str:
        """The name of the source: its first address."""
        return str((self.controllers or self.brokers)[0])


class AttachError(MetashellError):
    """No quorum was attached to; the message names every address that was tried and why it failed."""


class Refused(MetashellError):
    """An exchange with a node failed; `final`: trying the same again cannot help; `absent`: there was no connection.

    `credential`: the node does not take our password or certificate, or this user lacks the right.
    """

    def __init__(self, reason: str, *, final: bool = False, absent: bool = False, credential: bool = False) -> None:
        super().__init__(reason)
        self.final = final or credential
        self.absent = absent
        self.credential = credential


class Failures:
    """The newest failure of each address."""

    def __init__(self) -> None:
        self._newest: dict[Address, Refused] = {}

    def note(self, address: Address, failure: Refused) -> None:
        self._newest[address] = failure

    def forget(self, address: Address) -> None:
        """The address answered."""
        self._newest.pop(address, None)

    def are_final(self, addresses: Iterable[Address]) -> bool:
        """Whether none of the addresses is worth another try."""
        return all(address in self._newest and self._newest[address].final for address in addresses)

    def are_hopeless(self, addresses: Iterable[Address]) -> bool:
        """Whether none of the addresses took a connection (for another reason than time), or none is worth another try."""
        found = [self._newest.get(address) for address in addresses]
        return bool(found) and all(failure is not None and (failure.final or failure.absent) for failure in found)

    def text(self, addresses: Iterable[Address]) -> str:
        """`a:1: Connection refused; b:2: no answer`, of these addresses and all others that failed."""
        reasons = dict.fromkeys(addresses, "no answer") | {address: str(failure) for address, failure in self._newest.items()}
        return "; ".join(f"{address}: {reason}" for address, reason in reasons.items())


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
    """The connections to a quorum. `address_map` replaces addresses that cannot be reached from here."""

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
        if (found := reusable_connection(self._open, address)) is not None:
            return found
        place = self._map.resolve(address)
        try:
            return await self._dial(place, address.host)
        except MetashellError as error:
            failure = as_refused(error)
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
            raise as_refused(error) from None
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
        """Ask a controller for all controllers; None where it is too old or answers with an error. Errors: those of the connection."""
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


def as_refused(error: MetashellError) -> Refused:
    """A failure of a connection; refused credentials or certificates are final."""
    return Refused(str(error), credential=bool(getattr(error, "authentication", False)))


NODES_FROM: Final = 2
TOPIC: Final = "__cluster_metadata"


def describe_quorum_request() -> Any:
    """Return the DescribeQuorum request for the metadata partition."""
    make = DescribeQuorumRequest
    return make(topics=(make.TopicData(topic_name=TOPIC, partitions=(make.PartitionData(partition_index=0),)),))


async def controllers_of(broker: Link, timeout_s: float) -> tuple[Address, ...]:
    """The controllers that a broker names, the leader first, each by its first listener. Errors: Refused."""
    if broker.versions.get(DESCRIBE_QUORUM, 0) < NODES_FROM:
        raise Refused("is older than 3.9 and does not say where the controllers are: name them with --bootstrap-controller", final=True)
    try:
        answer = await broker.request(describe_quorum_request(), timeout_s=timeout_s)
    except MetashellError as error:
        if getattr(error, "timed_out", False):
            # The broker has to ask the controllers itself.
            raise Refused(f"does not name the controllers within {timeout_s:g} s: it may have lost them itself") from None
        raise as_refused(error) from None
    found = controllers_in(answer)
    if not found:
        raise Refused("names no controllers")
    return found


async def voters_of(leader: Link, timeout_s: float) -> tuple[int, ...]:
    """The ids of the voters, ordered, as their leader names them; empty where it does not answer."""
    try:
        answer = await leader.request(describe_quorum_request(), timeout_s=timeout_s)
    except MetashellError:
        return ()
    partitions = answer.topics[0].partitions if answer.topics else ()
    return tuple(sorted({voter.replica_id for voter in partitions[0].current_voters[:CONTROLLERS_MAX]})) if partitions else ()


def controllers_in(answer: Any) -> tuple[Address, ...]:
    """Return the controllers in an answer. Errors: Refused for an error."""
    partition = answer.topics[0].partitions[0] if answer.topics and answer.topics[0].partitions else None
    code = answer.error_code or (partition.error_code if partition is not None else 0)
    if code == CLUSTER_AUTHORIZATION_FAILED:
        raise Refused("not authorized: to ask for the quorum needs the right DESCRIBE on the cluster", final=True)
    if code:
        raise Refused(f"answers DescribeQuorum with {error_text(code)}")
    leader = -1 if partition is None else partition.leader_id
    nodes = sorted(answer.nodes[:CONTROLLERS_MAX], key=lambda node: node.node_id != leader)
    addresses = [Address(node.listeners[0].host, node.listeners[0].port) for node in nodes if node.listeners]
    return tuple(dict.fromkeys(address for address in addresses if address.host and 0 < address.port <= PORT_MAX))


CLIENT_ID: Final = "metashell-observer"
CONNECT_TIMEOUT_S: Final = 5.0


def dial_with(security: SecurityConfig) -> Dial:
    """A way to open connections that `security` secures. Errors: UsageError for a store or key that cannot be used."""
    tls = None
    if security.tls is not None:
        from metashell.net.tls import client_context

        tls = client_context(security.tls)

    async def dial(address: Address, name: str) -> Link:
        from metashell.net.transport import connect

        core = ClientConnection(client_id=CLIENT_ID, sasl=security.sasl_client())
        return await connect(address, core=core, tls=tls, server_hostname=name, timeout_s=CONNECT_TIMEOUT_S)

    return dial
