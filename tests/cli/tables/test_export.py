"""metashell tables: all tables with a line each, and what each column means."""

from __future__ import annotations

import csv
import io
import json

import pytest

from metashell.cli.tables.sql import tables_main
from metashell.common.command import STATUS_OK, STATUS_USAGE
from metashell.common.options import REPORT_SUMMARIES
from metashell.tables.dictionary import STATE_TABLES, ListedColumn, ListedTable, table_names


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert tables_main(words) == STATUS_OK
    return capsys.readouterr().out


def test_all_tables_of_events_of_the_state_and_of_reports_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(answer(capsys, "-o", "json"))
    assert {item["name"] for item in found} == {*table_names(), *STATE_TABLES, *REPORT_SUMMARIES}
    assert all(list(item) == list(ListedTable._fields) and item["holds"] for item in found)
    text = answer(capsys)
    assert all(f"  {item['name']} " in text for item in found)


def test_a_table_shows_its_columns_with_type_unit_meaning_since_and_example(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [json.loads(line) for line in answer(capsys, "register_broker", "-o", "jsonl").splitlines()]
    assert list(columns[0]) == list(ListedColumn._fields)
    by_name = {column["name"]: column for column in columns}
    assert by_name["timestamp"]["type"] == "timestamp[ms]"
    assert by_name["timestamp"]["unit"] == "UTC"
    assert by_name["cordoned_log_dirs"]["since"] == "4.3-IV0"
    assert json.loads(by_name["end_points.port"]["example"]) > 0
    text = answer(capsys, "group_metadata.members.rebalance_timeout")
    assert "int32, ms" in text
    assert "since 0.10.1" in text


def test_a_column_is_found_in_every_table_that_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(answer(capsys, "topic_id", "-o", "csv"))))
    assert {"topic", "partition", "partition_change", "remove_topic", "topics", "share_snapshot"} <= {row["table"] for row in rows}
    assert {row["name"].rpartition(".")[2] for row in rows} == {"topic_id"}
    assert len(answer(capsys, "all", "-o", "jsonl").splitlines()) > 1000


@pytest.mark.parametrize("word", ["partition_change.leader", "PARTITION_CHANGE_RECORD.leader", "PartitionChangeRecord.leader"])
def test_kafkas_names_of_records_and_fields_are_understood(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(answer(capsys, word, "-o", "jsonl"))["name"] == "leader"
    assert answer(capsys, "leaderEpoch") == answer(capsys, "leader_epoch")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("partition_chang", "no table and no column is called partition_chang (did you mean partition_change?)"),
        ("partition.leadr", "table partition has no column leadr (did you mean leader?)"),
        ("x.y", "no table and no column is called x.y"),
    ],
)
def test_a_name_that_nothing_has_comes_with_the_nearest(word: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables_main([word]) == STATUS_USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_meanings_are_wrapped_on_a_terminal(width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    piped = answer(capsys, "partition_change")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    shown = answer(capsys, "partition_change")
    assert "".join(shown.split()) == "".join(piped.split())
    if width >= 80:
        assert max(map(len, shown.splitlines())) <= width
