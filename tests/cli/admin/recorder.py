"""Stands for an `Admin`: it keeps what it is asked, and answers what a test says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metashell.cli.admin.protocol import Kind, Node
from metashell.net.addresses import Address


class Recorder:
    """`asked` has the requests in their order, those of `ask_all` by node. Answers come in the order in which they are given."""

    timeout_ms = 4301

    def __init__(
        self, *answers: Any, kind: Kind = Kind.BROKERS, again: int = 0, ids: tuple[int, ...] = (), ranges: Mapping[int, Any] | None = None
    ) -> None:
        self.kind = kind
        self.again = again
        self.asked: list[Any] = []
        self.whom: list[Any] = []
        """The node and version of each request, or "active"."""
        self._answers = iter(answers)
        self._nodes = tuple(Node(id, Address("localhost", 9000 + id)) for id in ids)
        self._ranges = {} if ranges is None else ranges

    def ask(self, request: Any, *, to: Any = None, version: int | None = None) -> Any:
        return self._next(request, (to, version))

    def ask_active(self, request: Any) -> Any:
        return self._next(request, "active")

    def ask_all(self, requests: Mapping[int, Any]) -> dict[int, Any]:
        return {node: answer for node, answer in self._next(dict(requests), "all").items() if node in requests} if requests else {}

    def nodes(self) -> tuple[Node, ...]:
        return self._nodes

    def ranges(self) -> Mapping[int, Any]:
        return self._ranges

    def _next(self, request: Any, whom: Any) -> Any:
        self.asked.append(request)
        self.whom.append(whom)
        return next(self._answers)
