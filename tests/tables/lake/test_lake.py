"""What a lake takes and refuses: checkpoints, hostile names and times, other forms."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import LogCorruptError, UsageError
from metashell.common.terminal import writable
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from metashell.tables.lake import write_tasks
from metashell.tables.lake.append import AppendOptions, plan_only
from tests.tables.lake.lakes import DAY, SEGMENT, START, expected, left_over, names, node, rows, run, segment, topics


def checkpoint(count: int, time: int = START) -> bytes:
    """A whole checkpoint with so many topics."""

    def control(offset: int, kind: int, value: bytes) -> bytes:
        return write_batch(offset, [Record(offset, time, b"\0\0\0" + bytes((kind,)), value)], leader_epoch=1, is_control=True)

    return control(0, 3, bytes(11)) + topics(1, count, name="c", time=time) + control(count + 1, 4, bytes(3))


def test_a_checkpoint_is_read_where_it_stands_for_what_the_lake_lacks(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / "00000000000000000010-0000000001.checkpoint").write_bytes(checkpoint(4))
    (log / segment(10)).write_bytes(topics(10, 10))
    assert run(out, tmp_path / "node").rows["topic"] == 14
    # The next day's checkpoint repeats what is there.
    (log / "00000000000000000010-0000000001.checkpoint").unlink()
    (log / "00000000000000000020-0000000001.checkpoint").write_bytes(checkpoint(6))
    (log / segment(10)).unlink()
    (log / segment(20)).write_bytes(topics(20, 4))
    assert run(out, tmp_path / "node").rows["topic"] == 4
    # After days without an export it stands for offsets that no log has any more.
    (log / "00000000000000000020-0000000001.checkpoint").unlink()
    (log / "00000000000000000050-0000000001.checkpoint").write_bytes(checkpoint(8))
    (log / segment(20)).unlink()
    (log / segment(50)).write_bytes(topics(50, 2))
    report = run(out, tmp_path / "node")
    assert report.rows["topic"] == 10
    assert report.plan.notes == [
        "__cluster_metadata-0 of node 1 of quokka-cluster-1234567: offsets 24 to 49 are in no log any more: a checkpoint stands for them"
    ]
    assert run(out, tmp_path / "node").rows == {}
    assert len(rows(out)) == 4 + 10 + 4 + 8 + 2


def test_a_log_directory_with_a_hostile_name_has_its_rows_below_the_lake(tmp_path: Path) -> None:
    hostile = tmp_path / "a=b" / "x\ny%2F.." / ("z" * 200)
    hostile.mkdir(parents=True)
    (hostile / SEGMENT).write_bytes(topics(0, 4))
    run(tmp_path / "lake", hostile)
    assert {row["cluster_id"] for row in rows(tmp_path / "lake")} == {writable(str(hostile))}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a=b", "lake"]


def test_rows_are_divided_by_their_own_months_whatever_clocks_say(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    times = (START, START - 31 * DAY, -1, START + 1, 1 << 62, -(1 << 62), 0, START)
    (log / SEGMENT).write_bytes(b"".join(topics(2 * at, 2, time=time, step=0) for at, time in enumerate(times)))
    run(out, tmp_path / "node", on_error="skip")
    found = {row["offset"]: row["month"] for row in rows(out, "batches")}
    assert found == dict(zip(range(0, 16, 2), ["2026-09", "2026-08", None, "2026-09", None, None, "1970-01", "2026-09"], strict=True))
    assert names(out) == expected(0, 16)


def test_rows_of_more_months_than_are_held_or_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_tasks, "_OPEN_MAX", 4)
    monkeypatch.setattr(write_tasks, "_HELD_BYTES_MAX", 2000)
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    chance = random.Random(1)
    # Months in any order, some of them often.
    times = [START + 32 * DAY * chance.choice((0, 1, chance.randrange(30))) for _ in range(300)]
    (log / SEGMENT).write_bytes(b"".join(topics(at, 1, time=time, step=0) for at, time in enumerate(times)))
    run(out, tmp_path / "node", tables=("topic", "batches"), on_error="skip")
    assert names(out) == expected(0, len(times))
    assert sorted(row["offset"] for row in rows(out, "batches")) == list(range(len(times)))
    assert left_over(out) == []


def test_forms_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(out, tmp_path / "node")
    with pytest.raises(UsageError, match=f"{out}: is a lake: add to it with --append"):
        export(ExportOptions(paths=(str(log),), out=str(out), jobs=1, replaces=True))
    for options, said in (
        ({"tables": ("topic",)}, "was begun with all tables but records: append without --tables"),
        ({"show_secrets": True}, "hides secrets"),
    ):
        with pytest.raises(UsageError, match=f"{out}: this lake {said}"):
            run(out, tmp_path / "node", **options)
    export(ExportOptions(paths=(str(log),), out=str(tmp_path / "plain"), jobs=1))
    with pytest.raises(UsageError, match="has a plain export, to which nothing can be appended"):
        run(tmp_path / "plain", tmp_path / "node")
    for mark in ("topic/part.parquet", "_delta_log/00000000000000000000.json", "topic/metadata/version-hint.text"):
        place = tmp_path / mark.replace("/", "-") / mark
        place.parent.mkdir(parents=True)
        place.write_bytes(b"mine")
        with pytest.raises(UsageError, match=f"{place}: is there already, and no lake has it"):
            run(tmp_path / mark.replace("/", "-"), tmp_path / "node")


def test_a_fault_leaves_the_lake_as_it_was_and_is_a_row_once_where_it_is_skipped(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    data = bytearray(topics(0, 10))
    data[len(data) // 2] ^= 1
    (log / SEGMENT).write_bytes(data)
    with pytest.raises(LogCorruptError):
        run(out, tmp_path / "node")
    assert left_over(out) == [] and rows(out) == []
    for _ in range(2):
        run(out, tmp_path / "node", on_error="skip")
        assert len(rows(out, "faults")) == 1
        assert len(names(out)) == 8


def test_what_is_compressed_is_known_by_its_offsets_too(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / f"{SEGMENT}.gz").write_bytes(gzip.compress(topics(0, 10)))
    assert run(out, log / f"{SEGMENT}.gz").rows["topic"] == 10
    assert run(out, log / f"{SEGMENT}.gz").rows == {}
    (log / SEGMENT).write_bytes(topics(0, 14))
    assert run(out, tmp_path / "node").rows["topic"] == 4
    (log / f"{SEGMENT}.gz").write_bytes(gzip.compress(topics(0, 16)))
    with pytest.raises(UsageError, match="unpack it first"):
        run(out, log / f"{SEGMENT}.gz")
    with pytest.raises(UsageError, match="can be read only once"):
        run(out, Path("/dev/stdin"))


def test_a_dry_run_says_what_would_come_and_writes_nothing(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    options = AppendOptions(paths=(str(tmp_path / "node"),), out=str(out))
    assert plan_only(options).plan.bytes == len(topics(0, 4))
    assert not out.exists()
    run(out, tmp_path / "node")
    assert plan_only(options).plan.tasks == []
