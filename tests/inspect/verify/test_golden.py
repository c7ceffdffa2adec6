"""Directories of real clusters are fine, whatever state they were saved in; damaged files are not; replicas have one digest."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from metashell.disk.directory import MetadataDirectory
from metashell.disk.source import DirectorySource, open_source
from metashell.inspect.verify import Finding, Report, VerifyOptions
from metashell.inspect.verify.replicas import digest_of
from metashell.inspect.verify.run import check_directory, check_file
from metashell.metadata.image import load_image
from metashell.metadata.image.writer import image_digest
from tests.golden_cases import VERSIONS, golden_root

pytestmark = pytest.mark.golden

ROOT = golden_root()
NODES = sorted(path for path in ROOT.glob("*/*/data/*/node-*") if path.is_dir())
METADATA = sorted(ROOT.glob("*/*/data/*/node-*/*/__cluster_metadata-0"))
DAMAGED = [path for version in VERSIONS for path in sorted((ROOT / version / "damage" / "data").glob("*/*"))]

NOT_DAMAGED = {
    "base-checkpoint": "the original",
    "base-log": "the original",
    "craft-valid": "the original form of a hand-made log",
    "craft-control-chars-name": "a name that Kafka would refuse, well encoded",
    "craft-no-op": "a valid record",
    "craft-slash-name": "a name that Kafka would refuse, well encoded",
    "craft-transaction": "a whole transaction",
    "craft-transaction-aborted": "a whole transaction",
    "craft-unicode-name": "a name that Kafka would refuse, well encoded",
    "craft-unregister-controller": "a valid record since 4.4",
    "craft-unknown-tag": "unknown tagged fields are how newer versions write to older ones",
    "craft-zk-migration": "a valid record",
    "name-0": "sound content under another name",
    "name-1": "sound content under another name",
    "name-2": "sound content under another name",
    "name-3": "sound content under another name",
    "name-5": "sound content under another name",
    "name-7": "sound content under another name",
    "name-8": "sound content under another name",
    "name-9": "sound content under another name",
    "name-10": "sound content under another name",
}
CUT_BETWEEN_BATCHES = ("cut-06629-12", "cut-06843-12", "cut-06907-12")
"""What is left is a whole, shorter log: nothing in it says that there was more."""
NAMED_BY_EPOCH_3 = "name-6"
"""A checkpoint under a name that gives another place in the log, and epoch 3: right in some of the sets only."""
NO_RULE = {
    "craft-bad-utf8-name": "Kafka replaces malformed UTF-8 when it reads, and so do we",
    "craft-no-metadata-version": "a log need not set the level: a checkpoint before it may have",
    **dict.fromkeys(CUT_BETWEEN_BATCHES, "cut between two batches"),
}
ONLY_DEEP = {"craft-bad-length-in-body", "craft-clear-elr", "craft-garbage-after", "craft-null-name", "craft-short-body"}
"""Bodies that do not decode, inside sound batches."""
ONLY_IN_THE_IMAGE = {
    "craft-duplicate-topic",
    "craft-end-without-begin",
    "craft-metadata-version-0",
    "craft-partition-of-unknown-topic",
    "craft-remove-unknown-topic",
    "craft-transaction-open",
    "craft-unregister-unknown-broker",
}
"""Sound records that do not fit each other: the digest's image tells of them."""


STOPPED_IN_AN_ELECTION = {
    "3.3.2/main/stopped/node-1": "epoch 6 has no record: it ended before its first was written, or what was written is lost",
    "3.3.2/main/stopped/node-3": "node 1 leads epoch 6, of which the log has nothing: its last epoch is 5",
}
"""Nothing in what is left tells these from nodes that lost the first records of an epoch."""


def findings_of(path: Path, *, deep: bool = False, digest: bool = False) -> list[Finding]:
    found: list[Finding] = []
    report = Report(found.append)
    options = VerifyOptions(paths=(str(path),), deep=deep, digest=digest)
    (check_directory if path.is_dir() else check_file)(str(path), report, options)
    if digest:
        digest_of(str(path), report, options)
    return [finding for finding in found if finding.severity != "info"]


def label(path: Path) -> str:
    return "/".join(path.relative_to(ROOT).parts).replace("/data/", "/")[-70:]


@pytest.mark.parametrize("path", NODES, ids=label)
def test_what_a_real_node_left_is_fine(path: Path) -> None:
    unusual = STOPPED_IN_AN_ELECTION.get(label(path))
    for deep in (False, True):
        told = [(finding.severity, finding.what) for finding in findings_of(path, deep=deep)]
        assert told == ([("warning", unusual)] if unusual else [])


@pytest.mark.parametrize("path", DAMAGED, ids=label)
def test_damage_is_found(path: Path) -> None:
    name = path.parent.name
    if is_sound_companion(path) or name in NOT_DAMAGED or name in NO_RULE:
        assert not findings_of(path, deep=True)
        return
    found = findings_of(path)
    if name == NAMED_BY_EPOCH_3:
        assert bool(found) == (int.from_bytes(path.read_bytes()[12:16], "big") != 3)
    elif name in ONLY_DEEP:
        assert not found
        assert findings_of(path, deep=True)
    elif name in ONLY_IN_THE_IMAGE:
        assert not findings_of(path, deep=True)
        assert findings_of(path, digest=True)
    else:
        assert found
        assert all(Path(finding.file) == path for finding in found)


def is_sound_companion(path: Path) -> bool:
    """Whether the file is the log, or the other index, beside a damaged index."""
    damaged = path.parent.name.split("-")[0]
    return damaged in ("index", "timeindex") and path.suffix != f".{damaged}"


def cluster_of(path: Path) -> str:
    return "/".join(path.relative_to(ROOT).parts[:2])


@pytest.mark.parametrize("cluster", sorted({cluster_of(path) for path in METADATA}))
def test_replicas_snapshots_and_replayed_logs_have_one_digest_at_each_offset(cluster: str) -> None:
    digests: dict[int, dict[str, str]] = defaultdict(dict)
    for path in METADATA:
        if cluster_of(path) == cluster:
            for offset, source, digest in digests_in(path):
                digests[offset][source] = digest
    assert digests
    assert any(len(sources) > 1 for sources in digests.values())
    for offset, sources in digests.items():
        assert len(set(sources.values())) == 1, (offset, sources)


def digests_in(path: Path) -> list[tuple[int, str, str]]:
    """(end offset, source, digest) of the whole, of each checkpoint, and of the log replayed up to there from what precedes it."""
    found = []
    with DirectorySource(str(path)) as source:
        whole = load_image(source)
    assert not whole.faults
    found.append((whole.provenance.end_offset, f"{path}", image_digest(whole)))
    directory = MetadataDirectory(str(path))
    listing = directory.list()
    directory.close()
    for entry in listing.checkpoints:
        offset = entry.snapshot_id.offset
        with open_source(str(path / entry.name)) as checkpoint:
            found.append((offset, entry.name, image_digest(load_image(checkpoint))))
        has_earlier = any(other.snapshot_id.offset < offset for other in listing.checkpoints)
        starts_at_zero = bool(listing.segments) and listing.segments[0].base_offset == 0
        if offset and (has_earlier or starts_at_zero):
            with DirectorySource(str(path), up_to=offset - 1) as log:
                replayed = load_image(log, end_offset=offset)
            if replayed.provenance.end_offset == offset:
                found.append((offset, f"{path} up to {offset}", image_digest(replayed)))
    return found
