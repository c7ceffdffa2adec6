"""Digests of paths: a directory's log is replayed, so that a checkpoint in it can be held against it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError
from metashell.common.forms import Display
from metashell.inspect.verify import Finding, Report, VerifyOptions
from metashell.inspect.verify.replicas import Digest, compare_digests, digest_of
from metashell.inspect.verify.run import run_verify
from tests.inspect.verify.making import MetadataLog, checkpoint_bytes, data_batch, only, topic_value

CHECKPOINT = "00000000000000000005-0000000001.checkpoint"


@pytest.fixture
def made(tmp_path: Path) -> MetadataLog:
    return MetadataLog(tmp_path / "node")


def digest(path: Path, offset: int | None = None, found: list[Finding] | None = None) -> Digest:
    report = Report((found if found is not None else []).append)
    return digest_of(str(path), report, VerifyOptions(paths=(), digest=True, digest_offset=offset))


def test_a_checkpoint_is_held_against_the_log_beside_it(made: MetadataLog):
    checkpoint = made.path / CHECKPOINT
    assert digest(made.log_directory, 5).digest == digest(checkpoint).digest == digest(checkpoint, 5).digest
    made.write(CHECKPOINT, checkpoint_bytes([topic_value(1), topic_value(9)]))
    digests = [digest(made.log_directory, 5), digest(checkpoint)]
    found: list[Finding] = []
    compare_digests(digests, Report(found.append))
    assert only(found).what == f"the image at offset 5 is not that of {made.log_directory}"


def test_without_an_earlier_log_the_checkpoint_itself_is_the_image(made: MetadataLog):
    whole = digest(made.log_directory, 5)
    for suffix in ("log", "index", "timeindex"):
        (made.path / f"{0:020d}.{suffix}").unlink()
    assert digest(made.log_directory, 5).digest == whole.digest


def test_each_offset_has_the_image_of_what_lies_before_it(made: MetadataLog):
    digests = [digest(made.log_directory, offset).digest for offset in range(13)]
    # Topics come at 1, 2, 5 and 8; everything else changes nothing.
    assert [digests[n] != digests[n - 1] for n in range(1, 13)] == [n - 1 in (1, 2, 5, 8) for n in range(1, 13)]
    assert digest(made.log_directory).digest == digests[12]
    assert digest(made.log_directory).end_offset == 12


def test_an_offset_past_the_end_is_refused(made: MetadataLog):
    with pytest.raises(MetashellError, match="no image at offset 13: what is here ends at 12"):
        digest(made.log_directory, 13)


def test_what_the_image_could_not_take_is_found(made: MetadataLog):
    data = b"".join(made.first)
    made.write("00000000000000000000.log", data.replace(b"topic-3", b"topic-1"))
    found: list[Finding] = []
    digest(made.log_directory, 8, found)
    assert all(finding.severity == "error" for finding in found)
    assert found


def test_digests_of_different_offsets_that_differ_are_a_finding_too():
    found: list[Finding] = []
    compare_digests([Digest("a", 1, 1, "x"), Digest("b", 2, 1, "y"), Digest("c", 1, 1, "x"), Digest("d", 3, 1, "x")], Report(found.append))
    assert only(found).file == "b"
    assert only(found).what.startswith("the image at offset 2 is not that of a at offset 1: --digest 1 compares them")


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
def test_the_log_of_a_coordinator_has_no_digest(tmp_path: Path, topic: str):
    folder = tmp_path / f"{topic}-0"
    folder.mkdir()
    log = folder / f"{0:020d}.log"
    log.write_bytes(data_batch(0, [b"a", b"b"]))
    for path in (folder, log):
        found: list[Finding] = []
        with pytest.raises(MetashellError, match="not a metadata log, so there is no image to hash"):
            digest(path, found=found)
        assert not found


def run(form: str, *paths: Path) -> tuple[int, str]:
    out = StringIO()
    return run_verify(VerifyOptions(paths=tuple(map(str, paths)), digest=True, output=form), Display(out)), out.getvalue()


def test_replicas_of_different_length_are_compared_at_the_highest_certain_offset_that_both_have(made: MetadataLog, tmp_path: Path):
    other = MetadataLog(tmp_path / "other")
    log = other.path / f"{0:020d}.log"
    log.write_bytes(b"".join(other.first))
    for path in other.path.glob("*[1-9]*.log"):
        path.unlink()
    _, text = run("text", made.log_directory, other.log_directory)
    assert "compared at offset 5, the highest certain offset that all have\n" in text
    assert text.count("at offset 5\n") == 2
    _, text = run("json", made.log_directory, other.log_directory)
    assert json.loads(text)["compared"] == {"offset": 5, "certain": True}
    _, text = run("jsonl", made.log_directory, other.log_directory)
    assert any(json.loads(line) == {"kind": "compared", "offset": 5, "certain": True} for line in text.splitlines())


def test_without_any_checkpoint_the_highest_common_offset_is_not_certain(made: MetadataLog, tmp_path: Path):
    other = MetadataLog(tmp_path / "other")
    for node in (made, other):
        for path in node.path.glob("*.checkpoint"):
            path.unlink()
    _, text = run("text", made.log_directory, other.log_directory)
    assert "compared at offset 12, the highest that all have; none is certain\n" in text


def test_images_that_differ_at_the_common_offset_are_status_1(made: MetadataLog, tmp_path: Path):
    other = tmp_path / CHECKPOINT
    other.write_bytes(checkpoint_bytes([topic_value(1), topic_value(9)]))
    status, text = run("text", made.log_directory, other)
    assert status == 1
    assert f"the image at offset 5 is not that of {made.log_directory}" in text


def test_equal_digests_are_status_0_whatever_a_small_file_says(made: MetadataLog, tmp_path: Path):
    other = MetadataLog(tmp_path / "other")
    # Elected, and stopped before the first record of the epoch: a warning to who checks the files.
    (made.path / "quorum-state").write_text('{"leaderId":1,"leaderEpoch":9,"votedId":-1,"data_version":1}')
    status, text = run("text", made.log_directory, other.log_directory)
    assert "quorum-state: warning: " in text
    assert status == 0
    assert run_verify(VerifyOptions(paths=(str(made.log_directory),)), Display(StringIO())) == 1


def test_a_node_s_other_log_directory_needs_no_metadata(made: MetadataLog, tmp_path: Path):
    for node in (1, 2):
        (made.log_directory / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
        second = tmp_path / "second"
        second.mkdir(exist_ok=True)
        (second / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
        status, text = run("text", made.log_directory, second)
        assert status == node - 1
        assert ("no metadata log here" in text) == (node == 2)
