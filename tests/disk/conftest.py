"""Small logs and directories that tests of `log` build for themselves."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from tests.disk.formatting import configured

Batch = Callable[..., bytes]


@pytest.fixture(scope="session")
def batch() -> Batch:
    """`batch(offset, count=1)`: a data batch whose values are `value-OFFSET`."""

    def make(offset: int, count: int = 1, *, epoch: int = 1, size: int = 0) -> bytes:
        records = [Record(at, 1000 + at, None, f"value-{at}".encode().ljust(size)) for at in range(offset, offset + count)]
        return write_batch(offset, records, leader_epoch=epoch)

    return make


@pytest.fixture(scope="session")
def checkpoint(batch: Batch) -> Callable[..., bytes]:
    """`checkpoint(*values)`: a whole checkpoint with a header, one data batch and a footer."""

    def make(count: int = 2, *, epoch: int = 1) -> bytes:
        head = write_batch(0, [control(0, 3, bytes(11))], leader_epoch=epoch, is_control=True)
        foot = write_batch(count + 1, [control(count + 1, 4, bytes(3))], leader_epoch=epoch, is_control=True)
        return head + (batch(1, count, epoch=epoch) if count else b"") + foot

    return make


@pytest.fixture
def directory(tmp_path: Path) -> Callable[..., Path]:
    """`directory({name: bytes})`: a `__cluster_metadata-0` in a log directory of its own."""

    def make(files: dict[str, bytes]) -> Path:
        folder = tmp_path / "log-directory" / "__cluster_metadata-0"
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        return folder

    return make


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """An empty folder, in memory where the system has such: for tests that write very many files and sync none."""
    with quick_place() as folder:
        yield folder


@contextlib.contextmanager
def quick_place() -> Iterator[Path]:
    """The same for tests that need several."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


def control(offset: int, kind: int, value: bytes) -> Record:
    return Record(offset, 1000, b"\0\0" + kind.to_bytes(2, "big"), value)


def offsets(batches: Iterable) -> list[int]:
    """The base offsets of what an iteration of batches gives."""
    return [item.header.base_offset for item in batches]


# ---- what tests of formatting begin with


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with the configuration of a controller whose one directory is d1."""
    return configured(tmp_path, "d1")
