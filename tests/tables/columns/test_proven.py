"""What a filter proves: no row that it keeps lies outside, and what it says plainly is found."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from metashell.tables.columns.typed_tables import typed_schema
from metashell.tables.read_options import ANY, Bounds, Range
from metashell.tables.sql.database import FilterBounds
from tests.quick import quick

SCHEMA = typed_schema("records")
offset, epoch, time, kind, size = (pc.field(name) for name in ("offset", "epoch", "timestamp", "type", "size"))
KINDS = ("PARTITION_RECORD", "TOPIC_RECORD", 'A "quoted" one', "")


def ms(value: int, unit: str = "ms") -> pa.Scalar:
    return pa.scalar(value * {"ms": 1, "us": 1000}[unit], pa.timestamp(unit, "UTC"))


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        ((offset >= 10) & (offset < 20) & (epoch == 3), Bounds(offset=Range(10, 19), epoch=Range(3, 3))),
        ((offset < 5) | (offset > 900), ANY),
        (((offset > 5) & (offset < 9)) | (offset == 20), Bounds(offset=Range(6, 20))),
        (offset.isin([70, 5, 6]), Bounds(offset=Range(5, 70))),
        ((offset > 5) | (size > 3), ANY),
        ((offset > 5) & (offset < 3), Bounds(offset=Range(6, 2))),
        (~(offset > 5), Bounds(offset=Range(None, 5))),
        (offset.is_null(), Bounds()),
        (time >= ms(600_000), Bounds(timestamp=Range(600_000, None))),
        (time > pa.scalar(600_000_001, pa.timestamp("us", "UTC")), Bounds(timestamp=Range(600_001, None))),
        (time < pa.scalar(600_000_001, pa.timestamp("us", "UTC")), Bounds(timestamp=Range(None, 600_000))),
        (time.is_null() | (time > ms(5)), ANY),
        (time > ms((1 << 63) - 1), ANY),
        (size > 5, ANY),
    ],
    ids=str,
)
def test_what_a_filter_says_plainly_is_found(condition: pc.Expression, want: Bounds) -> None:
    found = FilterBounds(SCHEMA, condition).bounds()
    # A range that is empty may be said by any numbers.
    assert found == want or (found.is_empty and want.is_empty)


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        (kind == "TOPIC_RECORD", {"TOPIC_RECORD"}),
        (kind.isin(["TOPIC_RECORD", 'A "quoted" one']) & (offset > 5), None),
        (kind.isin(["TOPIC_RECORD", "PARTITION_RECORD"]) & (offset > 5), {"TOPIC_RECORD", "PARTITION_RECORD"}),
        ((kind == "TOPIC_RECORD") & (kind != "TOPIC_RECORD"), set()),
        (kind != "TOPIC_RECORD", None),
        ((kind == "TOPIC_RECORD") | kind.is_null(), None),
        ((kind >= "TOPIC") & (kind < "TOPID"), None),
        ((kind == "TOPIC_RECORD") | (size > 3), None),
        (size > 3, None),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_types_are_known_where_no_other_is_possible(condition: pc.Expression, want: set[str] | None) -> None:
    found = FilterBounds(SCHEMA, condition).types()
    assert found == want


def test_another_form_of_the_columns_is_judged_too() -> None:
    raw = pa.schema(
        [("offset", pa.int64()), ("timestamp", pa.int64()), ("type", pa.dictionary(pa.int32(), pa.string())), ("id", pa.uuid())]
    )
    judge = FilterBounds(raw, (pc.field("timestamp") > 5) & (kind == "A"))
    # These times are microseconds nowhere.
    assert judge.bounds() == Bounds(timestamp=Range(6, None)) and judge.types() == {"A"}


def some_condition(chance: random.Random, depth: int = 0) -> pc.Expression:
    if depth < 3 and chance.random() < 0.6:
        one, other = some_condition(chance, depth + 1), some_condition(chance, depth + 1)
        return chance.choice((one & other, one & other, one | other, ~one))
    field, values = chance.choice(
        (
            (offset, [*range(-1, 12)]),
            (epoch, [*range(-1, 5)]),
            (time, [ms(value, chance.choice(("ms", "us"))) for value in range(-2, 12)]),
            (kind, [*KINDS]),
            (size, [1, 2, 3]),
        )
    )
    value, some = chance.choice(values), chance.sample(values, 3)
    tests: list[Any] = [
        lambda: field == value,
        lambda: field != value,
        lambda: field < value,
        lambda: field <= value,
        lambda: field > value,
        lambda: field >= value,
        lambda: field.is_null(),
        lambda: field.is_valid(),
        lambda: field.isin([each.cast(SCHEMA.field("timestamp").type, safe=False) if field is time else each for each in some]),
    ]
    return chance.choice(tests)()


@pytest.mark.parametrize("seed", quick(range(8), 3))
def test_no_row_that_a_filter_keeps_lies_outside_of_what_it_proves(seed: int) -> None:
    chance = random.Random(seed)
    count = 300
    names = ["offset", "epoch", "timestamp", "type", "size"]
    columns = [
        [chance.randrange(-1, 12) for _ in range(count)],
        [chance.randrange(-1, 5) for _ in range(count)],
        [chance.choice((None, *range(-2, 12))) for _ in range(count)],
        [chance.choice((None, *KINDS)) for _ in range(count)],
        [chance.choice((None, 1, 2, 3)) for _ in range(count)],
    ]
    rows = pa.table([pa.array(column, SCHEMA.field(name).type) for name, column in zip(names, columns, strict=True)], names)
    told = 0
    for _ in range(40):
        condition = some_condition(chance)
        judge = FilterBounds(rows.schema, condition)
        bounds, kinds = judge.bounds(), judge.types()
        told += bounds != ANY or kinds is not None
        kept = ds.dataset(rows).to_table(filter=condition)
        for row in kept.set_column(2, "timestamp", kept["timestamp"].cast(pa.int64())).to_pylist():
            for name in ("offset", "epoch", "timestamp"):
                wanted = getattr(bounds, name)
                assert wanted.is_open or (row[name] is not None and wanted.meets(row[name], row[name])), (str(condition), bounds, row)
            assert kinds is None or row["type"] in kinds, (str(condition), kinds, row)
    assert told > 5
