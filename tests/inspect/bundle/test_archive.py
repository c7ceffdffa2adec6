"""The archive tells nothing of who made it, is never half there, and never lies where Kafka's files lie."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
from pathlib import Path

import pytest

from metashell.common.errors import MetashellError, PathError
from metashell.inspect.bundle import new_file, pack_directory


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
