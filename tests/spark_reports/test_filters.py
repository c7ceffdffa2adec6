"""The option `where`: the rows are those for which SQL says that all conditions hold, whatever is read or passed over."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")
from metashell.common.errors import UsageError
from metashell.tables.read_options import ANY, OPEN, Range
from spark_reports import source as module
from spark_reports.filters import Filters, parse_conditions, with_bounds
from spark_reports.filters import Test as Judged
from spark_reports.options import table_schema
from spark_reports.source import balanced_splits
from tests.golden_cases import SUBSET_ROOT
from tests.spark_reports.loads import NAME, reader, rows_of
from tests.tables.logs import any_log

STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
LOG = STOPPED / "node-2/d1/__cluster_metadata-0" / NAME
RECORDS = table_schema("records")
COMPARED: dict[str, Callable[[Any, Any], bool]] = {"=": eq, ">": gt, ">=": ge, "<": lt, "<=": le, "<>": ne}


@cache
def whole() -> list[dict[str, Any]]:
    return rows_of(path=LOG, table="records")


NEAR = {int: (-1, 0, 1), datetime: (timedelta(0), timedelta(microseconds=1), timedelta(microseconds=-1))}


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, Callable[[dict[str, Any]], bool]]:
    """A condition on a column, mostly on a value that some row has, or nearly has; and for which rows SQL says that it is true."""
    column = draw(st.sampled_from(["offset", "epoch", "timestamp", "type", "version", "size", "checkpoint", "cluster_id", "kind"]))
    found = {row[column] for row in whole()} - {None}
    near = {value + more for value in found for more in NEAR.get(type(value), ())} | found
    values = draw(st.lists(st.sampled_from(sorted(near)), min_size=1, max_size=3))
    sign = draw(st.sampled_from([*COMPARED, "in", "not in", "between", "is null", "is not null"]))
    if sign.startswith("is"):
        return f"{column} {sign}", lambda row: (row[column] is None) == (sign == "is null")
    if sign.endswith("in"):
        listed = ", ".join(map(written, values))
        return f"{column} {sign} ({listed})", lambda row: row[column] is not None and (row[column] in values) == (sign == "in")
    if sign == "between":
        text = f"{column} between {written(values[0])} and {written(values[-1])}"
        return text, lambda row: row[column] is not None and values[0] <= row[column] <= values[-1]
    return f"{column} {sign} {written(values[0])}", lambda row: row[column] is not None and COMPARED[sign](row[column], values[0])


def written(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str | datetime) else str(value)


@pytest.mark.slow
@given(st.lists(conditions(), min_size=1, max_size=3), st.sampled_from(["3000", "0"]))
@settings(max_examples=25, deadline=None)
def test_the_rows_are_those_for_which_all_conditions_hold(wanted: list[tuple[str, Callable[..., bool]]], split: str) -> None:
    found = rows_of(path=LOG, table="records", splitBytes=split, where=" and ".join(text for text, _ in wanted))
    assert found == [row for row in whole() if all(holds(row) for _, holds in wanted)]


AT = "2026-11-21"
AT_MS = round(datetime.fromisoformat(AT).replace(tzinfo=UTC).timestamp() * 1000)
BETWEEN = f"{AT} 00:00:00.000500"


@pytest.mark.parametrize(
    ("where", "bounds"),
    [
        ("offset > 5 and offset < 9", {"offset": Range(6, 8)}),
        ("offset between 5 and 9", {"offset": Range(5, 9)}),
        ("epoch = 3", {"epoch": Range(3, 3)}),
        ("offset in (7, 3, 5)", {"offset": Range(3, 7)}),
        (f"timestamp > '{AT}'", {"timestamp": Range(AT_MS + 1, None)}),
        (f"timestamp > '{BETWEEN}'", {"timestamp": Range(AT_MS + 1, None)}),
        (f"timestamp >= '{BETWEEN}'", {"timestamp": Range(AT_MS + 1, None)}),
        (f"timestamp >= '{AT}'", {"timestamp": Range(AT_MS, None)}),
        (f"timestamp < '{AT}'", {"timestamp": Range(None, AT_MS - 1)}),
        (f"timestamp < '{BETWEEN}'", {"timestamp": Range(None, AT_MS)}),
        (f"timestamp <= '{BETWEEN}'", {"timestamp": Range(None, AT_MS)}),
        (f"timestamp = '{BETWEEN}'", {"timestamp": Range(1, 0)}),
        # What says nothing of where to look.
        ("offset <> 5 and offset not in (3, 4) and timestamp is null", {}),
        ("size = 5 and version > 1", {}),
    ],
)
def test_bounds_follow_from_conditions(where: str, bounds: dict[str, Range]) -> None:
    found = with_bounds(Filters(parse_conditions(where, RECORDS)), RECORDS).bounds
    assert {name: getattr(found, name) for name in ("offset", "epoch", "timestamp")} == {
        **dict.fromkeys(("offset", "epoch", "timestamp"), OPEN),
        **bounds,
    }
    assert (found == ANY) == (not bounds)


@pytest.mark.parametrize(
    ("where", "types"),
    [
        ("type = 'A'", {"A"}),
        ("type in ('A', 'B') and type in ('B', 'C')", {"B"}),
        ("type <> 'A' and kind = 'A'", None),
    ],
)
def test_payloads_are_written_of_types_that_conditions_name(where: str, types: set[str] | None) -> None:
    assert with_bounds(Filters(parse_conditions(where, RECORDS)), RECORDS).payload_types == types


@pytest.mark.parametrize(
    ("where", "is_taken"),
    [
        ("offset = '5'", False),
        (f"offset = {1 << 80}", False),
        ("type = 5", False),
        ("replicas is not null", True),
        ("replicas = 1", False),
        ("share = 5", False),
        ("flag = 1", False),
    ],
)
def test_a_column_is_compared_with_what_it_may_hold(where: str, is_taken: bool) -> None:
    schema = pa.schema([*RECORDS, ("replicas", pa.list_(pa.int32())), ("share", pa.float64()), ("flag", pa.bool_())])
    if is_taken:
        assert parse_conditions(where, schema)
    else:
        with pytest.raises(UsageError, match="cannot be compared with"):
            parse_conditions(where, schema)


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
        Judged(">=", "offset", -3),
        Judged("<=", "offset", 5),
        Judged("in", "type", ["a'b", "c"], True),
        Judged("is null", "fault", is_negated=True),
        Judged("<=", "timestamp", at),
        Judged("=", "epoch", 2, True),
    )
    flags = pa.schema([("flag", pa.bool_())])
    assert parse_conditions("flag = TRUE and flag != false", flags) == (
        Judged("=", "flag", True),
        Judged("=", "flag", False, True),
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
    assert shares(size // 4) < 8 <= shares(0) <= 12
    monkeypatch.setattr(module, "SPLIT_BYTES_MIN", size)
    assert shares(0) < 4
