"""The blocking client of a live cluster that every administration command uses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from metashell.cli.admin.protocol import Kind, Node, UncertainError, right_for
from metashell.cli.admin.session import Session
from metashell.common.command import TimeLimit, TimeUp
from metashell.net.addresses import ConnectError
from metashell.net.client import Client
from metashell.net.security import PLAINTEXT

if TYPE_CHECKING:
    from metashell.common.errors import MetashellError
    from metashell.net.addresses import Address
    from metashell.net.api_versions import ApiRanges, NodeFeatures
    from metashell.net.client import AsyncClient

T = TypeVar("T")
TIMEOUT_MS: Final = 60_000
"""default.api.timeout.ms of Kafka's clients."""

__all__ = ["TIMEOUT_MS", "Admin", "Kind", "Node"]


class Admin:
    """A client of a cluster, reached through its brokers or controllers. Use it from one thread, and close it or use it in a `with` block.

    Shape: `kind` is the kind of node at the bootstrap addresses; an address of the other kind is an error. `timeout_ms` limits each call
    with all its retries, and `time_limit` all calls together, None does not. `leaderless_ms` limits the search for a leader; by default it
    is `timeout_ms`. `client_options` are those of `AsyncClient`: security, client_id, address_map, connect_timeout_ms. The first request
    opens the first connection.

    Errors of every request: ConnectError if no node answered; WrongListenerError; UnsupportedError if the cluster is too old for the API or
    for one of its fields; UncertainError if the connection broke during a change that must not be sent twice. An answer with an error code
    is returned, not raised: see `metashell.cli.admin.protocol.check_answer`.
    """

    def __init__(
        self,
        kind: Kind,
        bootstrap: Sequence[Address],
        *,
        timeout_ms: int = TIMEOUT_MS,
        leaderless_ms: int | None = None,
        time_limit: TimeLimit | None = None,
        **client_options: Any,
    ) -> None:
        self.kind = kind
        self.timeout_ms = timeout_ms
        self._timeout_s = timeout_ms / 1000
        self._time_limit = time_limit
        self._bootstrap = bootstrap
        self._leaderless_s = (timeout_ms if leaderless_ms is None else leaderless_ms) / 1000
        self._has_sasl = bool(client_options.get("security", PLAINTEXT).mechanism)
        self._client = Client(bootstrap, deadline_ms=timeout_ms, **client_options)
        self._session: Session | None = None

    def ask(self, request: Any, *, to: int | Address | None = None, version: int | None = None) -> Any:
        """Return the answer of any node of the kind, or of the node `to` (an id or address). Errors: also UsageError for an unknown id."""
        return self._run(lambda session: session.ask(request, to, version))

    def ask_active(self, request: Any, *, version: int | None = None) -> Any:
        """Return the answer of the active controller, asked directly or through any broker, which forwards the request.

        If the controller no longer leads or is gone, the new leader is searched for until the deadline. If there is none in time, the last
        answer is returned (with NOT_CONTROLLER), or ConnectError says why there is no answer.
        """
        return self._run(lambda session: session.ask_active(request, version))

    def ask_all(self, requests: Mapping[int, Any]) -> dict[int, Any]:
        """Send each node its own request, all at once. Return the answer of each node, or its MetashellError."""
        return self._run(lambda session: session.ask_all(requests))

    def nodes(self, *, fenced: bool = False) -> tuple[Node, ...]:
        """Return the brokers or controllers, ordered by id. `fenced`: include fenced brokers, if the cluster names them (4.0 and later)."""
        return self._run(lambda session: session.nodes(fenced=fenced))

    def active_id(self) -> int | None:
        """Return the id of the active controller as the controllers report it; None through brokers, and while no controller leads."""
        nodes = self.nodes()
        return next((node.id for node in nodes if self._session is not None and node.address == self._session.active), None)

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, fetched once. Errors: those of `nodes`."""
        if self._session is None or not self._session.cluster_id:
            self.nodes()
        return "" if self._session is None else self._session.cluster_id

    def features(self, to: int | Address | None = None) -> NodeFeatures:
        """Return the features that a node supports and the finalized levels, as they were when the connection was opened."""
        return self._run(lambda session: session.connection(to)).core.features

    def ranges(self, to: int | Address | None = None) -> ApiRanges:
        """Return the lowest and highest version that a node supports, by api key."""
        return self._run(lambda session: session.connection(to)).core.peer_ranges

    @property
    def skipped(self) -> dict[Address, str]:
        """The reason, by address, for each node that was given up because it was silent and other nodes answered."""
        return {} if self._session is None else dict(self._session.skipped)

    @property
    def right_refused(self) -> str:
        """The right that the last unauthorized request lacked, in words; empty if no request was refused, or if its right is not known."""
        return "" if self._session is None else right_for(self._session.refused)

    @property
    def again(self) -> int:
        """The number of repeats of the last request after it may have been carried out: "already exists" can then be our own work."""
        return 0 if self._session is None else self._session.again

    def _run(self, work: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
        async def with_session(client: AsyncClient) -> T:
            if self._session is None:
                self._session = Session(self.kind, client, self._timeout_s, leaderless_s=self._leaderless_s, has_sasl=self._has_sasl)
            self._session.timeout_s = min(self._timeout_s, limit.left_s)
            client.renew_values()
            return await work(self._session)

        limit = self._time_limit or TimeLimit(self._timeout_s)
        is_first = limit.left_s == limit.limit_s
        try:
            with limit.waiting():
                answer: T = self._client.run(with_session)
        except TimeUp:
            raise self._late(limit) from None
        except ConnectError as error:
            # The rest of the time that was left to this call says nothing.
            if not (is_first or limit.left_s or error.authentication):
                raise self._late(limit) from None
            raise
        except KeyboardInterrupt:
            # The interrupt carries the change that was under way: without it the operator could not know that one was sent.
            raise KeyboardInterrupt(*filter(None, (self._session and self._session.under_way,))) from None
        return answer

    def _late(self, limit: TimeLimit) -> MetashellError:
        """Return the error of a call that was interrupted, or for which no time was left."""
        reason = f"no complete answer within {limit.limit_s:g} s"
        if self._session is not None and self._session.under_way:
            return UncertainError(f"{self._session.under_way} ({reason})")
        return ConnectError([(address, reason) for address in self._bootstrap])

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
