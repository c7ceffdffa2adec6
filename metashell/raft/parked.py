"""Fetches that wait at the leader, by number, token and time: any number of them costs a step no more than the ones it answers."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final

from metashell.raft.messages import FetchRequest, FetchResponse

_STALE_MAX: Final = 64
"""Times of fetches that are gone, beside as many as there are fetches, before they are swept out."""


class ParkedFetch:
    """A Fetch that was valid and found nothing; `response` is what it gets when `deadline_ms` comes first."""

    __slots__ = ("deadline_ms", "listener", "request", "response", "token")

    def __init__(self, token: object, request: FetchRequest, listener: str, deadline_ms: int, response: FetchResponse) -> None:
        self.token = token
        self.request = request
        self.listener = listener
        self.deadline_ms = deadline_ms
        self.response = response


class ParkedFetches:
    """In the order in which they came. A token is the object that it is, whatever it equals; several fetches may have the same."""

    __slots__ = ("_by_number", "_by_token", "_last_number", "_times")

    def __init__(self) -> None:
        self._by_number: dict[int, ParkedFetch] = {}
        self._by_token: dict[int, list[int]] = {}
        self._times: list[tuple[int, int]] = []
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[ParkedFetch]:
        return iter(self._by_number.values())

    def add(self, fetch: ParkedFetch) -> None:
        self._last_number += 1
        self._by_number[self._last_number] = fetch
        self._by_token.setdefault(id(fetch.token), []).append(self._last_number)
        heappush(self._times, (fetch.deadline_ms, self._last_number))

    def due_ms(self) -> int | None:
        """When the first one's time is up, None for none."""
        times = self._times
        while times and times[0][1] not in self._by_number:
            heappop(times)
        return times[0][0] if times else None

    def take_due(self, now_ms: int) -> list[ParkedFetch]:
        """Take out those whose time is up, the earliest first."""
        taken = []
        while (due_ms := self.due_ms()) is not None and due_ms <= now_ms:
            taken.append(self._remove(heappop(self._times)[1]))
        return taken

    def take_all(self) -> list[ParkedFetch]:
        taken = list(self._by_number.values())
        self._by_number.clear()
        self._by_token.clear()
        self._times.clear()
        return taken

    def take_before(self, offset: int) -> list[ParkedFetch]:
        """Take out those that ask for what lies before an offset."""
        numbers = [number for number, fetch in self._by_number.items() if fetch.request.fetch_offset < offset]
        if len(numbers) == len(self._by_number):
            return self.take_all()
        taken = [self._remove(number) for number in numbers]
        self._sweep()
        return taken

    def forget(self, token: object) -> None:
        """Take out all fetches with a token."""
        for number in self._by_token.pop(id(token), ()):
            del self._by_number[number]
        self._sweep()

    def _remove(self, number: int) -> ParkedFetch:
        fetch = self._by_number.pop(number)
        numbers = self._by_token[id(fetch.token)]
        numbers.remove(number)
        if not numbers:
            del self._by_token[id(fetch.token)]
        return fetch

    def _sweep(self) -> None:
        if len(self._times) > 2 * len(self._by_number) + _STALE_MAX:
            self._times = [entry for entry in self._times if entry[1] in self._by_number]
            heapify(self._times)
