"""A load of some columns: the same rows and faults as one of all, whatever a log holds, and no other column is made."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.demo import demo_directory
from metashell.tables import tables
from metashell.tables.columns import record_tables
from metashell.tables.columns.chunk_records import Place
from metashell.tables.columns.column_reader import RangeCells
from metashell.tables.dictionary import log_of_table
from tests.spark_reports.loads import NAME, rows_of, source
from tests.tables.logs import any_log


@pytest.mark.slow
@pytest.mark.parametrize("log", ["metadata", *COORDINATOR_LOGS])
@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=5, deadline=None)
def test_some_columns_are_those_of_all(log: str, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path_factory.mktemp("log") / NAME
    path.write_bytes(any_log(rng, log, batch_count=6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_tables, "VECTOR_ROWS_MIN", rng.choice((1, 24)))
        known = [name for name in tables() if log_of_table(name) in (None, log)]
        for table in rng.sample(known, min(4, len(known))):
            options = {
                "table": table,
                "log": log,
                "oldColumns": rng.choice(("true", "false")),
                "showSecrets": rng.choice(("true", "false")),
            }
            whole = rows_of(path=path, onError="skip", **options)
            names = source(path=path, **options).schema().names
            for _ in range(2):
                some = rng.sample(names, rng.randint(1, min(4, len(names))))
                expected = [{name: row[name] for name in some} for row in whole]
                assert repr(rows_of(path=path, onError="skip", **options, columns=",".join(some))) == repr(expected), (table, some)


def test_conditions_on_columns_that_are_not_asked_for_hold(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(any_log(random.Random(3), batch_count=40))
    where = {"table": "partition", "where": "leader > 1 and partition_id >= 0"}
    whole = rows_of(path=path, onError="skip", **where)
    assert rows_of(path=path, onError="skip", **where, columns="offset") == [{"offset": row["offset"]} for row in whole]
    assert whole


def test_columns_that_nobody_asks_for_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    path = demo_directory()
    expected = [row["isr"] for row in rows_of(path=path, onError="skip", table="partition")]
    made: list[str] = []
    as_usual = RangeCells.arrow

    def noted(cells: RangeCells, *given: Any) -> pa.Array:
        made.append(cells.type)
        return as_usual(cells, *given)

    monkeypatch.setattr(record_tables, "VECTOR_ROWS_MIN", 1)
    monkeypatch.setattr(RangeCells, "arrow", noted)
    monkeypatch.setattr(Place, "arrays", lambda *_: pytest.fail("names of places are not asked for"))
    assert [row["isr"] for row in rows_of(path=path, onError="skip", table="partition", columns="isr")] == expected
    reads = len(made)
    made.clear()
    rows_of(path=path, onError="skip", table="partition", columns="isr,replicas")
    assert expected
    assert 0 < reads == len(made) / 2


def test_faults_of_records_are_found_without_their_payloads(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(any_log(random.Random(3), batch_count=5))
    faults = [row["fault"] for row in rows_of(path=path, onError="skip", table="records")]
    assert [row["fault"] for row in rows_of(path=path, onError="skip", table="records", columns="fault")] == faults
    found = rows_of(path=path, onError="skip", table="records", columns="offset", where="fault is not null")
    assert len(found) == sum(fault is not None for fault in faults) > 0


def test_a_table_whose_record_has_no_field_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / NAME
    records = [Record(n, 1000, None, b"\1\x14\0\0") for n in range(40)]
    path.write_bytes(write_batch(0, records, leader_epoch=1))
    assert [row["offset"] for row in rows_of(path=path, onError="skip", table="no_op")] == list(range(40))
    assert rows_of(path=path, onError="skip", table="no_op", columns="epoch") == [{"epoch": 1}] * 40
