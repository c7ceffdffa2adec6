"""Requests to whoever is the active controller.

This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from metashell.client.async_client import AsyncClient
from metashell.client.errors import ConnectError
from metashell.codec.error_codes import NONE, NOT_CONTROLLER

if TYPE_CHECKING:
    from metashell.embedded.fake_brokers import ActiveController

RETRY_S: Final = 0.01


async def ask_active(client: AsyncClient, active: ActiveController, request: Any) -> Any:
    """What the active controller answers; asked again while there is none, or another one. Errors: EncodeError."""
    while True:
        address = active()
        if address is not None:
            try:
                response = await client.request(request, node=address)
            except ConnectError:
                response = None
            if response is not None and first_error(response) != NOT_CONTROLLER:
                return response
        await asyncio.sleep(RETRY_S)


def first_error(response: Any) -> int:
    """The error code of an answer, or the first of those in its lists."""
    if (code := getattr(response, "error_code", NONE)) != NONE:
        return int(code)
    for name in dir(response):
        entries = () if name.startswith("_") else getattr(response, name)
        for entry in entries if isinstance(entries, (list, tuple)) else ():
            if (code := getattr(entry, "error_code", NONE)) != NONE:
                return int(code)
    return NONE
