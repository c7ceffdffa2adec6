"""What all connections that a process accepts share: descriptors, memory, and time on the loop, by who uses them.

Who: a connection counts for the principal that logged in on it. Before that, and where there is no login, it counts for its address; the
application says which are peers (`trust`), and these count apart.

- Time: the bytes that have come are looked at in fair turns (`FairQueue`), for some milliseconds before the loop does something else.
  Large requests are decoded in one thread, in fair turns too.
- Memory: above `held_max` the oldest unfinished request of whoever holds most is closed, of those that hold more than `HELD_MIN`; when
  nobody does, the oldest of all. Requests of peers come last. An honest request is short-lived, so it is never the oldest while somebody
  keeps unfinished ones.
- Descriptors: the files of the process keep a reserve. Of the rest, strangers, who have not logged in (without a login: who have not sent
  a whole request), have `STRANGERS_PART`; the next one takes the place of the one that was idle the longest. When the others have their
  part, whoever has most connections loses the one that was idle the longest, and peers last.

What holds: one sender, on any number of connections, takes no other's share. What does not: an address that many share is one account, so
its clients crowd each other out, those that keep something the longest first; and who has many addresses, or many logins, has as many
shares. With those an attacker delays others, as all their work together takes time, but it does not delay peers, and what it keeps is
closed before what is new.

All listeners of one loop share one `Shares`; the descriptors are those of the process, over all its loops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakKeyDictionary

from metashell.common.runtime import descriptors_max, room_for_connections, strangers_max
from metashell.net.fair_queue import Asker, FairQueue
from metashell.net.listener_options import HELD_MAX, Decoded, Undecoded

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from metashell.net.server_connection import ServerConnection

HELD_MIN: Final = 1024 * 1024
"""Bytes that an account may hold before it counts as one that holds much."""
TURNS_S: Final = 0.0015
"""How long connections have their turns before the loop does something else."""

CROWDED_OUT: Final = "connections hold too much memory, and its sender the most"
STRANGER_EVICTED: Final = "too many connections have not logged in, and this one was idle the longest"
EVICTED: Final = "too many connections are open, and this one of whoever has most was idle the longest"


class Member(Protocol):
    """A connection that shares; `Shares` alone changes what stands first here."""

    asker: Asker
    is_known: bool
    is_turn_due: bool
    counted_size: int
    held_since_s: float

    def __hash__(self) -> int: ...
    @property
    def core(self) -> ServerConnection: ...
    def take_turn(self) -> None: ...
    def crowd_out(self, reason: str) -> None: ...
    def evict(self, reason: str) -> None: ...


class _Account:
    """What one asker has: its known connections, the longest idle first, and those that hold something, the oldest first."""

    __slots__ = ("connections", "held_size", "holders")

    def __init__(self) -> None:
        self.connections: OrderedDict[Member, None] = OrderedDict()
        self.holders: OrderedDict[Member, None] = OrderedDict()
        self.held_size = 0


class Shares:
    """See the module; `shares_of_loop` gives the one of the running loop."""

    def __init__(self) -> None:
        self.held_size = 0
        """Bytes that are held for all connections."""
        self.held_max = HELD_MAX
        self._accounts: dict[Asker, _Account] = {}
        self._strangers: OrderedDict[Member, None] = OrderedDict()
        self._known_count = 0
        self._turns: FairQueue[Member] = FairQueue()
        self._is_scheduled = False
        self._jobs: FairQueue[tuple[Undecoded, Callable[[Decoded], None]]] = FairQueue()
        self._is_decoding = False
        self._decoder: ThreadPoolExecutor | None = None
        self._listeners = 0

    def opened(self, held_max: int) -> None:
        """A listener opens, whose connections may hold so many bytes together."""
        self.held_max = max(self.held_max, held_max) if self._listeners else held_max
        self._listeners += 1

    def closed(self) -> None:
        """A listener has closed."""
        self._listeners -= 1
        if not self._listeners and self._decoder is not None:
            self._decoder.shutdown(wait=False, cancel_futures=True)
            self._decoder = None
            self._jobs.clear()
            self._is_decoding = False

    # ---- descriptors

    def __len__(self) -> int:
        """Connections."""
        return len(self._strangers) + self._known_count

    def admit(self, member: Member) -> int:
        """Take in a connection, a stranger's. Return how many others were closed for it."""
        connections_max = room_for_connections(descriptors_max())
        evicted = 0
        while len(self._strangers) >= strangers_max(connections_max) and self.evict_stranger():
            evicted += 1
        while len(self) and connections_of_process() >= connections_max:
            if not self.evict_stranger():
                self._evict_of_most()
            evicted += 1
        self._strangers[member] = None
        return evicted

    def evict_stranger(self) -> bool:
        """Close the stranger's connection that was idle the longest; whether there was one."""
        if not self._strangers:
            return False
        self._evict(next(iter(self._strangers)), STRANGER_EVICTED)
        return True

    def _evict_of_most(self) -> None:
        """Close the connection that was idle the longest of the account that has most, of peers only when all are."""
        accounts = self._accounts
        most = max(accounts, key=lambda asker: (bool(accounts[asker].connections), not asker.is_peer, len(accounts[asker].connections)))
        self._evict(next(iter(accounts[most].connections)), EVICTED)

    def _evict(self, member: Member, reason: str) -> None:
        member.evict(reason)
        self.leave(member)

    def become(self, member: Member, asker: Asker) -> None:
        """A connection is known from now on as that of `asker`."""
        if (member.is_known and member.asker == asker) or not self._has(member):
            return
        self._take_out(member)
        member.asker, member.is_known = asker, True
        self._known_count += 1
        self._account(asker).connections[member] = None
        self.hold(member)
        connections_max = room_for_connections(descriptors_max())
        if self._known_count > connections_max - strangers_max(connections_max):
            self._evict_of_most()

    def touch(self, member: Member) -> None:
        """A whole request came on a connection: it is not idle, and what it holds from now on is of a later one."""
        account = self._accounts.get(member.asker)
        if member in self._strangers:
            self._strangers.move_to_end(member)
        elif account is not None and member in account.connections:
            account.connections.move_to_end(member)
        if account is not None and member in account.holders:
            account.holders.move_to_end(member)
            member.held_since_s = time.monotonic()

    def leave(self, member: Member) -> None:
        """A connection is over; without effect on one that has left."""
        if self._has(member):
            self._take_out(member)
        self._turns.forget(member)
        self._jobs.forget(member)

    def _has(self, member: Member) -> bool:
        account = self._accounts.get(member.asker)
        return member in self._strangers or (account is not None and member in account.connections)

    def _account(self, asker: Asker) -> _Account:
        account = self._accounts.get(asker)
        if account is None:
            account = self._accounts[asker] = _Account()
        return account

    def _take_out(self, member: Member) -> None:
        self._count(member, 0)
        if member in self._strangers:
            del self._strangers[member]
            return
        self._known_count -= 1
        account = self._accounts[member.asker]
        del account.connections[member]
        self._settle(member.asker, account)

    def _settle(self, asker: Asker, account: _Account) -> None:
        if not (account.connections or account.holders):
            del self._accounts[asker]

    # ---- memory

    def hold(self, member: Member) -> None:
        """Count what a connection holds now, and close what is too much."""
        if not self._has(member):
            return
        grows = self._count(member, member.core.held_size) > 0
        while grows and self.held_size > self.held_max and (found := self._to_crowd_out()) is not None:
            found.crowd_out(CROWDED_OUT)
            self.leave(found)

    def _count(self, member: Member, size: int) -> int:
        """Count what a connection holds; return the change."""
        change, member.counted_size = size - member.counted_size, size
        if not change:
            return 0
        account = self._account(member.asker)
        account.held_size += change
        self.held_size += change
        if not size:
            del account.holders[member]
            self._settle(member.asker, account)
        elif member not in account.holders:
            account.holders[member] = None
            member.held_since_s = time.monotonic()
        return change

    def _to_crowd_out(self) -> Member | None:
        """The oldest holder of whoever holds most, of all where nobody holds much; None where nobody holds anything."""
        holding = [(asker, account) for asker, account in self._accounts.items() if account.holders]
        of_others = [account for asker, account in holding if not asker.is_peer] or [account for _, account in holding]
        if not of_others:
            return None
        most = max(of_others, key=lambda account: account.held_size)
        if most.held_size > HELD_MIN:
            return next(iter(most.holders))
        return min((next(iter(account.holders)) for account in of_others), key=lambda member: member.held_since_s)

    # ---- time

    def turn_soon(self, member: Member) -> None:
        """Let a connection have its turn."""
        if not member.is_turn_due and self._has(member):
            member.is_turn_due = True
            self._turns.put(member.asker, member, member)
            self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._is_scheduled = False
        # The time that the thread had: what others had of the machine in between is nobody's cost.
        began = time.thread_time()
        ends_at = time.perf_counter() + TURNS_S
        try:
            # As many as wait now, so that one that has more to do lets the loop go on in between.
            for _ in range(len(self._turns)):
                member = self._turns.pop()
                member.is_turn_due = False
                member.take_turn()
                ended = time.thread_time()
                self._turns.pay(ended - began)
                began = ended
                if time.perf_counter() >= ends_at or not self._turns:
                    break
        finally:
            if self._turns:
                self._schedule()

    def decode(self, member: Member, request: Undecoded, then: Callable[[Decoded], None]) -> None:
        """Decode a large request in a thread, one at a time; `then` gets it on the loop, if the connection is still there."""
        self._jobs.put(member.asker, member, (request, then))
        self._decode_next()

    def _decode_next(self) -> None:
        if self._is_decoding or not self._jobs:
            return
        if self._decoder is None:
            from concurrent.futures import ThreadPoolExecutor

            self._decoder = ThreadPoolExecutor(1, "decoder")
        self._is_decoding = True
        request, then = self._jobs.pop()
        waiting = asyncio.get_running_loop().run_in_executor(self._decoder, _timed, request)
        waiting.add_done_callback(partial(self._decoded, request, then))

    def _decoded(self, request: Undecoded, then: Callable[[Decoded], None], done: asyncio.Future[tuple[Decoded, float]]) -> None:
        if done.cancelled():
            return
        error = done.exception()
        fault = f"it could not be decoded ({type(error).__name__})"
        made, taken_s = done.result() if error is None else (Decoded(request, None, 0, fault), 0.0)
        self._jobs.pay(taken_s)
        self._is_decoding = False
        self._decode_next()
        then(made)


def _timed(request: Undecoded) -> tuple[Decoded, float]:
    began = time.thread_time()
    made = request.decode()
    return made, time.thread_time() - began


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Shares] = WeakKeyDictionary()
_lock: Final = threading.Lock()


def shares_of_loop() -> Shares:
    """Return the shares of the running loop."""
    loop = asyncio.get_running_loop()
    with _lock:
        found = _of_loops.get(loop)
        if found is None:
            _forget_closed()
            found = _of_loops[loop] = Shares()
    return found


def connections_of_process() -> int:
    """Return how many connections all listeners of the process have."""
    with _lock:
        _forget_closed()
        return sum(map(len, _of_loops.values()))


def _forget_closed() -> None:
    """Forget loops that were closed. Connections that were left open on one refer to it, so it would never be collected by itself."""
    for loop in [each for each in _of_loops if each.is_closed()]:
        del _of_loops[loop]
