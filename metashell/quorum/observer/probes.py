"""Asks each controller for itself, all at once: who answers, whom it takes for the leader, and in which epoch.

What one of them tells of others leads to more addresses: the leader has those of the voter set, any controller those of the registrations.
Each address has `LIMIT_S` for all that is asked of it. Nothing is changed and nobody is counted: an anonymous observer fetches nothing.

Source: KIP-595 (DescribeQuorum, Fetch), KIP-853 (addresses of voters), KIP-919 (DescribeCluster of controllers).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.codes import BROKER_RESOURCE, DESCRIBE_CLUSTER, DESCRIBE_QUORUM, METADATA, VOTE
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, NONE, UNSUPPORTED_VERSION, error_text
from metashell.codec.messages import DescribeClusterRequest, DescribeConfigsRequest
from metashell.codec.releases import METADATA_VERSION
from metashell.common.errors import MetashellError
from metashell.common.values import ZERO_UUID
from metashell.metadata.checks.facts import Listener, Probe, QuorumAnswers, Replica
from metashell.net.addresses import PORT_MAX, Address
from metashell.net.client_connection import ClientConnection
from metashell.net.transport import connect
from metashell.quorum.observer.controllers import (
    CLIENT_ID,
    CONTROLLER_ENDPOINTS,
    CONTROLLERS_FROM,
    CONTROLLERS_MAX,
    describe_quorum_request,
    dial_with,
)
from metashell.quorum.raft.messages import FetchRequest, FetchResponse
from metashell.quorum.raft.wire import UnsupportedVersionError, send_raft_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from metashell.quorum.observer.controllers import Dial, Link, Target

LIMIT_S: Final = 2.0
"""For one address, with all that it is asked."""
_TYPED: Final = "typed"
_VOTERS: Final = "voters"
_REGISTERED: Final = "registered"
_EXPECTED: Final = re.compile(r"expected (\d{1,10})\b")
_ANSWERS: Final = "answers"
_TLS_ALERTS: Final = ("ALERT", "UNSUPPORTED_PROTOCOL", "NO_PROTOCOLS", "CERTIFICATE")


@dataclass(slots=True)
class _ProbeResult:
    """The result of one address. `quorum` is the leader's description, `nodes` are the controllers that it names, by id."""

    address: Address
    outcome: str = "silent"
    words: str = ""
    id: int | None = None
    leader_id: int | None = None
    epoch: int | None = None
    cluster_id: str | None = None
    elapsed_ms: int = 0
    quorum: Any = None
    nodes: dict[int, Address] = field(default_factory=dict)
    leader_at: Address | None = None
    trouble: str = ""


def probe(target: Target, known: Mapping[int, Address] | None = None, *, limit_s: float = LIMIT_S) -> QuorumAnswers:
    """Ask the controllers of `target`, and all that they name. `known` are voters learned elsewhere, by id.

    Nobody is waited for longer than twice `limit_s`. Errors: UsageError for security that cannot be used.
    """
    return _surveyed(target, dict(known or {}), limit_s)


def probe_brokers(target: Target, *, limit_s: float = LIMIT_S) -> tuple[Probe, ...]:
    """Whether brokers answer at the addresses of `target`, and what is there where none does. Errors: as `probe`."""
    return _surveyed(target, {}, limit_s).probes


def _surveyed(target: Target, known: dict[int, Address], limit_s: float) -> QuorumAnswers:
    survey = _Survey(target, known, limit_s)
    threading.Thread(target=survey.run, name="probes", daemon=True).start()
    survey.done.wait(2 * limit_s + 1)
    if survey.error is not None:
        raise survey.error
    return survey.answers()


class _Survey:
    """Addresses that are asked at once; those that answers name are asked as soon as they are known."""

    def __init__(self, target: Target, known: dict[int, Address], limit_s: float) -> None:
        self._target = target
        self._limit_s = limit_s
        self._dial: Dial = dial_with(target.security)
        self._sources: dict[Address, str] = dict.fromkeys(target.controllers or target.brokers, _TYPED)
        for address in known.values():
            self._sources.setdefault(address, _VOTERS)
        self._known = known
        self._told: dict[Address, _ProbeResult] = {}
        self.done = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Ask all, on a separate thread, so that a silent name server delays nobody."""
        try:
            asyncio.run(self._run())
        except BaseException as error:  # raised again by who waits
            self.error = error
        self.done.set()

    async def _run(self) -> None:
        running: dict[Address, asyncio.Task[None]] = {}
        while True:
            for address in self._sources:
                if address not in running:
                    running[address] = asyncio.create_task(self._ask(address))
            open_ones = [task for task in running.values() if not task.done()]
            if not open_ones:
                break
            await asyncio.wait(open_ones, return_when=asyncio.FIRST_COMPLETED)
        if self._is_in_doubt():
            await asyncio.gather(*(self._identify(told) for told in self._told.values() if told.outcome == _ANSWERS and told.id is None))
        self.done.set()

    async def _ask(self, address: Address) -> None:
        told = self._told[address] = _ProbeResult(address)
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._limit_s):
                await self._talk(told)
        except TimeoutError:
            if not told.words:
                told.words = f"no answer within {self._limit_s:g} s"
        told.elapsed_ms = int((time.monotonic() - began) * 1000)
        names = {} if told.quorum is None else {id: at for id, (at, _) in _endpoints(told.quorum).items()}
        if told.leader_at is not None and told.leader_at.host and 0 < told.leader_at.port <= PORT_MAX:
            self._sources.setdefault(told.leader_at, _VOTERS)
        for source, named in ((_VOTERS, names), (_REGISTERED, told.nodes)):
            for at in list(named.values())[:CONTROLLERS_MAX]:
                self._sources.setdefault(at, source)

    # ---- one address

    async def _talk(self, told: _ProbeResult) -> None:
        link = await self._connected(told)
        if link is None:
            return
        try:
            ranges = link.core.peer_ranges
            if self._target.brokers:
                is_broker = METADATA in ranges
                told.outcome, told.words = (_ANSWERS, "") if is_broker else ("controller", "a controller's port, not a broker's")
                return
            if VOTE not in ranges:
                is_broker = METADATA in ranges
                told.outcome = "broker" if is_broker else "no_kafka"
                told.words = "a broker's port, not a controller's" if is_broker else "a server of Kafka's protocol, but no controller"
                return
            await asyncio.gather(self._describe_quorum(told, link), self._describe_cluster(told, link), self._fetch(told, link))
            if told.outcome == "silent":
                told.outcome, told.words = _ANSWERS, told.words or told.trouble
        except MetashellError as error:
            told.outcome = "silent" if getattr(error, "timed_out", False) else "forbidden"
            told.words = str(error)
            if told.outcome != "silent":
                told.words = f"it ended the connection at the first question: {error} (does it want SASL? see security.protocol)"
        finally:
            link.close()

    async def _connected(self, told: _ProbeResult) -> Link | None:
        place = self._target.address_map.resolve(told.address)
        try:
            hosts = await _resolved(place.host)
        except OSError as error:
            told.outcome, told.words = "unresolved", f"the name {place.host} is not known ({error.strerror or error})"
            return None
        failure: MetashellError | None = None
        for host in hosts:
            try:
                return await self._dial(Address(host, place.port), told.address.host)
            except MetashellError as error:
                failure = error
        assert failure is not None
        await self._explain(told, Address(hosts[-1], place.port), failure)
        return None

    async def _explain(self, told: _ProbeResult, place: Address, failure: MetashellError) -> None:
        """Explain a failed connection: try the other security protocol to find out what listens there."""
        told.words = str(failure)
        if told.words == os.strerror(errno.ECONNREFUSED):
            told.outcome = "refused"
        elif getattr(failure, "timed_out", False) or told.words in map(os.strerror, _UNREACHED):
            told.outcome = "silent"
        elif self._target.security.tls is None and await _talks_tls(place):
            told.outcome, told.words = "tls", "it talks TLS, and was asked without (security.protocol)"
        elif self._target.security.tls is not None and await _talks_plain(place):
            told.outcome, told.words = "plain", "it talks without TLS, and was asked with it (security.protocol)"
        elif getattr(failure, "authentication", False):
            told.outcome = "forbidden"
        else:
            told.outcome = "no_kafka"
            told.words = f"it does not talk Kafka's protocol ({failure})"

    async def _describe_quorum(self, told: _ProbeResult, link: Link) -> None:
        if DESCRIBE_QUORUM not in link.versions:
            return
        answer = await link.request(describe_quorum_request(), timeout_s=self._limit_s)
        partition = next((partition for topic in answer.topics for partition in topic.partitions), None)
        code = answer.error_code or (NONE if partition is None else partition.error_code)
        if code == CLUSTER_AUTHORIZATION_FAILED:
            told.outcome = "forbidden"
            told.words = told.trouble = "not authorized: to ask for the quorum needs the right DESCRIBE on the cluster"
        elif code == NONE and partition is not None and partition.leader_id >= 0:
            # The empty fields of a refusal are no data: only who leads describes the quorum.
            told.quorum = answer
            told.id = told.leader_id = partition.leader_id
            told.epoch = partition.leader_epoch

    async def _describe_cluster(self, told: _ProbeResult, link: Link) -> None:
        if link.versions.get(DESCRIBE_CLUSTER, 0) < CONTROLLERS_FROM:
            return
        answer = await link.request(DescribeClusterRequest(endpoint_type=CONTROLLER_ENDPOINTS), timeout_s=self._limit_s)
        if answer.error_code == UNSUPPORTED_VERSION:
            # So says who has read no metadata, and who has read that controllers do not register themselves at its level.
            if not link.core.features.finalized.get(METADATA_VERSION):
                told.outcome, told.words = "not_loaded", "it has not loaded the metadata yet"
            return
        if answer.error_code != NONE:
            told.trouble = told.trouble or error_text(answer.error_code)
            return
        told.cluster_id = answer.cluster_id or None
        nodes = answer.brokers[:CONTROLLERS_MAX]
        told.nodes = {node.broker_id: Address(node.host, node.port) for node in nodes if node.host and 0 < node.port <= PORT_MAX}
        if told.leader_id is None and answer.controller_id >= 0:
            told.leader_id = answer.controller_id

    async def _fetch(self, told: _ProbeResult, link: Link) -> None:
        """The epoch, and the leader, of whoever does not lead: every answer to a fetch has both."""
        request = FetchRequest(None, -1, ZERO_UUID, 0, 0, 0, 0, 1)
        try:
            answer = await send_raft_request(link, request, self._limit_s)
        except UnsupportedVersionError:
            return
        assert isinstance(answer, FetchResponse)
        if answer.top_error == NONE and answer.epoch >= 0 and told.quorum is None:
            told.epoch = answer.epoch
            if answer.leader_id >= 0:
                told.leader_id = answer.leader_id
                told.leader_at = None if answer.leader_endpoint is None else Address(*answer.leader_endpoint)

    # ---- who is at an address

    def _is_in_doubt(self) -> bool:
        """Whether the ids at the addresses are in doubt: nobody leads, or a node is not where others say."""
        leads = any(told.quorum is not None for told in self._told.values())
        return not leads or any(told.outcome != _ANSWERS for told in self._told.values())

    async def _identify(self, told: _ProbeResult) -> None:
        """The id of a controller: the refusal of a question for the settings of another node has it (kafka.server.ConfigHelper)."""
        make = DescribeConfigsRequest
        resource = make.DescribeConfigsResource(resource_type=BROKER_RESOURCE, resource_name="-1", configuration_keys=("node.id",))
        try:
            async with asyncio.timeout(self._limit_s / 2):
                place = self._target.address_map.resolve(told.address)
                link = await self._dial(place, told.address.host)
                try:
                    answer = await link.request(make(resources=(resource,)), timeout_s=self._limit_s)
                finally:
                    link.close()
        except (MetashellError, TimeoutError, OSError):
            return
        match = _EXPECTED.search((answer.results[0].error_message or "") if answer.results else "")
        told.id = int(match[1]) if match else None

    # ---- what it comes to

    def answers(self) -> QuorumAnswers:
        order = list(self._sources)
        told = sorted(self._told.values(), key=lambda one: order.index(one.address))
        cluster_id = next((one.cluster_id for one in told if one.cluster_id), None)
        for one in told:
            if one.cluster_id not in (None, cluster_id):
                one.outcome, one.words = "wrong_cluster", f"it is of cluster {one.cluster_id}, not of {cluster_id}"
        ours = [one for one in told if one.outcome != "wrong_cluster"]
        leads = max((one for one in ours if one.quorum is not None), key=lambda one: one.epoch or 0, default=None)
        epochs = [one.epoch for one in ours if one.epoch is not None]
        return QuorumAnswers(
            **({"epoch": max(epochs, default=None)} if leads is None else described(leads.quorum)),
            probes=tuple(_probes(told, self._voters(ours, leads), self._sources)),
        )

    def _voters(self, told: Iterable[_ProbeResult], leads: _ProbeResult | None) -> dict[int, tuple[Address, str]]:
        """Return the voters' addresses by id: from the leader, else as known before, else from the registrations."""
        registered = {id: (at, _REGISTERED) for one in told for id, at in one.nodes.items()}
        known = {id: (at, _VOTERS) for id, at in self._known.items()}
        if leads is None:
            return known or registered
        named = {id: (at, _VOTERS) for id, (at, _) in _endpoints(leads.quorum).items()}
        ids = {voter.replica_id for voter in leads.quorum.topics[0].partitions[0].current_voters}
        return {id: place for id, place in (registered | known | named).items() if id in ids}


def _probes(told: Iterable[_ProbeResult], voters: Mapping[int, tuple[Address, str]], sources: Mapping[Address, str]) -> Iterable[Probe]:
    """A probe for each voter at an address, and one for each address that no voter has."""
    for one in told:
        owners: list[tuple[int | None, str]] = [(id, source) for id, (at, source) in sorted(voters.items()) if at == one.address]
        for id, source in owners or [(None, sources[one.address])]:
            yield Probe(
                str(one.address),
                one.outcome,
                one.words,
                voter_id=id,
                source=source,
                id=one.id,
                leader_id=one.leader_id,
                epoch=one.epoch,
                cluster_id=one.cluster_id,
                elapsed_ms=one.elapsed_ms,
            )


def described(answer: Any) -> dict[str, Any]:
    """The fields of `QuorumAnswers` that a leader's description gives. Units: Unix ms."""
    partition = answer.topics[0].partitions[0]
    endpoints = _endpoints(answer)
    voters = tuple(_replica(state, endpoints) for state in partition.current_voters)
    leader = next((voter for voter in voters if voter.id == partition.leader_id), None)
    return {
        "leader_id": partition.leader_id,
        "epoch": partition.leader_epoch,
        "high_watermark": partition.high_watermark,
        "now_ms": None if leader is None else leader.last_fetch_ms,
        "voters": voters,
        "observers": tuple(_replica(state, endpoints) for state in partition.observers),
    }


def _endpoints(answer: Any) -> dict[int, tuple[Address, tuple[Listener, ...]]]:
    """The address of each voter, its first listener's, and all of its listeners."""
    found = {}
    for node in getattr(answer, "nodes", ())[:CONTROLLERS_MAX]:
        listeners = tuple(Listener(one.name, one.host, one.port) for one in node.listeners)
        if listeners and listeners[0].host and 0 < listeners[0].port <= PORT_MAX:
            found[node.node_id] = (Address(listeners[0].host, listeners[0].port), listeners)
    return found


def _replica(state: Any, endpoints: Mapping[int, tuple[Address, tuple[Listener, ...]]]) -> Replica:
    directory = getattr(state, "replica_directory_id", ZERO_UUID)
    return Replica(
        state.replica_id,
        None if directory == ZERO_UUID else directory,
        state.log_end_offset,
        _known(getattr(state, "last_fetch_timestamp", -1)),
        _known(getattr(state, "last_caught_up_timestamp", -1)),
        endpoints[state.replica_id][1] if state.replica_id in endpoints else (),
    )


def _known(timestamp_ms: int) -> int | None:
    return None if timestamp_ms < 0 else timestamp_ms


# ---- sockets

_UNREACHED: Final = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ETIMEDOUT, errno.ENETDOWN)


async def _resolved(host: str) -> list[str]:
    """The IP addresses of a name; the thread that waits for the name server is left behind. Errors: OSError."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def tell(result: list[str] | OSError) -> None:
        if not found.done():
            if isinstance(result, list):
                found.set_result(result)
            else:
                found.set_exception(result)

    def resolve() -> None:
        result: list[str] | OSError
        try:
            result = list(dict.fromkeys(str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)))
        except OSError as error:
            result = error
        except UnicodeError:
            result = OSError(errno.EINVAL, "not a host name")
        with contextlib.suppress(RuntimeError):  # nobody waits any more
            loop.call_soon_threadsafe(tell, result)

    threading.Thread(target=resolve, name="resolver", daemon=True).start()
    return await found


async def _talks_tls(place: Address) -> bool:
    """Whether a peer answers a TLS handshake, whatever certificates it wants."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        _, writer = await asyncio.open_connection(place.host, place.port, ssl=context)
    except ssl.SSLError as error:
        return any(word in str(error.reason) for word in _TLS_ALERTS)
    except OSError:
        return False
    writer.transport.abort()
    return True


async def _talks_plain(place: Address) -> bool:
    """Whether a peer speaks Kafka's protocol without TLS."""
    try:
        link = await connect(place, core=ClientConnection(client_id=CLIENT_ID), timeout_s=LIMIT_S)
    except MetashellError:
        return False
    link.close()
    return True
