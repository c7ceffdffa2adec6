"""SQL over a lake: the rows of its logs, by what its commits name, and files that cannot hold a wanted row stay closed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.fs
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from metashell.common.errors import MetashellError, UsageError
from metashell.common.values import time_text
from metashell.tables.dictionary import STATE_TABLES
from metashell.tables.lake.delta import active_files
from metashell.tables.sql.query import QueryError, Session, query
from tests.golden_cases import SUBSET_ROOT
from tests.tables.lake.lakes import CLUSTER, DAY, SEGMENT, START, commits, node, run, topics
from tests.tables.test_remote_s3 import upload

STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
HOSTILE = "a/b=c%2F'ü\\ {[^]} #?*"
IN_PROPERTIES = HOSTILE.replace("\\", "\\\\").replace("ü", "\\u00fc")


def answers(text: str, *paths: Path | str, **how: Any) -> list[list[Any]]:
    return list(query(text, list(map(str, paths)), **how).rows)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the logs of a real cluster, metadata and coordinators."""
    out = tmp_path_factory.mktemp("stopped") / "lake"
    run(out, STOPPED, tables=None)
    return out


@pytest.mark.slow
def test_every_table_has_the_rows_that_its_logs_have(stopped: Path) -> None:
    over_lake, over_logs = (Session([str(path)]) for path in (stopped, STOPPED))
    shown = {name for (name,) in over_lake.ask("show tables").rows}
    assert {"partition", "batches", "faults"} <= shown and not shown & {"records", *STATE_TABLES}
    compared = 0
    for name in sorted(shown):
        columns = ", ".join(f'"{row[0]}"' for row in over_logs.ask(f"describe {name}").rows)
        by = f"select {columns} from {name} order by all"
        found, expected = list(over_lake.ask(by).rows), list(over_logs.ask(by).rows)
        assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, expected)), name
        compared += len(found) > 0
    assert compared > 8


@pytest.mark.slow
def test_clusters_days_and_conditions(tmp_path: Path) -> None:
    for name, cluster in (("one", CLUSTER), ("two", IN_PROPERTIES), ("three", "__HIVE_DEFAULT_PARTITION__")):
        (node(tmp_path / "in" / name, 1, cluster) / SEGMENT).write_bytes(topics(0, 6, step=DAY // 2))
    lake = tmp_path / "lake"
    run(lake, tmp_path / "in")
    session = Session([str(lake)])
    clusters = sorted((CLUSTER, HOSTILE, "__HIVE_DEFAULT_PARTITION__"))
    assert list(session.ask("select cluster_id, count(*) from topic group by all order by all").rows) == [[name, 6] for name in clusters]
    day = "1970-01-01"
    moments = [row[0] for row in session.ask("select distinct timestamp from topic order by all").rows]
    assert len({moment[: len(day)] for moment in moments}) > 2
    for number, moment in enumerate(moments):
        for sign, want in (("<", number), ("<=", number + 1), ("=", 1), (">", 5 - number), (">=", 6 - number)):
            condition = f"timestamp {sign} '{moment}' and cluster_id <> '{CLUSTER}'"
            assert list(session.ask(f"select count(*) from topic where {condition}").rows) == [[2 * want]], condition
    quoted = HOSTILE.replace("'", "''")
    assert list(session.ask(f"select name from topic where cluster_id = '{quoted}' and \"offset\" = 3").rows) == [["t3"]]


def test_files_of_other_clusters_and_days_are_not_opened(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (node(tmp_path / "in" / name, 1, name) / SEGMENT).write_bytes(topics(0, 6, step=DAY))
        run(tmp_path / "lake", tmp_path / "in" / name)
    lake = tmp_path / "lake"
    kept = active_files(DeltaTable(str(lake / "topic")), "topic")
    (kept_name,) = [file.name for file in kept if file.bounds()["cluster_id"] == ("b", "b")]
    for path in lake.rglob("*.parquet"):
        if str(path.relative_to(lake)) != kept_name and path.parent.name != "appends":
            path.write_bytes(b"not to be read")
    moment = time_text(START + 2 * DAY)
    assert answers(f"select count(*) from topic where cluster_id = 'b' and timestamp >= '{moment}'", lake) == [[4]]
    assert answers("select count(*) from topic where timestamp < '2000-01-01'", lake) == [[0]]
    with pytest.raises(MetashellError, match=r"topic/.*parquet") as error:
        answers("select count(*) from topic where cluster_id = 'a'", lake)
    assert "\n" not in str(error.value)


def test_the_first_and_the_last_millisecond_of_a_day_are_found(tmp_path: Path) -> None:
    begin = START - START % DAY
    moments = [begin + day * DAY + more for day in range(3) for more in (0, 1, DAY - 1)]
    (node(tmp_path / "in") / SEGMENT).write_bytes(b"".join(topics(at, 1, time=time, step=0) for at, time in enumerate(moments)))
    run(tmp_path / "lake", tmp_path / "in", tables=("topic",))
    session = Session([str(tmp_path / "lake")])
    for at, moment in enumerate(moments):
        text = time_text(moment)
        for sign, want in (("<", at), ("=", 1), (">", len(moments) - at - 1), ("<=", at + 1), (">=", len(moments) - at)):
            assert list(session.ask(f"select count(*) from topic where timestamp {sign} '{text}'").rows) == [[want]], (text, sign)


@pytest.mark.slow
def test_times_that_no_calendar_has_are_in_no_day_and_are_found(tmp_path: Path) -> None:
    data = topics(0, 2) + topics(2, 2, time=(1 << 62) - 2) + topics(4, 2, time=-(1 << 62)) + topics(6, 2, time=-DAY)
    (node(tmp_path / "in") / SEGMENT).write_bytes(data)
    lake = tmp_path / "lake"
    run(lake, tmp_path / "in")
    for text in (
        "select name from topic where timestamp is null order by all",
        "select name from topic where timestamp < '1970-01-01' order by all",
        "select name from topic where coalesce(timestamp, '2000-01-01') < '2020-01-01' order by all",
        "select name, timestamp from topic order by all",
    ):
        assert answers(text, lake) == answers(text, tmp_path / "in"), text
    assert answers("select count(*) from topic where timestamp is null", lake) == [[4]]


def test_only_what_commits_name_counts(tmp_path: Path) -> None:
    log, lake = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(lake, tmp_path / "node")
    session = Session([str(lake)])
    count = "select count(*), sum(length(name)) from topic"
    assert list(session.ask(count).rows) == [[4, 8]]
    (path,) = (lake / "topic").rglob("*.parquet")
    path.with_name("part-00000002-00001-stray.parquet").write_bytes(path.read_bytes())
    assert list(session.ask(count).rows) == [[4, 8]]
    with (log / SEGMENT).open("ab") as file:
        file.write(topics(4, 2))
    run(lake, tmp_path / "node")
    # The next question sees the next commit.
    assert list(session.ask(count).rows) == [[6, 12]]
    path.unlink()
    with pytest.raises(MetashellError) as error:
        list(session.ask(count).rows)
    assert (
        str(error.value) == f"{path}: is gone, and a commit of this lake names it; ask again, if somebody has written to the lake meanwhile"
    )
    assert list(session.ask("select count(*) from batches").rows) == [[3]]


def test_a_column_that_older_files_lack_is_null_there(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    log, lake = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(lake, tmp_path / "node")
    (path,) = (lake / "topic").rglob("*.parquet")
    pq.write_table(pq.ParquetFile(path).read().drop_columns(["topic_id_text"]), path)
    DeltaTable(str(lake / "topic")).alter.add_columns([Field("of_tomorrow", PrimitiveType("string"))])
    with (log / SEGMENT).open("ab") as file:
        file.write(topics(4, 2, time=START + DAY))
    run(lake, tmp_path / "node")
    answer = query("select count(*), count(topic_id_text), count(topic_id) from topic", [str(lake)])
    assert list(answer.rows) == [[6, 2, 6]]
    assert answer.note == f"{lake}: written by a newer version of metashell, and not shown: topic.of_tomorrow"
    assert query("select count(*) from batches", [str(lake)]).note == ""


def test_what_a_lake_does_not_have_is_said(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    lake = tmp_path / "lake"
    run(lake, tmp_path / "node")
    for text, said in (
        ("select * from topics", "a lake, which has tables of events only; the state is made from logs"),
        ("select * from records", "this lake does not have the table records"),
        ("select * from offset_commit", "this lake does not have the table offset_commit"),
    ):
        with pytest.raises(MetashellError) as error:
            answers(text, lake)
        assert str(error.value) == f"{lake}: {said}"
    # A word may be that of a column.
    assert answers("select count(*) as topics from topic", lake) == [[4]]
    assert answers("select count(*) from partition", lake) == [[0]]
    with pytest.raises(QueryError, match="nope"):
        answers("select nope from topic", lake)


def test_a_lake_of_other_rows_than_those_that_are_asked_for_is_refused(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    plain, secret = tmp_path / "plain", tmp_path / "secret"
    run(plain, tmp_path / "node")
    run(secret, tmp_path / "node", show_secrets=True)
    text = "select count(*) from topic"
    for lake, how, said in (
        (plain, {"show_secrets": True}, "this lake has no secrets: ask without --show-secrets"),
        (secret, {}, "this lake shows secrets: ask with --show-secrets"),
        (plain, {"log": "metadata"}, "a lake is of many logs: ask without --log"),
        (plain, {"image_at": lambda path: None}, "a lake has no state: ask without --at"),
    ):
        with pytest.raises(UsageError) as error:
            answers(text, lake, **how)
        assert str(error.value) == f"{lake}: {said}"
    assert answers(text, secret, show_secrets=True) == [[4]]
    with pytest.raises(UsageError, match="a lake is queried alone"):
        answers(text, tmp_path / "node", plain)


def test_logs_below_a_folder_that_is_no_lake_are_logs(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    assert answers("select count(*) from topic", tmp_path / "node") == [[4]]
    assert answers("select count(*) from topic", (tmp_path / "node" / "__cluster_metadata-0" / SEGMENT).as_uri()) == [[4]]


@pytest.mark.slow
def test_a_lake_in_a_store_answers_as_here(s3: str, tmp_path: Path) -> None:
    (node(tmp_path / "node", 1, IN_PROPERTIES) / SEGMENT).write_bytes(topics(0, 6, step=DAY))
    offsets = tmp_path / "node" / "__consumer_offsets-1"
    offsets.mkdir()
    (offsets / SEGMENT).write_bytes(commits(0, 5))
    here, there = tmp_path / "lake", f"{s3}/tables/a%20lake"
    run(here, tmp_path / "node")
    run(there, tmp_path / "node")
    for text in (
        "select * from topic order by all",
        "select name from topic where \"offset\" > 2 and timestamp > '1980-01-01' order by all",
        'select t.name, c.* from topic t join offset_commit c on c.partition = t."offset" order by all',
    ):
        assert answers(text, there) == answers(text, here) != []
    upload(f"{s3}/logs", str(tmp_path / "node"))
    assert answers("select count(*) from topic", f"{s3}/logs") == [[6]]
    gone = next((here / "topic").rglob("*.parquet")).relative_to(here)
    system, top = pyarrow.fs.FileSystem.from_uri(there)
    name = next(
        info.path
        for info in system.get_file_info(pyarrow.fs.FileSelector(top, recursive=True))
        if "/topic/part" in info.path and info.is_file
    )
    system.delete_file(name)
    assert gone.suffix == ".parquet"
    # Nothing says the keys of a URI.
    for place in (there, there.replace("s3://", "s3://AKIAKEY:topsecret@")):
        with pytest.raises(MetashellError, match=r"^s3://bucket-\d+/tables/a%20lake/topic/.*parquet: is gone, and a commit"):
            answers("select count(*) from topic", place)
        with pytest.raises(MetashellError, match=r"^s3://bucket-\d+/tables/a%20lake: a lake, which"):
            answers("select count(*) from topics", place)


def test_a_lake_that_was_written_anew_in_another_form_is_refused(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    lake = tmp_path / "lake"
    run(lake, tmp_path / "node", tables=("topic",))
    session = Session([str(lake)])
    text = "select count(*) from topic"
    assert list(session.ask(text).rows) == [[4]]
    run(lake, tmp_path / "node", tables=("topic",), mode="overwrite", show_secrets=True)
    with pytest.raises(UsageError, match="this lake shows secrets: ask with --show-secrets"):
        list(session.ask(text).rows)
