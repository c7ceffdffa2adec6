"""Files for answers: what is only read stays as it is, however it is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metashell.common.errors import PathError
from metashell.disk.file_system import open_output


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory with a log in it, as of a controller."""
    folder = tmp_path / "data" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder / "00000000000000000000.log").write_bytes(b"batches")
    (folder / "quorum-state").write_text("{}")
    (tmp_path / "data" / "meta.properties").write_text("version=1\n")
    return tmp_path / "data"


def listing(folder: Path) -> list[tuple[str, int, bytes]]:
    files = sorted(path for path in folder.rglob("*"))
    return [(str(path), path.stat().st_mtime_ns, b"" if path.is_dir() else path.read_bytes()) for path in files]


def written(path: Path, text: bytes, **options) -> bytes:
    descriptor = open_output(str(path), **options)
    os.write(descriptor, text)
    os.close(descriptor)
    return path.read_bytes()


def test_a_file_is_made_emptied_or_appended_to(tmp_path: Path) -> None:
    assert written(tmp_path / "out", b"long text") == b"long text"
    assert written(tmp_path / "out", b"new") == b"new"
    assert written(tmp_path / "out", b"er", append=True) == b"newer"


@pytest.mark.parametrize("append", [False, True])
def test_what_is_read_is_never_written_to_by_any_name(tmp_path: Path, source: Path, append: bool) -> None:
    log = source / "__cluster_metadata-0" / "00000000000000000000.log"
    other = tmp_path / "other"
    other.mkdir()
    (other / "link").symlink_to(log)
    (other / "folder").symlink_to(source)
    os.link(log, other / "hard")
    deeper = source / "orders-0"
    deeper.mkdir()
    before = listing(source)
    names = (
        log,
        source / "new",
        deeper / "new",
        source / "__cluster_metadata-0" / "new",
        other / ".." / "data" / "new",
        other / "link",
        other / "hard",
        other / "folder" / "new",
    )
    for name in names:
        with pytest.raises(PathError, match=r"metadata directory|what is read here"):
            open_output(str(name), append=append, sources=[str(source)])
    assert listing(source) == before
    assert written(tmp_path / "beside", b"x", sources=[str(source)]) == b"x"


def test_a_directory_of_logs_is_known_by_what_lies_in_it(source: Path) -> None:
    before = listing(source)
    for name in ("new", "__cluster_metadata-0/new", "meta.properties"):
        with pytest.raises(PathError, match="metadata directory"):
            open_output(str(source / name))
    assert listing(source) == before


def test_a_source_that_is_one_file_may_have_an_answer_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "x.checkpoint"
    file.write_bytes(b"batches")
    assert written(tmp_path / "out", b"x", sources=[str(file)]) == b"x"
    with pytest.raises(PathError, match="what is read here"):
        open_output(str(file), sources=[str(file)])
    assert file.read_bytes() == b"batches"


def test_what_is_no_file_is_opened_as_it_is(tmp_path: Path) -> None:
    os.close(open_output("/dev/null"))
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    os.close(open_output(str(tmp_path / "pipe")))
    os.close(reader)


@pytest.mark.parametrize(("name", "reason"), [("missing/out", "No such file"), (".", "Is a directory")])
def test_what_cannot_be_opened_is_named_with_its_reason(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(PathError, match=reason) as caught:
        open_output(str(tmp_path / name))
    assert str(caught.value).startswith(str(tmp_path / name) + ": ")
