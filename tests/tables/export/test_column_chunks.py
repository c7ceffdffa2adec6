"""Column chunks that we make ourselves are read as those of pyarrow are, by readers that know nothing of us."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metashell.tables.columns.typed_tables import plain_batch
from metashell.tables.export import column_chunks, parquet
from metashell.tables.export.column_chunks import Chunk
from metashell.tables.export.parquet import ParquetTable
from tests.quick import quick
from tests.tables.any_tables import COLUMNS, any_batch

OURS = {
    *("cluster_id", "one_time", "epoch", "least_byte", "bytes", "node", "maybe_node", "partition", "spread", "long", "nothing", "no_text"),
    *("no_flag", "no_share", "no_bytes", "no_id", "no_id_text", "word", "one_word", "maybe_word", "id", "id_text", "one_id", "one_id_text"),
    *("maybe_id", "maybe_id_text", "replicas", "isr", "no_lists", "empty_lists", "empty_ids", "empty_ids_text", "directories"),
    *("directories_text", "words", "largest"),
}
"""What pyarrow is not asked to write, of a table of many rows."""


def written_table(path: Path, groups: Sequence[Sequence[pa.RecordBatch]]) -> pa.Table:
    """Write the groups to a file; gives what must be read from it."""
    writer = ParquetTable(str(path), groups[0][0].schema)
    for group in groups:
        writer.write(group)
    writer.close()
    return pa.Table.from_batches([plain_batch(batch) for group in groups for batch in group])


def values(table: pa.Table) -> dict[str, list[Any]]:
    return {name: table.column(name).to_pylist() for name in table.schema.names}


@pytest.mark.parametrize("sizes", quick([[[1], [2, 3]], [[1200, 1, 0, 900], [2], [1500, 1500]]]), ids=str)
def test_columns_of_every_shape_are_read_as_they_were(tmp_path: Path, sizes: list[list[int]]) -> None:
    rng = random.Random(len(sizes))
    path = tmp_path / "any.parquet"
    want = values(written_table(path, [[any_batch(rng, size) for size in group] for group in sizes]))
    # Ids that lie in lists are bytes in files.
    want["directories"] = [each if each is None else [one.bytes for one in each] for each in want["directories"]]
    found = values(pq.read_table(path))
    for name in want:
        assert found[name] == want[name], name
    for name in set(want) - {"entries"}:
        shown = f"epoch_ms({name})" if "time" in name else f'"{name}"'
        rows = duckdb.connect().execute(f"select {shown} from '{path}'").fetchall()
        wanted = [each and round(each.timestamp() * 1000) for each in want[name]] if "time" in name else want[name]
        assert [value for (value,) in rows] == wanted, name
    counted = duckdb.connect().execute(f"select count(*), count(isr), sum(len(isr)), count(maybe_word) from '{path}'").fetchone()
    lists = [each for each in want["isr"] if each is not None]
    words = sum(each is not None for each in want["maybe_word"])
    assert counted == (len(want["offset"]), len(lists), sum(map(len, lists)) if lists else None, words)


def test_pyarrow_writes_only_what_it_writes_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def chunks(data: memoryview) -> list[Chunk]:
        found = plain(data)
        asked.extend(chunk.path.partition(".")[0] for chunk in found)
        return found

    plain = parquet.chunks_of
    monkeypatch.setattr(parquet, "chunks_of", chunks)
    batch = any_batch(random.Random(5), 4000)
    written_table(tmp_path / "any.parquet", [[batch]])
    assert set(batch.schema.names) - set(asked) == OURS


def test_bounds_of_columns_are_those_that_pyarrow_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [any_batch(random.Random(seed), 2000) for seed in range(2)]
    written_table(tmp_path / "ours.parquet", [batches])
    monkeypatch.setattr(parquet._RowGroup, "_put", lambda self, chunk: False)
    monkeypatch.setattr(parquet._RowGroup, "_places", lambda self, table: table)
    written_table(tmp_path / "theirs.parquet", [batches])
    ours, theirs = (pq.read_metadata(tmp_path / name) for name in ("ours.parquet", "theirs.parquet"))
    assert ours.schema.equals(theirs.schema)
    assert ours.metadata == theirs.metadata
    seen = 0
    for at in range(ours.num_columns):
        own, other = ours.row_group(0).column(at), theirs.row_group(0).column(at)
        places = (own.path_in_schema, own.physical_type, own.num_values)
        assert places == (other.path_in_schema, other.physical_type, other.num_values)
        assert own.is_stats_set == other.is_stats_set, places
        if own.is_stats_set:
            seen += 1
            for name in ("null_count", "has_min_max", "min", "max"):
                assert getattr(own.statistics, name) == getattr(other.statistics, name), (places, name)
    assert seen > 20


def test_bounds_are_of_the_values_that_are_there_and_not_of_a_dictionary(tmp_path: Path) -> None:
    """A day of a lake is a slice of a batch. DuckDB answers min and max by what the footer says."""
    words = pa.DictionaryArray.from_arrays(pa.array([0, None, 0, 1, 2, None], pa.int32()), pa.array(["m", "a", "z"]))
    batch = pa.RecordBatch.from_arrays([pa.array(range(6)), words], names=["offset", "word"])
    for start, end, want in ((0, 3, ("m", "m")), (0, 4, ("a", "m")), (3, 6, ("a", "z")), (2, 5, ("a", "z"))):
        for count in (1, 1200):
            path = tmp_path / f"{start}-{end}-{count}.parquet"
            written_table(path, [[batch.slice(start, end - start)] * count])
            assert duckdb.connect().execute(f"select min(word), max(word) from '{path}'").fetchone() == want


def test_a_row_group_lies_in_one_piece_which_its_first_column_begins(tmp_path: Path) -> None:
    path = tmp_path / "any.parquet"
    written_table(path, [[any_batch(random.Random(seed), 1500)] for seed in range(3)])
    found = pq.read_metadata(path)
    at = 4
    for number in range(found.num_row_groups):
        group = found.row_group(number)
        plain = 0
        for column in map(group.column, range(group.num_columns)):
            first = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
            assert first == at, column.path_in_schema
            at += column.total_compressed_size
            plain += column.total_uncompressed_size
        assert group.total_byte_size == plain
    assert at + found.serialized_size + 8 == path.stat().st_size


def test_lists_of_more_values_than_a_page_takes_are_written_by_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_VALUES_MAX", 1999)
    path = tmp_path / "any.parquet"
    want = written_table(path, [[any_batch(random.Random(1), 2000, ["offset", "replicas", "node", "word"])]])
    assert values(pq.read_table(path)) == values(want)


def test_texts_that_are_not_those_of_the_ids_do_not_replace_them(tmp_path: Path) -> None:
    batch = any_batch(random.Random(1), 2000, ["offset", "id"])
    other = any_batch(random.Random(2), 2000, ["offset", "id"])
    mixed = batch.set_column(batch.schema.get_field_index("id_text"), "id_text", other.column("id_text"))
    path = tmp_path / "any.parquet"
    want = written_table(path, [[mixed]])
    assert values(pq.read_table(path)) == values(want)
    assert values(want)["id_text"] != values(plain(batch))["id_text"]


def plain(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([plain_batch(batch)])


def test_footers_are_the_same_after_reading_and_writing(tmp_path: Path) -> None:
    path = tmp_path / "any.parquet"
    written_table(path, [[any_batch(random.Random(seed), 20)] for seed in range(2)])
    pq.write_table(
        pq.read_table(path, columns=[name for name in COLUMNS if name != "share"]), tmp_path / "theirs.parquet", row_group_size=30
    )
    for name in ("any.parquet", "theirs.parquet"):
        data = (tmp_path / name).read_bytes()
        size = int.from_bytes(data[-8:-4], "little")
        footer = data[-8 - size : -8]
        found, end = column_chunks.read_struct(footer)
        assert end == size
        assert column_chunks.encode_struct(column_chunks.STRUCT, found) == footer
        for cut in random.Random(1).sample(range(size), 20):
            with pytest.raises(IndexError):
                column_chunks.read_struct(footer[:cut] if cut else b"")
