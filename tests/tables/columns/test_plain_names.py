"""Names of columns need no quotes in SQL, also where they are words of SQL."""

from __future__ import annotations

import duckdb
import pytest

from metashell.tables.dictionary import listed_columns, listed_tables
from metashell.tables.sql.query import with_quotes


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("select offset from t limit 3 offset 5", 'select "offset" from t limit 3 offset 5'),
        ("select group, max(offset) from t group by group", 'select "group", max("offset") from t group by "group"'),
        ("select é, t.offset from t -- c\n offset 1", 'select é, t."offset" from t -- c\n offset 1'),
        ("select at from t where at > now() at time zone 'UTC'", 'select "at" from t where "at" > now() at time zone \'UTC\''),
        ("select 'offset', \"offset\" from t group by all limit 2 offset 1",) * 2,
        ("select group_id, offsets from t -- group, offset",) * 2,
    ],
)
def test_a_word_of_sql_is_a_column_where_an_expression_is_expected(question: str, quoted: str) -> None:
    assert with_quotes(question) == quoted == with_quotes(quoted)


def test_every_table_and_column_can_be_named_without_quotes() -> None:
    database = duckdb.connect()
    for table in listed_tables():
        database.execute(f"create table {table} (a int)")
    for name in {column.name.partition(".")[0] for columns in listed_columns().values() for column in columns}:
        database.execute(f'create or replace table t0 ("{name}" varchar)')
        database.execute("insert into t0 values ('x')")
        question = f"select {name}, count(*) from t0 where {name} = 'x' group by {name} order by {name} limit 9 offset 0"
        assert database.execute(with_quotes(question)).fetchall() == [("x", 1)], name
