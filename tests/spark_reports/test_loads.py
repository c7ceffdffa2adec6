"""Conditions, schemas, lists and patterns of a load on a real Spark, as its users expect them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metashell.common.errors import UsageError
from spark_reports.session import error_from
from tests.golden_cases import SUBSET_ROOT
from tests.spark_reports.loads import rows_of, source

# pyspark itself warns: of sockets that it closes late, and of what it will call otherwise.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
LOG = STOPPED / "node-2/d1/__cluster_metadata-0/00000000000000000000.log"


def reader(spark: Any, **options: str) -> Any:
    return spark.read.format("kafka_metadata").options(**options)


def said(error: Any) -> str:
    return str(error_from(error.value))


def test_a_dataframe_that_was_queried_answers_the_next_query_in_full(spark: Any) -> None:
    frame = reader(spark, table="batches", columns="offset").load(str(LOG))
    count = frame.count()
    assert (frame.where("offset = 0").count(), frame.count()) == (1, count)
    assert frame.where("offset = 0").union(frame).count() == count + 1
    assert frame.where("offset < 9").join(frame, "offset").count() == frame.where("offset < 9").count() > 1


WHERE: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
    ("offset > 100 and offset <= 120", lambda row: 100 < row["offset"] <= 120),
    ("OFFSET between 5 and 9", lambda row: 5 <= row["offset"] <= 9),
    ("offset in (3, 77, 9000)", lambda row: row["offset"] in (3, 77)),
    ("offset not in (3, 77) and type = 'PARTITION_RECORD'", lambda row: row["offset"] not in (3, 77) and row["type"] == "PARTITION_RECORD"),
    ("type <> 'PARTITION_RECORD' and kind == 'record'", lambda row: row["type"] != "PARTITION_RECORD" and row["kind"] == "record"),
    ("epoch >= 1 and version is not null", lambda row: row["epoch"] >= 1 and row["version"] is not None),
    ("version is null", lambda row: row["version"] is None),
    ("timestamp < '1999-01-01'", lambda row: False),
    ("timestamp >= '1999-01-01T08:00+02:00' and fault is null", lambda row: True),
    ("file = 'it''s'", lambda row: False),
]


@pytest.mark.parametrize(("text", "holds"), WHERE)
def test_where_gives_the_rows_for_which_it_holds(text: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    whole = rows_of(path=LOG, table="records")
    assert rows_of(path=LOG, table="records", where=text) == [row for row in whole if holds(row)]
    some = rows_of(path=LOG, table="records", where=text, columns="size", splitBytes="3000")
    assert some == [{"size": row["size"]} for row in whole if holds(row)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("offset", "option where takes conditions such as offset >= 100 or type in ('A', 'B'), with and between, not offset"),
        ("offset > 3 or offset < 2", "option where takes conditions such as"),
        ("offset = 1.5", "option where takes conditions such as"),
        ("ofset > 3", "option where: no column ofset (did you mean offset?)"),
        ("offset > 'a'", "option where: offset is of type int64, and cannot be compared with a"),
        ("timestamp > 'noon'", "option where: noon is no time, which timestamp is compared with"),
        ("type = 5", "option where: type is of type string, and cannot be compared with 5"),
        ("offset in (1, 2", "option where takes conditions such as"),
    ],
)
def test_where_refuses_what_it_does_not_understand(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        rows_of(path=LOG, table="records", where=text)
    assert str(caught.value).startswith(message)


def test_a_schema_that_is_given_chooses_the_columns_and_their_types(spark: Any) -> None:
    frame = reader(spark, table="topic").schema("name string, offset int, timestamp timestamp").load(str(LOG))
    assert frame.columns == ["name", "offset", "timestamp"]
    whole = reader(spark, table="topic").load(str(LOG))
    assert sorted(map(str, frame.collect())) == sorted(map(str, whole.select("name", "offset", "timestamp").collect()))
    with pytest.raises(Exception, match="column") as caught:
        reader(spark, table="topic").schema("nam string").load(str(LOG)).collect()
    assert said(caught) == "table topic has no column nam (did you mean name?)"
    with pytest.raises(Exception, match="column") as caught:
        reader(spark, table="partition").schema("replicas int").load(str(LOG)).collect()
    assert said(caught) == "column replicas is array<int>, and not int, as the given schema says"


def test_columns_say_what_they_mean(spark: Any) -> None:
    frame = reader(spark, table="partition").load(str(LOG))
    assert dict(frame.dtypes)["timestamp"] == "timestamp"
    assert dict(frame.dtypes)["topic_id"] == "binary"
    assert frame.schema["topic_id"].metadata["comment"]
    row = frame.first()
    assert frame.where(frame.topic_id_text == row["topic_id_text"]).count() == frame.where(frame.topic_id == row["topic_id"]).count() > 0


def test_lists_and_patterns_of_paths(spark: Any, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        folder = tmp_path / name / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        shutil.copy(LOG, folder / LOG.name)
    one = len(rows_of(path=LOG, table="topic"))
    assert reader(spark, table="topic").load([f"{tmp_path}/a", f"file://{tmp_path}/[bc]"]).count() == 3 * one
    counts = [
        len(rows_of(table="topic", path=path))
        for path in (
            f"{tmp_path}/[ab]",
            f"{tmp_path}/*/__cluster_metadata-0",
            f"{tmp_path}/{{a,c}}",
            f"file://{tmp_path}/*/__cluster*",
            f"file://{tmp_path}/{{a,b}}/**/*.log",
        )
    ]
    assert counts == [2 * one, 3 * one, 2 * one, 3 * one, 2 * one]
    for path in (f"{tmp_path}/z*", f"file://{tmp_path}/z*"):
        with pytest.raises(UsageError, match="No such file or directory"):
            rows_of(table="topic", path=path)


def test_several_tables_come_in_one_pass(spark: Any) -> None:
    frame = reader(spark, tables="topic,partition").load(str(LOG))
    assert frame.columns == ["table", "topic", "partition"]
    for table in ("topic", "partition"):
        alone = reader(spark, table=table).load(str(LOG))
        found = frame.where(frame.table == table).select(f"{table}.*")
        assert found.columns == alone.columns
        assert sorted(map(str, found.collect())) == sorted(map(str, alone.collect()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "partitons"}, "unknown table partitons (did you mean partitions?)"),
        ({"table": "topic", "pushdown": "true"}, "unknown option pushdown; there are table, "),
        ({"tabel": "topic"}, "unknown option tabel (did you mean table?)"),
        ({"table": "topic", "column": "name"}, "unknown option column (did you mean columns?)"),
        ({"table": "topic", "onerror": "ignore"}, "option onError is fail or skip, not ignore"),
        ({"table": "topic", "showSecrets": "maybe"}, "option showSecrets is true or false, not maybe"),
        ({"table": "topic", "splitBytes": "a lot"}, "option splitBytes is a number of bytes, not a lot"),
        ({"table": "topic", "at": "5"}, "option at is for the tables of the state (topics, partitions"),
        ({"table": "topic", "tables": "topic"}, "option table names one table, tables several: give one of the two"),
        ({"tables": "topic,topics"}, "option tables takes tables of events, and topics is none"),
        ({"table": "topic", "log": "metadat"}, "option log is one of metadata, "),
        ({"table": "topic", "columns": "nam"}, "table topic has no column nam (did you mean name?)"),
        ({"table": "topic", "paths": "nope"}, "option paths is a list of paths as a JSON array"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_was_probably_meant(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        source(path=LOG, **options).schema()
    assert str(caught.value).startswith(message)
