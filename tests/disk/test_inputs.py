"""What a path stands for."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.disk import inputs
from metashell.disk.inputs import FoundLog, find_logs, find_metadata, log_folders, named_file, paths_of

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
STOPPED = GOLDEN / "kafka/4.3.1/main/data/stopped"
NODE_1 = STOPPED / "node-1/d1/__cluster_metadata-0"
GROUPS = STOPPED / "node-4/d1/__consumer_offsets-0"
LOG = "00000000000000000000.log"


def found(path: Path) -> list[tuple[str, str | None]]:
    return [(Path(log.directory).name, log.kind) for log in find_logs(str(path))]


def test_a_node_has_its_logs_and_a_folder_those_of_its_nodes() -> None:
    of_node = found(STOPPED / "node-4")
    assert ("__cluster_metadata-0", "metadata") in of_node
    assert {kind for name, kind in of_node if name.startswith("__consumer_offsets-")} == {"offsets"}
    assert len(found(STOPPED)) == sum(len(found(node)) for node in STOPPED.iterdir())
    assert len({log.cluster_id for log in find_logs(str(STOPPED)) if log.files}) == 1


def test_a_renamed_directory_and_the_folder_that_one_stands_in_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for source, name in ((NODE_1, "saved metadata"), (GROUPS, "backup-1")):
        shutil.copytree(source, tmp_path / name)
    assert sorted(found(tmp_path)) == [("backup-1", "offsets"), ("saved metadata", "metadata")]
    monkeypatch.chdir(tmp_path / "saved metadata")
    assert [log.kind for log in find_logs(".")] == ["metadata"]
    assert [named_file(name).log for name in sorted(path.name for path in Path().glob("*.log"))] == ["metadata"] * len(
        list(Path().glob("*.log"))
    )


def test_a_metadata_log_under_another_topics_name_is_what_it_is(tmp_path: Path) -> None:
    shutil.copytree(NODE_1, tmp_path / "__consumer_offsets-3")
    shutil.copytree(GROUPS, tmp_path / "__cluster_metadata-0")
    assert sorted(found(tmp_path)) == [("__cluster_metadata-0", "offsets"), ("__consumer_offsets-3", "metadata")]
    with pytest.raises(UsageError, match=r"__cluster_metadata-0: the log of groups .*: dump-log --offsets-decoder reads it"):
        find_metadata(str(tmp_path / "__cluster_metadata-0"))
    assert find_metadata(str(tmp_path / "__consumer_offsets-3")) == str(tmp_path / "__consumer_offsets-3")


def test_logs_of_users_are_found_and_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / LOG).write_bytes(b"a user's")
    monkeypatch.delattr(inputs, "open_file")
    assert list(find_logs(str(tmp_path))) == [FoundLog(directory=str(tmp_path / "orders-0"), kind="data", cluster_id="")]
    with pytest.raises(UsageError, match="no metadata log here, but 1 log of other topics"):
        find_metadata(str(tmp_path))


def test_a_compressed_copy_counts_where_the_file_is_not_there(tmp_path: Path) -> None:
    for name in (LOG, f"{LOG}.gz"):
        (tmp_path / name).write_bytes(gzip.compress(NODE_1.joinpath(LOG).read_bytes()))
    (log,) = find_logs(str(tmp_path))
    assert [Path(file.path).name for file in log.files] == [LOG]
    (tmp_path / LOG).unlink()
    (log,) = find_logs(str(tmp_path))
    assert ([Path(file.path).name for file in log.files], log.kind) == ([f"{LOG}.gz"], "metadata")


def test_a_log_that_begins_late_needs_its_newest_checkpoint_and_may_have_all() -> None:
    node = STOPPED / "node-2/d1"
    (log,) = (log for log in find_logs(str(node)) if log.kind == "metadata")
    (every,) = (log for log in find_logs(str(node), every_checkpoint=True) if log.kind == "metadata")
    segments = [file for file in log.files if not file.checkpoint]
    assert [file.may_end_early for file in segments] == [False] * (len(segments) - 1) + [True]
    begins_late = not Path(segments[0].path).name.startswith("0" * 20)
    assert len(log.files) - len(segments) == int(begins_late)
    named = {path.name for path in (node / "__cluster_metadata-0").glob("*.checkpoint")}
    assert {file.checkpoint for file in every.files if file.checkpoint} == named


def test_a_bootstrap_checkpoint_stands_for_a_node_that_has_nothing_else(tmp_path: Path) -> None:
    bootstrap = next(STOPPED.glob("node-*/d*/bootstrap.checkpoint"))
    shutil.copy(bootstrap, tmp_path)
    (log,) = find_logs(str(tmp_path))
    assert [file.checkpoint for file in log.files] == ["bootstrap.checkpoint"]
    shutil.copytree(GROUPS, tmp_path / GROUPS.name)
    assert [log.kind for log in find_logs(str(tmp_path))] == ["offsets"]
    with pytest.raises(UsageError, match=r"no metadata log here, but the log of groups"):
        find_metadata(str(tmp_path))


def test_a_log_is_found_at_any_depth_by_everyone(tmp_path: Path) -> None:
    log = tmp_path / "a/b/c/d/e/f/g/h/i/data/__cluster_metadata-0"
    shutil.copytree(NODE_1, log)
    assert [found.directory for found in find_logs(str(tmp_path))] == [str(log)]
    assert [found.path for found in log_folders(str(tmp_path))] == [str(log)]
    assert find_metadata(str(tmp_path)) == str(log)


@pytest.mark.parametrize("named", ["", "__cluster_metadata-0"])
def test_the_bootstrap_checkpoint_beside_a_metadata_directory_without_files_stands_for_it(tmp_path: Path, named: str) -> None:
    bootstrap = next(STOPPED.glob("node-*/d*/bootstrap.checkpoint"))
    shutil.copy(bootstrap, tmp_path)
    (tmp_path / "__cluster_metadata-0").mkdir()
    path = str(tmp_path / named)
    copied = str(tmp_path / bootstrap.name)
    assert [[file.path for file in log.files] for log in find_logs(path)] == [[copied]]
    assert [log.path for log in log_folders(path)] == [copied]
    assert find_metadata(path) == copied


@pytest.mark.parametrize("data", [b"", bytes(4096), b"\0" * 8 + (5000).to_bytes(4, "big") + bytes(20)], ids=["none", "zeros", "torn"])
def test_a_log_without_a_batch_is_empty(tmp_path: Path, data: bytes) -> None:
    (tmp_path / LOG).write_bytes(data)
    (log,) = find_logs(str(tmp_path))
    assert (log.is_empty, log.kind) == (True, None)


def test_damage_is_not_emptiness(tmp_path: Path) -> None:
    data = NODE_1.joinpath(LOG).read_bytes()
    (tmp_path / LOG).write_bytes(data[:8] + (1 << 20).to_bytes(4, "big") + data[12:])
    (log,) = find_logs(str(tmp_path))
    assert not log.is_empty


def test_patterns_stand_for_what_they_match(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / LOG).write_bytes(b"")
    assert paths_of(str(tmp_path / "*" / "*.log")) == [str(tmp_path / name / LOG) for name in ("a", "b")]
    assert paths_of(str(tmp_path / "none.log")) == [str(tmp_path / "none.log")]
    with pytest.raises(UsageError, match=r"\*\.txt: No such file or directory"):
        paths_of(str(tmp_path / "*.txt"))


def test_many_metadata_directories_are_named_a_few_at_a_time(tmp_path: Path) -> None:
    for number in range(9):
        shutil.copytree(NODE_1, tmp_path / f"n{number}")
    with pytest.raises(UsageError, match=r"several metadata directories below it, name one: .*/n4 and 4 more$"):
        find_metadata(str(tmp_path))


def test_a_local_path_may_hold_what_ends_a_uris(tmp_path: Path) -> None:
    folder = tmp_path / "what?"
    folder.mkdir()
    shutil.copy(GROUPS / LOG, folder)
    file = named_file(str(folder / LOG))
    assert (file.log, file.checkpoint, file.cluster_id) == ("offsets", "", str(folder))
    (log,) = find_logs(str(folder))
    assert log.cluster_id == str(folder)


def test_a_file_under_another_name_is_known_by_what_it_begins_with(tmp_path: Path) -> None:
    checkpoint = next(STOPPED.glob("node-*/d*/__cluster_metadata-0/*.checkpoint"))
    shutil.copy(checkpoint, tmp_path / "saved")
    assert (named_file(str(tmp_path / "saved")).checkpoint, named_file(str(tmp_path / "saved")).log) == ("saved", "metadata")
    shutil.copy(GROUPS / LOG, tmp_path / "groups")
    assert (named_file(str(tmp_path / "groups")).checkpoint, named_file(str(tmp_path / "groups")).log) == ("", "offsets")


def test_where_the_first_segment_is_empty_the_next_one_tells_the_kind(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / LOG).touch()
    (folder / "00000000000000000001.log").write_bytes((GROUPS / LOG).read_bytes())
    assert found(tmp_path) == [("saved", "offsets")]


def test_the_complaint_about_another_log_names_its_reader_only_where_it_has_one() -> None:
    assert "--offsets-decoder reads it" in str(inputs.other_log_fault("x.log", "offsets", "metadata"))
    assert "reads it" not in str(inputs.other_log_fault("x.log", "offsets", "metadata", reads=False))
