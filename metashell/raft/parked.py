"""A Fetch that waits at the leader."""

from __future__ import annotations

from typing import Any

from metashell.raft.messages import FetchRequest, FetchResponse


class ParkedFetch:
    """A Fetch that was valid and found nothing; `response` is what it gets when `deadline_ms` comes first."""

    __slots__ = ("deadline_ms", "listener", "request", "response", "token")

    def __init__(self, token: Any, request: FetchRequest, listener: str, deadline_ms: int, response: FetchResponse) -> None:
        self.token = token
        self.request = request
        self.listener = listener
        self.deadline_ms = deadline_ms
        self.response = response
