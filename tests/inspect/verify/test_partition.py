"""A metadata directory with one fault after another: each is found at its place."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from metashell.codec.primitives import crc32c
from metashell.common.values import Recovering
from metashell.disk.file_system import Disk
from metashell.disk.recovery import write_damage_note
from metashell.disk.state_files import DurableTo, format_recovery_point
from tests.inspect.verify.making import NO_OP, T0, MetadataLog, checkpoint_bytes, data_batch, findings_in, leader_change, only, topic_value

LOG = "00000000000000000000.log"
LAST = "00000000000000000008.log"


@pytest.fixture
def made(tmp_path: Path) -> MetadataLog:
    return MetadataLog(tmp_path / "node")


def test_a_sound_directory_is_fine(made: MetadataLog):
    assert not made.findings()
    assert not made.findings(deep=True)


def test_a_bad_checksum_is_found_with_its_place_and_the_rest_is_checked(made: MetadataLog):
    position = len(made.first[0])
    data = bytearray(b"".join(made.first))
    data[position + 70] ^= 1
    made.write(LOG, bytes(data))
    found = only(made.findings())
    assert (found.position, found.offset, found.severity) == (position, 1, "error")
    assert "CRC-32C" in found.what


@pytest.mark.parametrize("tail", (b"\0" * 40, b"\0" * 5000, b"cut"))
def test_a_torn_tail_is_information_in_the_last_segment_only(made: MetadataLog, tail: bytes):
    tail = tail if tail != b"cut" else data_batch(12, [NO_OP], epoch=2)[:50]
    made.write(LAST, b"".join(made.second) + tail)
    assert only(made.findings()).severity == "info"
    made.write_segments()
    made.write(LOG, b"".join(made.first) + tail)
    assert {finding.severity for finding in made.findings()} == {"error"}


def test_a_damaged_length_is_no_torn_tail(made: MetadataLog):
    """Where whole batches follow, a server that takes it for the end of the log loses them."""
    data = bytearray(b"".join(made.second))
    data[9] = 1
    made.write(LAST, bytes(data))
    found = only(made.findings())
    assert found.severity == "error"
    assert found.what.endswith(f", among them a whole batch at byte {len(made.second[0])}")
    # The last batch of all may be cut off.
    data = bytearray(b"".join(made.second))
    data[len(made.second[0]) + 9] = 1
    made.write(LAST, bytes(data))
    assert only(made.findings()).severity == "info"


def test_a_damaged_length_before_a_batch_of_a_later_epoch_is_no_torn_tail_either(made: MetadataLog):
    made.second.append(leader_change(12, epoch=3))
    data = bytearray(b"".join(made.second))
    data[len(made.second[0]) + 8] = 1
    made.write(LAST, bytes(data))
    made.write("quorum-state", b'{"leaderId":1,"leaderEpoch":3,"votedId":-1,"data_version":1}')
    found = only(made.findings())
    assert found.severity == "error"
    assert found.what.endswith(f", among them a whole batch at byte {len(made.second[0]) + len(made.second[1])}")


def test_a_gap_between_segments_is_found(made: MetadataLog):
    made.first.pop()
    made.write_segments()
    found = only(made.findings())
    assert (Path(found.file).name, found.offset) == (LAST, 7)
    assert found.what == "offset 7 is missing before this segment"


def test_a_segment_that_goes_on_past_the_next_one_is_found(made: MetadataLog):
    made.first.append(data_batch(8, [NO_OP], epoch=2))
    made.write_segments()
    found = only(made.findings())
    assert (Path(found.file).name, found.offset) == (LOG, 8)


def test_a_gap_between_checkpoint_and_segments_is_found(made: MetadataLog):
    for suffix in ("log", "index", "timeindex"):
        (made.path / f"{0:020d}.{suffix}").unlink()
    assert "offsets 5 to 7 are in no checkpoint and no segment; the log begins at 8" in [finding.what for finding in made.findings()]
    (made.path / "00000000000000000005-0000000001.checkpoint").unlink()
    made.write("00000000000000000008-0000000002.checkpoint", checkpoint_bytes([topic_value(1)], epoch=2, timestamp=T0 + 7))
    made.write("leader-epoch-checkpoint", b"0\n1\n2 8\n")
    assert not made.findings()


def test_a_checkpoint_without_its_footer_does_not_close_a_gap(made: MetadataLog):
    for suffix in ("log", "index", "timeindex"):
        (made.path / f"{0:020d}.{suffix}").unlink()
    whole = checkpoint_bytes([topic_value(1)], epoch=2, timestamp=T0 + 7)
    made.write("00000000000000000008-0000000002.checkpoint", whole[:-75])
    found = [finding.what for finding in made.findings()]
    assert any("footer" in what for what in found)
    assert any("offsets 5 to 7 are in no checkpoint and no segment; the log begins at 8" in what for what in found)


@pytest.mark.parametrize(("epoch", "timestamp", "what"), ((2, T0 + 3, "epoch 2 is not that"), (1, T0, "last contained timestamp")))
def test_a_checkpoint_that_says_something_else_than_the_log_is_found(made: MetadataLog, epoch: int, timestamp: int, what: str):
    (made.path / "00000000000000000005-0000000001.checkpoint").unlink()
    made.write(f"00000000000000000005-{epoch:010d}.checkpoint", checkpoint_bytes([topic_value(1)], epoch=epoch, timestamp=timestamp))
    found = only(made.findings())
    assert found.what.startswith(what)
    assert found.offset == 4


def test_a_checkpoint_after_the_end_of_the_log_is_a_warning(made: MetadataLog):
    made.write("00000000000000000020-0000000002.checkpoint", checkpoint_bytes([topic_value(1)], epoch=2))
    assert only(made.findings()).severity == "warning"


def test_a_checkpoints_epoch_is_that_of_its_name(made: MetadataLog):
    made.write("00000000000000000020-0000000002.checkpoint", checkpoint_bytes([topic_value(1)], epoch=1))
    assert "leader epoch 1 is not that of the file's name, 2" in [finding.what for finding in made.findings()]


@pytest.mark.parametrize(
    ("cache", "what"),
    (
        (b"0\n2\n1 0\n2 5\n", "epoch 2 starts at offset 5, but in the log at 6"),
        (b"0\n1\n1 0\n", "epoch 2, which starts in the log at offset 6, has no entry"),
        (b"0\n2\n4 0\n5 6\n", "epoch 1, which starts in the log at offset 0, has no entry"),
        (b"0\n1\n2 3\n", "epoch 1, which starts in the log at offset 0, has no entry"),
        (b"0\n2\n2 6\n1 0\n", "entry 1 0 does not ascend after 2 6"),
        (b"0\n3\n1 0\n2 6\n", "Expected 3 entries in checkpoint file, but found only 2"),
        (b"7\n0\n", "Unrecognised version of the checkpoint file: 7"),
        (b"0\n1\nx y\n", "Malformed line in checkpoint file: 'x y'"),
    ),
)
def test_an_epoch_cache_that_does_not_hold_is_found(made: MetadataLog, cache: bytes, what: str):
    made.write("leader-epoch-checkpoint", cache)
    assert what in [finding.what for finding in made.findings()]


def test_epochs_without_records_and_those_before_the_log_are_no_finding(made: MetadataLog):
    made.write("leader-epoch-checkpoint", b"0\n2\n1 3\n2 6\n")
    assert not made.findings()


@pytest.mark.parametrize(
    ("cache", "election", "severity", "what"),
    (
        (b"0\n3\n1 0\n2 6\n3 99\n", 2, "error", "epoch 3 starts at offset 99, past the log's end, 12"),
        (b"0\n3\n1 0\n2 6\n3 12\n", 3, "warning", "epoch 3 has no record: it ended before its first was written, or"),
        (b"0\n2\n1 0\n2 6\n", 3, "warning", "node 1 leads epoch 3, of which the log has nothing: its last epoch is 2"),
    ),
)
def test_epochs_that_the_log_does_not_reach_are_findings(made: MetadataLog, cache: bytes, election: int, severity: str, what: str):
    made.write("leader-epoch-checkpoint", cache)
    made.write("quorum-state", b'{"leaderId":1,"leaderEpoch":%d,"votedId":-1,"data_version":1}' % election)
    found = only(made.findings())
    assert (found.severity, found.what[: len(what)]) == (severity, what)


def test_a_last_segment_that_is_gone_is_found_by_what_still_speaks_of_it(made: MetadataLog):
    for suffix in ("log", "index", "timeindex"):
        (made.path / f"{8:020d}.{suffix}").unlink()
    made.write("leader-epoch-checkpoint", b"0\n3\n1 0\n2 6\n3 10\n")
    made.write("quorum-state", b'{"leaderId":2,"leaderEpoch":3,"votedId":-1,"data_version":1}')
    assert "past the log's end, 8" in only(made.findings()).what
    made.write("leader-epoch-checkpoint", b"0\n2\n1 0\n2 6\n")
    assert "leads epoch 3, of which the log has nothing" in only(made.findings()).what
    made.write("quorum-state", b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":1}')
    made.write(*producer_snapshot(end_offset=12))
    assert only(made.findings()).what == "was written when the log had reached offset 12, but it ends at 8"


def test_what_controllers_of_ours_know_to_have_lost_is_found(made: MetadataLog):
    made.write("recovery-point", format_recovery_point(DurableTo(12, 2)))
    assert not made.findings()
    made.write("recovery-point", format_recovery_point(DurableTo(15, 2)))
    found = only(made.findings())
    assert (found.severity, found.what) == ("error", "all before offset 15 was on disk, but the log ends at 12")
    # A later leader may have had the log cut, by a server that does not know the file.
    made.write("recovery-point", format_recovery_point(DurableTo(15, 1)))
    assert only(made.findings()).severity == "warning"
    (made.path / "recovery-point").unlink()
    write_damage_note(Disk(), str(made.path), Recovering(20, 2, "rot at byte 7"))
    assert only(made.findings()).what == "this replica has no vote until it has from a leader what it lost: rot at byte 7"
    made.write("damaged", b"{")
    assert "is not a note of damage" in only(made.findings()).what
    (made.path / "damaged").unlink()
    made.write("00000000000000000008.log.damaged-1", b"x")
    assert only(made.findings()).severity == "warning"


def test_an_empty_directory_of_a_partition_is_found(made: MetadataLog):
    for place in made.path.iterdir():
        place.unlink()
    found = only(made.findings())
    assert (found.file, found.severity) == (str(made.path), "error")
    assert found.what == "holds neither a segment nor a checkpoint: there is nothing to verify"
    assert only(findings_in(made.path)).what == found.what
    topic = made.log_directory / "orders-0"
    topic.mkdir()
    assert {finding.file for finding in made.findings()} == {str(made.path), str(topic)}


def test_a_checkpoint_without_a_log_is_a_warning(made: MetadataLog):
    for place in made.path.iterdir():
        if place.suffix != ".checkpoint":
            place.unlink()
    assert "there is a checkpoint but no segment" in only(made.findings()).what


@pytest.mark.parametrize("name", ("quorum-state", "leader-epoch-checkpoint", "partition.metadata"))
def test_a_small_file_that_a_server_always_writes_and_that_is_gone_is_a_warning(made: MetadataLog, name: str):
    (made.path / name).unlink()
    found = only(made.findings())
    assert (Path(found.file).name, found.severity) == (name, "error" if name == "quorum-state" else "warning")
    # Of a copy of the log alone nothing is known.
    assert not findings_in(made.path)


@pytest.mark.parametrize(
    "name", ("x.log", "8.log", "backup.index", "00000000000000000008 (1).log", "x.checkpoint", "1-2.checkpoint", "x.snapshot")
)
def test_a_file_that_is_named_almost_like_one_of_the_log_is_a_warning(made: MetadataLog, name: str):
    made.write(name, b"")
    assert only(made.findings()).what == "does not have the name of a log file; not checked"


@pytest.mark.parametrize(
    ("cache", "what"),
    (
        (b"0\n3\n0 0\n1 3\n2 9\n", ""),
        (b"0\n3\n0 0\n1 6\n2 8\n", ""),
        (b"0\n2\n1 4\n2 11\n", ""),
        (b"0\n3\n0 0\n1 2\n2 9\n", "epoch 1 starts at offset 2, but in the log at 6"),
        (b"0\n3\n0 0\n1 3\n2 7\n", "epoch 2 starts at offset 7, but in the log at 12"),
        (b"0\n2\n1 1\n2 9\n", "epoch 0, which starts in the log at offset 0, has no entry"),
    ),
)
def test_epochs_of_a_compacted_log_begin_before_their_first_batch(tmp_path: Path, cache: bytes, what: str):
    # The batches from 3 to 5 and from 8 to 11 were taken away; a segment begins at 10.
    folder = tmp_path / "orders-0"
    folder.mkdir()
    first = data_batch(0, [b"a", b"b", b"c"], epoch=0) + data_batch(6, [b"d", b"e"], epoch=1)
    (folder / f"{0:020d}.log").write_bytes(first)
    (folder / f"{10:020d}.log").write_bytes(data_batch(12, [b"f"], epoch=2))
    (folder / "leader-epoch-checkpoint").write_bytes(cache)
    assert [finding.what for finding in findings_in(folder)] == ([what] if what else [])


def test_an_epoch_that_does_not_begin_with_a_leader_change_is_found(made: MetadataLog):
    made.first[4] = data_batch(6, [NO_OP], epoch=2)
    made.write_segments()
    assert only(made.findings()).what == "leader epoch 2 does not begin with a leader change"


def test_an_epoch_that_goes_back_is_found(made: MetadataLog):
    made.second[1] = data_batch(9, [NO_OP], epoch=1)
    made.write_segments()
    assert any(finding.what == "leader epoch goes back to 1 after 2" for finding in made.findings())


def test_a_quorum_state_that_is_older_than_the_log_or_cannot_be_read_is_found(made: MetadataLog):
    made.write("quorum-state", b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":0}')
    assert only(made.findings()).what == "node 1: epoch 1; the log ends in epoch 2"
    made.write("quorum-state", b"{")
    assert {finding.severity for finding in made.findings()} == {"error"}
    made.write("quorum-state", b'{"leaderEpoch":3,"data_version":9}')
    assert made.findings()[0].what == "node 1: quorum-state: data_version 9 is not known"


def test_a_partition_metadata_of_another_topic_is_found(made: MetadataLog):
    made.write("partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAew")
    assert "is not that of the metadata log" in only(made.findings()).what
    made.write("partition.metadata", b"hello")
    assert only(made.findings()).what == "is not partition metadata of version 0"


def producer_snapshot(*entries: tuple[int, int], end_offset: int = 8) -> tuple[str, bytes]:
    body = pack(">i", len(entries))
    for producer_id, last_offset in entries:
        body += pack(">qhiqiqiq", producer_id, 0, 5, last_offset, 0, T0, -1, -1)
    return f"{end_offset:020d}.snapshot", pack(">hI", 1, crc32c(body)) + body


def test_a_producer_snapshot_is_checked(made: MetadataLog):
    name, data = producer_snapshot((7, 3), (8, 7))
    made.write(name, data)
    assert not made.findings()
    made.write(name, data[:-1] + b"\x01")
    assert "CRC-32C" in only(made.findings()).what
    made.write(*producer_snapshot((7, 3), (7, 4)))
    assert only(made.findings()).what == "producer 7 occurs twice"
    made.write(*producer_snapshot((7, 8)))
    assert only(made.findings()).what == "producer 7 has offset 8, past the snapshot's own, 8"
    made.write(name, b"\0\1\0")
    assert "cut off" in only(made.findings()).what
    made.write(name, b"\0\x05" + data[2:])
    assert only(made.findings()).what == "version 5 is not known"


def test_an_index_without_its_segment_and_files_that_are_left_over_are_reported(made: MetadataLog):
    made.write("00000000000000000077.index", b"")
    assert only(made.findings()).severity == "warning"
    (made.path / "00000000000000000077.index").unlink()
    made.write("00000000000000000077.log.deleted", b"")
    assert only(made.findings()).severity == "info"


def test_a_flood_of_findings_from_one_file_is_counted_and_not_reported(made: MetadataLog):
    made.write("00000000000000000000.index", b"".join(pack(">ii", 1 + n, 1000 + n) for n in range(300)))
    found = made.findings()
    assert len(found) == 101
    assert found[-1].what == "200 more"


def test_a_log_that_begins_later_without_a_checkpoint_is_found(tmp_path: Path):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / f"{40:020d}.log").write_bytes(leader_change(40))
    assert only(findings_in(folder)).what.startswith("offsets 0 to 39 are in no checkpoint and no segment")


@pytest.mark.parametrize("is_bare", (False, True))
def test_a_copy_of_the_metadata_log_may_be_named_like_a_topics_partition(made: MetadataLog, is_bare: bool):
    copy = made.path.rename(made.path.with_name("backup-1"))
    for name in ("quorum-state", "partition.metadata") if is_bare else ():
        (copy / name).unlink()
    assert not [finding for finding in findings_in(copy) if finding.severity != "info"]
    (copy / f"{0:020d}.log").write_bytes(b"".join(made.first[:2] + made.first[3:]))
    assert "offsets 3 to 4 are missing" in [finding.what for finding in findings_in(copy)]
