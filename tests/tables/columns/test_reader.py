"""Small files that are decoded together give the rows that each gives alone, in the same order; so do damaged ones."""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.tables import ReadOptions, plan_splits, read_split
from metashell.tables.columns import reader
from metashell.tables.columns.chunk_records import SAME_IN_A_FILE, with_names_once
from metashell.tables.dictionary import table_names
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from metashell.tables.lake.append import AppendOptions, append
from metashell.tables.read_options import Form
from tests.codec.values import ValueMaker, versions_of
from tests.quick import quick
from tests.tables.columns.test_chunks import batch, disordered
from tests.tables.lake.lakes import rows as lake_rows
from tests.tables.logs import any_log

DEMO = Path(__file__).parents[3] / "metashell" / "demo" / "data"


def rows_of(top: Path, *, joins_files: bool, on_error: str = "skip") -> dict[str, list[dict[str, object]]]:
    options = ReadOptions(tables=table_names(), on_error=on_error, joins_files=joins_files)
    found: dict[str, list[dict[str, object]]] = {}
    for split in plan_splits(str(top)):
        for name, table in read_split(split, options):
            found.setdefault(name, []).extend(table.to_pylist())
    return found


def put(top: Path, number: int, name: str, data: bytes) -> None:
    folder = top / f"node-{number:03}" / "__cluster_metadata-0"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    (folder.parent / "meta.properties").write_text(f"version=1\ncluster.id=cluster-{number % 3}\nnode.id={number}\n")


def in_order(found: dict[str, list[dict[str, object]]]) -> dict[str, list[str]]:
    """The rows of each table. Within a file they have their order; versions of a type may come apart by the chunk."""
    return {name: sorted(map(repr, rows)) for name, rows in found.items()}


def the_same(top: Path) -> None:
    assert in_order(rows_of(top, joins_files=True)) == in_order(rows_of(top, joins_files=False))


@pytest.mark.parametrize("seed", quick(range(8), 2))
def test_any_logs_give_the_same_together_and_alone(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(chance.randrange(2, 7)):
        data = bytearray(any_log(chance, batch_count=chance.choice((1, 6, 20))))
        if chance.random() < 0.1:
            data[chance.randrange(len(data))] ^= 1
        put(tmp_path, number, f"{0:020}.log", bytes(data))
    the_same(tmp_path)


def good_log(chance: random.Random) -> bytes:
    """Batches in order with records that all decode."""
    data, offset = b"", 0
    for _ in range(chance.choice((1, 4, 9))):
        records = []
        for _ in range(chance.choice((1, 3, 40))):
            message = message_type("metadata", chance.choice(("TopicRecord", "PartitionRecord", "RegisterBrokerRecord", "ConfigRecord")))
            version = chance.choice(versions_of(message))
            value = write_metadata_record(ValueMaker(message, version, chance).message_value(unknown_tags=False), version)
            records.append(Record(offset, chance.choice((-1, 5, 1 << 41)), None, value))
            offset += 1
        data += write_batch(records[0].offset, records, leader_epoch=1)
    return data


@pytest.mark.parametrize("seed", quick(range(8), 2))
def test_good_logs_give_the_same_together_and_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(reader, "JOINT_BYTES", chance.choice((10_000, 1 << 22)))
    for number in range(chance.randrange(2, 9)):
        put(tmp_path, number, f"{0:020}.log", good_log(chance))
        if chance.random() < 0.5:  # a log of another kind in between
            folder = tmp_path / f"node-{number:03}" / "__transaction_state-0"
            folder.mkdir()
            record = Record(0, 5, b"\0\0\0\1a", b"\0\0" + bytes(31))
            (folder / f"{0:020}.log").write_bytes(write_batch(0, [record], leader_epoch=1))
    the_same(tmp_path)


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_segments_is_checked_together_as_it_is_alone(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    batches = disordered(chance) if chance.random() < 0.6 else [batch(3 * number, 3) for number in range(20)]
    cuts = sorted({0, len(batches), *(chance.randrange(len(batches) + 1) for _ in range(4))})
    for start, end in pairwise(cuts):
        first = int.from_bytes(batches[start][:8], "big")
        put(tmp_path, 0, f"{max(first, 0):020}.log", b"".join(batches[start:end]))
    the_same(tmp_path)


def test_files_are_read_together_if_they_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        shutil.copytree(DEMO, tmp_path / f"dump-{number}")
    together: list[int] = []
    read_joint = reader.read_joint

    def noted(pieces: object, *rest: object) -> object:
        found = read_joint(pieces, *rest)  # type: ignore[arg-type]
        together.append(len(pieces) if found is not None else 0)  # type: ignore[arg-type]
        return found

    monkeypatch.setattr("metashell.tables.columns.reader.read_joint", noted)
    found = rows_of(tmp_path, joins_files=True)
    assert sum(together) >= 5
    assert len({row["file"] for row in found["batches"]}) >= 5
    the_same(tmp_path)


def test_exported_files_name_the_file_of_each_row(tmp_path: Path) -> None:
    for number in range(4):
        put(tmp_path / "in", number, f"{0:020}.log", batch(0, 3 + number))
    export(ExportOptions(paths=(str(tmp_path / "in"),), out=str(tmp_path / "out"), jobs=1))
    rows = parquet.read_table(tmp_path / "out" / "no_op.parquet").to_pylist()
    shown = [(row["cluster_id"], row["file"].split("/")[-3], row["offset"]) for row in rows]
    assert shown == [(f"cluster-{n % 3}", f"node-{n:03}", at) for n in range(4) for at in range(3 + n)]


def put_three(top: Path, clusters: int) -> None:
    """Logs of three partitions each, led by their node. Each version of a record is a batch of its own: the first log's come around all."""
    message = message_type("metadata", "PartitionRecord")
    for number, versions in enumerate([(0, 0, 1), (0, 0, 0), (0, 0, 0)]):
        values = [write_metadata_record(message.cls(partition_id=at, leader=number), version) for at, version in enumerate(versions)]
        records = [Record(at, 1_760_000_000_000, None, each) for at, each in enumerate(values)]
        put(top, number, f"{0:020}.log", write_batch(0, records, leader_epoch=1))
        (top / f"node-{number:03}" / "meta.properties").write_text(f"version=1\ncluster.id=cluster-{number % clusters}\nnode.id={number}\n")


def whose(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str, int]]:
    """Of each row the cluster, the node by its path, and by what it says."""
    return sorted((row["cluster_id"], row["file"].split("/")[-3], int(row["leader"])) for row in rows)


def of_three(clusters: int) -> list[tuple[str, str, int]]:
    return [(f"cluster-{number % clusters}", f"node-{number:03}", number) for number in range(3) for _ in range(3)]


READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "parquet": lambda path: parquet.read_table(path).to_pylist(),
    "arrow": lambda path: pa.ipc.open_file(path).read_all().to_pylist(),
    "csv": lambda path: list(csv.DictReader(path.read_text().splitlines())),
    "jsonl": lambda path: [json.loads(line) for line in path.read_text().splitlines()],
}


@pytest.mark.parametrize("columns", ["typed", "raw"])
@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("clusters", [1, 3])
def test_a_file_whose_rows_come_first_and_last_is_not_that_of_all(tmp_path: Path, form: str, columns: Form, clusters: int) -> None:
    put_three(tmp_path / "in", clusters)
    paths, out = (str(tmp_path / "in"),), tmp_path / "out"
    export(ExportOptions(paths=paths, out=str(out), jobs=1, form=form, tables=("partition",), columns=columns))
    rows = READERS[form](out / f"partition.{form}")
    assert whose(rows) == of_three(clusters)


@pytest.mark.parametrize("clusters", [1, 3])
def test_it_is_not_that_of_all_in_a_lake_either(tmp_path: Path, clusters: int) -> None:
    put_three(tmp_path / "in", clusters)
    append(AppendOptions(paths=(str(tmp_path / "in"),), out=str(tmp_path / "lake"), jobs=1, tables=("partition",)))
    assert whose(lake_rows(tmp_path / "lake", "partition")) == of_three(clusters)


def test_names_are_kept_once_also_where_rows_are_of_several_files() -> None:
    columns = {"cluster_id": ["a", "a", "b", "a", "a"], "file": ["1", "1", "2", "3", "1"], "offset": [1, 2, 3, 4, 5]}
    batch_of_several = pa.RecordBatch.from_pydict(columns)
    for rows in (batch_of_several, batch_of_several.slice(1), batch_of_several.slice(0, 2), batch_of_several.slice(0, 0)):
        slim = with_names_once(rows)
        assert slim.to_pydict() == rows.to_pydict()
        assert all(pa.types.is_dictionary(slim.schema.field(name).type) for name in SAME_IN_A_FILE)
