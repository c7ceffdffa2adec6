"""Several directories in one call: those of different clusters are told, and those of one cluster are held against each other."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError
from metashell.common.forms import Display
from metashell.inspect.verify import Finding, Report, VerifyOptions
from metashell.inspect.verify.output import report_verdict
from metashell.inspect.verify.replicas import Digest, compare_digests, digest_of
from metashell.inspect.verify.run import CheckedDirectories, check_directory, run_verify
from metashell.metadata.checks import judge_disks
from metashell.metadata.facts import gather_facts
from tests.inspect.verify.making import NO_OP, T0, MetadataLog, checkpoint_bytes, data_batch, leader_change, only, topic_value

LOG = "00000000000000000000.log"
LAST = "00000000000000000008.log"
CHECKPOINT = "00000000000000000005-0000000001.checkpoint"


def findings(*logs: MetadataLog, verbose: bool = False) -> list[Finding]:
    """What one run over all of these finds."""
    found: list[Finding] = []
    report = Report(found.append)
    checked = CheckedDirectories()
    for log in logs:
        check_directory(str(log.log_directory), report, VerifyOptions(paths=()), checked)
    checked.finish(report)
    report_verdict(judge_disks(gather_facts([str(log.log_directory) for log in logs])), report)
    return [finding for finding in found if verbose or finding.severity != "info"]


@pytest.fixture
def voters(tmp_path: Path) -> list[MetadataLog]:
    return [MetadataLog(tmp_path / str(number) / "data", node=number) for number in (1, 2, 3)]


def test_voters_of_one_cluster_agree(voters: list[MetadataLog]):
    assert not findings(*voters)


def test_a_directory_that_is_named_twice_is_checked_once(voters: list[MetadataLog]):
    assert not findings(voters[0], voters[0])


def test_a_copy_of_a_directory_may_have_its_id(voters: list[MetadataLog], tmp_path: Path):
    assert not findings(voters[0], MetadataLog(tmp_path / "backup" / "data"))


def test_voters_of_different_clusters_are_found(voters: list[MetadataLog], tmp_path: Path):
    stranger = MetadataLog(tmp_path / "4" / "data", node=4, cluster="d")
    stranger.first[1] = data_batch(1, [topic_value(8), topic_value(9)])
    stranger.write_segments()
    found = only(findings(voters[0], voters[1], stranger))
    assert (found.file, found.severity) == (str(stranger.log_directory / "meta.properties"), "error")
    assert (found.check, found.what) == ("other_cluster", "cluster.id d; the first node has c")


def test_two_nodes_with_one_directory_id_are_found(voters: list[MetadataLog]):
    place = voters[1].log_directory / "meta.properties"
    place.write_text((voters[0].log_directory / "meta.properties").read_text().replace("node.id=1", "node.id=2"))
    found = only(findings(*voters))
    assert found.check == "duplicate_directory_id"
    assert f"directory.id AAAAAAAAAAAAAAAAAAAAew is that of {voters[0].log_directory} too" in found.what


def test_a_committed_batch_that_differs_is_found_in_place(voters: list[MetadataLog]):
    voters[2].first[2] = data_batch(3, [NO_OP, topic_value(9)], timestamp=T0 + 3)
    voters[2].write_segments()
    found = only(findings(*voters))
    assert (found.file, found.offset, found.position) == (str(voters[2].path / LOG), 3, len(b"".join(voters[2].first[:2])))
    assert found.severity == "error"
    assert "is not that of" in found.what
    assert str(voters[0].path / LOG) in found.what


def test_a_batch_of_one_epoch_and_offset_is_the_same_everywhere_committed_or_not(voters: list[MetadataLog]):
    voters[1].second[1] = data_batch(9, [NO_OP, NO_OP, topic_value(9)], epoch=2)
    voters[1].write_segments()
    found = only(findings(*voters))
    assert (found.file, found.offset) == (str(voters[1].path / LAST), 9)
    assert found.what.endswith("though both are of epoch 2")


def test_what_is_not_known_to_be_committed_may_differ_between_epochs(voters: list[MetadataLog]):
    voters[1].second[1] = leader_change(9, epoch=3)
    voters[1].write_segments()
    voters[1].write("leader-epoch-checkpoint", b"0\n3\n1 0\n2 6\n3 9\n")
    voters[1].write("quorum-state", b'{"leaderId":2,"leaderEpoch":3,"votedId":-1,"data_version":1}')
    assert not findings(*voters)
    told = only(findings(*voters, verbose=True))
    assert told.what.endswith("epoch 3 here, 2 there; no checkpoint says which is committed")
    # A checkpoint of each does.
    for log, epoch in zip(voters[:2], (2, 3), strict=True):
        log.write(f"{10:020d}-{epoch:010d}.checkpoint", checkpoint_bytes([topic_value(1)], epoch=epoch, timestamp=T0 + 9))
    assert any("both have a checkpoint of what lies before offset 10" in finding.what for finding in findings(*voters[:2]))


def test_batches_of_another_cut_are_found(voters: list[MetadataLog]):
    voters[1].first[1:3] = [data_batch(1, [topic_value(1), topic_value(2), NO_OP, NO_OP])]
    voters[1].write_segments()
    voters[1].write(CHECKPOINT, checkpoint_bytes([topic_value(1), topic_value(2)], timestamp=T0 + 1))
    assert {Path(finding.file).name for finding in findings(*voters)} == {LOG}


def test_a_log_that_begins_later_is_compared_from_there_on(voters: list[MetadataLog]):
    later = voters[1]
    later.write("00000000000000000008-0000000002.checkpoint", checkpoint_bytes([topic_value(1)], epoch=2, timestamp=T0 + 7))
    for suffix in ("log", "index", "timeindex"):
        (later.path / f"{0:020d}.{suffix}").unlink()
    later.write("leader-epoch-checkpoint", b"0\n1\n2 8\n")
    assert not findings(*voters)
    later.second[0] = data_batch(8, [topic_value(9)], epoch=2)
    later.write_segments()
    (later.path / LOG).unlink()
    for suffix in ("index", "timeindex"):
        (later.path / f"{0:020d}.{suffix}").unlink()
    assert only(findings(*voters)).offset == 8


def test_checkpoints_of_one_name_make_one_image(voters: list[MetadataLog]):
    voters[1].write(CHECKPOINT, checkpoint_bytes([topic_value(2), topic_value(1)], timestamp=T0 + 3))
    assert not findings(*voters)
    voters[1].write(CHECKPOINT, checkpoint_bytes([topic_value(1), topic_value(9)], timestamp=T0 + 3))
    found = only(findings(*voters))
    assert (found.file, found.what) == (str(voters[1].path / CHECKPOINT), f"the image is not that of {voters[0].path / CHECKPOINT}")


# ---- digests of paths: a directory's log is replayed, so that a checkpoint in it can be held against it


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
    assert "compared at offset 5, the highest committed offset that all have\n" in text
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
    assert "compared at offset 12, the highest that all have; it may not be committed\n" in text


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
