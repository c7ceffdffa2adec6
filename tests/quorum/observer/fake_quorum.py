"""A quorum of cores in memory behind real listeners on loopback, in a thread: what a client sees of controllers, and of a broker.

Nodes say that they are at `node-1:9093`, `node-2:9093`, ...; `address_map` leads from there to the ports that the system picked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Thread
from typing import Any, TypeVar

from metashell.codec.codes import DESCRIBE_CLUSTER, DESCRIBE_QUORUM
from metashell.codec.messages import DescribeClusterResponse, DescribeQuorumResponse
from metashell.metadata.image import MetadataImage
from metashell.net.accepted_connection import ServerRequest
from metashell.net.addresses import Address, AddressMap
from metashell.net.api_versions import supported_ranges
from metashell.net.listener import Listener, serve
from metashell.net.listener_options import ListenerOptions, secured_options
from metashell.net.security import ListenerSecurity
from metashell.quorum.observer.attach import LiveSource
from metashell.quorum.raft.messages import FetchResponse, FetchSnapshotResponse
from metashell.quorum.raft.wire import OURS, decode_request, encode_response
from tests.quorum.raft.quorum import CLUSTER, Quorum, endpoint

T = TypeVar("T")

BROKERS_APIS = (1, 3, 18, 55, 60)
TICK_S = 0.005
LIMIT_S = 120.0


class FakeQuorum:
    """Use as a context manager. `denied` makes fetches fail with an error as a whole; `names` are the cluster ids that nodes tell."""

    def __init__(self, *ids: int, security: ListenerSecurity | None = None) -> None:
        self.ids = ids
        self.quorum = Quorum.dynamic(ids)
        self.quorum.elect()
        self.denied = 0
        self.describe_error = 0
        self.spoil: Callable[[Any], Any] = lambda message: message
        self.names: dict[int, str] = {}
        self.security = security
        self.ports: dict[int, int] = {}
        self.broker_port = 0
        self.asked: list[tuple[int, Any]] = []
        self._loop = asyncio.new_event_loop()
        self._listeners: dict[int, Listener] = {}
        self._waiting: dict[str, tuple[ServerRequest, int]] = {}
        self._thread = Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> FakeQuorum:
        self._thread.start()
        for id in self.ids:
            self.listen(id)
        self._await(self._open_broker())
        self.call(self._tick)
        return self

    def __exit__(self, *_: object) -> None:
        async def stop() -> None:
            for listener in self._listeners.values():
                await listener.stop(0)

        self._await(stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _await(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def call(self, work: Callable[[], T]) -> T:
        """Do something with the quorum, on its thread."""

        async def run() -> T:
            return work()

        found: T = self._await(run())
        return found

    # What tests do

    @property
    def address_map(self) -> AddressMap:
        return AddressMap({Address(*endpoint(id)): Address("127.0.0.1", port) for id, port in self.ports.items()})

    @property
    def addresses(self) -> tuple[Address, ...]:
        return tuple(Address(*endpoint(id)) for id in self.ids)

    def append(self, *values: bytes) -> None:
        self.call(lambda: self.quorum.append(*values))

    def commit(self, *values: bytes) -> None:
        self.call(lambda: self.quorum.commit(*values))

    def listen(self, id: int) -> None:
        """Open a node's listener, on its old port if it had one."""
        self._await(self._open(id))

    def kill(self, id: int) -> None:
        """A node and its listener are gone."""
        self._await(self._listeners.pop(id).stop(0))
        self.call(lambda: self.quorum.stop(id))

    def reopen(self, id: int) -> None:
        """Close a node's listener with its connections, and open it anew."""
        self._await(self._listeners.pop(id).stop(0))
        self.listen(id)

    def leader_id(self) -> int:
        leader = self.call(self.quorum.leader)
        assert leader is not None
        return leader.local_id

    # The listeners

    async def _open(self, id: int) -> None:
        ranges = {**OURS, **supported_ranges([DESCRIBE_CLUSTER])}
        security = secured_options(self.security) if self.security is not None else {}
        options = ListenerOptions(ranges=ranges, name="CONTROLLER", port=self.ports.get(id, 0), **security)
        self._listeners[id] = await serve(lambda request: self._on_request(id, request), options)
        self.ports[id] = self._listeners[id].port

    async def _open_broker(self) -> None:
        options = ListenerOptions(ranges=supported_ranges(BROKERS_APIS))
        self._listeners[0] = await serve(self._on_broker_request, options)
        self.broker_port = self._listeners[0].port

    def _on_broker_request(self, request: ServerRequest) -> None:
        leader = self.quorum.leader()
        assert leader is not None
        self._on_request(leader.local_id, request)

    def _on_request(self, id: int, request: ServerRequest) -> None:
        header = request.header
        if header.api_key == DESCRIBE_CLUSTER:
            make = DescribeClusterResponse.DescribeClusterBroker
            nodes = tuple(make(broker_id=each, host=endpoint(each)[0], port=endpoint(each)[1]) for each in self.ids)
            request.respond(DescribeClusterResponse(cluster_id=self.names.get(id, CLUSTER), endpoint_type=2, brokers=nodes))
            return
        if self.describe_error and header.api_key == DESCRIBE_QUORUM:
            request.respond(DescribeQuorumResponse(error_code=self.describe_error))
            return
        flat = decode_request(header.api_key, header.api_version, request.message)
        self.asked.append((id, flat))
        if self.denied and header.api_key in (1, 59):
            answer = FetchResponse if header.api_key == 1 else FetchSnapshotResponse
            request.respond(encode_response(answer(top_error=self.denied), header.api_version))
            return
        name = f"request {len(self.asked)}"
        self._waiting[name] = (request, header.api_version)
        self.quorum.ask(id, flat, name)
        self._answer()

    def _answer(self) -> None:
        for name in [name for name in self._waiting if name in self.quorum.answers]:
            request, version = self._waiting.pop(name)
            request.respond(encode_response(self.spoil(self.quorum.answers.pop(name)), version))

    def _tick(self) -> None:
        self.quorum.run(round(TICK_S * 1000))
        self._answer()
        self._loop.call_later(TICK_S, self._tick)


def wait_for(source: LiveSource, holds: Callable[[MetadataImage], bool]) -> MetadataImage:
    """The first image that holds, of those that come to an observer. The limit only ends a test that fails."""
    steps = source.subscribe()
    image = steps.start
    ends_at = time.monotonic() + LIMIT_S
    while not holds(image):
        step = steps.next(ends_at - time.monotonic())
        assert step is not None, f"it does not hold after {LIMIT_S} s: {source.view().details}"
        image = step.after
    steps.close()
    return image
