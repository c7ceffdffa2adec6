"""Several directories in one call: those of different clusters are told, and those of one cluster are held against each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.inspect.verify import Finding, Report, VerifyOptions
from metashell.inspect.verify.output import report_verdict
from metashell.inspect.verify.run import Census, check_directory
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
    census = Census()
    for log in logs:
        check_directory(str(log.log_directory), report, VerifyOptions(paths=()), census)
    census.finish(report)
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
