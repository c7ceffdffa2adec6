"""SQL over the tables of logs: what is asked is answered, and nothing else is within reach."""

from __future__ import annotations

import io
import json
from pathlib import Path

import duckdb
import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import LogCorruptError, UsageError
from metashell.common.forms import Display, write_rows
from metashell.tables.dictionary import listed_columns, listed_tables
from metashell.tables.sql.query import QueryError, Session, query, with_quotes
from tests.tables.export.test_job import secret_log, topics_log

NAME = "00000000000000000000.log"


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / NAME
    path.write_bytes(topics_log(30))
    return str(path)


def answer(text: str, path: str, form: str = "jsonl", *, is_terminal: bool = False) -> str:
    out = io.StringIO()
    found = query(text, [path], on_error="skip")
    write_rows(Display(out, is_terminal=is_terminal), form, found.columns, found.rows)
    return out.getvalue()


def test_a_query_sees_the_tables_of_the_log(log: str) -> None:
    assert json.loads(answer("select count(*) as n, min(name) as least from topic", log)) == {"n": 30, "least": "t0"}


def test_in_the_form_of_before_ids_are_shown_as_kafka_writes_them(log: str) -> None:
    text = "select topic_id, uuid_text(topic_id) as same, time_of(timestamp) as t from topic where name = 't3'"
    found = list(query(text, [log], columns="raw").rows)
    assert found == [["AAAAAAAAAAAAAAAAAAAAAw", "AAAAAAAAAAAAAAAAAAAAAw", "1970-01-01T00:00:00.005"]]


def test_ids_and_times_are_what_they_say(log: str) -> None:
    text = "select topic_id, topic_id_text, uuid_text(topic_id), timestamp, time_of(timestamp), time_of(5) from topic where name = 't3'"
    time = "1970-01-01T00:00:00.005Z"
    id = "AAAAAAAAAAAAAAAAAAAAAw"
    assert list(query(text, [log]).rows) == [["00000000-0000-0000-0000-000000000003", id, id, time, time, time]]


@pytest.mark.parametrize(
    "found_by",
    [
        "topic_id_text = 'AAAAAAAAAAAAAAAAAAAAAw'",
        "topic_id = uuid '00000000-0000-0000-0000-000000000003'",
        "topic_id = '00000000-0000-0000-0000-000000000003'",
        "topic_id = uuid_of('AAAAAAAAAAAAAAAAAAAAAw')",
        "topic_id = uuid_of('00000000-0000-0000-0000-000000000003')",
        "uuid_text(topic_id) = 'AAAAAAAAAAAAAAAAAAAAAw'",
    ],
)
def test_an_id_copied_from_any_output_finds_its_rows(log: str, found_by: str) -> None:
    for table in ("topic", "topics"):
        name = "name" if table == "topic" else "topic"
        assert list(query(f"select {name} from {table} where {found_by}", [log]).rows) == [["t3"]]


def test_an_id_of_kafka_where_a_uuid_is_meant_is_refused_with_a_hint(log: str) -> None:
    with pytest.raises(QueryError, match="Could not convert string") as error:
        query("select name from topic where topic_id = 'AAAAAAAAAAAAAAAAAAAAAw'", [log])
    assert "topic_id_text" in error.value.excerpt[-1]


def test_times_compare_and_are_cut_as_times(log: str) -> None:
    text = "select count(*), max(date_trunc('hour', timestamp)), max(timestamp::date) from topic where timestamp > '1969-12-31'"
    assert list(query(text, [log]).rows) == [[30, "1970-01-01T00:00:00.000Z", "1970-01-01"]]


def test_tables_join_by_their_columns(log: str) -> None:
    text = 'select name, type from topic join records using ("offset") order by name limit 1'
    assert json.loads(answer(text, log)) == {"name": "t0", "type": "TOPIC_RECORD"}


def test_all_tables_can_be_listed_and_described(log: str) -> None:
    assert '{"name":"partition_change"}' in answer("show tables", log)
    assert "topic_id,UUID" in answer("describe topic", log, "csv")


@pytest.mark.parametrize("text", ["select * from '/etc/passwd'", "selec", "select 1; select 2", "select nope from topic"])
def test_what_is_refused_is_one_line(log: str, text: str) -> None:
    with pytest.raises(UsageError) as error:
        answer(text, log)
    assert "\n" not in str(error.value)
    assert "root:" not in str(error.value)


def test_what_goes_wrong_in_the_middle_of_an_answer_is_refused_too(log: str) -> None:
    text = "select abs(n::int) from (select case when i = 20000 then -2147483648 else i end as n from range(30000) as t(i))"
    with pytest.raises(QueryError, match=r"^Out of Range Error"):
        list(query(text, [log]).rows)
    # It comes with the first rows, or after some.
    session = Session([log])
    with pytest.raises(QueryError, match=r"^Out of Range Error"):
        list(session.ask(text).rows)
    assert list(session.ask("select count(*) > 0 from records").rows) == [[True]]


def test_secrets_are_hidden(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(secret_log())
    text = answer("select * from config limit 1", str(path)) + answer("select * from records", str(path))
    assert "hunter22" not in text and "[redacted]" in text


def test_strictly_a_fault_is_an_error_and_otherwise_counted(tmp_path: Path) -> None:
    path = tmp_path / NAME
    data = bytearray(topics_log(30))
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(LogCorruptError):
        query("select * from topic", [str(path)])
    assert query("select * from topic", [str(path)], on_error="skip").fault_count == 1


def test_faults_are_those_of_the_whole_log_whatever_else_is_asked(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(topics_log(30) + write_batch(30, [Record(30, 1, None, b"\1\2\0\xff")], leader_epoch=1))
    for text in ("select count(*) from faults", "select count(*) from faults, no_op right join faults f on true"):
        asked = Session([str(path)], on_error="skip")
        assert (list(asked.ask(text).rows), asked.ask(text).fault_count) == ([[1]], 1)
    with pytest.raises(LogCorruptError, match="offset 30"):
        list(query("select count(*) from faults", [str(path)]).rows)


@pytest.mark.parametrize("name", ["'top' || 'ics'", "'top' || 'ic'"])
def test_a_table_that_no_word_names_is_read_too(log: str, name: str) -> None:
    assert list(query(f"select count(*) from query_table({name})", [log]).rows) == [[30]]


@pytest.mark.parametrize(
    ("form", "want"),
    [
        ("text", "A  B\n1  -\n"),
        ("table", "A  B\n1  -\n"),
        ("json", '[\n{"a":1,"b":null}\n]\n'),
        ("jsonl", '{"a":1,"b":null}\n'),
        ("csv", "a,b\n1,\n"),
    ],
)
def test_answers_come_in_every_form(log: str, form: str, want: str) -> None:
    assert answer("select 1 as a, null::int as b", log, form) == want


def test_an_answer_without_rows_is_an_empty_array(log: str) -> None:
    assert answer("select * from topic where false", log, "json") == "[]\n"


@pytest.mark.parametrize("form", ["text", "table", "json", "jsonl", "csv"])
def test_what_could_drive_a_terminal_is_escaped(log: str, form: str) -> None:
    assert "\x1b" not in answer("select chr(27) || '[31m' as x", log, form, is_terminal=True)


def test_a_time_that_no_calendar_has_is_null(log: str) -> None:
    text = "select time_of(9223372036854775807), time_of(-62135596800001), time_of(0), time_of(null) from topic limit 1"
    assert list(query(text, [log]).rows) == [[None, None, "1970-01-01T00:00:00.000Z", None]]


def test_a_table_may_be_read_more_than_once(log: str) -> None:
    twice = list(query("select count(*) from topic a, topic b", [log]).rows)
    assert twice == [[next(iter(query("select count(*) from topic", [log]).rows))[0] ** 2]]


# ---- Names of columns need no quotes in SQL, also where they are words of SQL


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
