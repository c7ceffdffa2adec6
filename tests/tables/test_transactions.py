"""Every reader of a log of groups says which commits count: all give what `metashell groups offsets` gives."""

from __future__ import annotations

import io
import json
import shutil
from collections import defaultdict
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from metashell.cli.main import main
from metashell.codec.batch_writer import ABORT, COMMIT, write_batch, write_control_record
from metashell.codec.batches import Record
from metashell.codec.messages import OffsetCommitValue
from metashell.codec.registry import message_type
from metashell.tables import ReadOptions, plan_splits, read_split
from metashell.tables.columns.reader import read_piece
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from metashell.tables.reports import REPORTS
from metashell.tables.reports.local import run_local
from metashell.tables.sql.query import query
from metashell.tables.state.tables import read_group_offsets
from metashell.tables.transactions import OPEN, Markers, segments_beside
from tests.tables.lake.lakes import rows as lake_rows
from tests.tables.lake.lakes import run

GROUPS = ("g", "h")
CASES = {"commit": 6, "tombstone": 1, "end": 3}
Step = tuple[str, int, int, int, int]
"""What is written (commit, tombstone, end of a transaction); group, partition, producer (0: none), and a number."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from([kind for kind, weight in CASES.items() for _ in range(weight)]),
        st.integers(0, 1),
        st.integers(0, 1),
        st.integers(0, 2),
        st.integers(0, 99),
    ),
    min_size=1,
    max_size=24,
)
Key = tuple[str, str, int]
NEWEST = """
    with judged as (select *, max(case when tombstone then offset end) over (partition by "group", topic, partition) as gone from {})
    select "group", topic, partition, arg_max(value_offset, offset) from judged
    where outcome = 'committed' and not tombstone and offset > coalesce(gone, -1) group by all"""


def commit_key(group: int, partition: int) -> bytes:
    message = message_type("offsets", "OffsetCommitKey")
    return b"\0\1" + message.write(message.cls(group=GROUPS[group], topic="t", partition=partition), 0)


def commit_value(offset: int) -> bytes:
    value = OffsetCommitValue(offset=offset, leader_epoch=-1, metadata="", commit_timestamp=1000)
    return b"\0\3" + message_type("offsets", "OffsetCommitValue").write(value, 3)


def batch(offset: int, step: Step, codec_id: int = 0) -> bytes:
    kind, group, partition, producer, number = step
    if kind == "end":
        marker = message_type("control", "EndTxnMarker").cls(coordinator_epoch=0)
        key, value = write_control_record(COMMIT if number % 2 else ABORT, marker)
        record = Record(offset, 1000, key, value)
        return write_batch(offset, [record], leader_epoch=1, producer_id=producer, is_control=True, is_transactional=True)
    record = Record(offset, 1000, commit_key(group, partition), commit_value(number) if kind == "commit" else None)
    # A tombstone is never part of a transaction.
    producer = producer if kind == "commit" else 0
    return write_batch(offset, [record], leader_epoch=1, producer_id=producer or -1, is_transactional=producer > 0, codec_id=codec_id)


def write_segments(folder: Path, steps: list[Step], cuts: set[int]) -> Path:
    """A partition's directory with these steps, one batch each; a segment begins at offset 0 and at each cut."""
    directory = folder / "__consumer_offsets-0"
    directory.mkdir(parents=True, exist_ok=True)
    begin = 0
    for offset, step in enumerate(steps):
        begin = offset if offset in cuts else begin
        with (directory / f"{begin:020d}.log").open("ab") as file:
            file.write(batch(offset, step, step[4] % 3))
    return directory


def outcomes_of(steps: list[Step]) -> list[str | None]:
    """The outcome of each commit, None for other steps."""
    found: list[str | None] = []
    held: dict[int, list[int]] = defaultdict(list)
    for offset, (kind, _, _, producer, number) in enumerate(steps):
        found.append("committed" if kind == "commit" else None)
        if kind == "commit" and producer:
            found[-1] = "open"
            held[producer].append(offset)
        elif kind == "end":
            for at in held.pop(producer, ()):
                found[at] = "committed" if number % 2 else "aborted"
    return found


def shown_offsets(path: Path) -> dict[Key, int]:
    """What `groups offsets` gives for all groups."""
    found = {}
    for group in GROUPS:
        out = io.StringIO()
        with redirect_stdout(out):
            status = main(["groups", "offsets", group, str(path), "-o", "json"])
        for row in json.loads(out.getvalue()) if status == 0 and out.getvalue() else ():
            if row["pending_producer"] is None:
                found[group, row["topic"], row["partition"]] = row["offset"]
    return found


def newest(source: str, path: Path) -> dict[Key, int]:
    return {(group, topic, partition): offset for group, topic, partition, offset in query(NEWEST.format(source), [str(path)]).rows}


def event_rows(path: Path, target_bytes: int, **options: Any) -> dict[int, tuple[int, bool, str]]:
    found = {}
    for split in plan_splits(str(path), target_bytes):
        for _, rows in read_split(split, ReadOptions(tables=["offset_commit"], columns="typed", **options)):
            for row in rows.to_pylist():
                found[row["offset"]] = (row["producer_id"], row["transactional"], row["outcome"])
    return found


@settings(max_examples=10, deadline=None, phases=[phase for phase in Phase if phase != Phase.shrink])
@given(steps=STEPS, cuts=st.sets(st.integers(1, 23), max_size=2), until=st.integers(0, 24))
def test_all_readers_agree_with_groups_offsets(
    steps: list[Step], cuts: set[int], until: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tmp_path = tmp_path_factory.mktemp("log")
    write_segments(tmp_path / "log", [("tombstone", 0, 0, 0, 0), *steps], {cut + 1 for cut in cuts})
    steps = [("tombstone", 0, 0, 0, 0), *steps]
    path = tmp_path / "log"
    expected = shown_offsets(path)
    table = read_group_offsets([str(path)]).table().to_pylist()
    assert {(row["group_id"], row["topic"], row["partition_id"]): row["committed_offset"] for row in table} == expected
    assert newest("offset_commit", path) == expected

    wanted = {
        offset: (step[3] or -1, step[3] > 0, outcome)
        for offset, (step, outcome) in enumerate(zip(steps, outcomes_of(steps), strict=True))
        if outcome
    }
    for target_bytes in (1, 1 << 30):
        for joins in (False, True):
            found = event_rows(path, target_bytes, joins_files=joins)
            assert {offset: row for offset, row in found.items() if offset in wanted} == wanted

    export(ExportOptions(paths=(str(path),), out=str(tmp_path / "out"), tables=("offset_commit",), jobs=1))
    exported = [row for file in (tmp_path / "out").rglob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert {row["offset"]: row["outcome"] for row in exported if row["offset"] in wanted} == {
        offset: outcome for offset, (_, _, outcome) in wanted.items()
    }

    # A lake that follows: rows up to the last stable offset, each with its final outcome.
    for count in (min(until + 1, len(steps)), len(steps)):
        shutil.rmtree(tmp_path / "growing", ignore_errors=True)
        write_segments(tmp_path / "growing", steps[:count], {cut + 1 for cut in cuts})
        run(tmp_path / "lake", tmp_path / "growing", tables=("offset_commit",))
    in_lake = lake_rows(tmp_path / "lake", "offset_commit") if list((tmp_path / "lake").rglob("*.parquet")) else []
    open_at = [offset for offset, (_, _, outcome) in wanted.items() if outcome == "open"]
    stable = min(open_at, default=len(steps))
    assert {row["offset"]: row["outcome"] for row in in_lake if row["offset"] in wanted} == {
        offset: outcome for offset, (_, _, outcome) in wanted.items() if offset < stable
    }
    assert len(in_lake) == len({row["offset"] for row in in_lake})

    # The report's commits are those that count, and the history says how many do not.
    report = run_local([REPORTS["group_commits"]], [str(path)]).tables["group_commits"].to_pylist()
    assert sum(row["commits"] for row in report) == sum(outcome == "committed" for _, _, outcome in wanted.values())
    for number, group in enumerate(GROUPS):
        if any(step[1] == number and step[0] != "end" for step in steps):
            out = io.StringIO()
            with redirect_stdout(out):
                assert main(["groups", "history", group, str(path), "--commits", "-o", "json"]) == 0
            events = [event["details"] for event in json.loads(out.getvalue()) if event["event"] == "commits"]
            for outcome, key in (("committed", "commits"), ("aborted", "aborted"), ("open", "open")):
                count = sum(found == outcome for step, found in zip(steps, outcomes_of(steps), strict=True) if step[1] == number)
                assert sum(event[key] for event in events) == count


HELD: list[Step] = [("commit", 0, 0, 0, 5), ("commit", 0, 0, 1, 10), ("commit", 1, 0, 2, 20), ("end", 0, 0, 2, 1)]


def test_an_open_transaction_ends_in_the_next_segment_of_a_file_that_was_named(tmp_path: Path) -> None:
    folder = write_segments(tmp_path, [*HELD, ("end", 0, 0, 1, 0)], {2, 4})
    assert event_rows(folder / f"{0:020d}.log", 1 << 30) == {0: (-1, False, "committed"), 1: (1, True, "aborted")}


def test_a_lake_says_which_producer_holds_it_back_and_goes_on_once_the_transaction_ended(tmp_path: Path) -> None:
    write_segments(tmp_path / "log", HELD, set())
    report = run(tmp_path / "lake", tmp_path / "log", tables=("offset_commit",))
    (note,) = report.plan.notes
    assert "read up to offset 1, where a transaction of producer 1 is open" in note
    assert [row["offset"] for row in lake_rows(tmp_path / "lake", "offset_commit")] == [0]
    again = run(tmp_path / "lake", tmp_path / "log", tables=("offset_commit",))
    assert again.rows.get("offset_commit", 0) == 0 and again.plan.notes == [note]
    file = tmp_path / "log" / "__consumer_offsets-0" / f"{0:020d}.log"
    file.write_bytes(file.read_bytes() + batch(4, ("end", 0, 0, 1, 0)))
    last = run(tmp_path / "lake", tmp_path / "log", tables=("offset_commit",))
    assert last.plan.notes == []
    found = {row["offset"]: row["outcome"] for row in lake_rows(tmp_path / "lake", "offset_commit")}
    assert found == {0: "committed", 1: "aborted", 2: "committed"}


def test_a_stream_leaves_an_outcome_open_only_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from metashell.tables.columns import chunks, reader

    monkeypatch.setattr(reader, "is_read_once", lambda path: True)
    monkeypatch.setattr(chunks, "WINDOW_BYTES", 1)
    folder = write_segments(tmp_path, HELD, set())
    (split,) = plan_splits(str(folder / f"{0:020d}.log"))
    (piece,) = split.pieces
    options = ReadOptions(tables=["offset_commit"], columns="typed")
    from dataclasses import replace

    found = [row for _, rows in read_piece(replace(piece, end=-1), options) for row in rows.to_pylist()]
    # Each batch is a chunk of its own, and nothing behind a chunk can be read ahead.
    assert [row["outcome"] for row in found] == ["committed", None, None]
    last = write_segments(tmp_path / "last", HELD[:2], set())
    (split,) = plan_splits(str(last / f"{0:020d}.log"))
    found = [row for _, rows in read_piece(replace(split.pieces[0], end=-1), options) for row in rows.to_pylist()]
    assert [row["outcome"] for row in found] == ["committed", "open"]


def test_markers_are_read_as_far_as_they_are_asked_for_and_no_file_stays_open(tmp_path: Path) -> None:
    folder = write_segments(tmp_path, [*HELD, ("end", 0, 0, 1, 1), ("end", 0, 0, 1, 0)], {2})
    segments = segments_beside(str(folder / f"{0:020d}.log"))
    markers = Markers(segments, 0, 0)
    assert [markers.outcome(1, 1), markers.outcome(2, 2), markers.outcome(1, 4), markers.outcome(3, 0)] == [0, 0, 1, OPEN]
    for segment in segments:
        Path(segment.path).unlink()
    assert [markers.outcome(1, 1), markers.outcome(4, 0)] == [0, OPEN]


def test_the_outcome_on_spark_and_in_a_stream_of_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from spark_reports.source import KafkaMetadataSource

    path = tmp_path / "log"
    write_segments(path, HELD, {2})
    loads = {"offset_commit": ["offset", "outcome"], "group_offsets": ["group_id", "committed_offset"]}
    found = {}
    for table, columns in loads.items():
        source = KafkaMetadataSource({"path": str(path), "table": table, "columns": ", ".join(columns)})
        reader: Any = source.reader(source.schema())
        rows = [row for part in reader.partitions() for rows in reader.read(part) for row in rows.to_pylist()]
        found[table] = {tuple(row.values()) for row in rows}
    assert found == {"offset_commit": {(0, "committed"), (1, "open"), (2, "committed")}, "group_offsets": {("g", 5), ("h", 20)}}

    source = KafkaMetadataSource({"path": str(path), "table": "offset_commit", "columns": "offset, outcome"})
    stream: Any = source.streamReader(source.schema())
    done: dict[str, Any] = {}
    rows = []
    last = path / "__consumer_offsets-0" / f"{2:020d}.log"
    for more in (b"", batch(4, ("end", 0, 0, 1, 0)), batch(5, ("commit", 0, 0, 0, 6))):
        last.write_bytes(last.read_bytes() + more)
        end = json.loads(json.dumps(stream.latestOffset(done)))
        for part in stream.partitions(done, end):
            rows.append([tuple(row.values()) for found_rows in stream.read(part) for row in found_rows.to_pylist()])
        done = end
    assert rows[0] == [(0, "committed")]
    assert sorted(row for each in rows for row in each) == [(0, "committed"), (1, "aborted"), (2, "committed"), (5, "committed")]
