"""The end of accepting. This module imports asyncio, so it is itself imported inside functions."""

from __future__ import annotations

import asyncio
import contextlib


async def stop_accepting(server: asyncio.Server) -> None:
    """Accept nothing more on a server, and close it. What it has accepted becomes connections first, which are then the caller's to close.

    asyncio accepts in one turn of the loop and makes the connection in the next. A server that is closed in between loses the socket
    (cpython issue 109564): nobody closes it, and the peer waits for an answer.
    """
    loop = asyncio.get_running_loop()
    for held in server.sockets:
        with contextlib.suppress(NotImplementedError):
            loop.remove_reader(held)
    await asyncio.sleep(0)
    server.close()
