"""Registration of this controller with the active one, and the notice that no leader is known.

A controller registers again after every start, so that features are upgraded only where all can follow. `Leaderless` says that no leader is
known, once that lasts, and whom this controller asks.

Source: kafka.server.ControllerRegistrationManager."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.codes import CONTROLLER_REGISTRATION
from metashell.codec.error_codes import NONE
from metashell.codec.messages import ControllerRegistrationRequest
from metashell.codec.releases import REGISTER_CONTROLLER_LEVEL
from metashell.common.errors import EncodeError
from metashell.metadata.image import MetadataImage
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.security import PROTOCOLS
from metashell.net.transport import Connection, ConnectionFailedError, connect
from metashell.quorum.controller.decision import SUPPORTED_FEATURES
from metashell.quorum.raft.messages import Endpoint
from metashell.quorum.server.event_queue import ServerEvent

if TYPE_CHECKING:
    from random import Random

    from metashell.quorum.raft.node import RaftNode
    from metashell.quorum.server.config import PeerSecurity
    from metashell.quorum.server.driver import Driver


TIMEOUT_S: Final = 5.0
PAUSE_MIN_S: Final = 0.1
PAUSE_MAX_S: Final = 120.0
JITTER: Final = 0.02
TELL_FROM: Final = 2
"""Failures in a row before one is told: a single one is usual while leadership changes."""
_ANSWER_MAX: Final = 64 * 1024


class Registration:
    """Sends ControllerRegistration until the committed image has this process; `sent` and `failed` count tries.

    `leader` gives the address of the active controller, None while nobody is known.
    """

    def __init__(
        self,
        node_id: int,
        incarnation: bytes,
        endpoints: Mapping[str, Endpoint],
        protocols: Mapping[str, str],
        image: Callable[[], MetadataImage],
        leader: Callable[[], Endpoint | None],
        peers: PeerSecurity,
        random: Random,
        on_event: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.sent = 0
        self.failed = 0
        self.last_failure = ""
        self._on_event = on_event
        self._failed_in_row = 0
        self._told = ""
        self._node_id = node_id
        self._incarnation = incarnation
        self._request = _request(node_id, incarnation, endpoints, protocols)
        self._image = image
        self._leader = leader
        self._peers = peers
        self._random = random
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def is_due(self) -> bool:
        """Whether the cluster takes registrations, and lacks that of this process."""
        image = self._image()
        if (image.features.metadata_version or 0) < REGISTER_CONTROLLER_LEVEL:
            return False
        known = image.cluster.controllers.get(self._node_id)
        return known is None or known.incarnation_id != self._incarnation

    def look(self) -> None:
        """Check again: the committed image, or the leader, may have changed."""
        if self._task is None and not self._is_closed and self._leader() is not None and self.is_due:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Send nothing more."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause_s = PAUSE_MIN_S
        try:
            while self.is_due:
                leader = self._leader()
                if leader is not None and await self._try(leader):
                    # The image has it soon; `look` is called then.
                    return
                await asyncio.sleep(pause_s * (1 + JITTER * (2 * self._random.random() - 1)))
                pause_s = min(pause_s * 2, PAUSE_MAX_S)
        finally:
            self._task = None

    async def _try(self, leader: Endpoint) -> bool:
        self.sent += 1
        connection: Connection | None = None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                sasl = self._peers.sasl
                core = ClientConnection(
                    client_id=f"controller-registration-{self._node_id}",
                    sasl=None if sasl is None else sasl(),
                    ranges={CONTROLLER_REGISTRATION: (0, 0)},
                    in_flight_max=1,
                    frame_limit=_ANSWER_MAX,
                )
                connection = await connect(Address(*leader), core=core, tls=self._peers.tls, timeout_s=TIMEOUT_S)
                answer = await connection.request(self._request, version=0, timeout_s=TIMEOUT_S)
        except (ConnectionFailedError, EncodeError, OSError, TimeoutError) as error:
            return self._failed(leader, str(error) or type(error).__name__, reached=False)
        finally:
            if connection is not None:
                connection.close("done")
        if answer.error_code != NONE:
            return self._failed(leader, f"error {answer.error_code} {answer.error_message or ''}".rstrip(), reached=True)
        self._failed_in_row = 0
        self._told = ""
        return True

    def _failed(self, leader: Endpoint, reason: str, *, reached: bool) -> bool:
        self.failed += 1
        self.last_failure = reason
        self._failed_in_row += 1
        host, port = leader
        text = f"controller {self._node_id} cannot register with the active controller at {host}:{port}: {reason}"
        if self._failed_in_row >= TELL_FROM and text != self._told:
            self._told = text
            self._on_event(ServerEvent(text, "peer", host=host, port=port, reached=reached))
        return False


def _request(node_id: int, incarnation: bytes, endpoints: Mapping[str, Endpoint], protocols: Mapping[str, str]) -> Any:
    made = ControllerRegistrationRequest
    return made(
        controller_id=node_id,
        incarnation_id=incarnation,
        zk_migration_ready=False,
        listeners=tuple(
            made.Listener(name=name, host=host, port=port, security_protocol=PROTOCOLS.index(protocols[name]))
            for name, (host, port) in endpoints.items()
        ),
        features=tuple(
            made.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        ),
    )


AFTER_S: Final = 5.0
"""Longer than an election takes after a leader died."""
AGAIN_S: Final = 60.0


class Leaderless:
    """Reports to `on_event` when nobody has led for AFTER_S, and again every AGAIN_S, until it is closed."""

    def __init__(self, driver: Driver, on_event: Callable[[str], None]) -> None:
        self._node = driver.node
        self._on_event = on_event
        self._timer: asyncio.TimerHandle | None = None
        self._since_s = 0.0
        self._end = driver.watch(self._look)
        self._look()

    def close(self) -> None:
        """Report nothing more."""
        self._end()
        self._cancel()

    def _look(self) -> None:
        if self._node.leader_id >= 0:
            self._cancel()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._since_s = loop.time()
            self._timer = loop.call_later(AFTER_S, self._tell)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        loop = asyncio.get_running_loop()
        asked = [f"{host}:{port}" for host, port in asked_endpoints(self._node)]
        whom = f"asked {', '.join(asked)}" if asked else "the configuration names nobody else to ask"
        if not self._node.voters.voters:
            whom += "; this controller knows no voters (formatted without --standalone or --initial-controllers)"
        text = f"no leader for {loop.time() - self._since_s:.0f} s: {whom}"
        self._on_event(ServerEvent(text, "leaderless", epoch=self._node.epoch, asked=asked))
        self._timer = loop.call_later(AGAIN_S, self._tell)


def asked_endpoints(node: RaftNode) -> list[Endpoint]:
    """Return the endpoints that a replica without a leader asks: other voters and configured servers, each once."""
    config = node.config
    voters = [voter.endpoints.get(config.default_listener) for id, voter in sorted(node.voters.voters.items()) if id != node.local_id]
    known = [endpoint for endpoint in voters if endpoint is not None]
    return [endpoint for endpoint in dict.fromkeys((*known, *config.bootstrap_servers)) if endpoint not in node.own_endpoints.values()]
