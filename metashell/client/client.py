"""The blocking face of a client, for tools: it runs its own loop, and nothing goes on between two calls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from metashell.client.async_client import AsyncClient
    from metashell.net.addresses import Address


class Client:
    """`AsyncClient` for callers without a loop; the same arguments. Close it, or use it as a context manager."""

    def __init__(self, bootstrap: Sequence[Address], **options: Any) -> None:
        import asyncio

        from metashell.client.async_client import AsyncClient

        self._runner = asyncio.Runner()
        self._client = AsyncClient(bootstrap, **options)

    def request(self, message: Any, *, node: int | Address | None = None, version: int | None = None) -> Any:
        """The response to a request, from any bootstrap address or from a node. Errors: ConnectError, EncodeError."""
        return self.run(lambda client: client.request(message, node=node, version=version))

    def run(self, work: Callable[[AsyncClient], Coroutine[Any, Any, Any]]) -> Any:
        """What a coroutine made from the client gives; for calls that ask several nodes at once."""
        return self._runner.run(work(self._client))

    def learn(self, nodes: Iterable[tuple[int, str, int]], cluster_id: str = "") -> None:
        """Remember where nodes are, (id, host, port) as responses give them, and of which cluster."""
        self._client.learn(nodes, cluster_id)

    @property
    def nodes(self) -> dict[int, Address]:
        """Id to address of the nodes that can be asked by id."""
        return self._client.nodes

    def close(self) -> None:
        """Close all connections."""
        try:
            self._runner.run(self._client.close())
        finally:
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
