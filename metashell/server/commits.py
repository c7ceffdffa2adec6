"""Who waits for an offset to be committed in the epoch in which it was appended."""

from __future__ import annotations

from asyncio import Future
from heapq import heappop, heappush

from metashell.ids import Epoch, Offset
from metashell.raft.errors import NotLeaderError


class CommitWaits:
    """Futures by offset, of one epoch: those of an older one have failed when the first of a newer one comes."""

    __slots__ = ("_count", "_epoch", "_waits")

    def __init__(self) -> None:
        self._waits: list[tuple[Offset, int, Future[None]]] = []
        self._epoch = Epoch(-1)
        self._count = 0

    @property
    def is_waiting(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waits)

    def add(self, offset: Offset, epoch: Epoch, committed: Future[None]) -> None:
        """`committed` is done when `offset` is committed, and fails when leadership of `epoch`, which lasts, ends before that is known."""
        if epoch != self._epoch:
            self._fail()
            self._epoch = epoch
        self._count += 1
        heappush(self._waits, (offset, self._count, committed))

    def settle(self, led_epoch: Epoch | None, high_watermark: int | None) -> None:
        """The replica leads `led_epoch`, None for none, and knows that all before `high_watermark` is committed."""
        waits = self._waits
        if led_epoch != self._epoch:
            self._fail()
            return
        while waits and high_watermark is not None and waits[0][0] < high_watermark:
            committed = heappop(waits)[2]
            if not committed.done():
                committed.set_result(None)

    def _fail(self) -> None:
        for offset, _, committed in sorted(self._waits):
            if not committed.done():
                fail(committed, offset, self._epoch)
        self._waits.clear()


def fail(committed: Future[None], offset: Offset, epoch: Epoch) -> None:
    """Leadership of an epoch is over: whether the offset will be committed is not known."""
    committed.set_exception(NotLeaderError(f"leadership of epoch {epoch} ended before offset {offset} was committed"))
    # Looked at here, so that asyncio does not log it where the caller has lost interest.
    committed.exception()
