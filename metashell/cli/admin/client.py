"""The connection to a live cluster that every administration command uses; blocking, for tools."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from metashell.cli.admin.protocol import Kind, Node, right_for
from metashell.cli.admin.session import Session
from metashell.net.client import Client
from metashell.net.security import PLAINTEXT

if TYPE_CHECKING:
    from metashell.cli.admin.session import Session
    from metashell.net.addresses import Address
    from metashell.net.api_versions import ApiRanges, NodeFeatures
    from metashell.net.client import AsyncClient

T = TypeVar("T")
TIMEOUT_MS: Final = 60_000
"""default.api.timeout.ms of Kafka's clients."""

__all__ = ["TIMEOUT_MS", "Admin", "Kind", "Node"]


class Admin:
    """Asks a cluster through its brokers or its controllers. Close it, or use it as a context manager; one thread at a time.

    Shape: `kind` is what the bootstrap addresses are said to be; one that is of the other kind is an error. `timeout_ms` bounds each call
    with all that it repeats, `leaderless_ms` how long a leader is looked for, by default as long. `client_options` are those of
    `AsyncClient`: security, client_id, address_map, connect_timeout_ms. Nothing is connected before the first question.

    Errors of every question: ConnectError when nobody answered; WrongListenerError; UnsupportedError for an API, or a field of it, that
    the cluster is too old for; UncertainError for a change whose connection broke and that must not be sent twice. An answer with an error
    code is an answer: see `metashell.cli.admin.protocol.check_answer`.
    """

    def __init__(
        self,
        kind: Kind,
        bootstrap: Sequence[Address],
        *,
        timeout_ms: int = TIMEOUT_MS,
        leaderless_ms: int | None = None,
        **client_options: Any,
    ) -> None:
        self.kind = kind
        self.timeout_ms = timeout_ms
        self._timeout_s = timeout_ms / 1000
        self._leaderless_s = (timeout_ms if leaderless_ms is None else leaderless_ms) / 1000
        self._has_sasl = bool(client_options.get("security", PLAINTEXT).mechanism)
        self._client = Client(bootstrap, deadline_ms=timeout_ms, **client_options)
        self._session: Session | None = None

    def ask(self, request: Any, *, to: int | Address | None = None, version: int | None = None) -> Any:
        """What any node of the kind answers, or the one with that id or address. Errors: also UsageError for an id that is not there."""
        return self._run(lambda session: session.ask(request, to, version))

    def ask_active(self, request: Any, *, version: int | None = None) -> Any:
        """What the active controller answers: asked there, or through any broker, which hands it on.

        A controller that leads no longer, or is gone, is followed until the deadline; when nobody leads in time, its last answer is given
        (with NOT_CONTROLLER), or ConnectError says why there is none.
        """
        return self._run(lambda session: session.ask_active(request, version))

    def ask_all(self, requests: Mapping[int, Any]) -> dict[int, Any]:
        """What each of these nodes answers to its own request, all at once; in place of an answer that did not come its MetashellError."""
        return self._run(lambda session: session.ask_all(requests))

    def nodes(self, *, fenced: bool = False) -> tuple[Node, ...]:
        """The brokers or controllers, ordered by id. `fenced`: also fenced brokers, where the cluster can name them (4.0 and later)."""
        return self._run(lambda session: session.nodes(fenced=fenced))

    def active_id(self) -> int | None:
        """The id of the active controller as the controllers say it; None through brokers, and while nobody leads."""
        nodes = self.nodes()
        return next((node.id for node in nodes if self._session is not None and node.address == self._session.active), None)

    @property
    def cluster_id(self) -> str:
        """The id of the cluster; asked for once."""
        if self._session is None or not self._session.cluster_id:
            self.nodes()
        return "" if self._session is None else self._session.cluster_id

    def features(self, to: int | Address | None = None) -> NodeFeatures:
        """The features that a node supports, and what the cluster finalized, as of when we connected to it."""
        return self._run(lambda session: session.connection(to)).core.features

    def ranges(self, to: int | Address | None = None) -> ApiRanges:
        """Api key to the lowest and highest version that a node has."""
        return self._run(lambda session: session.connection(to)).core.peer_ranges

    @property
    def skipped(self) -> dict[Address, str]:
        """Addresses that kept silent and were not waited for, because others answered; with the reason."""
        return {} if self._session is None else dict(self._session.skipped)

    @property
    def right_refused(self) -> str:
        """The right that was missing when a request was last refused for want of one, in words; empty where none was."""
        return "" if self._session is None else right_for(self._session.refused)

    @property
    def again(self) -> int:
        """How often the last request had to be sent again after it may have been carried out: then "exists already" may be our own work."""
        return 0 if self._session is None else self._session.again

    def _run(self, work: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
        async def with_session(client: AsyncClient) -> T:

            if self._session is None:
                self._session = Session(self.kind, client, self._timeout_s, leaderless_s=self._leaderless_s, has_sasl=self._has_sasl)
            return await work(self._session)

        try:
            answer: T = self._client.run(with_session)
        except KeyboardInterrupt:
            # Without a word the operator would not know whether a change was asked for.
            raise KeyboardInterrupt(*filter(None, (self._session and self._session.under_way,))) from None
        return answer

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
