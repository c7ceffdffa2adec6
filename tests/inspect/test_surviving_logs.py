"""Reading what is left of a quorum: directories, checkpoints and bundles, whole, damaged, and of something else."""

from __future__ import annotations

import os
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import UsageError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.state_files import QuorumState
from metashell.inspect.surviving_logs import is_archive, is_data_directory, read_partitions, read_survivor, unpacked_bundle
from metashell.inspect.survivors import Survivor
from tests.disk.storage_cases import listing
from tests.inspect.surviving import (
    BROKER,
    CLUSTER_ID,
    LATE_ID,
    TOPIC_ID,
    VOTERS,
    MadeLog,
    checkpoint,
    first_records,
    make_source,
    usual_log,
)

METADATA = "__cluster_metadata-0"
LOG = f"{0:020d}.log"


def place_of(found: Survivor) -> tuple[int, int, int | None]:
    return found.last_epoch, found.end_offset, found.certain_to


def test_a_log_directory_its_metadata_directory_and_a_checkpoint_are_sources(tmp_path: Path) -> None:
    folder = make_source(tmp_path / "one", usual_log(), checkpoints=[OffsetAndEpoch(15, 5)], node_id=2)
    found = read_survivor(str(folder))
    assert (found.kind, found.cluster_id, found.node_id, *place_of(found)) == ("log directory", CLUSTER_ID, 2, 5, 20, 15)
    assert found.quorum.voter_ids == (1, 2, 3)
    assert found.quorum.named_by == "VotersRecord"
    assert found.quorum.voters is not None
    assert [voter.endpoints[0].port for voter in found.quorum.voters.voters] == [1, 1, 1]
    assert found.quorum.kraft_version == 1
    assert found.is_voter and not found.is_running and not found.lost
    inner = read_survivor(str(folder / METADATA))
    assert (inner.kind, inner.node_id, *place_of(inner)) == ("metadata directory", 2, 5, 20, 15)
    alone = read_survivor(str(folder / METADATA / f"{15:020d}-{5:010d}.checkpoint"))
    assert (alone.kind, alone.cluster_id, *place_of(alone)) == ("checkpoint", CLUSTER_ID, 5, 15, 15)
    assert alone.quorum.voter_ids == (1, 2, 3)


def test_voters_of_a_static_quorum_are_those_of_the_last_election_or_of_quorum_state(tmp_path: Path) -> None:
    found = read_survivor(str(make_source(tmp_path / "one", usual_log(is_static=True))))
    assert (found.quorum.voter_ids, found.quorum.named_by, found.quorum.voters) == ((1, 2, 3), "LeaderChangeMessage", None)
    log = MadeLog().add(5, first_records())
    other = make_source(tmp_path / "other", log, election=QuorumState(leader_epoch=6, current_voters=(3, 1)))
    found = read_survivor(str(other))
    assert (found.quorum.voter_ids, found.quorum.named_by, found.seen.epoch) == ((1, 3), "quorum-state", 6)


def test_voters_in_records_count_before_those_in_quorum_state(tmp_path: Path) -> None:
    election = QuorumState(leader_epoch=5, current_voters=(8, 9))
    found = read_survivor(str(make_source(tmp_path / "one", usual_log(), election=election)))
    assert (found.quorum.voter_ids, found.quorum.named_by) == ((1, 2, 3), "VotersRecord")
    found = read_survivor(str(make_source(tmp_path / "static", usual_log(is_static=True), election=election)))
    assert (found.quorum.voter_ids, found.quorum.named_by) == ((1, 2, 3), "LeaderChangeMessage")
    none = read_survivor(str(make_source(tmp_path / "none", MadeLog().add(5, first_records()))))
    assert (none.quorum.voter_ids, none.quorum.named_by) == ((), "")


def test_a_torn_tail_is_the_end_of_a_log(tmp_path: Path) -> None:
    folder = make_source(tmp_path / "one", usual_log())
    path = folder / METADATA / LOG
    path.write_bytes(path.read_bytes()[:-5])
    found = read_survivor(str(folder))
    assert (found.end_offset, found.lost) == (19, "")


def test_a_log_counts_up_to_its_first_damage_behind_the_checkpoint(tmp_path: Path) -> None:
    log = usual_log()
    at = len(log.data)
    log.pad(5, 5)
    data = bytearray(log.data)
    data[at + 30] ^= 1
    log.data = bytes(data)
    folder = make_source(tmp_path / "one", log)
    found = read_survivor(str(folder))
    assert (found.end_offset, found.seen.offset) == (20, 25)
    assert "CRC" in found.lost
    # The same damage before the end of a checkpoint costs nothing.
    other = make_source(tmp_path / "two", log, checkpoints=[OffsetAndEpoch(22, 5)])
    found = read_survivor(str(other))
    assert (found.end_offset, found.lost, found.certain_to) == (25, "", 22)


def test_a_gap_behind_the_checkpoint_ends_the_log(tmp_path: Path) -> None:
    folder = make_source(tmp_path / "one", MadeLog(30).pad(5, 3), checkpoints=[OffsetAndEpoch(22, 5)])
    found = read_survivor(str(folder))
    assert (found.end_offset, found.seen.offset) == (22, 33)
    assert "offsets 22 to 29 are missing" in found.lost


def test_a_log_without_its_beginning_is_refused(tmp_path: Path) -> None:
    folder = make_source(tmp_path / "one", MadeLog(30).pad(5, 3))
    (folder / METADATA / f"{30:020d}-{5:010d}.checkpoint").write_bytes(b"")
    with pytest.raises(UsageError, match=r"starts at offset 30, and no whole checkpoint has what was before; .*checkpoint"):
        read_survivor(str(folder))


def test_a_rotten_checkpoint_is_passed_over_and_named(tmp_path: Path) -> None:
    folder = make_source(tmp_path / "one", usual_log(), checkpoints=[OffsetAndEpoch(12, 5), OffsetAndEpoch(15, 5)])
    path = folder / METADATA / f"{15:020d}-{5:010d}.checkpoint"
    path.write_bytes(path.read_bytes()[:-10])
    found = read_survivor(str(folder))
    assert (found.certain_to, found.end_offset) == (12, 20)
    (fault,) = found.other_faults
    assert path.name in fault


@pytest.mark.parametrize("cut", [0, 1, 60, 200, -1])
def test_a_checkpoint_that_is_not_whole_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / f"{15:020d}-{5:010d}.checkpoint"
    path.write_bytes(checkpoint(OffsetAndEpoch(15, 5), first_records())[:cut])
    with pytest.raises(UsageError) as error:
        read_survivor(str(path))
    assert path.name in str(error.value)


def test_every_flipped_bit_of_a_checkpoint_is_noticed_or_harmless(tmp_path: Path) -> None:
    data = checkpoint(OffsetAndEpoch(15, 5), first_records())
    path = tmp_path / f"{15:020d}-{5:010d}.checkpoint"
    for at in range(0, len(data), 7):
        changed = bytearray(data)
        changed[at] ^= 0x10
        path.write_bytes(changed)
        with pytest.raises(UsageError):
            read_survivor(str(path))


def test_a_checkpoint_of_another_name_or_of_formatting_is_refused(tmp_path: Path) -> None:
    data = checkpoint(OffsetAndEpoch(15, 5), first_records())
    for name, why in (
        ("saved", "no end offset"),
        (f"{0:020d}-{0:010d}.checkpoint", "what formatting wrote"),
        ("bootstrap.checkpoint", "no end"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(UsageError, match=why):
            read_survivor(str(path))


def test_what_is_no_source_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "text").write_text("hello")
    topic = tmp_path / "node" / "orders-0"
    topic.mkdir(parents=True)
    (topic / LOG).write_bytes(write_batch(0, [Record(0, 1, b"key", b"value")], leader_epoch=0))
    (tmp_path / "node" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    log = make_source(tmp_path / "one", usual_log())
    empty_log = make_source(tmp_path / "zero", MadeLog())
    formatted = make_source(tmp_path / "formatted", None)
    names = ("missing", "empty", "loop", "text", "node/orders-0", f"one/{METADATA}/{LOG}")
    for place in (*(tmp_path / name for name in names), empty_log, formatted):
        with pytest.raises(UsageError) as error:
            read_survivor(str(place))
        assert "\n" not in str(error.value)
        assert str(place) in str(error.value)
    assert log.exists()


def test_sources_are_only_read(tmp_path: Path) -> None:
    folder = make_source(tmp_path / "one", usual_log(), checkpoints=[OffsetAndEpoch(15, 5)], partitions=[("orders-0", TOPIC_ID, 3)])
    before = listing(tmp_path)
    read_survivor(str(folder))
    list(read_partitions(str(folder)))
    assert listing(tmp_path) == before


def test_partitions_on_disk_have_their_topic_id_and_newest_leader_epoch(tmp_path: Path) -> None:
    folder = make_source(
        tmp_path / "one", usual_log(), partitions=[("orders-0", TOPIC_ID, 3), ("late-1", LATE_ID, 8), ("a-b-2-delete", LATE_ID, 1)]
    )
    (folder / "torn-0").mkdir()
    (folder / "torn-0" / "partition.metadata").write_bytes(b"")
    found = [(one.name, one.partition, one.topic_id, one.leader_epoch) for one in read_partitions(str(folder))]
    assert found == [("late", 1, LATE_ID, 8), ("orders", 0, TOPIC_ID, 3), ("torn", 0, None, -1)]
    assert not is_data_directory(str(folder))
    assert list(read_partitions(str(tmp_path / "missing"))) == []


def test_a_further_log_directory_of_a_broker_shows_only_partitions(tmp_path: Path) -> None:
    folder = make_source(tmp_path / "one", None, node_id=BROKER, partitions=[("orders-0", TOPIC_ID, 3)])
    (folder / METADATA / "partition.metadata").unlink()
    (folder / METADATA).rmdir()
    assert is_data_directory(str(folder))


def archive_of(path: Path, members: dict[str, bytes], *, link: str = "") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, BytesIO(data))
        if link:
            info = tarfile.TarInfo(link)
            info.type = tarfile.SYMTYPE
            info.linkname = "/etc/passwd"
            archive.addfile(info)
    return path


MARKS = {"case/README.md": b"# case\n", "case/status.json": b"{}", "case/verify.txt": b""}


def test_a_bundle_is_unpacked_and_only_what_bundles_have_is_taken(tmp_path: Path) -> None:
    meta = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\n".encode()
    members = {**MARKS, "case/meta.properties": meta, f"case/{METADATA}/{LOG}": usual_log().data}
    bad = {"../out": b"x", "case/../../out": b"x", "case/other": b"x", f"case/{METADATA}/a/b": b"x"}
    path = archive_of(tmp_path / "case.tar.gz", {**members, **bad}, link=f"case/{METADATA}/quorum-state")
    assert is_archive(str(path))
    with unpacked_bundle(str(path)) as folder:
        found = read_survivor(folder, label=str(path))
        assert sorted(os.listdir(os.path.join(folder, METADATA))) == [LOG]
    assert (found.kind, found.label, *place_of(found)) == ("bundle", str(path), 5, 20, None)
    assert not found.is_anonymised
    assert not os.path.exists(folder)
    assert sorted(os.listdir(tmp_path)) == ["case.tar.gz"]


def test_an_anonymised_bundle_shows_that_it_is(tmp_path: Path) -> None:
    members = {**MARKS, "case/README.md": b"- cluster abc (not its real id), node 1\n", f"case/{METADATA}/{LOG}": usual_log().data}
    with unpacked_bundle(str(archive_of(tmp_path / "case.tgz", members))) as folder:
        assert read_survivor(folder).is_anonymised


def test_other_archives_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    other = archive_of(tmp_path / "other.tar.gz", {"case/file": b"x"})
    whole = archive_of(tmp_path / "whole.tar.gz", {**MARKS, f"case/{METADATA}/{LOG}": os.urandom(5000)}).read_bytes()
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    empty = tmp_path / "empty.tar.gz"
    empty.write_bytes(b"")
    for path in (other, cut, empty):
        with pytest.raises(UsageError) as error, unpacked_bundle(str(path)):
            raise AssertionError
        assert str(path) in str(error.value)


def test_the_voters_of_the_helper_are_on_a_port_where_nobody_listens() -> None:
    assert {voter.port for voter in VOTERS} == {1}
