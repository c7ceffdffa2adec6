"""Which log bytes belong to: their content decides, and where it does not, their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.disk.directory import Content, content_of, kind_of_place, log_kind_of, partition_name
from metashell.disk.files import open_file
from metashell.disk.inputs import content_of_file
from metashell.disk.names import DATA, METADATA
from metashell.disk.segment import read_batches

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
STOPPED = GOLDEN / "kafka/4.3.1/main/data/stopped"
META_ID = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def logs_of_kafka() -> list[Path]:
    found = [*(GOLDEN / "kafka").glob("*/*/data/*/node-*/d*/__*/*.log"), *(GOLDEN / "cut-off-leader").glob("*/__*/*.log")]
    return sorted(path for path in found if path.stat().st_size)


TOPIC_KINDS = {
    "__cluster_metadata": "metadata",
    "__consumer_offsets": "offsets",
    "__transaction_state": "transactions",
    "__share_group_state": "share",
}


@pytest.mark.parametrize("path", logs_of_kafka(), ids=lambda path: str(path.relative_to(GOLDEN)))
def test_each_log_that_kafka_wrote_is_known_by_its_content_alone(path: Path) -> None:
    with open_file(str(path)) as file:
        content = content_of_file(file)
    assert content.kind == TOPIC_KINDS[path.parent.name.rpartition("-")[0]]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("offsets", "offsets"),
        ("offsets-dialects", "offsets"),
        ("transactions", "transactions"),
        ("share", "share"),
        ("remote-log", "remote_log"),
        ("classes", "data"),
        ("legacy", "data"),
    ],
)
def test_the_logs_that_were_made_by_hand_are_known_too(name: str, kind: str) -> None:
    (path,) = (GOLDEN / "handmade/data" / name).glob("*.log")
    with open_file(str(path)) as file:
        assert content_of_file(file).kind == kind


def test_looking_takes_nothing_away() -> None:
    path = STOPPED / "node-1/d1/__cluster_metadata-0/00000000000000000000.log"
    with open_file(str(path)) as file:
        content, items = content_of(read_batches(file))
        assert (content.kind, content.is_proven) == (METADATA, True)
        assert b"".join(item.data for item in items) == path.read_bytes()  # type: ignore[union-attr]


def content_of_records(records: list[Record], **more: object) -> Content:
    data = write_batch(0, records, leader_epoch=1, **more)  # type: ignore[arg-type]

    class Bytes:
        name, trouble, batch_size_max = "x", None, 1 << 30

        def read_at(self, position: int, size: int) -> bytes:
            return data[position : position + size]

        def size(self) -> int:
            return len(data)

    return content_of(read_batches(Bytes()))[0]  # type: ignore[arg-type]


def test_records_of_users_that_begin_like_ours_are_not_taken_for_ours() -> None:
    no_op = b"\1\x14\0\0"
    assert content_of_records([Record(at, 5, None, no_op) for at in range(3)]).kind == METADATA
    assert content_of_records([Record(0, 5, None, no_op)] + [Record(at, 5, None, b"\1\2\3text") for at in range(1, 8)]).kind is None
    assert content_of_records([Record(at, 5, b"key", no_op) for at in range(3)]).kind == DATA
    assert content_of_records([Record(at, 5, b"\0\2\0\1g!", b"\0\3") for at in range(3)]).kind == DATA


def test_metadata_of_a_later_release_is_still_metadata() -> None:
    topic = write_metadata_record(message_type("metadata", "TopicRecord").cls(name="a", topic_id=bytes(16)))
    later = b"\1\x7e\0later"
    assert content_of_records([Record(0, 5, None, topic), Record(1, 5, None, later)]).kind == METADATA


def test_a_coordinators_tombstones_and_dialects_are_its_own() -> None:
    key = b"\0\2\0\5group"
    assert content_of_records([Record(0, 5, key, None)]).kind == "offsets"
    assert content_of_records([Record(0, 5, key, b"\0\1short")]).kind == "offsets"


@pytest.mark.parametrize(
    ("directory", "names", "topic_id", "is_in_node", "kind"),
    [
        ("__cluster_metadata-0", (), None, True, "metadata"),
        ("__consumer_offsets-12", (), None, False, "offsets"),
        ("__consumer_offsets-12.0123-delete", (), None, True, "offsets"),
        ("__remote_log_metadata-3", (), None, True, "remote_log"),
        ("saved", ("quorum-state",), None, False, "metadata"),
        ("saved-1", ("00000000000000000005-0000000001.checkpoint",), None, True, "metadata"),
        ("saved-1", (), META_ID, True, "metadata"),
        ("orders-0", (), b"version: 0\ntopic_id: BXxBzpg5SwyQqu59AsPZMw", True, "data"),
        ("orders-0", (), None, False, None),
        ("saved", (), None, True, None),
    ],
)
def test_a_place_speaks_by_its_name_and_its_small_files(
    directory: str, names: tuple[str, ...], topic_id: bytes | None, is_in_node: bool, kind: str | None
) -> None:
    assert kind_of_place(directory, names, lambda: topic_id, lambda: is_in_node) == kind


@pytest.mark.parametrize(
    ("place", "content", "kind"),
    [
        ("offsets", Content("metadata", is_proven=True), "metadata"),
        ("data", Content("metadata", is_proven=True), "metadata"),
        ("data", Content("metadata"), "data"),
        ("metadata", Content("offsets"), "offsets"),
        ("offsets", Content("data"), "offsets"),
        ("offsets", Content(None), "offsets"),
        (None, Content("share"), "share"),
        (None, Content("data"), "data"),
        (None, Content(None), None),
    ],
)
def test_content_decides_where_it_can_and_a_nodes_topic_holds_users_data(place: object, content: Content, kind: object) -> None:
    assert log_kind_of(place, content) == kind  # type: ignore[arg-type]


def test_the_name_of_a_partition() -> None:
    assert partition_name("my-topic-12") == ("my-topic", 12)
    assert partition_name("my-topic-12.ab12-future") == ("my-topic", 12)
    assert partition_name("saved") is None
