"""Both sides of each rule: what is sound and looks odd is no finding, and the next step is one."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from typing import Any

import pytest

from metashell.codec.batch_writer import (
    ABORT,
    COMMIT,
    KRAFT_VERSION_RECORD,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    write_batch,
    write_control_record,
)
from metashell.codec.batches import Record
from metashell.codec.registry import message_type
from tests.inspect.verify.making import NO_OP, T0, MetadataLog, control, data_batch, findings_in, sealed
from tests.inspect.verify.test_batches import check
from tests.inspect.verify.test_indexes import transaction_entry
from tests.inspect.verify.test_partition import producer_snapshot

RECORDS = [Record(0, T0, b"k", b"v"), Record(1, T0 + 7, b"k", None)]


def of_users(**options: Any) -> bytes:
    return write_batch(0, RECORDS, leader_epoch=0, base_timestamp=T0, **options)


def with_attributes(data: bytes, bits: int) -> bytes:
    return sealed(data[:22] + bytes([data[22] | bits]) + data[23:])


CONTROL = {
    LEADER_CHANGE: "LeaderChangeMessage",
    KRAFT_VERSION_RECORD: "KRaftVersionRecord",
    KRAFT_VOTERS: "VotersRecord",
    SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    COMMIT: "EndTxnMarker",
    ABORT: "EndTxnMarker",
}
BELONGS = {
    "metadata": {LEADER_CHANGE, KRAFT_VERSION_RECORD, KRAFT_VOTERS},
    "checkpoint": {SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION_RECORD, KRAFT_VOTERS},
    "data": {COMMIT, ABORT},
    "offsets": {COMMIT, ABORT},
}


@pytest.mark.parametrize("kind", BELONGS)
@pytest.mark.parametrize("type", CONTROL)
def test_a_control_record_belongs_where_kafka_writes_it(kind: Any, type: int) -> None:
    found = [finding.what for finding in check(control(0, (type, message_type("control", CONTROL[type]).cls())), kind)]
    assert len(found) == (type not in BELONGS[kind])
    assert all("does not belong in" in what for what in found)


BATCHES: dict[str, tuple[bytes, str, str]] = {
    "producer": (of_users(producer_id=4, producer_epoch=0, base_sequence=0), "", "a producer (4, epoch 0, sequence 0)"),
    "producer's epoch": (of_users(producer_epoch=0), "", "a producer (-1, epoch 0, sequence -1)"),
    "producer's sequence": (of_users(base_sequence=0), "", "a producer (-1, epoch -1, sequence 0)"),
    "transactional": (of_users(is_transactional=True), "", "a transactional batch"),
    "appended at": (of_users(is_log_append_time=True, max_timestamp=T0 + 999), "", "timestamps of appending"),
    "delete horizon": (with_attributes(of_users(), 0x40), "", "a delete horizon"),
    "unknown attribute": (with_attributes(of_users(), 0x80), "attributes 0x0080 have undefined bits set", "attributes 0x0080"),
    "records taken away": (of_users(last_offset_delta=5), "", "2 records do not fit offsets 0 to 5 of the batch"),
    "created after the largest": (of_users(max_timestamp=T0 + 6), f"max timestamp {T0 + 6} is not that of the records, {T0 + 7}", ""),
    "one record too many": (
        sealed(of_users()[:23] + pack(">i", 0) + of_users()[27:]),
        "2 records do not fit offsets 0 to 0 of the batch",
        "2 records do not fit",
    ),
}


@pytest.mark.parametrize("name", BATCHES)
def test_what_topics_may_hold_a_metadata_log_may_not(name: str) -> None:
    data, in_topic, in_metadata = BATCHES[name]
    found = [finding.what for finding in check(data, "data", deep=True)]
    assert found[:1] == [in_topic] if in_topic else not found
    assert any(finding.what.startswith(in_metadata) for finding in check(data))


@pytest.mark.parametrize("codec", range(5))
def test_the_time_of_appending_is_that_of_no_record(codec: int) -> None:
    assert not check(of_users(codec_id=codec, is_log_append_time=True, max_timestamp=T0 + 999), "data", with_care=True)
    assert check(of_users(codec_id=codec, max_timestamp=T0 + 999), "data", with_care=True)


# ---- a log directory with a topic: epoch 0 from offset 0, epoch 2 from 3 to 5


@pytest.fixture
def topic(tmp_path: Path) -> Path:
    MetadataLog(tmp_path / "node")
    folder = tmp_path / "node" / "orders-0"
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(data_batch(0, [b"a", b"b", b"c"], epoch=0) + data_batch(3, [b"d", b"e", b"f"], epoch=2))
    return folder


def epochs(*entries: tuple[int, int]) -> bytes:
    return "\n".join(["0", str(len(entries)), *(f"{epoch} {start}" for epoch, start in entries), ""]).encode()


def offsets(*entries: tuple[str, int]) -> bytes:
    return "\n".join(["0", str(len(entries)), *(f"{name} {offset}" for name, offset in entries), ""]).encode()


EPOCHS = "leader-epoch-checkpoint"
TOPIC_FILES = [
    (EPOCHS, epochs((0, 0), (2, 3)), ""),
    # An epoch without records began and ended between two others, or where the log ends now.
    (EPOCHS, epochs((0, 0), (1, 3), (2, 3)), ""),
    (EPOCHS, epochs((0, 0), (2, 3), (3, 6)), ""),
    (EPOCHS, epochs((0, 0), (2, 3), (3, 7)), "epoch 3 starts at offset 7, past the log's end, 6: what lay between is lost"),
    (EPOCHS, epochs((0, 0), (2, 3), (2, 4)), "entry 2 4 does not ascend after 2 3"),
    (EPOCHS, epochs((0, 0), (2, 3), (3, 2)), "entry 3 2 does not ascend after 2 3"),
    (EPOCHS, epochs((0, 0), (2, 2)), "epoch 2 starts at offset 2, but in the log at 3"),
    # The first entry begins where the log was cut, maybe in the middle of a batch: what lies before needs none.
    (EPOCHS, epochs((0, 2), (2, 3)), ""),
    (EPOCHS, epochs((2, 3)), ""),
    (EPOCHS, epochs((2, 5)), ""),
    (EPOCHS, epochs((2, 2)), "epoch 0, which starts in the log at offset 0, has no entry"),
    (EPOCHS, epochs(), "epoch 0, which starts in the log at offset 0, has no entry"),
    (producer_snapshot(end_offset=6)[0], producer_snapshot((4, 5), end_offset=6)[1], ""),
    (producer_snapshot(end_offset=6)[0], producer_snapshot((4, 6), end_offset=6)[1], "producer 4 has offset 6, past the snapshot's own, 6"),
    (
        producer_snapshot(end_offset=7)[0],
        producer_snapshot(end_offset=7)[1],
        "was written when the log had reached offset 7, but it ends at 6",
    ),
    *(
        (f"../{name}", offsets(*entries), what)
        for name, means in (
            ("recovery-point-offset-checkpoint", "recovery point"),
            ("replication-offset-checkpoint", "high watermark"),
            ("log-start-offset-checkpoint", "log start"),
            ("cleaner-offset-checkpoint", "cleaned up to"),
        )
        for entries, what in (
            ([("orders 0", 0), ("orders 1", 99), ("__cluster_metadata 0", 12)], ""),
            ([("orders 0", 6)], ""),
            ([("orders 0", 7)], f"orders-0: {means} 7 is past the log's end, 6"),
            ([("orders 0", -1)], "orders-0 has offset -1"),
            ([("orders 0", 1), ("orders 0", 2)], "orders-0 occurs twice"),
        )
    ),
    # Names that are a log file's, and what is being written or removed.
    (f"{0:020d}.log.deleted", b"", ""),
    (f"{0:020d}.index.deleted", b"", ""),
]


@pytest.mark.parametrize(("name", "data", "what"), TOPIC_FILES)
def test_a_small_file_of_a_topic_is_sound_or_not(topic: Path, name: str, data: bytes, what: str) -> None:
    (topic / name).write_bytes(data)
    # What the metadata of this node knows of the topic is not the question here.
    found = [finding.what for finding in findings_in(topic.parent) if finding.severity != "info" and not finding.check]
    assert found[:1] == ([what] if what else [])


def test_files_and_links_that_are_named_like_partitions_are_none(topic: Path) -> None:
    (topic.parent / "A-1").write_bytes(b"")
    for _ in range(2):
        assert "A-1" not in str(findings_in(topic.parent)) and "Not a directory" not in str(findings_in(topic.parent))
        (topic.parent / "meta.properties").unlink(missing_ok=True)


QUORUM = [
    ((1, 2, -1), ""),
    ((-1, 2, 1), ""),
    ((-1, 3, 2), ""),
    ((-1, 3, -1), ""),
    ((-1, 0, -1), "node 1: epoch 0; the log ends in epoch 2"),
    ((1, 3, -1), "node 1 leads epoch 3, of which the log has nothing: its last epoch is 2"),
]


@pytest.mark.parametrize(("state", "what"), QUORUM)
def test_a_quorum_state_may_name_an_epoch_that_nobody_leads(tmp_path: Path, state: tuple[int, int, int], what: str) -> None:
    made = MetadataLog(tmp_path / "node")
    made.write("quorum-state", b'{"leaderId":%d,"leaderEpoch":%d,"votedId":%d,"data_version":1}' % state)
    assert [finding.what for finding in made.findings()] == ([what] if what else [])
    assert not findings_in(made.path / "quorum-state")


@pytest.mark.parametrize("state", [(-2, 0, -1), (-1, -1, -1), (-1, 0, -2)])
def test_numbers_below_those_of_nobody_are_impossible(tmp_path: Path, state: tuple[int, int, int]) -> None:
    (tmp_path / "quorum-state").write_bytes(b'{"leaderId":%d,"leaderEpoch":%d,"votedId":%d,"data_version":1}' % state)
    [found] = findings_in(tmp_path / "quorum-state")
    assert found.what == "leader {}, epoch {}, vote {} are an impossible combination".format(*state)


def test_the_first_entry_of_an_index_may_be_zero_where_others_follow(tmp_path: Path) -> None:
    made = MetadataLog(tmp_path / "node")
    for suffix, entry, zeros in (("index", pack(">ii", 0, 0), 8), ("timeindex", pack(">qi", T0, 0), 12)):
        path = made.path / f"{0:020d}.{suffix}"
        rest = path.read_bytes()
        path.write_bytes(entry + rest)
        assert not made.findings()
        path.write_bytes(bytes(2 * zeros) + rest)
        assert {finding.what for finding in made.findings()} == {f"{2 * zeros} bytes are zero in the middle of the index"}
        path.write_bytes(rest)


def test_checkpoints_may_end_with_the_log_and_not_after_it(tmp_path: Path) -> None:
    made = MetadataLog(tmp_path / "node")
    whole = (made.path / "00000000000000000005-0000000001.checkpoint").read_bytes()
    for end, what in ((12, {"last contained timestamp"}), (13, {"ends after the log,"})):
        path = made.write(f"{end:020d}-0000000001.checkpoint", whole)
        found = {finding.what for finding in made.findings() if finding.severity != "info"}
        assert any(one.startswith(tuple(what)) for one in found), found
        assert (end == 13) == any(one.startswith("ends after the log") for one in found)
        path.unlink()


@pytest.mark.parametrize("suffix", ["timeindex", "txnindex"])
def test_an_entry_before_the_first_batch_of_its_segment_is_found(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / f"{5:020d}.log").write_bytes(data_batch(8, [b"a", b"b"], epoch=0))
    entry = pack(">qi", T0 + 6, 1) if suffix == "timeindex" else transaction_entry(7, 5, 6, 5)
    (folder / f"{5:020d}.{suffix}").write_bytes(entry)
    assert len([finding for finding in findings_in(folder) if Path(finding.file).suffix == f".{suffix}"]) == 1


def test_a_producer_snapshot_of_another_name_is_checked_but_for_its_end(tmp_path: Path) -> None:
    _, data = producer_snapshot((4, 1 << 40))
    path = tmp_path / "copy.snapshot"
    path.write_bytes(data)
    assert not findings_in(path)
    path.write_bytes(producer_snapshot((4, 1), (4, 2))[1])
    assert [finding.what for finding in findings_in(path)] == ["producer 4 occurs twice"]


def test_markers_end_transactions_of_their_own_producer_only(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    marker = message_type("control", "EndTxnMarker").cls(coordinator_epoch=0)
    batches = [
        write_batch(
            offset,
            [Record(offset, T0, *write_control_record(type, marker))],
            leader_epoch=0,
            base_timestamp=T0,
            producer_id=producer,
            producer_epoch=0,
            is_transactional=True,
            is_control=True,
        )
        for offset, producer, type in ((0, 7, COMMIT), (1, 8, ABORT))
    ]
    (folder / f"{0:020d}.log").write_bytes(b"".join(batches))
    for entry, is_sound in (((8, 0, 1, 0), True), ((8, 1, 1, 1), True), ((7, 0, 0, 0), False), ((7, 0, 1, 0), False)):
        (folder / f"{0:020d}.txnindex").write_bytes(transaction_entry(*entry))
        assert (not findings_in(folder)) == is_sound, entry


def test_zeros_at_the_end_of_a_transaction_index_are_found_and_so_is_an_index_without_its_segment(topic: Path) -> None:
    (topic / f"{0:020d}.txnindex").write_bytes(bytes(68))
    assert [finding.what for finding in findings_in(topic) if finding.severity == "error"] == ["68 bytes at the end are zero"]
    (topic / f"{0:020d}.txnindex").unlink()
    (topic / f"{9:020d}.index").write_bytes(b"")
    told = [(finding.severity, finding.position, finding.offset) for finding in findings_in(topic) if "not there" in finding.what]
    assert told[:1] == [("warning", -1, -1)]


def test_no_op_records_of_one_batch_follow_one_another_without_a_gap() -> None:
    assert not check(data_batch(4, [NO_OP, NO_OP]))
