"""The files of a copy, with damaged, growing and deleted ones among them; and the archive."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
from pathlib import Path

import pytest

from metashell.cli.inspect.dump_log import kafka_main
from metashell.codec.batches import RecordBatch
from metashell.common.errors import MetashellError, PathError
from metashell.demo import demo_directory
from metashell.disk.files import open_file
from metashell.disk.segment import read_batches
from metashell.disk.state_files import format_topic_id
from metashell.inspect.bundle import Copy, new_file, pack_directory, plan_copy
from tests.inspect.dump.making import LOG_NAME, batch, checkpoint, topic
from tests.inspect.unpacking import without_places
from tests.running import run_main

METADATA = "__cluster_metadata-0"
CHECKPOINT = "00000000000000000020-0000000003.checkpoint"


def node(folder: Path, **files: bytes) -> Path:
    """A log directory with these files in the directory of its metadata."""
    place = folder / "node" / METADATA
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / name).write_bytes(data)
    return folder / "node"


def log(*numbers: int) -> bytes:
    return b"".join(batch([topic(f"topic-{number}", number)], number) for number in numbers)


def copied(source: Path, folder: Path) -> Copy:
    into = folder / "copy"
    into.mkdir()
    return plan_copy(str(source)).write(str(into), None, cluster_id=None, date="now")


def offsets(path: Path) -> list[int]:
    with open_file(str(path)) as file:
        found = list(read_batches(file))
    assert all(isinstance(item, RecordBatch) for item in found)
    return [record.offset for item in found if isinstance(item, RecordBatch) for record in item.records()]


def test_a_copy_of_a_whole_directory_has_its_batches_at_their_offsets_and_its_small_files(tmp_path: Path) -> None:
    demo = Path(demo_directory())
    copy = copied(demo, tmp_path)
    assert not copy.left and not copy.tails
    assert copy.node_id is not None and copy.cluster_id == copy.source_cluster_id is not None
    assert {"meta.properties", "bootstrap.checkpoint", f"{METADATA}/quorum-state", f"{METADATA}/partition.metadata"} <= set(copy.files)
    assert not any(name.endswith(("index", "snapshot")) for name in copy.files)
    for name in copy.files:
        if name.endswith((".log", ".checkpoint")):
            assert offsets(tmp_path / "copy" / name) == offsets(demo / name)


def test_original_and_copy_have_one_dump_but_for_places_and_secrets(tmp_path: Path) -> None:
    names = sorted(name for name in copied(Path(demo_directory()), tmp_path).files if name.endswith((".log", ".checkpoint")))
    dumps = []
    for root in (Path(demo_directory()), tmp_path / "copy"):
        words = ["--cluster-metadata-decoder", "--files", ",".join(str(root / name) for name in names)]
        dumps.append(without_places(run_main(kafka_main, words, cwd=tmp_path).stdout.decode()))
    assert dumps[0].count("payload") > 600 and dumps[0] == dumps[1]


def test_only_what_was_there_when_the_plan_was_made_is_read(tmp_path: Path) -> None:
    source = node(tmp_path, **{LOG_NAME: log(0, 1)})
    plan = plan_copy(str(source))
    with open(source / METADATA / LOG_NAME, "ab") as file:
        file.write(log(2))
    (tmp_path / "copy").mkdir()
    copy = plan.write(str(tmp_path / "copy"), None, cluster_id=None, date="now")
    assert offsets(tmp_path / "copy" / METADATA / LOG_NAME) == [0, 1] and copy.end_offset == 2
    assert not copy.left


def test_a_file_that_goes_away_meanwhile_ends_the_copy_with_its_name(tmp_path: Path) -> None:
    source = node(tmp_path, **{LOG_NAME: log(0, 1)})
    plan = plan_copy(str(source))
    os.unlink(source / METADATA / LOG_NAME)
    (tmp_path / "copy").mkdir()
    with pytest.raises(MetashellError, match="gone since it was listed"):
        plan.write(str(tmp_path / "copy"), None, cluster_id=None, date="now")


@pytest.mark.parametrize("tail", [log(2)[:-9], bytes(200)], ids=["cut off", "zeros"])
def test_the_last_segment_may_end_in_a_tail_and_another_file_may_not(tmp_path: Path, tail: bytes) -> None:
    later = f"{2:020d}.log"
    source = node(tmp_path, **{LOG_NAME: log(0, 1), later: log(2) + tail, CHECKPOINT: checkpoint([topic("a")]) + tail})
    copy = copied(source, tmp_path)
    assert copy.tails == [f"{METADATA}/{later}"]
    assert [left.file for left in copy.left] == [f"{METADATA}/{CHECKPOINT}"]


def test_a_batch_that_fails_its_checksum_leaves_no_hole(tmp_path: Path) -> None:
    spoilt = bytearray(log(1))
    spoilt[-3] ^= 1
    source = node(tmp_path, **{LOG_NAME: log(0) + bytes(spoilt) + log(2)})
    copy = copied(source, tmp_path)
    assert offsets(tmp_path / "copy" / METADATA / LOG_NAME) == [0, 1, 2]
    assert [(left.offset, left.what) for left in copy.left] == [(1, "a batch whose checksum does not fit: 1 record")]
    assert b"topic-1" not in (tmp_path / "copy" / METADATA / LOG_NAME).read_bytes()


def test_a_small_file_that_is_something_else_is_left_out(tmp_path: Path) -> None:
    small = {"quorum-state": b"secret-words", "partition.metadata": format_topic_id(bytes(16)) + b"secret", "leader-epoch-checkpoint": b"x"}
    source = node(tmp_path, **{LOG_NAME: log(0), **small})
    (source / "meta.properties").write_bytes(b"version=7\nsecret=1\n")
    copy = copied(source, tmp_path)
    assert {left.file for left in copy.left} == {f"{METADATA}/{name}" for name in small} | {"meta.properties"}
    assert not any(b"secret" in path.read_bytes() for path in (tmp_path / "copy").rglob("*") if path.is_file())


def test_keys_of_meta_properties_that_are_not_kafkas_are_not_copied(tmp_path: Path) -> None:
    source = node(tmp_path, **{LOG_NAME: log(0)})
    (source / "meta.properties").write_bytes(b"#secret\nversion=1\ncluster.id=abc\nnode.id=1\nsecret=1\n")
    assert not copied(source, tmp_path).left
    text = (tmp_path / "copy" / "meta.properties").read_text()
    assert "cluster.id=abc" in text and "secret" not in text


@pytest.mark.parametrize("name", [LOG_NAME, CHECKPOINT])
def test_one_file_is_a_copy_too(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(checkpoint([topic("a")]) if name == CHECKPOINT else log(0, 1))
    assert copied(tmp_path / name, tmp_path).files == [f"{METADATA}/{name}"]


def test_a_compressed_segment_is_expanded_under_its_own_name(tmp_path: Path) -> None:
    import gzip

    (tmp_path / f"{LOG_NAME}.gz").write_bytes(gzip.compress(log(0, 1)))
    assert copied(tmp_path / f"{LOG_NAME}.gz", tmp_path).files == [f"{METADATA}/{LOG_NAME}"]
    assert offsets(tmp_path / "copy" / METADATA / LOG_NAME) == [0, 1]


@pytest.mark.parametrize("name", ["notes.txt", "nope/00000000000000000000.log", "00000000000000000000.log.deleted"])
def test_what_is_no_file_of_a_log_is_refused_by_name(tmp_path: Path, name: str) -> None:
    if "/" not in name:
        (tmp_path / name).write_bytes(log(0))
    with pytest.raises(MetashellError) as caught:
        plan_copy(str(tmp_path / name))
    assert str(caught.value).startswith(str(tmp_path / name))


# ---- the archive tells nothing of who made it, is never half there, and never lies where Kafka's files lie


def test_it_has_no_user_no_time_and_no_path_and_is_the_same_each_time(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.txt").write_text("a")
    packed = [io.BytesIO(), io.BytesIO()]
    for out in packed:
        pack_directory(str(folder), "case", out)
        os.utime(folder / "inner" / "a.txt", (1, 1))
    data = packed[0].getvalue()
    assert data == packed[1].getvalue()
    assert data[3] == 0 and data[4:8] == bytes(4), "no name and no time in the head of gzip"
    assert str(tmp_path).encode() not in gzip.decompress(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == ["case", "case/inner", "case/inner/a.txt"]
    assert {(member.uid, member.gid, member.mtime, member.uname, member.gname) for member in members} == {(0, 0, 0, "", "")}


def test_a_new_file_is_for_its_owner_and_there_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "case.tar.gz"
    with new_file(str(path)) as file:
        file.write(b"a")
        assert not path.exists()
    assert path.read_bytes() == b"a" and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["case.tar.gz"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_ends_early_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), new_file(str(tmp_path / "a")) as file:
        file.write(b"half")
        raise error
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(MetashellError, match="No space left"), new_file(str(tmp_path / "a")):
        raise OSError(28, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_what_is_there_is_never_replaced_even_if_it_comes_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"mine")
    with pytest.raises(PathError, match="is there already"), new_file(str(path)):
        pass
    late = tmp_path / "late"
    with pytest.raises(PathError, match="is there already"), new_file(str(late)) as file:
        file.write(b"other")
        late.write_bytes(b"mine")
    assert path.read_bytes() == late.read_bytes() == b"mine"
    assert sorted(os.listdir(tmp_path)) == ["a", "late"]
