"""Requests to whoever is the active controller.

This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from metashell.client.async_client import AsyncClient
from metashell.client.errors import ConnectError
from metashell.codec.answers import first_error
from metashell.codec.error_codes import NOT_CONTROLLER

if TYPE_CHECKING:
    from metashell.embedded.fake_brokers import ActiveController

RETRY_S: Final = 0.01


async def ask_active(client: AsyncClient, active: ActiveController, request: Any, version: int | None = None) -> Any:
    """What the active controller answers; asked again while there is none, or another one. Errors: EncodeError."""
    while True:
        address = active()
        if address is not None:
            try:
                response = await client.request(request, node=address, version=version)
            except ConnectError:
                response = None
            if response is not None and first_error(response) != NOT_CONTROLLER:
                return response
        await asyncio.sleep(RETRY_S)
