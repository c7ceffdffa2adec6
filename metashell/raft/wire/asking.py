"""One request of raft over a connection that is ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from metashell.raft.messages import Request, Response
from metashell.raft.wire.table import decode_response, encode_request
from metashell.raft.wire.versions import UnsupportedVersionError, api_key_of


class Peer(Protocol):
    """A connection: the version that is used of each API, and requests as codec's messages."""

    @property
    def versions(self) -> Mapping[int, int]: ...

    async def request(self, message: Any, *, version: int | None = None, timeout_s: float = ...) -> Any: ...


async def ask(peer: Peer, request: Request, timeout_s: float) -> Response:
    """The answer, at the version that both sides have. Errors: UnsupportedVersionError before anything is sent; those of the connection."""
    key = api_key_of(request)
    version = peer.versions.get(key)
    if version is None:
        raise UnsupportedVersionError(f"{type(request).__name__}: no common version")
    answer = await peer.request(encode_request(request, version), version=version, timeout_s=timeout_s)
    return decode_response(key, version, answer)
