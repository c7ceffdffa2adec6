"""Log directories and folders of them: the small files, and what they have to agree about."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import UsageError
from metashell.common.values import uuid_from_text
from tests.inspect.verify.making import T0, MetadataLog, checkpoint_bytes, data_batch, findings_in, metadata_value, only, topic_value

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAew"
OTHER_ID = "AAAAAAAAAAAAAAAAAAAAfw"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node of two log directories, with two partitions of a topic."""
    log = MetadataLog(tmp_path / "d1")
    topic_id = uuid_from_text(TOPIC_ID)
    partitions = [metadata_value("PartitionRecord", partition_id=id, topic_id=topic_id, replicas=(1,), isr=(1,), leader=1) for id in (0, 1)]
    log.second[1] = data_batch(9, [metadata_value("TopicRecord", name="orders", topic_id=topic_id), *partitions], epoch=2)
    log.write_segments()
    second = tmp_path / "d2"
    second.mkdir()
    (second / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAfA\n")
    add_partition(tmp_path / "d1", "orders-0")
    add_partition(second, "orders-1")
    for folder in (tmp_path / "d1", second):
        (folder / "bootstrap.checkpoint").write_bytes(checkpoint_bytes([topic_value(1)], epoch=0))
    return tmp_path


def add_partition(folder: Path, name: str, topic_id: str = TOPIC_ID) -> Path:
    place = folder / name
    place.mkdir()
    records = [Record(n, T0, b"k", b"v") for n in range(3)]
    (place / "00000000000000000000.log").write_bytes(write_batch(0, records, leader_epoch=0, base_timestamp=T0))
    (place / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    return place


def test_a_sound_node_is_fine_as_a_whole_and_in_parts(node: Path):
    for path in (node, node / "d1", node / "d2", node / "d1" / "orders-0", node / "d1" / "__cluster_metadata-0"):
        assert not findings_in(path)


def test_gaps_are_how_compaction_leaves_the_log_of_a_topic(node: Path):
    log = node / "d1" / "orders-0" / "00000000000000000000.log"
    later = write_batch(9, [Record(9, T0, b"k", b"v")], leader_epoch=0, base_timestamp=T0)
    log.write_bytes(log.read_bytes() + later)
    assert not findings_in(node)
    log.write_bytes(log.read_bytes() + later)
    assert only(findings_in(node)).what == "offset goes back to 9 after 9"


def test_partitions_of_a_topic_with_different_ids_are_found(node: Path):
    add_partition(node / "d2", "orders-2", OTHER_ID)
    between, against_log = findings_in(node)
    assert OTHER_ID in between.what
    assert (against_log.check, OTHER_ID in against_log.what) == ("stray_topic_id", True)


@pytest.mark.parametrize(
    ("line", "what"),
    (
        ("cluster.id=d", "cluster.id d; the others of this node have c"),
        ("node.id=2", "node.id 2 in meta.properties, 1 in the others of this node"),
        ("directory.id=AAAAAAAAAAAAAAAAAAAAew", "directory.id AAAAAAAAAAAAAAAAAAAAew is that of"),
    ),
)
def test_log_directories_of_one_node_have_to_agree(node: Path, line: str, what: str):
    place = node / "d2" / "meta.properties"
    key = line.split("=")[0]
    place.write_text("".join(f"{line if old.startswith(key) else old}\n" for old in place.read_text().splitlines()))
    assert what in only(findings_in(node)).what


def test_a_meta_properties_that_cannot_be_read_is_found(node: Path):
    (node / "d1" / "meta.properties").write_text("version=7\n")
    found = only(findings_in(node))
    assert found.what == "Unknown meta.properties version number 7; by its neighbours it was of cluster.id c, node.id 1"


@pytest.mark.parametrize("name", ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"))
def test_an_offset_past_the_end_of_its_log_is_found(node: Path, name: str):
    place = node / "d1" / name
    place.write_text("0\n2\norders 0 3\ngone 5 99\n")
    assert not findings_in(node)
    place.write_text("0\n1\norders 0 4\n")
    assert only(findings_in(node)).what.endswith("4 is past the log's end, 3")
    place.write_text("0\n2\norders 0 3\norders 0 3\n")
    assert only(findings_in(node)).what == "orders-0 occurs twice"
    assert only(findings_in(place)).what == "orders-0 occurs twice"


def test_a_damaged_bootstrap_checkpoint_is_found(node: Path):
    place = node / "d2" / "bootstrap.checkpoint"
    place.write_bytes(place.read_bytes()[:-10])
    assert all(Path(finding.file) == place for finding in findings_in(node))
    assert findings_in(node)


def test_folders_of_nodes_are_searched_though_they_are_named_like_partitions(node: Path, tmp_path_factory: pytest.TempPathFactory):
    above = tmp_path_factory.mktemp("cluster")
    for number in (1, 2):
        MetadataLog(above / f"node-{number}" / "d1", node=number)
    assert not findings_in(above)
    (above / "node-2" / "d1" / "__cluster_metadata-0" / "quorum-state").write_bytes(b"{")
    assert "node-2" in only(findings_in(above)).file


def test_a_log_directory_without_its_meta_properties_is_found(node: Path):
    (node / "d1" / "meta.properties").unlink()
    found = only(findings_in(node / "d1"))
    assert (found.file, found.severity) == (str(node / "d1" / "meta.properties"), "error")
    assert (found.check, found.what) == ("unformatted", "has no meta.properties")


def test_directories_that_were_not_looked_at_are_told(node: Path, tmp_path_factory: pytest.TempPathFactory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (node / "d3").symlink_to(elsewhere, target_is_directory=True)
    assert only(findings_in(node)).what == "is a link to a directory and was not followed; name it to check it"
    deep = elsewhere.joinpath(*"abcdefghij")
    deep.mkdir(parents=True)
    MetadataLog(elsewhere / "node")
    assert "nested too deeply" in only(findings_in(elsewhere)).what


def test_a_folder_that_cannot_be_listed_is_told_and_the_others_are_checked(node: Path, monkeypatch: pytest.MonkeyPatch):
    locked = node / "d0"
    locked.mkdir()
    whole = os.listdir

    def listdir(path: str) -> list[str]:
        if path == str(locked):
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(os, "listdir", listdir)
    (node / "d1" / "__cluster_metadata-0" / "quorum-state").write_bytes(b"{")
    assert [Path(finding.file).name for finding in findings_in(node)] == ["d0", "quorum-state"]


def test_a_folder_without_anything_of_kafka_is_a_mistake(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(UsageError, match="neither a segment nor"):
        findings_in(tmp_path)


def test_nothing_is_written_or_changed(node: Path):
    def state() -> dict[str, tuple[int, int]]:
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(node) for name in names]
        return {path: (os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in paths}

    before = state()
    findings_in(node, deep=True)
    assert state() == before


# ---- named files: each is checked as what its name or its beginning says, and a torn tail is a finding there

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
