"""A queue that gives equals in the order in which Java's does: it shows in which process gets a task.

Source: java.util.PriorityQueue of OpenJDK 17: a binary heap that moves an element only past one that is really greater or smaller.
"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class JavaQueue(Generic[T]):
    """Shape: `take` gives one of the lowest rank."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, T]] = []

    def add(self, rank: float, item: T) -> None:
        heap, at = self._heap, len(self._heap)
        heap.append((rank, item))
        while at > 0 and rank < heap[(at - 1) // 2][0]:
            heap[at] = heap[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at] = (rank, item)

    def __len__(self) -> int:
        return len(self._heap)

    def take(self) -> T:
        """Errors: IndexError for an empty queue."""
        heap = self._heap
        taken, moved = heap[0][1], heap.pop()
        if not heap:
            return taken
        at = 0
        while (child := 2 * at + 1) < len(heap):
            if child + 1 < len(heap) and heap[child][0] > heap[child + 1][0]:
                child += 1
            if moved[0] <= heap[child][0]:
                break
            heap[at] = heap[child]
            at = child
        heap[at] = moved
        return taken
