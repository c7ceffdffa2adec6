"""Connections between clients and the coordinator's node: late, in order, and some of them break."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any, Protocol

from metashell.groups.members.outputs import Send
from metashell.rebalance.clock import Clock


class Peer(Protocol):
    """Who is at the client's end of a connection."""

    client_id: str

    def answered(self, ticket: int, body: Any) -> None: ...

    def unanswered(self, ticket: int) -> None:
        """The connection broke while this request waited for its answer."""
        ...


class Connection:
    """One connection, which the node serves in order: the next request is not looked at before the one before it is answered."""

    __slots__ = ("in_flight", "is_open", "last_down_ms", "last_up_ms", "peer", "served", "waiting")

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.is_open = True
        self.last_up_ms = 0
        self.last_down_ms = 0
        self.in_flight: dict[int, None] = {}
        self.served = -1
        """The node's ticket of the request that waits for an answer, -1 for none."""
        self.waiting: deque[Send] = deque()


class Network:
    """Delivers requests and answers late; what is lost is lost with its connection."""

    def __init__(self, clock: Clock, chance: Random, latency_ms: tuple[int, int]) -> None:
        self._clock = clock
        self.random = chance.random
        self._least_ms = latency_ms[0]
        self._spread_ms = latency_ms[1] - latency_ms[0] + 1

    def delay_ms(self) -> int:
        return self._least_ms + int(self.random() * self._spread_ms)

    def send(self, connection: Connection, sent: Send, arrive: Any) -> None:
        """Bring a request to the node: `arrive((connection, sent))`."""
        connection.in_flight[sent.ticket] = None
        at_ms = self._clock.now_ms + self.delay_ms()
        if at_ms < connection.last_up_ms:
            at_ms = connection.last_up_ms
        connection.last_up_ms = at_ms
        self._clock.at(at_ms, arrive, (connection, sent))

    def answer(self, connection: Connection, ticket: int, body: Any, leaves_ms: int) -> None:
        """Bring an answer to the client."""
        at_ms = leaves_ms + self.delay_ms()
        if at_ms < connection.last_down_ms:
            at_ms = connection.last_down_ms
        connection.last_down_ms = at_ms
        self._clock.at(at_ms, _deliver, (connection, ticket, body))

    def drop(self, connection: Connection) -> None:
        """Break a connection: nothing that was on its way arrives, and its client notices."""
        if not connection.is_open:
            return
        connection.is_open = False
        for ticket in list(connection.in_flight):
            self.lose(connection, ticket)

    def lose(self, connection: Connection, ticket: int) -> None:
        """Tell a client that a request on a broken connection gets no answer."""
        if connection.in_flight.pop(ticket, ticket) is None:
            self._clock.after(self.delay_ms(), _unanswered, (connection.peer, ticket))


def _deliver(arrived: tuple[Connection, int, Any]) -> None:
    connection, ticket, body = arrived
    if connection.is_open:
        del connection.in_flight[ticket]
        connection.peer.answered(ticket, body)


def _unanswered(lost: tuple[Peer, int]) -> None:
    peer, ticket = lost
    peer.unanswered(ticket)
