"""Three controllers on loopback that hold the records of the demonstration directory, for the pages that show a live quorum."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metashell.demo import demo_directory
from tests.plain_walk import batches as plain_batches
from tests.quorum.observer.fake_quorum import FakeQuorum

IDS = (1, 2, 3)


@contextmanager
def demo_quorum() -> Iterator[str]:
    """Run the quorum in the block; the value is an address map in which the controllers are controller-1:9093 and so on."""
    quorum = FakeQuorum(*IDS)
    # Before its clock runs: the times of the records are the same every time.
    quorum.quorum.commit(*demo_records())
    with quorum:
        pairs = [(f"{name}-{id}:9093", f"127.0.0.1:{quorum.ports[id]}") for id in IDS for name in ("controller", "node")]
        yield ",".join(f"{address}={place}" for address, place in pairs)


def demo_records() -> list[bytes]:
    """The framed records of the demonstration directory's log, which begins at offset 0, without control records."""
    segments = sorted(Path(demo_directory()).glob("__cluster_metadata-0/*.log"))
    batches = [batch for segment in segments for batch in plain_batches(segment.read_bytes())]
    return [record.value or b"" for batch in batches if not batch.is_control for record in batch.records()]
