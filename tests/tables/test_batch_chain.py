"""The walk over batches for splits, and the one over batches that are decoded, find the frames that codec's framing finds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.framing import frames_of
from metashell.disk.files import open_file
from metashell.disk.segment import BatchFault
from metashell.tables import batch_chain
from metashell.tables.batch_chain import Chain
from metashell.tables.columns.chunks import read_chunks
from tests.tables.logs import any_log


def damaged(chance: random.Random) -> bytes:
    """A log with zeros, a torn batch or a changed byte somewhere, or none of these."""
    data = bytearray(any_log(chance, batch_count=chance.choice((0, 1, 6, 20))))
    match chance.choice(("whole", "torn", "zeros", "changed")):
        case "torn":
            del data[chance.randrange(len(data) + 1) :]
        case "zeros":
            data += bytes(chance.choice((1, 17, 4096)))
        case "changed" if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chain")


@pytest.mark.parametrize("window", [17, 100, 1 << 20])
@given(seed=st.integers(0, 1 << 32))
def test_hops_land_on_frames(folder: Path, window: int, seed: int) -> None:
    chance = random.Random(seed)
    data = damaged(chance)
    path = folder / "log"
    path.write_bytes(data)
    frames, stop = frames_of(data)
    starts = [start for start, _ in frames] + [stop.position]
    with open_file(str(path)) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_chain, "WINDOW", window)
        patch.setattr(batch_chain, "resync", lambda *_: None)
        walk = Chain(file, len(data))
        for place in sorted(chance.randrange(len(data) + 2) for _ in range(5)):
            wanted = next((start for start in starts if start >= place), None)
            assert walk.advance(place) == wanted
            if wanted is None:
                assert walk.position == stop.position
                break


@given(seed=st.integers(0, 1 << 32))
def test_what_is_decoded_is_a_frame(folder: Path, seed: int) -> None:
    data = damaged(random.Random(seed))
    path = folder / "log"
    path.write_bytes(data)
    frames, stop = frames_of(data)
    found: set[int] = set()
    with open_file(str(path)) as file:
        for item in read_chunks(file, 0, 1 << 27):
            if isinstance(item, BatchFault):
                found.add(item.position)
            else:
                at = [place + item.base for place in item.header_at]
                found |= {item.moved.get(number, position) for number, position in enumerate(at)}
    assert found == {start for start, _ in frames} | ({stop.position} if stop.kind != "end" else set())
