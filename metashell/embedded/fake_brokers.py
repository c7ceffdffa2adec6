"""Fake brokers: they register and send heartbeats, so that a controller places partitions on them. No partition has any data; only the
one that a group server registers as serves clients.

This module imports asyncio, so it is itself imported inside functions.
Source: kafka.server.BrokerLifecycleManager.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from metashell.client.errors import ConnectError
from metashell.codec import messages
from metashell.codec.error_codes import BROKER_ID_NOT_REGISTERED, NONE, STALE_BROKER_EPOCH
from metashell.codec.releases import supported_features
from metashell.net.addresses import Address

if TYPE_CHECKING:
    from metashell.client.async_client import AsyncClient

FIRST_ID: Final = 101
"""Far from the controllers' ids, which a registration may not have."""
HEARTBEAT_S: Final = 1.0
RETRY_S: Final = 0.02
NOWHERE: Final = Address("localhost", 1)
"""What they advertise: nothing listens there."""

ActiveController = Callable[[], "Address | None"]


class FakeBroker:
    """One of them. `is_unfenced` says that it takes partitions; `refusal` is the error code with which controllers refuse it, 0 for none.

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
        origin: str = "",
    ) -> None:
        self.id = id
        self.is_unfenced = False
        self.refusal = NONE
        self._address = address
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
        """What the active controller answers, None where there is none."""
        address = self._active()
        if address is None:
            return None
        try:
            return await self._client.request(request, node=address)
        except ConnectError:
            return None

    def _registration(self) -> messages.BrokerRegistrationRequest:
        feature, listener = messages.BrokerRegistrationRequest.Feature, messages.BrokerRegistrationRequest.Listener
        return messages.BrokerRegistrationRequest(
            broker_id=self.id,
            cluster_id=self._cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=(listener(name="PLAINTEXT", host=self._address.host, port=self._address.port, security_protocol=0),),
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
    """Two ids that are always the same for a broker of a cluster."""
    digest = hashlib.sha256(origin.encode()).digest()
    # Neither is one that Kafka reserves: these begin with 15 zero bytes.
    return digest[:16], digest[16:]
