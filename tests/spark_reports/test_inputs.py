"""What the data source says of inputs, without a JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.tables.reports import REPORTS
from metashell.tables.reports.local import answerable, logs_at
from spark_reports import main as command
from tests.golden_cases import SUBSET_ROOT
from tests.spark_reports.loads import batches_of, reader, stream

STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
METADATA = str(STOPPED / "node-1/d1/__cluster_metadata-0")
GROUPS = str(STOPPED / "node-4/d1/__consumer_offsets-0")


def test_a_stream_waits_for_what_may_come_and_not_for_what_cannot(tmp_path: Path) -> None:
    growing = stream(path=tmp_path, table="batches")
    assert growing.latestOffset() == {}
    (tmp_path / "__cluster_metadata-0").mkdir()
    (tmp_path / "__cluster_metadata-0/00000000000000000000.log").write_bytes(b"")
    assert [reach["end"] for reach in growing.latestOffset().values()] == [0]
    for path in (str(tmp_path / "nowhere"), f"file://{tmp_path}/nowhere"):
        with pytest.raises(UsageError, match="No such file"):
            stream(path=path, table="batches").latestOffset()


@pytest.mark.parametrize(
    ("table", "path"),
    [("topic", GROUPS), ("offset_commit", METADATA), ("group_members", METADATA)],
    ids=["topic", "offset_commit", "group_members"],
)
def test_a_table_of_a_log_that_is_not_there_is_an_error(table: str, path: str) -> None:
    with pytest.raises(UsageError, match=r"here, which the table .* is made from"):
        reader(path=path, table=table).partitions()


def test_the_state_is_read_as_a_whole_and_not_streamed() -> None:
    assert len(reader(path=STOPPED, table="brokers").partitions()) == 1
    with pytest.raises(UsageError, match="only tables of events can be streamed"):
        stream(path=STOPPED, table="brokers")


def test_only_the_logs_that_are_wanted_become_tasks() -> None:
    every = reader(path=STOPPED, table="batches").partitions()
    some = reader(path=STOPPED, table="batches", only="offsets").partitions()
    assert {piece.log for part in some for piece in part.split.pieces} == {"offsets"}
    assert len({piece.log for part in every for piece in part.split.pieces}) > 2
    with pytest.raises(UsageError, match="option only is one of metadata"):
        reader(path=METADATA, table="batches", only="nope")


def test_a_report_without_its_log_is_left_out_or_an_error() -> None:
    reports = list(REPORTS.values())
    found = answerable(reports, logs_at([METADATA]), [METADATA])
    assert [report.name for report in found.left_out] == ["group_rebalances", "group_commits", "group_expiring"]
    with pytest.raises(UsageError, match=r"no log of groups \(__consumer_offsets\) here, which group_commits is about"):
        answerable([REPORTS["group_commits"]], logs_at([METADATA]), [METADATA])


def test_a_stream_of_once_is_an_error_where_there_is_nothing(tmp_path: Path) -> None:
    command.require_inputs([str(tmp_path)], may_be_empty=True)
    with pytest.raises(UsageError, match="no log here"):
        command.require_inputs([str(tmp_path)], may_be_empty=False, is_whole=True)
    (tmp_path / "00000000000000000000.log").write_bytes(b"")
    with pytest.raises(UsageError, match="nothing in it"):
        command.require_inputs([str(tmp_path)], may_be_empty=False, is_whole=True)


def test_no_tables_go_among_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "meta.properties").write_text("version=1\n")
    assert command.main(["timeline", METADATA, "--out", str(tmp_path / "tables")]) == 1
    assert "lies in a metadata directory, which is only read" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["meta.properties"]


def test_loads_and_streams_of_a_store_with_patterns(s3: str, tmp_path: Path) -> None:
    from pyarrow.fs import FileSystem, copy_files

    system, bucket = FileSystem.from_uri(s3)
    for name in ("a", "b"):
        copy_files(METADATA, f"{bucket}/dumps/{name}/__cluster_metadata-0", destination_filesystem=system)

    def rows(path: str, **options: str) -> int:
        return sum(batch.num_rows for batch in batches_of(path=path, table="batches", **options))

    one = rows(METADATA)
    above = s3.replace("s3://", "s3a://")
    assert [rows(f"{s3}/dumps/*/__cluster_metadata-0"), rows(f"{above}/dumps/{{a,c}}"), rows(f"{above}/dumps")] == [2 * one, one, 2 * one]
    assert rows(f"{s3}/dumps/a", where="offset >= 100") == rows(METADATA, where="offset >= 100") < one
    made = stream(path=f"{s3}/dumps/*", table="batches")
    parts = made.partitions({}, made.latestOffset())
    assert sum(batch.num_rows for part in parts for batch in made.read(part)) == 2 * one
