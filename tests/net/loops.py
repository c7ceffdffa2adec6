"""A listener and its clients on one loop, for tests over loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from metashell.codec.messages import DescribeClusterResponse
from metashell.net.accepted_connection import OnRequest, ServerRequest
from metashell.net.addresses import Address
from metashell.net.api_versions import supported_ranges
from metashell.net.listener import Listener, serve
from metashell.net.listener_options import ListenerOptions

RANGES = supported_ranges([3, 60])
LIMIT_S = 120.0


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run a coroutine to its end; a test that hangs fails."""

    async def bounded() -> None:
        loop = asyncio.get_running_loop()
        surprises: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: surprises.append(context))
        async with asyncio.timeout(LIMIT_S):
            await work()
        assert not surprises, surprises

    asyncio.run(bounded())


def answer(request: ServerRequest) -> None:
    """Say who asked."""
    request.respond(DescribeClusterResponse(cluster_id=request.principal))


@asynccontextmanager
async def listening(on_request: OnRequest = answer, **options: Any) -> AsyncIterator[tuple[Listener, Address]]:
    listener = await serve(on_request, ListenerOptions(**{"ranges": RANGES, **options}))
    try:
        yield listener, Address("127.0.0.1", listener.port)
    finally:
        await listener.stop()
        assert (listener.counters.open, listener.held_size) == (0, 0)
