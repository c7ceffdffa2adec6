"""What lies at an edge: the first and last moment of a day in a lake, what a newer release wrote, and what DuckDB says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.common.errors import UsageError
from metashell.tables.read_options import Bounds, Range
from metashell.tables.sql import database as module
from metashell.tables.sql.database import Database, RefusedError
from metashell.tables.sql.query import Session, query
from metashell.tables.sql.sources import Wanted
from tests.tables.lake.lakes import DAY, SEGMENT, node, run, topics

FIRST = 20_000 * DAY


@pytest.fixture
def lake(tmp_path: Path) -> str:
    """A lake of one day with a row at its first millisecond and one at its last, and a row in each day beside it."""
    (node(tmp_path / "node") / SEGMENT).write_bytes(
        topics(0, 2, time=FIRST, step=DAY - 1) + topics(2, 1, time=FIRST - 1, step=0) + topics(3, 1, time=FIRST + DAY, step=0)
    )
    run(tmp_path / "lake", tmp_path / "node", tables=("topic",))
    return str(tmp_path / "lake")


TIMES = {"t0": FIRST, "t1": FIRST + DAY - 1, "t2": FIRST - 1, "t3": FIRST + DAY}
SIGNS: dict[str, Any] = {"=": int.__eq__, "<=": int.__le__, ">=": int.__ge__, "<": int.__lt__, ">": int.__gt__}


def test_the_first_and_last_moments_of_a_day_are_found(lake: str) -> None:
    session = Session([lake])
    for at in TIMES.values():
        for sign, holds in SIGNS.items():
            found = [name for (name,) in session.ask(f"select name from topic where timestamp {sign} time_of({at}) order by name").rows]
            assert found == [name for name, time in TIMES.items() if holds(time, at)], (at, sign)


def test_a_lake_is_asked_alone_and_has_no_state(lake: str, tmp_path: Path) -> None:
    for words, said in (({"log": "metadata"}, "ask without --log"), ({"image_at": lambda path: None}, "ask without --at")):
        with pytest.raises(UsageError, match=said):
            Session([lake], **words)
    with pytest.raises(UsageError, match=r"a lake is queried alone, without other paths$"):
        Session([str(tmp_path / "node"), lake])
    with pytest.raises(UsageError, match=r"a lake, which has tables of events only; the state is made from logs$"):
        query("select * from topics", [lake])
    with pytest.raises(UsageError, match=r"this lake does not have the table partition$"):
        query("select * from partition", [lake])
    assert "topics" not in Session([lake]).columns() and "topic" in Session([lake]).columns()


def test_what_a_newer_release_wrote_is_said_of_events_when_they_were_read_and_of_the_state_at_once(tmp_path: Path) -> None:
    topic = message_type("metadata", "TopicRecord").cls(name="t", topic_id=bytes([1]) * 16, unknown_tags=((9, b"x"),))
    (tmp_path / SEGMENT).write_bytes(write_batch(0, [Record(0, 1, None, write_metadata_record(topic))], leader_epoch=1))
    events = query("select name from topic", [str(tmp_path)])
    assert list(events.rows) == [["t"]] and events.note == "" and "tag 9" in events.newer()
    state = query("select topic from topics", [str(tmp_path)])
    assert list(state.rows) == [["t"]] and "tag 9" in state.note and state.newer() == ""
    both = query("select 1 from query_table('top' || 'ics')", [str(tmp_path)])
    assert list(both.rows) == [[1]] and both.note == state.note and both.newer() == ""
    (tmp_path / SEGMENT).write_bytes(topics(0, 2))
    plain = query("select name from topic", [str(tmp_path)])
    assert len(list(plain.rows)) == 2 and plain.newer() == "" == plain.note


@pytest.mark.parametrize(
    ("have", "wanted", "does"),
    [
        (Wanted(), Wanted(Bounds(offset=Range(1, 2)), payloads=False), True),
        (Wanted(), Wanted(payload_types=frozenset("A")), True),
        (Wanted(payloads=False), Wanted(payloads=False), True),
        (Wanted(payloads=False), Wanted(Bounds(offset=Range(1, 2)), payloads=False), True),
        (Wanted(payloads=False), Wanted(), False),
        (Wanted(payload_types=frozenset("A")), Wanted(), False),
        (Wanted(payload_types=frozenset("A")), Wanted(payload_types=frozenset("A")), True),
        (Wanted(Bounds(offset=Range(1, 2))), Wanted(Bounds(offset=Range(1, 2))), True),
        (Wanted(Bounds(offset=Range(1, 3))), Wanted(Bounds(offset=Range(1, 2))), False),
    ],
)
def test_what_was_read_serves_what_is_a_part_of_it(have: Wanted, wanted: Wanted, does: bool) -> None:
    assert have.includes(wanted) is does


def test_an_error_is_its_first_line_and_the_rest_is_its_excerpt() -> None:
    database = Database({})
    with pytest.raises(RefusedError) as refused:
        database.ask("select nope\nfrom range(3)")
    assert str(refused.value).startswith("Binder Error: ") and "nope" in str(refused.value)
    assert not any(line != line.rstrip() for line in refused.value.excerpt)
    for error, words in ((ValueError(""), "ValueError"), (ValueError("\n  a \n\n b  "), "a")):
        assert str(module._refused(error)) == words
    assert module._refused(ValueError("\n  a \n\n b  ")).excerpt == (" b",)


def test_statements_come_without_what_separates_them() -> None:
    assert Session([str(Path(__file__).parents[3] / "metashell/demo/data")]).statements("select offset from topic ;\n\n select 2;") == [
        'select "offset" from topic',
        "select 2",
    ]


def test_faults_of_the_state_count_in_questions_about_it_only(tmp_path: Path) -> None:
    data = topics(0, 4)
    (tmp_path / SEGMENT).write_bytes(data[:-1] + bytes((data[-1] ^ 1,)))
    session = Session([str(tmp_path)], on_error="skip")
    assert session.ask("select count(*) from topics").fault_count > 0
    assert session.ask("select 1").fault_count == 0
