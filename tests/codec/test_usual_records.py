"""The tight loop over usual records: what a batch claims of itself costs nothing before there are bytes for it."""

from __future__ import annotations

from metashell.codec.metadata_records import GAVE_UP, make_loop, record_headers
from tests.metadata.image.batches import batch, record


def test_a_count_that_the_bytes_cannot_hold_is_given_up_at_once() -> None:
    data, start, end = batch(record("NoOpRecord"), record("NoOpRecord")).records_area(1 << 20)
    buf = bytes(data[:end])
    loop = make_loop("add(start)", parameters="add")
    found: list[int] = []
    assert loop(buf, start, 0, 2, found.append) == end
    assert len(found) == 2
    before = len(record_headers(0))
    assert loop(buf, start, 0, (1 << 31) - 1, found.append) == GAVE_UP
    assert len(found) == 2
    assert len(record_headers(0)) == before
