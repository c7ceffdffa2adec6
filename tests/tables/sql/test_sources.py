"""What a question reads of the logs: the rows are those of the whole log, and what no row of an answer can lie in is not read."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from metashell.common.errors import LogCorruptError
from metashell.disk.names import METADATA
from metashell.tables import splits
from metashell.tables.input_files import open_input
from metashell.tables.sql import sources
from metashell.tables.sql.query import Session, query
from tests.quick import quick
from tests.tables.export.test_job import topics_log
from tests.tables.lake.lakes import node, topics
from tests.tables.test_read_options import NAME, Counting, big_log, counted, make_log  # noqa: F401 - a fixture
from tests.tables.test_remote_s3 import upload

DEMO = Path(__file__).parents[3] / "metashell" / "demo" / "data"


def some_test(chance: random.Random, opaque: bool) -> str:
    """A test as DuckDB sees into it, or the same behind a function that hides the column."""

    def column(name: str, kind: str) -> str:
        return f'try_cast("{name}"::varchar as {kind})' if opaque else f'"{name}"'

    what = chance.randrange(4)
    sign = chance.choice(("<", "<=", "=", ">", ">=", "<>"))
    if what == 0:
        return f"{column('offset', 'bigint')} {sign} {chance.randrange(60, 300)}"
    if what == 1:
        return f"{column('epoch', 'int')} {sign} {chance.randrange(1, 12)}"
    if what == 2:
        return f"{column('timestamp', 'timestamptz')} {sign} time_of({1_000_000_000 + chance.randrange(0, 40_000_000)})"
    return f"{column('offset', 'bigint')} in ({', '.join(str(chance.randrange(60, 300)) for _ in range(3))})"


def some_condition(chance: random.Random, opaque: bool) -> str:
    parts = [some_test(chance, opaque) for _ in range(chance.choice((1, 2, 3)))]
    return chance.choice((" and ", " or ")).join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_condition_gives_the_rows_that_it_gives_over_the_whole_log(tmp_path: Path, seed: int, counted: type[Counting]) -> None:  # noqa: F811
    chance = random.Random(seed)
    (tmp_path / NAME).write_bytes(make_log(chance, 120))
    asked = Session([str(tmp_path / NAME)], log=METADATA)
    whole = Session([str(tmp_path / NAME)], log=METADATA)
    list(whole.ask("select * from records").rows)
    saved = 0
    for number in range(20):
        state = chance.getstate()
        plain = some_condition(chance, False)
        chance.setstate(state)
        hidden = some_condition(chance, True)
        columns = chance.choice(('"offset", epoch, timestamp', '"offset", size, payload', "count(*)"))
        counted.read = 0
        found = list(asked.ask(f"select {columns} from records where {plain} order by all").rows)
        saved += counted.read < os.path.getsize(tmp_path / NAME) // 2
        assert found == list(whole.ask(f"select {columns} from records where {hidden} order by all").rows), plain
        if number % 6 == 0:
            # A question to all of it keeps the whole for those that follow.
            asked = Session([str(tmp_path / NAME)], log=METADATA)
    assert saved > 2


@pytest.mark.slow
def test_each_scan_of_a_join_has_its_own_condition(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(topics_log(300))
    session = Session([str(tmp_path)])
    text = (
        'select a."offset", b."offset" from records a join topic b on a."offset" = b."offset" - 200 where a."offset" < 3 and b."offset" > 5'
    )
    assert list(session.ask(text).rows) == [[0, 200], [1, 201], [2, 202]]
    parts = ('where "offset" < 10', 'where "offset" >= 250', "")
    twice = ", ".join(f"(select count(*) from topic {part})" for part in parts)
    assert list(session.ask(f"select {twice}").rows) == [[10, 50, 300]]


@pytest.mark.parametrize(
    "text", quick(['"offset" >= {first}', '"offset" between {first} and 1000000000 and epoch = 1', '"offset" in ({first}, {last})'])
)
def test_the_last_hundredth_costs_few_bytes(tmp_path: Path, counted: type[Counting], text: str) -> None:  # noqa: F811
    data, count = big_log(5000, 24 << 20)
    (tmp_path / NAME).write_bytes(data)
    first = count - count // 100
    asked = f'select min("offset"), max("offset") from records where {text.format(first=first, last=count - 1)}'
    (found,) = query(asked, [str(tmp_path / NAME)], log=METADATA).rows
    assert found == [first, count - 1]
    assert counted.read < 0.03 * len(data)


@pytest.mark.slow
def test_a_part_is_read_once_for_questions_that_ask_for_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_bytes(topics_log(300))
    calls: list[Any] = []
    real = sources.read_tables
    monkeypatch.setattr(
        sources, "read_tables", lambda splits, options, *rest: calls.append((options.tables, options.only)) or real(splits, options, *rest)
    )
    session = Session([str(tmp_path)])
    for _ in range(2):
        assert list(session.ask('select count(*) from topic where "offset" < 7').rows) == [[7]]
    assert len(calls) == 1 and calls[0][1] is not None
    # What needs all of one table reads all that the question names, and nothing is read again then.
    for text in (
        "select count(*) from topic join batches on true",
        "select count(*) from batches",
        'select count(*) from topic where "offset" < 9',
    ):
        list(session.ask(text).rows)
    assert calls[1:] == [(["batches", "topic"], None)]
    # Bodies are decoded where they are asked for.
    list(session.ask("select type, count(*) from records group by all").rows)
    assert list(session.ask("select count(*) from records where payload like '%\"t7_\"%'").rows) == [[10]]
    assert [tables for tables, _ in calls[2:]] == [["records"], ["records"]]


@pytest.mark.slow
def test_payloads_are_there_whatever_hides_that_they_are_wanted() -> None:
    session = Session([str(DEMO)])
    whole = dict(session.ask("select \"offset\" || file, payload from records where type in ('TOPIC_RECORD', 'CONFIG_RECORD')").rows)
    assert whole and None not in whole.values()
    some = dict(Session([str(DEMO)]).ask("select \"offset\" || file, payload from records where type <> 'PARTITION_RECORD'").rows)
    assert None not in some.values() and whole.items() <= some.items()
    counts = "select count(*) filter (payload is null), count(payload), count(fault) from records"
    assert list(Session([str(DEMO)]).ask(counts).rows) == list(session.ask(counts).rows)
    assert next(iter(session.ask(counts).rows))[0] == 0


@pytest.mark.slow
def test_damage_outside_of_what_is_asked_for_is_not_read_and_inside_it_ends_the_question(tmp_path: Path) -> None:
    data, count = big_log(5000, 1 << 20)
    damaged = bytearray(data)
    damaged[10 * (len(data) // count) + 100] ^= 1
    (tmp_path / NAME).write_bytes(damaged)
    path = str(tmp_path / NAME)
    assert list(query('select count(*) from records where "offset" >= 100', [path], log=METADATA).rows) == [[count - 100]]
    with pytest.raises(LogCorruptError, match="offset 10"):
        query('select count(*) from records where "offset" >= 5', [path], log=METADATA)
    skipped = query('select count(*) from records where "offset" >= 5', [path], log=METADATA, on_error="skip")
    assert (list(skipped.rows), skipped.fault_count) == ([[count - 6]], 1)
    # The table of faults is that of the whole log, whatever else is asked: also of the bodies, which are all bad here.
    found = query(
        'select count(distinct r."offset"), count(distinct f."offset") filter (f.kind = \'bad-record\'), '
        'max(f."offset") filter (f.kind = \'bad-crc\') from records r join faults f on true where r."offset" > 100',
        [path],
        log=METADATA,
        on_error="skip",
    )
    assert list(found.rows) == [[count - 101, count - 1, 10]]


@pytest.mark.slow
def test_rows_of_many_small_files_say_which_file_and_cluster_they_are_of(tmp_path: Path) -> None:
    for number in range(40):
        (node(tmp_path / f"n{number}", number, f"c{number % 3}") / NAME).write_bytes(topics(0, 3, name=f"t{number}-"))
    text = "select cluster_id, file, name from topic order by regexp_extract(name, '[0-9]+')::int, \"offset\""
    want = [[f"c{n % 3}", f"{tmp_path}/n{n}/__cluster_metadata-0/{NAME}", f"t{n}-{at}"] for n in range(40) for at in range(3)]
    assert list(query(text, [str(tmp_path)]).rows) == want


@pytest.mark.slow
def test_all_tables_end_where_the_log_ended_when_it_was_first_read(tmp_path: Path) -> None:
    whole = topics_log(300)
    path = tmp_path / NAME
    path.write_bytes(whole)
    session = Session([str(path)])
    assert list(session.ask("select count(*) from topic").rows) == [[300]]
    with open(path, "ab") as file:
        file.write(whole)
    assert list(session.ask("select sum(count) from batches").rows) == [[300]]


@pytest.mark.slow
def test_of_a_log_in_a_store_the_last_hundredth_costs_few_bytes(s3: str, tmp_path: Path, counted: type[Counting]) -> None:  # noqa: F811
    data, count = big_log(5000, 12 << 20)
    folder = tmp_path / "logs" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(data)
    there = upload(f"{s3}/logs", str(tmp_path / "logs"))
    text = f'select count(*), min("offset"), max(file) from records where "offset" >= {count - count // 100} and epoch < 5'
    found = list(query(text, [there]).rows)
    assert found == [[count // 100, count - count // 100, f"{there}/__cluster_metadata-0/{NAME}"]]
    assert counted.read < 0.06 * len(data)


@pytest.mark.slow
def test_ctrl_c_ends_the_reading_of_a_log_and_the_next_question_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_bytes(topics_log(300))
    real = sources.read_tables

    def endless(*words: Any) -> Any:
        while True:
            real(*words)

    session = Session([str(tmp_path)])
    with monkeypatch.context() as patch:
        patch.setattr(sources, "read_tables", endless)
        stopping = Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        stopping.start()
        with pytest.raises(KeyboardInterrupt):
            session.ask("select count(*) from topic")
        stopping.join()
    assert list(session.ask("select count(*) from topic").rows) == [[300]]


@pytest.mark.slow
def test_what_can_be_read_only_once_serves_all_tables_of_a_question() -> None:
    segment = DEMO / "__cluster_metadata-0" / "00000000000000000251.log"
    text = 'select (select count(*) from batches where "offset" > 400), (select count(*) from partition), (select count(*) from records)'
    argv = [sys.executable, "-c", "import sys; from metashell.cli.main import main; sys.exit(main())", "sql", text, "-", "-o", "csv"]
    with segment.open("rb") as file:
        done = subprocess.run(argv, stdin=file, capture_output=True, text=True, check=False)
    here = list(query(text, [str(segment)]).rows)
    assert done.stderr == "" and done.stdout.splitlines()[1] == ",".join(map(str, here[0]))


def test_a_file_that_is_gone_when_it_is_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / NAME
    path.write_bytes(topics_log(30))

    def gone(place: str) -> Any:
        path.unlink(missing_ok=True)
        return open_input(place)

    monkeypatch.setattr(splits, "open_input", gone)
    with pytest.raises(Exception, match=f"{path}: No such file") as error:
        query("select * from topic", [str(path)])
    assert "\n" not in str(error.value)


@pytest.fixture(autouse=True)
def no_leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    import gc

    gc.collect()
    assert not list(folder.iterdir())
    folder.rmdir()
