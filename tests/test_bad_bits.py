"""A small log cut at every byte, and with every bit flipped: no traceback, no hang, and what precedes is right."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.disk.source import open_source
from metashell.inspect.dump import DumpOptions, run_dump
from metashell.metadata.image import MetadataImage, load_image
from tests import plain_walk as plain
from tests.running import no_longer_than

pytestmark = pytest.mark.slow

GOOD = plain.make_log(plain.small_values(), per_batch=2)
BATCHES = list(plain.batches(GOOD))
STEP = 48
PIECES = [range(start, min(start + STEP, len(GOOD))) for start in range(0, len(GOOD), STEP)]
LOG_NAME = "00000000000000000000.log"
CRC_START, CRC_END = 17, 21


def dump(path: Path, **more: object) -> tuple[int, list[dict], str]:
    """Status, lines and standard error of our own voice, through the library."""
    options = DumpOptions(files=(str(path),), cluster_metadata_decoder=True, jobs=1, **more)
    err = io.StringIO()
    with tempfile.TemporaryFile() as out:
        status = run_dump(options, out.fileno(), err)
        out.seek(0)
        return status, [json.loads(line) for line in out], err.getvalue()


def load(path: Path) -> MetadataImage:
    with open_source(str(path)) as source:
        return load_image(source)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict]:
    """The records of the undamaged log by offset, as they are dumped."""
    path = tmp_path_factory.mktemp("good") / LOG_NAME
    path.write_bytes(GOOD)
    status, lines, err = dump(path)
    assert (status, err, len(lines)) == (0, "", len(plain.small_values()))
    return {line["offset"]: {**line, "file": None} for line in lines}


def records_of(lines: list[dict]) -> Iterator[tuple[int, dict]]:
    for line in lines:
        if line["kind"] == "record":
            yield line["offset"], {**line, "file": None}


def topics_of(values: list[bytes]) -> set[str]:
    """The topics that these records make."""
    return {name for name in ("orders", "prices") if any(b"\x02\x00\x07" + name.encode() in value for value in values)}


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: f"{piece.start}-{piece.stop}")
def test_a_log_cut_at_any_byte_gives_the_batches_before(piece: range, tmp_path: Path, original: dict[int, dict]) -> None:
    path = tmp_path / LOG_NAME
    for size in piece:
        path.write_bytes(GOOD[:size])
        whole = [batch for batch in BATCHES if batch.position + len(batch.data) <= size]
        offsets = [record.offset for batch in whole for record in batch.records()]
        is_cut = size > sum(len(batch.data) for batch in whole)
        with no_longer_than(120):
            status, lines, err = dump(path)
            image = load(path)
        assert dict(records_of(lines)) == {offset: original[offset] for offset in offsets}, size
        # An empty file that is named is a fault too; one that ends between two batches cannot be told from a whole one.
        assert status == (is_cut or size == 0), (size, err)
        assert bool(image.faults) == (is_cut or size == 0)
        assert set(image.topics.by_name) == topics_of([plain.small_values()[offset] for offset in offsets])


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: f"{piece.start}-{piece.stop}")
def test_any_flipped_bit_leaves_the_other_batches_right(piece: range, tmp_path: Path, original: dict[int, dict]) -> None:
    path = tmp_path / LOG_NAME
    for position in piece:
        hit = next(batch for batch in BATCHES if position < batch.position + len(batch.data))
        for bit in range(8):
            path.write_bytes(flipped(GOOD, position, bit))
            with no_longer_than(120):
                status, lines, _ = dump(path)
                image = load(path)
            check_flip(hit, position - hit.position, status, dict(records_of(lines)), original)
            assert image.faults or status == 0
            before = [value for value, _ in zip(plain.small_values(), range(hit.base_offset), strict=False)]
            assert topics_of(before) <= set(image.topics.by_name)


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: f"{piece.start}-{piece.stop}")
def test_a_flipped_bit_that_no_crc_betrays_costs_one_batch_at_most(piece: range, tmp_path: Path, original: dict[int, dict]) -> None:
    path = tmp_path / LOG_NAME
    for position in piece:
        hit = next(batch for batch in BATCHES if position < batch.position + len(batch.data))
        index = position - hit.position
        if index < CRC_END:
            continue
        for bit in range(8):
            bad = flipped(hit.data, index, bit)
            bad = bad[:CRC_START] + plain.crc32c(bad[CRC_END:]).to_bytes(4, "big") + bad[CRC_END:]
            path.write_bytes(GOOD[: hit.position] + bad + GOOD[hit.position + len(bad) :])
            with no_longer_than(120):
                status, lines, err = dump(path)
                image = load(path)
            assert status in (0, 1), err
            given = [(offset, record) for offset, record in records_of(lines)]
            own = {record.offset for record in hit.records()}
            assert all((offset, record) in given for offset, record in original.items() if offset not in own)
            assert len(image.topics) <= 3


def flipped(data: bytes, position: int, bit: int) -> bytes:
    return data[:position] + bytes((data[position] ^ (1 << bit),)) + data[position + 1 :]


def check_flip(hit: plain.PlainBatch, index: int, status: int, given: dict[int, dict], original: dict[int, dict]) -> None:
    """The dump after a flip at byte `index` of the batch `hit`."""
    own = {record.offset for record in hit.records()}
    after = {record.offset for batch in BATCHES for record in batch.records() if batch.position > hit.position}
    for offset, record in original.items():
        # A flip in the size breaks the framing: what follows may be lost. The batch itself is vouched for by its CRC from
        # the attributes on; its base offset and epoch are not covered.
        if offset not in own and not (8 <= index < 12 and offset in after) and not index < 8:
            assert given[offset] == record
    if index >= 16:
        assert status == 1
        assert not own & set(given)
