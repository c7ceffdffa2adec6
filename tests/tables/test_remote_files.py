"""Logs in pyarrow's file systems: a memory one stands in for object stores, which are reached by the same calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem, _MockFileSystem

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import LogCorruptError, UsageError
from metashell.tables import ReadOptions, plan_splits, read_split, remote_files
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from tests.tables.lake.lakes import node, topics

NAME = "00000000000000000000.log"


def log(first: int, count: int = 40) -> bytes:
    return b"".join(write_batch(at, [Record(at, 5, None, b"\1\x14\0\0")], leader_epoch=1) for at in range(first, first + count))


def write(system: Any, path: str, data: bytes) -> None:
    system.create_dir(path.rpartition("/")[0], recursive=True)
    with system.open_output_stream(path) as file:
        file.write(data)


@pytest.fixture(params=["memory", "subtree"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store under `mem://`, whose URIs bear a query as S3's do."""
    system = _MockFileSystem() if request.param == "memory" else SubTreeFileSystem(str(tmp_path), LocalFileSystem())

    def found(uri: str) -> tuple[Any, str]:
        from urllib.parse import unquote

        return system, unquote(uri.partition("?")[0].removeprefix("mem://")).rstrip("/")

    monkeypatch.setattr(remote_files, "file_system", found)
    return system


def offsets_of(uri: str, target_bytes: int = 300) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for split in plan_splits(uri, target_bytes):
        for _, batch in read_split(split, ReadOptions(tables=["no_op"])):
            for cluster, offset in zip(batch.column("cluster_id").to_pylist(), batch.column("offset").to_pylist(), strict=True):
                rows.setdefault(cluster, []).append(offset)
    return rows


@pytest.mark.parametrize("query", ["", "?region=x&scheme=http"])
def test_a_folder_of_nodes_is_read_with_their_clusters(store: Any, query: str) -> None:
    write(store, "bucket/all dumps/a/__cluster_metadata-0/" + NAME, log(0))
    write(store, "bucket/all dumps/a/meta.properties", b"version=1\ncluster.id=Cluster-A\nnode.id=1\n")
    write(store, "bucket/all dumps/b/__cluster_metadata-0/" + NAME, log(0, 7))
    for uri in ("mem://bucket/all dumps", "mem://bucket/all%20dumps/"):
        told = uri.rstrip("/") + "/b/__cluster_metadata-0"
        assert offsets_of(uri + query) == {"Cluster-A": list(range(40)), told: list(range(7))}
    named = f"mem://bucket/all dumps/a/__cluster_metadata-0/{NAME}{query}"
    assert offsets_of(named) == {"Cluster-A": list(range(40))}


def test_the_bootstrap_checkpoint_beside_an_empty_metadata_directory_is_read_at_its_own_uri(store: Any) -> None:
    write(store, "bucket/node 1/bootstrap.checkpoint", log(0))
    store.create_dir("bucket/node 1/__cluster_metadata-0")
    (split,) = plan_splits("mem://bucket/node%201/__cluster_metadata-0?region=x")
    assert [piece.path for piece in split.pieces] == ["mem://bucket/node%201/bootstrap.checkpoint?region=x"]


def test_a_torn_tail_is_an_end_in_a_folder_and_a_fault_in_a_file_that_was_named(store: Any) -> None:
    write(store, "bucket/__cluster_metadata-0/" + NAME, log(0)[:-3])
    (offsets,) = offsets_of("mem://bucket").values()
    assert offsets == list(range(39))
    with pytest.raises(LogCorruptError, match=f"mem://bucket/__cluster_metadata-0/{NAME}"):
        offsets_of(f"mem://bucket/__cluster_metadata-0/{NAME}")


def test_what_is_not_there_or_no_log_is_one_line(store: Any) -> None:
    write(store, "bucket/other/readme.txt", b"text")
    with pytest.raises(UsageError, match=r"^mem://bucket/none: No such file"):
        plan_splits("mem://bucket/none")
    with pytest.raises(UsageError, match=r"^mem://bucket/other: no log here"):
        plan_splits("mem://bucket/other")


class Refusing:
    """A store that says what Azure's client says without credentials: an exception that is no OSError, of several lines."""

    def get_file_info(self, *_: object) -> object:
        raise pa.ArrowException("Unknown error: Check failed\nSee elsewhere")

    def open_input_file(self, path: str) -> object:
        raise pa.ArrowException("Unknown error: Check failed\nSee elsewhere")


def test_missing_credentials_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "file_system", lambda uri: (Refusing(), "c/x"))
    with pytest.raises(UsageError) as caught:
        plan_splits("abfs://c@account/x")
    assert str(caught.value) == "abfs://c@account/x: Unknown error: Check failed"
    with pytest.raises(UsageError) as caught:
        remote_files.open_remote("abfs://c@account/x")
    assert str(caught.value) == "abfs://c@account/x: Unknown error: Check failed"


@pytest.mark.parametrize("named", ["", "/__cluster_metadata-0/" + NAME])
def test_a_file_of_the_same_size_in_place_of_another_is_not_taken_for_it(tmp_path: Path, named: str) -> None:
    path = node(tmp_path / "a b") / NAME
    options = ExportOptions(paths=(f"file://{tmp_path}/a%20b{named}",), out=str(tmp_path / "out"), jobs=1, tables=("topic",))
    for name in "xy":
        path.write_bytes(topics(0, 2, name=name))
        export(options)
        assert pq.read_table(tmp_path / "out" / "topic.parquet").column("name").to_pylist() == [f"{name}0", f"{name}1"]
    assert export(options).is_unchanged
