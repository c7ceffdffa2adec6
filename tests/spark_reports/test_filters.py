"""Filters as Spark pushes them: the rows are those for which SQL says that all hold, whatever is read or passed over."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")
from pyspark.sql import datasource as ds

from metashell.tables.read_options import ANY, OPEN, Range
from spark_reports import source as module
from spark_reports.filters import Filters, judged, parse_conditions, with_bounds
from spark_reports.filters import Test as Judged
from spark_reports.options import table_schema
from spark_reports.source import balanced_splits
from tests.golden_cases import SUBSET_ROOT
from tests.spark_reports.loads import NAME, reader, rows_of
from tests.tables.logs import any_log

pytestmark = pytest.mark.skipif(not module.KNOWS_FILTERS, reason="this Spark pushes no filters")
STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
LOG = STOPPED / "node-2/d1/__cluster_metadata-0" / NAME
RECORDS = table_schema("records")
COMPARED = {
    "EqualTo": lambda one, other: one == other,
    "GreaterThan": lambda one, other: one > other,
    "GreaterThanOrEqual": lambda one, other: one >= other,
    "LessThan": lambda one, other: one < other,
    "LessThanOrEqual": lambda one, other: one <= other,
    "StringStartsWith": str.startswith,
    "StringEndsWith": str.endswith,
    "StringContains": str.__contains__,
}


def on(name: str, column: str, *value: Any) -> Any:
    return getattr(ds, name)((column,), *value)


def holds(condition: Any, row: dict[str, Any]) -> bool | None:
    """What SQL says of a condition on a row: true, false or null."""
    name = type(condition).__name__
    if name == "Not":
        inner = holds(condition.child, row)
        return None if inner is None else not inner
    (column,) = condition.attribute
    found = row[column]
    if name in ("IsNull", "IsNotNull"):
        return (found is None) == (name == "IsNull")
    if name == "EqualNullSafe":
        return bool(found == condition.value)
    if name == "In":
        if found is None:
            return None
        return True if found in condition.value else None if None in condition.value else False
    return None if found is None or condition.value is None else bool(COMPARED[name](found, condition.value))


@cache
def whole() -> list[dict[str, Any]]:
    return rows_of(path=LOG, table="records")


NEAR = {int: (-1, 0, 1), datetime: (timedelta(0), timedelta(microseconds=1), timedelta(microseconds=-1))}


@st.composite
def conditions(draw: st.DrawFn) -> Any:
    """A condition on a column, mostly on a value that some row has, or nearly has."""
    column = draw(st.sampled_from(["offset", "epoch", "timestamp", "type", "version", "size", "checkpoint", "cluster_id", "kind"]))

    def value() -> Any:
        found = draw(st.sampled_from(whole()))[column]
        return found + draw(st.sampled_from(NEAR[type(found)])) if type(found) in NEAR else found

    text = ("StringStartsWith", "StringEndsWith", "StringContains") if isinstance(whole()[0][column], str) else ()
    name = draw(st.sampled_from([*list(COMPARED)[:5], *text, "In", "IsNull", "IsNotNull", "EqualNullSafe"]))
    if name.startswith("Is"):
        made = on(name, column)
    elif name == "In":
        made = on(name, column, tuple(value() for _ in range(draw(st.integers(1, 3)))))
    else:
        found = value()
        made = on(name, column, found[1:4] if name in text and found else "x" if found is None and name in text else found)
    return ds.Not(made) if draw(st.booleans()) else made


@pytest.mark.slow
@given(st.lists(conditions(), min_size=1, max_size=3), st.sampled_from(["3000", "0"]))
@settings(max_examples=25, deadline=None)
def test_pushed_filters_leave_the_rows_for_which_all_hold(filters: list[Any], split: str) -> None:
    made = reader(path=LOG, table="records", pushdown="true", splitBytes=split)
    assert made.pushFilters(filters) == filters
    assert {test.column for test in made.rows.filters.tests} <= {"offset", "epoch", "timestamp", *RECORDS.names}
    found = [row for part in made.partitions() for batch in made.read(part) for row in batch.to_pylist()]
    assert found == [row for row in whole() if all(holds(each, row) is True for each in filters if None not in _values(each))]


def _values(condition: Any) -> tuple[Any, ...]:
    """What a comparison compares with: Spark pushes none with null."""
    condition = getattr(condition, "child", condition)
    return (condition.value,) if type(condition).__name__ in COMPARED else ()


MS = timedelta(milliseconds=1)
AT = datetime(2026, 11, 21, tzinfo=UTC)
AT_MS = round(AT.timestamp() * 1000)


@pytest.mark.parametrize(
    ("filters", "bounds"),
    [
        ([on("GreaterThan", "offset", 5), on("LessThan", "offset", 9)], {"offset": Range(6, 8)}),
        ([on("GreaterThanOrEqual", "offset", 5), on("LessThanOrEqual", "offset", 9)], {"offset": Range(5, 9)}),
        ([on("EqualTo", "epoch", 3)], {"epoch": Range(3, 3)}),
        ([on("EqualNullSafe", "epoch", 3)], {"epoch": Range(3, 3)}),
        ([on("In", "offset", (7, 3, 5))], {"offset": Range(3, 7)}),
        ([on("In", "offset", (7, None))], {"offset": Range(7, 7)}),
        ([on("In", "offset", (None,))], {"offset": Range(1, 0)}),
        ([on("GreaterThan", "timestamp", AT)], {"timestamp": Range(AT_MS + 1, None)}),
        ([on("GreaterThan", "timestamp", AT + MS / 2)], {"timestamp": Range(AT_MS + 1, None)}),
        ([on("GreaterThanOrEqual", "timestamp", AT + MS / 2)], {"timestamp": Range(AT_MS + 1, None)}),
        ([on("GreaterThanOrEqual", "timestamp", AT)], {"timestamp": Range(AT_MS, None)}),
        ([on("LessThan", "timestamp", AT)], {"timestamp": Range(None, AT_MS - 1)}),
        ([on("LessThan", "timestamp", AT + MS / 2)], {"timestamp": Range(None, AT_MS)}),
        ([on("LessThanOrEqual", "timestamp", AT + MS / 2)], {"timestamp": Range(None, AT_MS)}),
        ([on("EqualTo", "timestamp", AT + MS / 2)], {"timestamp": Range(1, 0)}),
        # What says nothing of where to look.
        ([ds.Not(on("EqualTo", "offset", 5))], {}),
        ([on("IsNull", "timestamp")], {}),
        ([on("EqualNullSafe", "timestamp", None)], {}),
        ([on("EqualTo", "size", 5), on("GreaterThan", "version", 1)], {}),
    ],
    ids=str,
)
def test_bounds_follow_from_filters(filters: list[Any], bounds: dict[str, Range]) -> None:
    found = with_bounds(judged(filters, RECORDS), RECORDS).bounds
    assert {name: getattr(found, name) for name in ("offset", "epoch", "timestamp")} == {
        **dict.fromkeys(("offset", "epoch", "timestamp"), OPEN),
        **bounds,
    }
    assert (found == ANY) == (not bounds)


@pytest.mark.parametrize(
    ("filters", "types"),
    [
        ([on("EqualTo", "type", "A")], {"A"}),
        ([on("In", "type", ("A", "B")), on("In", "type", ("B", "C"))], {"B"}),
        ([ds.Not(on("EqualTo", "type", "A"))], None),
        ([on("StringStartsWith", "type", "A"), on("EqualTo", "kind", "A")], None),
    ],
)
def test_payloads_are_written_of_types_that_filters_name(filters: list[Any], types: set[str] | None) -> None:
    assert with_bounds(judged(filters, RECORDS), RECORDS).payload_types == types


@pytest.mark.parametrize(
    ("condition", "is_taken"),
    [
        (on("EqualTo", "offset", 5), True),
        (on("EqualTo", "offset", "5"), False),
        (on("EqualTo", "offset", 1 << 80), False),
        (on("EqualTo", "type", 5), False),
        (on("EqualTo", "nope", 5), False),
        (on("StringContains", "offset", "5"), False),
        (on("StringContains", "type", "A"), True),
        (on("LessThan", "timestamp", AT), True),
        (on("LessThan", "timestamp", AT.replace(tzinfo=None)), False),
        (on("In", "timestamp", (AT, AT.replace(tzinfo=None))), False),
        (on("IsNotNull", "replicas"), True),
        (on("EqualTo", "replicas", [1]), False),
        (on("EqualTo", "share", 0.5), False),
        (ds.GreaterThan(("place", "offset"), 5), False),
        (ds.Not(ds.GreaterThan(("place", "offset"), 5)), False),
        (ds.Not(ds.Not(on("EqualTo", "offset", 5))), True),
        pytest.param(object(), False, id="of another kind"),
    ],
    ids=str,
)
def test_a_filter_that_cannot_be_judged_is_left_to_spark(condition: Any, is_taken: bool) -> None:
    schema = pa.schema([*RECORDS, pa.field("replicas", pa.list_(pa.int32())), pa.field("share", pa.float64())])
    found = judged([condition], schema).tests
    assert len(found) == is_taken
    assert not any(test.is_negated for test in found)


def test_files_that_can_hold_no_wanted_row_are_not_read() -> None:
    logs = {row["file"] for row in rows_of(path=STOPPED, table="records", columns="file")}
    wanted = sorted(logs)[1]

    def files(where: str, **more: str) -> set[str]:
        parts = reader(path=STOPPED, table="records", where=where, **more).partitions()
        return {piece.path for part in parts for piece in part.split.pieces}

    assert files(f"file = '{wanted}'") == {wanted}
    assert files(f"file <> '{wanted}' and log = 'metadata'") == {file for file in logs - {wanted} if "__cluster_metadata" in file}
    assert files("cluster_id is null") == set()
    assert files("offset >= 0") >= logs
    assert {bool(".checkpoint" in file) for file in files("checkpoint <> ''", checkpoints="every")} == {True}


def test_a_file_whose_log_nobody_knows_is_read_to_know_it(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(any_log(random.Random(5), batch_count=6))
    whole = rows_of(path=tmp_path / NAME, table="records", onError="skip")
    assert whole and rows_of(path=tmp_path / NAME, table="records", onError="skip", where="log = 'metadata'") == whole
    assert rows_of(path=tmp_path / NAME, table="records", onError="skip", where="log = 'offsets'") == []


def test_conditions_are_read_as_they_are_written() -> None:
    text = "offset BETWEEN -3 AND 5 and type NOT IN ('a''b', 'c') and fault is Not null and timestamp <= '2026-11-21' and epoch<>2"
    at = datetime(2026, 11, 21, tzinfo=UTC)
    assert parse_conditions(text, RECORDS) == (
        Judged("GreaterThanOrEqual", "offset", -3),
        Judged("LessThanOrEqual", "offset", 5),
        Judged("In", "type", ["a'b", "c"], True),
        Judged("IsNotNull", "fault"),
        Judged("LessThanOrEqual", "timestamp", at),
        Judged("EqualTo", "epoch", 2, True),
    )
    flags = pa.schema([("flag", pa.bool_())])
    assert parse_conditions("flag = TRUE and flag != false", flags) == (
        Judged("EqualTo", "flag", True),
        Judged("EqualTo", "flag", False, True),
    )
    nothing = pa.RecordBatch.from_pydict({"flag": pa.array([], pa.bool_())})
    assert Filters(parse_conditions("flag is null", flags)).kept(nothing) is nothing


def test_shares_of_an_input_are_large_enough_and_no_more_than_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_bytes(any_log(random.Random(5), batch_count=60))
    size = (tmp_path / NAME).stat().st_size
    for name, to in (("SPLIT_BYTES", size // 2), ("SPLIT_BYTES_MIN", size // 40), ("TASKS_WANTED", 10)):
        monkeypatch.setattr(module, name, to)

    def shares(wanted: int) -> int:
        splits = balanced_splits([str(tmp_path)], wanted, None)
        assert sum(split.bytes for split in splits) >= size
        return len(splits)

    assert shares(size) == 1
    assert shares(size // 4) < 8 < shares(0) <= 12
    monkeypatch.setattr(module, "SPLIT_BYTES_MIN", size)
    assert shares(0) < 4
