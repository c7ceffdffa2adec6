"""Directories of real clusters load without a fault, and a checkpoint's image is the log's at the same offset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.codec.metadata_records import read_metadata_record
from metashell.disk.names import parse_name
from metashell.disk.source import open_source
from metashell.metadata.image import ImageLoader, MetadataImage, load_image
from metashell.metadata.image.writer import write_image
from tests.golden_cases import golden_root
from tests.metadata.image.batches import value
from tests.metadata.image.eager import plain

METADATA = "__cluster_metadata-0"


def metadata_directories(root: Path) -> Iterator[Path]:
    """One of each metadata directory with the same bytes, of undamaged clusters."""
    seen = set()
    for path in sorted(root.glob(f"*/*/data/*/node-*/*/{METADATA}")):
        files = [*path.glob("*.log"), *path.glob("*.checkpoint")]
        digest = hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in sorted(files))).digest()
        if files and digest not in seen:
            seen.add(digest)
            yield path


ROOT = golden_root()
DIRECTORIES = [str(path.relative_to(ROOT)) for path in metadata_directories(ROOT)]
assert DIRECTORIES, "the committed part of the golden set has metadata directories"


def load(path: Path) -> MetadataImage:
    with open_source(str(path)) as source:
        return load_image(source)


@pytest.mark.parametrize("name", DIRECTORIES)
def test_a_real_directory_loads_without_a_fault(name: str):
    image = load(ROOT / name)
    assert image.faults == ()
    assert image.features.metadata_version is not None
    assert image.topics.partition_count > 0
    assert image.cluster.brokers
    assert image.provenance.end_offset == image.provenance.offset + 1


def checkpoints() -> Iterator[tuple[str, str]]:
    """Checkpoints beside a segment that starts at offset 0 and reaches them."""
    for name in DIRECTORIES:
        first = ROOT / name / f"{0:020d}.log"
        for path in sorted((ROOT / name).glob("*.checkpoint")):
            parsed = parse_name(path.name)
            assert parsed is not None
            assert parsed.snapshot_id is not None
            if first.exists() and parsed.snapshot_id.offset > 0:
                yield name, path.name


@pytest.mark.parametrize(("directory", "checkpoint"), list(checkpoints()))
def test_a_checkpoint_holds_what_the_log_before_it_says(directory: str, checkpoint: str):
    from_checkpoint = load(ROOT / directory / checkpoint)
    end = from_checkpoint.provenance.end_offset
    loader = ImageLoader()
    for segment in sorted((ROOT / directory).glob("*.log")):
        with open_source(str(segment)) as source:
            for batch in source.log_batches(0):
                if batch.header.last_offset < end:
                    loader.load_batch(batch)
    from_log = loader.finish()
    assert from_log.provenance.offset == end - 1
    expected = plain(from_log)
    # A checkpoint keeps only the next producer id, and obsolete state only from some versions on.
    got = plain(from_checkpoint)
    expected["producer_ids"] = (expected["producer_ids"][0], *got["producer_ids"][1:])
    assert got == expected
    assert from_checkpoint.provenance.epoch == from_log.provenance.epoch
    assert from_checkpoint.provenance.timestamp_ms == from_log.provenance.timestamp_ms
    assert (
        from_checkpoint.voters == from_log.voters
        or from_log.voters is None
        or from_checkpoint.voters is None
        or (from_checkpoint.voters.voters == from_log.voters.voters)
    )


def in_one_order(raw: bytes) -> str:
    """A record as text; listeners and features, which Java keeps in the order of a hash table, by name."""
    found = read_metadata_record(raw)
    assert found.message is not None
    fields = found.message.to_json_value(found.body, found.version)
    for name in ("endPoints", "features"):
        if name in fields:
            fields[name].sort(key=lambda item: item["name"])
    return json.dumps([found.type_name, found.version, fields], sort_keys=True)


@pytest.mark.parametrize(("directory", "checkpoint"), list(checkpoints()))
def test_an_image_is_written_as_the_records_that_kafka_wrote(directory: str, checkpoint: str):
    path = ROOT / directory / checkpoint
    image = load(path)
    kafkas = []
    with open_source(str(path)) as source:
        for batch in source.snapshot_batches():
            if not batch.header.is_control:
                kafkas += [record.value for record in batch.records()]
    ours = [value(body, version) for body, version in write_image(image)]
    written = sorted(map(in_one_order, kafkas))
    if directory.startswith("3.9"):
        # 3.9 also writes two records that say nothing: kraft.version is that of the control records.
        idle = ('["FEATURE_LEVEL_RECORD", 0, {"featureLevel": 1, "name": "kraft.version"}', '["ZK_MIGRATION_STATE_RECORD"')
        written = [text for text in written if not text.startswith(idle)]
    assert sorted(map(in_one_order, ours)) == written


@pytest.mark.parametrize("name", DIRECTORIES)
def test_a_real_image_written_and_read_again_is_itself(name: str):
    from tests.metadata.image.test_writer import reread

    image = load(ROOT / name)
    assert reread(image).has_same_metadata(image)
