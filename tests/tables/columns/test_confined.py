"""The database of sql and of reports: it holds the tables that it is given, and nothing else is within its reach."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Timer

import pyarrow as pa
import pytest

from metashell.tables.reports.local import DUCKDB_MACROS
from metashell.tables.sql.database import Database, RefusedError

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
from metashell.tables.sql import confined
confined._CONFINED["memory_limit"] = "60MB"
database = confined.Database({})
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
