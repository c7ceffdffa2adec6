"""Named files: each is checked as what its name or its beginning says, and a torn tail is a finding there."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.inspect.verify.making import MetadataLog, findings_in, only

SMALL_FILES = ("quorum-state", "partition.metadata", "leader-epoch-checkpoint", "meta.properties", "cleaner-offset-checkpoint")


@pytest.fixture
def made(tmp_path: Path) -> MetadataLog:
    return MetadataLog(tmp_path / "node")


def test_every_file_of_a_sound_directory_is_fine_by_itself(made: MetadataLog):
    for path in [*made.path.iterdir(), made.log_directory / "meta.properties"]:
        assert not findings_in(path), path


def test_a_torn_tail_of_a_named_file_is_a_finding(made: MetadataLog):
    path = made.write("00000000000000000008.log", b"".join(made.second) + b"\0" * 30)
    assert only(findings_in(path)).severity == "error"


def test_an_empty_file_and_text_are_findings(tmp_path: Path):
    for name, data in (("a.log", b""), ("b.log", b"hello, world, this is a text that is no log"), ("c.checkpoint", b"\0" * 100)):
        (tmp_path / name).write_bytes(data)
        found = findings_in(tmp_path / name)
        assert found
        assert all(finding.severity == "error" for finding in found)


@pytest.mark.parametrize("name", SMALL_FILES)
def test_a_small_file_that_does_not_parse_is_found_with_its_place(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_bytes(b"version=x\n" if name == "meta.properties" else b"rubbish\n")
    found = only(findings_in(path))
    assert found.position >= 0
    assert found.severity == "error"


def test_a_compressed_log_is_read_as_it_is(made: MetadataLog):
    path = made.write("00000000000000000000.log.gz", gzip.compress(b"".join(made.first)))
    assert not findings_in(path)
    path.write_bytes(path.read_bytes()[:-30])
    assert findings_in(path)
