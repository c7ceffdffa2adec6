"""The lines of one record type are a table for other readers: no key has two types, and the commands of docs/dump-log.md read them."""

from __future__ import annotations

import io
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.inspect.dump_log import main
from tests.golden_cases import REPOSITORY
from tests.groups.golden import read_rows
from tests.groups.log.written_logs import golden_batches, write_log
from tests.running import run_main
from tests.tables.logs import any_log

DECODERS = {
    "metadata": "--cluster-metadata-decoder",
    "offsets": "--offsets-decoder",
    "transactions": "--transaction-log-decoder",
    "share": "--share-group-state-decoder",
}
TYPES = {bool: "bool", int: "number", float: "number", str: "text", list: "list", dict: "object"}
TYPE = "OFFSET_COMMIT"


def lines_of(path: Path, *words: str) -> list[dict[str, Any]]:
    done = run_main(main, [str(path), *words, "-o", "jsonl"], cwd=path.parent)
    return [json.loads(line) for line in done.stdout.splitlines()]


def note(found: dict[tuple[object, str], set[str]], type: object, path: str, value: object) -> None:
    if value is not None:
        found[type, path].add(TYPES[value.__class__])
    if isinstance(value, dict):
        for key, member in value.items():
            note(found, type, f"{path}.{key}", member)
    if isinstance(value, list):
        for member in value:
            note(found, type, f"{path}[]", member)


def mixed(rows: list[dict[str, Any]]) -> dict[tuple[object, str], set[str]]:
    """The keys that have several types in rows of one kind and record type."""
    found: dict[tuple[object, str], set[str]] = defaultdict(set)
    for row in rows:
        note(found, (row["kind"], row.get("type")), "", row)
    return {place: types for place, types in found.items() if len(types) > 1}


@pytest.mark.parametrize("log", DECODERS)
def test_no_key_has_two_types_in_any_log(tmp_path: Path, log: str) -> None:
    path = tmp_path / f"{0:020d}.log"
    rows = []
    for seed in range(6):
        path.write_bytes(any_log(random.Random(seed), log, 8))
        rows += lines_of(path, DECODERS[log])
    assert any("data_hex" in row for row in rows)
    assert not mixed(rows)


def test_no_key_has_two_types_in_the_blobs_of_real_members(tmp_path: Path) -> None:
    rows = []
    for number, scenario in enumerate(read_rows(REPOSITORY / "tests/golden/groups/classic" / "offsets.jsonl.gz")):
        rows += lines_of(write_log(tmp_path / str(number), golden_batches(scenario)), DECODERS["offsets"])
    assert not mixed(rows)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """What `dump-log --type TYPE -o jsonl` prints of a log with records that do not decode."""
    log = tmp_path / "__consumer_offsets-0" / f"{0:020d}.log"
    log.parent.mkdir()
    log.write_bytes(any_log(random.Random(3), "offsets", 12))
    out = tmp_path / "commits.jsonl"
    out.write_bytes(run_main(main, [str(log), "--type", TYPE, "-o", "jsonl"], cwd=tmp_path).stdout)
    return out


def count_of(table: Path) -> int:
    return len(table.read_bytes().splitlines())


def test_pyarrow_and_pandas_read_the_lines(table: Path) -> None:
    from pyarrow import json as arrow_json

    read = arrow_json.read_json(str(table))
    assert read.num_rows == count_of(table) > 20 and {"key", "data", "data_hex"} <= set(read.column_names)
    pandas = pytest.importorskip("pandas")
    assert len(pandas.read_json(io.StringIO(table.read_text()), lines=True)) == count_of(table)


def test_duckdb_reads_the_lines(table: Path) -> None:
    import duckdb

    (found,) = duckdb.sql(f'select count(*), count(key."group"), count(data."offset") from read_json(\'{table}\')').fetchall()
    rows = list(map(json.loads, table.read_bytes().splitlines()))
    assert found == (len(rows), *(sum(row[name] is not None for row in rows) for name in ("key", "data")))


@pytest.mark.slow
def test_spark_reads_the_lines(table: Path) -> None:
    sql = pytest.importorskip("pyspark.sql")
    spark = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    frame = spark.read.json(str(table))
    assert frame.count() == count_of(table) and "_corrupt_record" not in frame.columns
    assert frame.select("key.group", "data.offset").count() == count_of(table)
