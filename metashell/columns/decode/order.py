"""Whether the batches of a metadata log follow one another: `log.order.order_fault` over the headers of many batches at once."""

from __future__ import annotations

import numpy as np

from metashell.codec.batches import HEADER_SIZE, RecordBatch
from metashell.codec.redaction import shown_head
from metashell.columns.decode.faults import BYTES_MAX, Fault
from metashell.columns.decode.headers import Headers
from metashell.log.order import order_fault


class HeaderOrder:
    """Watches the order of the batches of one file, chunk after chunk.

    `begins_by` is the offset at or before which the first batch has to start, None where nothing is known of it.
    """

    def __init__(self, begins_by: int | None) -> None:
        self._begins_by = begins_by
        self._expected: int | None = None
        self._epoch: int | None = None

    @classmethod
    def after(cls, end: int, epoch: int) -> HeaderOrder:
        """The order after a batch that ended before the offset `end`."""
        order = cls(None)
        order._expected, order._epoch = end, epoch
        return order

    def check(self, headers: Headers) -> list[Fault]:
        """The faults of batches out of order; each batch is compared with the one before it, whatever that one was."""
        if not len(headers):
            return []
        base, epoch = headers.base_offset, headers.leader_epoch
        # What wraps around here is no less out of order; the words for it are made with Python's numbers.
        odd = (base[1:] != headers.last_offset[:-1] + 1) | (epoch[1:] < epoch[:-1])
        faults = [] if (reason := self._first(int(base[0]), int(epoch[0]))) is None else [_fault_of(headers, 0, reason)]
        for number in (np.flatnonzero(odd) + 1).tolist():
            here = (int(base[number]), int(epoch[number]))
            if reason := order_fault(_end(headers, number - 1), int(epoch[number - 1]), here):
                faults.append(_fault_of(headers, number, reason))
        self._expected, self._epoch = _end(headers, len(headers) - 1), int(epoch[-1])
        return faults

    def check_next(self, batch: RecordBatch) -> Fault | None:
        """The fault of the batch behind the last one, which another reads."""
        reason = self._first(batch.header.base_offset, batch.header.leader_epoch)
        if reason is None:
            return None
        data = batch.data
        return _fault(batch.header.base_offset, batch.position, len(data), reason, data[:HEADER_SIZE], data[:BYTES_MAX])

    def forget(self) -> None:
        """After bytes that hold no good batch, anything may follow."""
        self._begins_by = self._expected = self._epoch = None

    def _first(self, offset: int, epoch: int) -> str | None:
        expected = self._expected
        if self._begins_by is not None:
            # A checkpoint may end within a batch, or segments may reach back behind it.
            expected, self._begins_by = None if offset <= self._begins_by else self._begins_by, None
        return order_fault(expected, self._epoch, (offset, epoch))


def _end(headers: Headers, number: int) -> int:
    """The offset after a batch; may be beyond what an offset can be."""
    return int(headers.base_offset[number]) + int(headers.last_offset_delta[number]) + 1


def _fault_of(headers: Headers, number: int, reason: str) -> Fault:
    head, data = headers.bytes_of(number, HEADER_SIZE), headers.bytes_of(number, BYTES_MAX)
    return _fault(int(headers.base_offset[number]), int(headers.position[number]), int(headers.size[number]), reason, head, data)


def _fault(offset: int, position: int, size: int, reason: str, head: bytes, data: bytes) -> Fault:
    return Fault(kind="bad-order", offset=offset, position=position, size=size, reason=reason, harmless=shown_head(head), data=data)
