"""Fake brokers, topics, and requests to the active controller.

Fake brokers register and send heartbeats, so that a controller places partitions on them. No partition has any data; only the one that a
group server registers as serves clients. Topics are made by asking controllers: that needs no broker process and no Java, only brokers that
are registered.

This module imports asyncio, so it is itself imported inside functions.
Source: kafka.server.BrokerLifecycleManager."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    NONE,
    NOT_CONTROLLER,
    STALE_BROKER_EPOCH,
    error_message,
    first_error_code,
)
from metashell.codec.primitives import encode_uvarint
from metashell.codec.releases import supported_features
from metashell.common.errors import MetashellError
from metashell.groups.server.machine import ClientIdentity
from metashell.net.addresses import Address, ConnectError, parse_addresses
from metashell.net.api_versions import ALL_RANGES
from metashell.net.client import AsyncClient, Client
from metashell.net.frames import api_key_of, decode_response, encode_request
from metashell.quorum.embedded.layout import QuorumError, RefusedError

FIRST_ID: Final = 101
"""Far from the controllers' ids, which a registration may not have."""
HEARTBEAT_S: Final = 1.0
RETRY_S: Final = 0.02
NOWHERE: Final = Address("localhost", 1)
"""What they advertise: nothing listens there."""

ActiveController = Callable[[], "Address | None"]


class FakeBroker:
    """A broker that registers and sends heartbeats.

    `is_unfenced`: it takes partitions. `refusal` is the error code with which controllers refuse it, 0 for none.

    `listener` is the name of its listener and Kafka's number of its security protocol.
    `origin` is who runs it: another one of the same id is refused as long as the first lives, the same one may come back at once.
    """

    def __init__(
        self,
        id: int,
        cluster_id: str,
        active: ActiveController,
        client: AsyncClient,
        on_change: Callable[[], None],
        *,
        address: Address = NOWHERE,
        listener: tuple[str, int] = ("PLAINTEXT", 0),
        origin: str = "",
    ) -> None:
        self.id = id
        self.is_unfenced = False
        self.refusal = NONE
        self._address = address
        self._listener = listener
        self._active = active
        self._client = client
        self._on_change = on_change
        self._epoch = -1
        self._cluster_id = cluster_id
        # The same ones after a restart of the quorum: a controller takes another incarnation only when the session of the last is over.
        self._incarnation_id, self._directory_id = _uuids(f"{cluster_id} {id}{origin}")

    async def run(self) -> None:
        """Stay registered until cancelled."""
        while True:
            response = await self._ask(self._registration() if self._epoch < 0 else self._heartbeat())
            error = None if response is None else response.error_code
            if error in (BROKER_ID_NOT_REGISTERED, STALE_BROKER_EPOCH):
                self._epoch = -1
                self.is_unfenced = False
            elif error == NONE and isinstance(response, messages.BrokerRegistrationResponse):
                self._epoch = response.broker_epoch
            elif error == NONE:
                self.is_unfenced = not response.is_fenced
            elif error is not None:
                self.is_unfenced = False
            self.refusal = error if error not in (None, BROKER_ID_NOT_REGISTERED, STALE_BROKER_EPOCH) else NONE
            self._on_change()
            is_settled = self.is_unfenced if error == NONE else self.refusal != NONE
            await asyncio.sleep(HEARTBEAT_S if is_settled else RETRY_S)

    async def _ask(self, request: Any) -> Any:
        """Return the answer of the active controller, None where there is none."""
        address = self._active()
        if address is None:
            return None
        try:
            return await self._client.request(request, node=address)
        except ConnectError:
            return None

    def _registration(self) -> messages.BrokerRegistrationRequest:
        feature, listener = messages.BrokerRegistrationRequest.Feature, messages.BrokerRegistrationRequest.Listener
        name, protocol = self._listener
        return messages.BrokerRegistrationRequest(
            broker_id=self.id,
            cluster_id=self._cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=(listener(name=name, host=self._address.host, port=self._address.port, security_protocol=protocol),),
            features=tuple(
                feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in supported_features().items()
            ),
            rack=None,
            log_dirs=(self._directory_id,),
        )

    def _heartbeat(self) -> messages.BrokerHeartbeatRequest:
        # It follows no log: it says that it has what its registration was written into, which is what unfences it.
        return messages.BrokerHeartbeatRequest(
            broker_id=self.id, broker_epoch=self._epoch, current_metadata_offset=self._epoch, want_fence=False, want_shut_down=False
        )


def _uuids(origin: str) -> Sequence[bytes]:
    """Return the incarnation and directory ids of a broker, the same each time for one cluster."""
    digest = hashlib.sha256(origin.encode()).digest()
    # Neither is one that Kafka reserves: these begin with 15 zero bytes.
    return digest[:16], digest[16:]


REQUEST_RETRY_S: Final = 0.01


async def request_active_controller(client: AsyncClient, active: ActiveController, request: Any, version: int | None = None) -> Any:
    """Return the answer of the active controller; repeats the request while there is none, or it moves. Errors: EncodeError."""
    while True:
        address = active()
        if address is not None:
            try:
                response = await client.request(request, node=address, version=version)
            except ConnectError:
                response = None
            if response is not None and first_error_code(response) != NOT_CONTROLLER:
                return response
        await asyncio.sleep(REQUEST_RETRY_S)


class ForwardError(MetashellError):
    """The controller did not take a forwarded request: it refuses who forwards, or does not know the request's version."""


async def forward_request(client: AsyncClient, active: ActiveController, request: Any, version: int | None, origin: ClientIdentity) -> Any:
    """Return the answer of the active controller to a client's request, decided with the rights of that client (KIP-590).

    The request stands in an envelope, which only a sender with CLUSTER_ACTION may send. Errors: ForwardError, EncodeError.
    """
    key = api_key_of(request)
    version = ALL_RANGES[key][1] if version is None else version
    envelope = messages.EnvelopeRequest(
        request_data=encode_request(request, version, 0, origin.client_id)[LENGTH_SIZE:],
        request_principal=principal_bytes(origin.principal, is_token=origin.is_token_authenticated),
        client_host_address=ip_address(origin.host.partition("%")[0]).packed,
    )
    answer = await request_active_controller(client, active, envelope)
    if answer.error_code != NONE or answer.response_data is None:
        raise ForwardError(f"{REQUESTS[key].removesuffix('Request')} is not forwarded: {error_message(answer.error_code)}")
    return decode_response(bytes(answer.response_data), key, version)[1]


def principal_bytes(principal: str, *, is_token: bool = False) -> bytes:
    """Write a principal as Kafka's brokers do, version 0 of DefaultPrincipalData. Source: DefaultKafkaPrincipalBuilder.serialize."""
    kind, _, name = principal.partition(":")
    out = bytearray(2)
    for text in (kind, name):
        data = text.encode()
        out += encode_uvarint(len(data) + 1) + data
    out += bytes((is_token, 0))
    return bytes(out)


LENGTH_SIZE: Final = 4
"""Bytes of a frame's length, which an envelope has of its own."""

TOPIC_TIMEOUT_S: Final = 10.0
CONTROLLERS: Final = 2
"""The endpoints that DescribeCluster is asked for: those of controllers."""


def create_topic(
    controllers: str,
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    configs: Mapping[str, str] | None = None,
    *,
    timeout_s: float = TOPIC_TIMEOUT_S,
) -> bytes:
    """Make a topic in the quorum that one of these `HOST:PORT,...` belongs to, and return its id.

    Errors: RefusedError, with Kafka's code and message; QuorumError for no active controller in time; UsageError for addresses that are
    none.
    """
    request = topic_request(name, partitions, replication_factor, configs, timeout_s)
    ends_at = time.monotonic() + timeout_s
    reason = "nobody leads"
    with Client(parse_addresses(controllers), client_id="metashell-topics", deadline_ms=int(timeout_s * 1000), attempts_max=1) as client:
        while True:
            try:
                leader = _active(client)
                if leader is not None and (answer := client.request(request, node=leader).topics[0]).error_code != NOT_CONTROLLER:
                    return topic_id_of(answer)
            except ConnectError as error:
                reason = str(error)
            if time.monotonic() > ends_at:
                raise QuorumError(f"topic {name}: not within {timeout_s:g} s: {reason}")
            time.sleep(RETRY_S)


def _active(client: Client) -> Address | None:
    """Return the active controller's address, from the first controller that answers; None where it knows none. Errors: ConnectError."""
    answer = client.request(messages.DescribeClusterRequest(endpoint_type=CONTROLLERS))
    if answer.error_code != NONE:
        raise RefusedError("DescribeCluster", answer.error_code, answer.error_message)
    return next((Address(node.host, node.port) for node in answer.brokers if node.broker_id == answer.controller_id), None)


def topic_request(
    name: str, partitions: int, replication_factor: int, configs: Mapping[str, str] | None, timeout_s: float
) -> messages.CreateTopicsRequest:
    """Return the CreateTopics request for one topic."""
    config = messages.CreateTopicsRequest.CreatableTopicConfig
    topic = messages.CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=tuple(config(name=key, value=value) for key, value in (configs or {}).items()),
    )
    return messages.CreateTopicsRequest(topics=(topic,), timeout_ms=int(timeout_s * 1000))


def topic_id_of(answer: Any) -> bytes:
    """The id of a topic that was made. Errors: RefusedError for one that was not."""
    if answer.error_code != NONE:
        raise RefusedError(f"topic {answer.name}", answer.error_code, answer.error_message)
    return bytes(answer.topic_id)
