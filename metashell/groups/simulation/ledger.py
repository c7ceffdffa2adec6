"""The owners of partitions, from callbacks: at most one for each; and the time that partitions have none.

A partition is owned from the begin of the callback `assigned` to the end of `revoked` or `lost`. A member that the coordinator has removed
may still believe that it owns a partition which another one got. It is a zombie, which breaks no rule while its commits are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from metashell.groups.simulation import Figures, Span
from metashell.groups.simulation.client import Client, PartitionKey

LANES_MAX = 40
SPANS_MAX = 2_000
POINTS_MAX = 20_000
Report = Callable[[str, str], None]
"""`(rule, text)`."""


class Ledger:
    """Shape: `owner` has the client of each owned partition, `newest` also the last one of a partition without owner. `has` tells whether
    the coordinator still has a client.
    """

    def __init__(self, report: Report, has: Callable[[Client], bool]) -> None:
        self._report = report
        self._has = has
        self._last: dict[PartitionKey, tuple[str, int]] = {}
        self._without: dict[PartitionKey, int] = {}
        self._live: dict[Client, None] = {}
        self._idle: dict[Client, None] = {}
        self._now_ms = 0
        self._idle_before_ms = 0
        self._begin_ms = 0
        self._states: dict[str, tuple[str, int]] = {}
        self.figures = Figures()
        self.owner: dict[PartitionKey, Client] = {}
        self.newest: dict[PartitionKey, Client] = {}
        self.expected: dict[PartitionKey, None] = {}
        self.lanes: dict[str, list[Span]] = {}
        self.unowned: list[tuple[int, int]] = []
        self.moves: list[tuple[int, int]] = []
        self.changed_ms = 0
        """The time at which a partition last changed hands."""

    # ---- queries

    @property
    def is_whole(self) -> bool:
        """Return whether exactly the subscribed partitions have an owner."""
        return not self._without and len(self.owner) == len(self.expected)

    @property
    def without(self) -> Collection[PartitionKey]:
        return self._without

    @property
    def live(self) -> Collection[Client]:
        return self._live

    # ---- events

    def begin(self, now_ms: int) -> None:
        """Start counting here."""
        self._pass(now_ms)
        self._begin_ms = now_ms
        self.figures = Figures()
        self._idle_before_ms = 0
        self.unowned, self.moves = [(0, len(self._without))], [(0, 0)]
        self.lanes.clear()
        self._states.clear()
        for client in self._live:
            self._lane(client, self._state_of(client))

    def end(self, now_ms: int) -> None:
        """Stop counting. Idle time counts only up to the last change, after which the group has settled."""
        self._pass(now_ms)
        self.figures.idle_member_ms = self._idle_before_ms
        for since_ms in self._without.values():
            self.figures.gap_max_ms = max(self.figures.gap_max_ms, now_ms - max(since_ms, self._begin_ms))
        for slot in list(self._states):
            self._close_lane(slot)

    def expect(self, partitions: Iterable[PartitionKey], now_ms: int) -> None:
        """Set the partitions that should have an owner."""
        self._pass(now_ms)
        self.expected = dict.fromkeys(partitions)
        self._without = {one: self._without.get(one, now_ms) for one in self.expected if one not in self.owner}
        self._point()

    def started(self, client: Client, now_ms: int) -> None:
        self._pass(now_ms)
        self._live[client] = self._idle[client] = None
        self._lane(client, "idle")

    def died(self, client: Client, now_ms: int) -> None:
        """Remove a process; its partitions have no owner."""
        if client not in self._live:
            return
        self._pass(now_ms)
        self._let_go(client, list(client.held))
        del self._live[client]
        self._idle.pop(client, None)
        self._close_lane(client.slot)

    def assigned(self, client: Client, partitions: Collection[PartitionKey], now_ms: int) -> None:
        self._pass(now_ms)
        for partition in partitions:
            before = self.owner.get(partition)
            if before is not None and before is not client:
                if self._has(before):
                    self._report("owners", f"{_text(partition)} is assigned to {client.slot} while {before.slot} owns it")
                else:
                    self.figures.zombies += 1
                before.held.pop(partition, None)
                self._last[partition] = (before.slot, before.reached.get(partition, 0))
                if not before.held:
                    self._idle[before] = None
            self.owner[partition] = self.newest[partition] = client
            client.held[partition] = None
            since_ms = self._without.pop(partition, None)
            if since_ms is not None:
                self.figures.gap_max_ms = max(self.figures.gap_max_ms, now_ms - max(since_ms, self._begin_ms))
            last = self._last.get(partition)
            if last is not None and last[0] != client.slot:
                self.figures.moved += 1
            elif last is not None:
                self.figures.given_back += 1
            self._last[partition] = (client.slot, 0 if last is None else last[1])
        if partitions:
            self._changed()
            self._idle.pop(client, None)
            self._point()
        self._lane(client, "callback")

    def giving_up(self, client: Client, partitions: Collection[PartitionKey], now_ms: int) -> None:
        """Note that a callback `revoked` or `lost` begins."""
        self._pass(now_ms)
        if partitions:
            self._lane(client, "callback")

    def released(self, client: Client, partitions: Collection[PartitionKey], event: str, now_ms: int) -> None:
        """Note that a callback has ended."""
        self._pass(now_ms)
        if event == "revoked":
            self.figures.revoked += len(partitions)
        elif event == "lost":
            self.figures.lost += len(partitions)
        if event != "assigned" and partitions:
            self._let_go(client, partitions)
        self._lane(client, self._state_of(client))

    def started_at(self, client: Client, partition: PartitionKey, offset: int) -> None:
        """Count the records that the previous owner has processed and that are read again from this offset."""
        last = self._last.get(partition)
        if last is not None and last[1] > offset:
            self.figures.read_twice += last[1] - offset
        self._last[partition] = (client.slot, offset)

    # ---- bookkeeping

    def _let_go(self, client: Client, partitions: Iterable[PartitionKey]) -> None:
        for partition in partitions:
            if self.owner.get(partition) is client:
                del self.owner[partition]
                self._last[partition] = (client.slot, client.reached.get(partition, 0))
                if partition in self.expected:
                    self._without[partition] = self._now_ms
                self._changed()
            client.held.pop(partition, None)
        if not client.held and client in self._live:
            self._idle[client] = None
        self._point()

    def _changed(self) -> None:
        """Note a change of owners."""
        self.changed_ms = self._now_ms
        self._idle_before_ms = self.figures.idle_member_ms

    def _pass(self, now_ms: int) -> None:
        """Add the time since the last event to the times without owner and without work."""
        passed_ms = now_ms - self._now_ms
        if passed_ms:
            self._now_ms = now_ms
            figures = self.figures
            figures.idle_member_ms += passed_ms * len(self._idle)
            if self._without:
                figures.unowned_partition_ms += passed_ms * len(self._without)
                figures.unowned_ms += passed_ms

    def _point(self) -> None:
        at_ms = self._now_ms - self._begin_ms
        _append(self.unowned, at_ms, len(self._without))
        _append(self.moves, at_ms, self.figures.moved)

    @staticmethod
    def _state_of(client: Client) -> str:
        return "callback" if client.is_busy else "working" if client.held else "idle"

    def _lane(self, client: Client, state: str) -> None:
        """Begin another state of a member."""
        now = self._states.get(client.slot)
        if now is None:
            if len(self._states) + len(self.lanes) < 2 * LANES_MAX:
                self._states[client.slot] = (state, self._now_ms)
        elif now[0] != state:
            self._close_lane(client.slot)
            self._states[client.slot] = (state, self._now_ms)

    def _close_lane(self, slot: str) -> None:
        now = self._states.pop(slot, None)
        if now is None:
            return
        lane = self.lanes.get(slot)
        if lane is None and len(self.lanes) < LANES_MAX:
            lane = self.lanes[slot] = []
        if lane is not None and len(lane) < SPANS_MAX and now[1] < self._now_ms:
            lane.append(Span(now[0], now[1] - self._begin_ms, self._now_ms - self._begin_ms))


def _append(points: list[tuple[int, int]], at_ms: int, count: int) -> None:
    if points and points[-1][0] == at_ms:
        points[-1] = (at_ms, count)
    elif len(points) < POINTS_MAX and (not points or points[-1][1] != count):
        points.append((at_ms, count))


def _text(partition: PartitionKey) -> str:
    return f"{partition[0]}-{partition[1]}"
