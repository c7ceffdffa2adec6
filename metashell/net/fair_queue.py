"""A queue that shares one worker by who asks: the next is whoever had least of it, not whoever came first.

Work waits by account, and in an account by connection. Each piece costs what it took. An account that had much waits until the others
that want something had as much; one that asks rarely is next as soon as the worker is free, however much the others have queued. In an
account the connections share in the same way, so a new client behind an address that many share is not behind all that they sent.

Accounts of peers come first: of what they and others want they get `PEERS_WEIGHT` times as much. The rest is what keeps a broker that asks
without end from shutting out its operators.

Source: start-time fair queuing (Goyal, Vin and Cheng, 1996), once over accounts and once over the connections of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush
from time import monotonic
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

PEERS_WEIGHT: Final = 16
PAID_MAX: Final = 4096
"""Keys whose costs are remembered although nothing of them waits."""


class Asker(NamedTuple):
    """Whose work it is: a principal (`User:alice`), or the address of one that has not said who it is; or a peer's."""

    name: str
    is_peer: bool = False


class Turns(Generic[K]):
    """Whose turn it is among the keys that wait.

    A key begins to wait at the virtual time now, or at what it has paid if that is later. The lowest is next, and sets the time: whoever
    did not wait has nothing saved up. What a key owes grows less while it asks for nothing, second by second: among many that ask without
    end, the virtual time passes slowly, and one dear request would count for minutes.
    """

    __slots__ = ("_clock", "_count", "_heap", "_now", "_paid", "_waiting")

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, K]] = []
        self._waiting: dict[K, int] = {}
        self._paid: dict[K, tuple[float, float]] = {}
        """What a key has paid, as virtual time, and when."""
        self._now = 0.0
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def wait(self, key: K, *, is_first: bool = False, has_more: bool = False) -> None:
        """Let a key wait for its turn; no difference where it does already.

        One that `is_first` goes before those that begin at the same time; one that `has_more` did not stop asking.
        """
        if key in self._waiting:
            return
        self._count += 1
        count = self._waiting[key] = -self._count if is_first else self._count
        paid, at_s = self._paid.get(key, (0.0, 0.0))
        owed = paid if has_more or not paid else paid - (self._clock() - at_s)
        heappush(self._heap, (max(self._now, owed), count, key))

    def next(self) -> K:
        """Take the key whose turn it is. Errors: IndexError where none waits."""
        while True:
            begins, count, key = heappop(self._heap)
            if self._waiting.get(key) == count:
                del self._waiting[key]
                self._now = begins
                return key

    def pay(self, key: K, cost: float) -> None:
        """Count what a turn of a key has cost."""
        self._paid[key] = self._now + cost, self._clock()
        if len(self._paid) > PAID_MAX:
            now = self._now - self._clock()
            self._paid = {each: paid for each, paid in self._paid.items() if paid[0] - paid[1] > now}
            if len(self._paid) > PAID_MAX:
                self._paid.clear()

    def leave(self, key: K) -> None:
        """Let a key wait no longer."""
        self._waiting.pop(key, None)
        if len(self._heap) > 2 * len(self._waiting) + 64:
            self._heap = [each for each in self._heap if self._waiting.get(each[2]) == each[1]]
            heapify(self._heap)


class _Account(Generic[T]):
    __slots__ = ("lines", "turns")

    def __init__(self) -> None:
        self.turns: Turns[Hashable] = Turns()
        self.lines: dict[Hashable, deque[T]] = {}


class FairQueue(Generic[T]):
    """See the module. One piece is in work at a time: `pay` says what it cost before the next `pop`."""

    def __init__(self) -> None:
        self._tiers: Turns[bool] = Turns()
        self._askers: dict[bool, Turns[Asker]] = {True: Turns(), False: Turns()}
        self._accounts: dict[Asker, _Account[T]] = {}
        self._of_connections: dict[Hashable, Asker] = {}
        self._size = 0
        self._in_work: tuple[Asker, Hashable] | None = None

    def __len__(self) -> int:
        """Pieces that wait."""
        return self._size

    def put(self, asker: Asker, connection: Hashable, piece: T, *, is_begun: bool = False) -> None:
        """Let a piece of work wait, behind what waits of the same connection; one that `is_begun` goes on before it.

        What waits of a connection stays with its asker: a new one counts when nothing of the connection waits.
        """
        asker = self._of_connections.setdefault(connection, asker)
        account = self._accounts.get(asker)
        if account is None:
            account = self._accounts[asker] = _Account()
        line = account.lines.get(connection)
        if line is None:
            line = account.lines[connection] = deque()
        if is_begun:
            line.appendleft(piece)
        else:
            line.append(piece)
        self._size += 1
        self._wait(asker, account, connection)

    def pop(self) -> T:
        """Take the piece whose turn it is. Errors: IndexError where none waits."""
        self.pay(0.0)
        is_peer = self._tiers.next()
        asker = self._askers[is_peer].next()
        account = self._accounts[asker]
        connection = account.turns.next()
        self._in_work = asker, connection
        self._size -= 1
        return account.lines[connection].popleft()

    def pay(self, seconds: float) -> None:
        """Count the cost of the piece that was taken last; without effect when it was counted."""
        if self._in_work is None:
            return
        (asker, connection), self._in_work = self._in_work, None
        self._tiers.pay(asker.is_peer, seconds / PEERS_WEIGHT if asker.is_peer else seconds)
        self._askers[asker.is_peer].pay(asker, seconds)
        account = self._accounts[asker]
        account.turns.pay(connection, seconds)
        self._settle(asker, account, connection)

    def forget(self, connection: Hashable) -> list[T]:
        """Drop what waits of a connection, and return it."""
        asker = self._of_connections.get(connection)
        if asker is None:
            return []
        account = self._accounts[asker]
        line = account.lines[connection]
        left = list(line)
        line.clear()
        self._size -= len(left)
        account.turns.leave(connection)
        if self._in_work != (asker, connection):
            self._settle(asker, account, connection)
        return left

    def clear(self) -> list[T]:
        """Drop everything, and return it."""
        left = [piece for account in self._accounts.values() for line in account.lines.values() for piece in line]
        self.__init__()  # type: ignore[misc]
        return left

    def _wait(self, asker: Asker, account: _Account[T], connection: Hashable) -> None:
        # Whoever has a piece in work waits again when that is paid for: until then it is not known how late its next turn is.
        of_work, connection_of_work = self._in_work or (None, None)
        if connection_of_work != connection:
            account.turns.wait(connection)
        if of_work != asker:
            self._askers[asker.is_peer].wait(asker)
        if of_work is None or of_work.is_peer != asker.is_peer:
            self._tiers.wait(asker.is_peer, is_first=asker.is_peer)

    def _settle(self, asker: Asker, account: _Account[T], connection: Hashable) -> None:
        """Forget a connection, an account and a tier of which nothing waits; let the others wait again."""
        if account.lines[connection]:
            account.turns.wait(connection, has_more=True)
        else:
            del account.lines[connection], self._of_connections[connection]
        of_tier = self._askers[asker.is_peer]
        if account.turns:
            of_tier.wait(asker, has_more=True)
        else:
            of_tier.leave(asker)
            if not account.lines:
                del self._accounts[asker]
        if of_tier:
            self._tiers.wait(asker.is_peer, is_first=asker.is_peer, has_more=True)
        else:
            self._tiers.leave(asker.is_peer)
