"""Changes of a repair: what they leave, what is kept, how they are taken back, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.common.errors import LogCorruptError, MetashellError, StorageError
from metashell.disk.file_system import Disk
from metashell.disk.mend import FileChange, locked, read_journal, take_back, undo, write_changes
from tests.disk.mend_cases import REPAIRED, START, changes_of, make, tree_of


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return make(tmp_path / "d")


def test_each_change_is_made_and_the_old_file_is_kept_whole(place: Path) -> None:
    write_changes(str(place), changes_of(place), 7)
    assert {name: data for name, data in tree_of(place).items() if name != "repair.json"} == REPAIRED
    (run,) = read_journal(str(place))
    assert (run.state, run.time_ms, [entry.action for entry in run.entries]) == ("done", 7, [change.action for change in changes_of(place)])


def test_undo_leaves_every_byte_and_mode_as_before(place: Path) -> None:
    os.chmod(place / "meta.properties", 0o640)
    write_changes(str(place), changes_of(place), 7)
    assert (place / "meta.properties").stat().st_mode & 0o777 == 0o640
    taken = undo(str(place))
    assert tree_of(place) == START
    assert taken.files == tuple(change.file for change in changes_of(place))


def test_two_repairs_are_undone_one_after_the_other(place: Path) -> None:
    write_changes(str(place), changes_of(place), 1)
    once = {**tree_of(place)}
    write_changes(str(place), [FileChange("write", "meta.properties", data=b"third")], 2)
    assert tree_of(place)["meta.properties.damaged-2"] == b"new"
    undo(str(place))
    assert tree_of(place) == once
    undo(str(place))
    assert tree_of(place) == START
    with pytest.raises(MetashellError, match="no repair to undo"):
        undo(str(place))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("meta.properties", b"another"),
        ("__cluster_metadata-0/quorum-state", b"a later vote"),
        (f"__cluster_metadata-0/{0:020d}.log", b"012345 and more"),
        (f"__cluster_metadata-0/{9:020d}.log", b"a new segment"),
    ],
)
def test_undo_is_refused_once_a_node_has_run_there(place: Path, name: str, data: bytes) -> None:
    write_changes(str(place), changes_of(place), 1)
    (place / name).write_bytes(data)
    before = tree_of(place)
    with pytest.raises(MetashellError, match="has changed since the repair"):
        undo(str(place))
    assert tree_of(place) == before


def test_a_full_disk_leaves_everything_as_before_and_names_the_file(place: Path) -> None:
    class Full(Disk):
        left = 6

        def append(self, fd: int, data: bytes) -> None:
            self.left -= 1
            if self.left == 0:
                raise OSError(28, "No space left on device")
            super().append(fd, data)

    for count in range(1, 12):
        disk = Full()
        disk.left = count
        try:
            write_changes(str(place), changes_of(place), 1, disk)
        except StorageError as error:
            assert "No space left on device" in str(error)
            assert str(place) in str(error)
            assert tree_of(place) == START
        else:
            assert count > 5
            undo(str(place))


def test_an_interrupted_repair_stays_if_a_node_ran_meanwhile(place: Path) -> None:
    write_changes(str(place), changes_of(place), 1)
    journal = json.loads((place / "repair.json").read_text())
    journal["runs"][0]["state"] = "begun"
    (place / "repair.json").write_text(json.dumps(journal))
    (place / "__cluster_metadata-0" / "quorum-state").write_bytes(b"a later vote")
    before = tree_of(place)
    taken = take_back(str(place))
    assert taken is not None
    assert taken.stays
    del before["repair.json"]
    assert tree_of(place) == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"version":2,"runs":[]}',
        '{"version":1,"runs":[{"state":"odd","timeMs":0,"entries":[],"witness":{}}]}',
        '{"version":1,"runs":[{"state":"done","timeMs":0,"entries":[{"action":"write","file":"../x","keptAs":"","before":null,"after":null}],"witness":{}}]}',
        '{"version":1,"runs":[{"state":"done","timeMs":0,"entries":[{"action":"write","file":"/etc/x","keptAs":"","before":null,"after":null}],"witness":{}}]}',
        '{"version":1,"runs":[{"state":"done","timeMs":0,"entries":[{"action":"rm","file":"x","keptAs":"","before":null,"after":null}],"witness":{}}]}',
        '{"version":1,"runs":[{"state":"done","timeMs":0,"entries":[{"action":"write","file":1,"keptAs":"","before":null,"after":null}],"witness":{}}]}',
    ],
)
def test_a_journal_of_another_form_or_that_reaches_elsewhere_is_refused_and_nothing_changes(place: Path, text: str) -> None:
    (place / "repair.json").write_text(text)
    before = tree_of(place)
    with pytest.raises(LogCorruptError, match=r"repair\.json"):
        undo(str(place))
    assert tree_of(place) == before


def test_a_source_that_changes_while_it_is_copied_is_noticed(place: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"old")

    class Changing(Disk):
        def sync_file(self, fd: int) -> None:
            source.write_bytes(b"newer")

    with pytest.raises(StorageError, match="changed while it was copied"):
        write_changes(str(place), [FileChange("copy", "x", source=str(source))], 1, Changing())
    assert tree_of(place) == START


def test_the_lock_of_another_process_is_respected(place: Path) -> None:
    script = f"import fcntl; f = open({str(place / '.lock')!r}, 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(MetashellError, match="in use by a running process"), locked(str(place), Disk()):
            raise AssertionError
        other.communicate(b"\n")
    with locked(str(place), Disk()):
        pass
