"""The database of sql and of reports: it holds the tables that it is given, and nothing else is within its reach."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from metashell.tables.columns.typed_tables import typed_schema
from metashell.tables.read_options import ANY, Bounds, Range
from metashell.tables.reports.local import DUCKDB_MACROS
from metashell.tables.sql.database import Database, FilterBounds, RefusedError, passed_interrupts
from tests.quick import quick

SECRET = "a line that nobody asked for"


@pytest.fixture(params=[(), DUCKDB_MACROS], ids=["sql", "reports"])
def database(request: pytest.FixtureRequest) -> Database:
    macros: Sequence[str] = request.param
    return Database({"t": pa.table({"a": [1, 2]})}, macros)


def rows(database: Database, query: str) -> list[dict[str, object]]:
    _, batches = database.ask(query)
    return [row for batch in batches for row in batch.to_pylist()]


READING = (
    "select * from '{file}'",
    "select * from read_csv('{file}')",
    "select * from read_text('{file}')",
    "select * from read_blob('{file}')",
    "select * from read_json('{file}')",
    "select * from read_parquet('{file}')",
    "select * from sniff_csv('{file}')",
    "select * from parquet_metadata('{file}')",
    "select * from glob('{folder}/*')",
    "select * from query('select * from read_text(''{file}'')')",
    "create table x as from read_text('{file}')",
    "create function f() as table select * from read_text('{file}')",
    "copy t from '{file}'",
    "import database '{folder}'",
    "select getenv('HOME')",
)
WRITING = (
    "copy t to '{folder}/out.csv'",
    "copy (select 1) to '{folder}/out.parquet'",
    "export database '{folder}/out'",
    "attach '{folder}/out.db'",
    "attach '{file}' as other",
    "create persistent secret s (type s3)",
    "set profiling_output = '{folder}/out.json'",
    "set log_query_path = '{folder}/out.log'",
    "call enable_logging(storage_path = '{folder}/out')",
    "set temp_directory = '{folder}/out'",
)
REACHING_OUT = (
    "select * from read_parquet('https://example.org/x.parquet')",
    "select * from read_csv('s3://bucket/x.csv')",
    "install httpfs",
    "load httpfs",
    "load '{file}'",
    "force install spatial from community",
    "attach 'host=localhost' as p (type postgres)",
    "set enable_external_access = true",
    "reset enable_external_access",
    "set allow_community_extensions = true",
    "set autoload_known_extensions = true",
    "set extension_directory = '{folder}'",
    "set home_directory = '{folder}'",
    "set allowed_paths = ['{file}']",
    "set allowed_directories = ['{folder}']",
    "set lock_configuration = false",
    "set threads = 64",
    "set memory_limit = '1TB'",
)


@pytest.mark.parametrize("statement", [*READING, *WRITING, *REACHING_OUT])
def test_a_hostile_statement_is_refused_in_one_line_and_changes_nothing(database: Database, statement: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text(f"{SECRET}\n")
    with pytest.raises(RefusedError) as refusal:
        rows(database, statement.format(file=file, folder=tmp_path))
    assert SECRET not in str(refusal.value) and "\n" not in str(refusal.value)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]
    # It was the statement that was refused, and the database answers as before.
    assert rows(database, "select sum(a) as n from t") == [{"n": 3}]


def test_a_table_of_its_own_is_confined_too(database: Database, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    with pytest.raises(RefusedError):
        database.define("v", f"select * from read_text('{tmp_path}/secret.txt')")


def test_variables_of_the_program_are_no_tables(database: Database) -> None:
    hidden = pa.table({"a": [SECRET]})
    with pytest.raises(RefusedError, match="hidden does not exist"):
        rows(database, "select * from hidden")
    assert hidden.num_rows == 1


def test_nothing_is_printed_beside_the_rows(database: Database) -> None:
    assert rows(database, "select current_setting('enable_progress_bar') as bar") == [{"bar": False}]


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["America/St_Johns", "Asia/Kathmandu"])
def test_times_are_those_of_utc_wherever_the_machine_is(zone: str) -> None:
    script = """
import sys, pyarrow as pa
from metashell.tables.sql.database import Database
time = pa.table({"t": pa.array([86_399_999], pa.timestamp("ms", "UTC"))})
text = "select t::varchar, t::date::varchar, hour(t), date_trunc('day', t)::varchar, t < '1970-01-02' from time"
schema, batches = Database({"time": time}).ask(text)
print(*batches.__next__().to_pylist()[0].values(), sep="|")
"""
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=False)
    assert done.stdout == "1970-01-01 23:59:59.999+00|1970-01-01|23|1970-01-01 00:00:00+00|True\n", done.stderr


def test_one_statement_is_answered_at_a_time(database: Database) -> None:
    for statement in ("select 1; select 2", ""):
        with pytest.raises(RefusedError):
            rows(database, statement)


@pytest.mark.slow
def test_what_does_not_fit_in_memory_goes_to_the_folder_for_temporary_files_and_is_gone_afterwards(tmp_path: Path) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    script = """
import os, sys, duckdb
from metashell.tables.sql import database as module
module._CONFINEMENT["memory_limit"] = "60MB"
database = module.Database({})
text = "select b from (select hash(range) || repeat('x', 40) as b from range(2000000) order by b) offset 1000000 limit 1"
seen = set()
for batch in database.ask(text)[1]:
    seen |= {name for _, _, names in os.walk(sys.argv[1]) for name in names}
print(len(seen) > 0, os.listdir("."))
"""
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    argv = [sys.executable, "-c", script, str(temporary)]
    done = subprocess.run(argv, cwd=here, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("True []\n", "", 0)
    assert not list(temporary.iterdir())


ENDLESS = "select count(*) from range(100000000000) t(a), range(1000) s(b)"


@pytest.mark.parametrize("round", range(3))
def test_ctrl_c_stops_a_query_and_the_next_one_is_answered(database: Database, round: int) -> None:
    stopping = Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    stopping.start()
    with pytest.raises(KeyboardInterrupt):
        rows(database, ENDLESS)
    stopping.join()
    assert rows(database, "select sum(a) as n from t") == [{"n": 3}]


def test_an_answer_that_is_not_read_to_its_end_is_in_nobodys_way(database: Database) -> None:
    _, batches = database.ask("select a from range(10000000) t(a)")
    assert next(batches).num_rows
    assert rows(database, "select sum(a) as n from t") == [{"n": 3}]
    assert list(batches) == []


# ---- What a filter proves: no row that it keeps lies outside, and what it says plainly is found


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
        (pc.field("nope") > 5, ANY),
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
        (pc.field("nope") == "TOPIC_RECORD", None),
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


@pytest.mark.parametrize(
    "error", [RuntimeError("Query interrupted"), duckdb.InvalidInputException("reading the schema failed: KeyboardInterrupt: ")]
)
def test_ctrl_c_within_a_short_call_of_duckdb_is_an_interrupt(error: Exception) -> None:
    with pytest.raises(KeyboardInterrupt), passed_interrupts():
        raise error
    with pytest.raises(RuntimeError, match="other"), passed_interrupts():
        raise RuntimeError("other")
