"""Streams over logs that grow, are cut back and grow again, without a JVM: each row once, and what is odd is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import MetashellError
from spark_reports.source import KafkaMetadataSource

NO_OP = b"\1\x14\0\0"
NAME = "00000000000000000000.log"


def batches(first: int, count: int, epoch: int = 1) -> bytes:
    """Batches of one record each."""
    return b"".join(write_batch(first + n, [Record(first + n, 1000, None, NO_OP)], leader_epoch=epoch) for n in range(count))


class Stream:
    """A stream as Spark drives it: a reader, the offset that was done last, and the rows (offset, epoch) that came."""

    def __init__(self, path: Path, **options: str) -> None:
        self.options = {"path": str(path), "table": "batches", **options}
        self.done: dict[str, Any] = {}
        self.rows: list[tuple[int, int]] = []
        self.restart()

    def restart(self) -> None:
        source = KafkaMetadataSource(self.options)
        self.reader: Any = source.streamReader(source.schema())

    def poll(self) -> list[str]:
        """One micro-batch; gives what was said."""
        end = json.loads(json.dumps(self.reader.latestOffset()))
        partitions = self.reader.partitions(self.done, end)
        self.rows += [(row["offset"], row["epoch"]) for part in partitions for batch in self.reader.read(part) for row in batch.to_pylist()]
        self.done = end
        return [part.note for part in partitions if part.note]

    def offsets(self) -> list[int]:
        return [offset for offset, _ in self.rows]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "__cluster_metadata-0"
    found.mkdir()
    return found


@pytest.mark.parametrize("restarts", [False, True])
def test_what_is_appended_comes_once_over_segments_and_torn_tails(folder: Path, restarts: bool) -> None:
    data = batches(0, 300)
    size = len(data) // 300
    stream = Stream(folder.parent)
    assert stream.poll() == []
    for end in (0, 5, 5, 120, 121):
        (folder / NAME).write_bytes(data[: end * size + (7 if end < 121 else 0)])
        assert stream.poll() == []
        assert stream.offsets() == list(range(end))
        if restarts:
            stream.restart()
    (folder / f"{121:020}.log").write_bytes(data[121 * size : 200 * size])
    assert stream.poll() == []
    (folder / f"{200:020}.log").write_bytes(data[200 * size :])
    (folder / NAME).unlink()
    assert stream.poll() == []
    assert stream.offsets() == list(range(300))
    assert stream.poll() == []
    assert stream.offsets() == list(range(300))


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("grown", [0, 4, 40])
def test_a_log_that_was_cut_back_and_grew_again_gives_only_what_came_in_place(folder: Path, restarts: bool, grown: int) -> None:
    stream = Stream(folder.parent)
    (folder / NAME).write_bytes(batches(0, 100))
    stream.poll()
    (folder / NAME).write_bytes(batches(0, 90) + batches(90, grown, epoch=2))
    if restarts:
        stream.restart()
    notes = stream.poll()
    assert stream.rows == [(n, 1) for n in range(100)] + [(90 + n, 2) for n in range(grown)]
    said = f"{folder}: was cut back to offset 90 after offset 99 had been read: what came in place of those is read too"
    assert notes == ([said] if grown else [])
    (folder / NAME).write_bytes(batches(0, 90) + batches(90, grown, epoch=2) + batches(90 + grown, 3, epoch=3))
    stream.poll()
    assert stream.rows[100 + grown :] == [(90 + grown + n, 3) for n in range(3)]


def test_a_log_of_which_nothing_is_known_any_more_ends_the_stream(folder: Path) -> None:
    stream = Stream(folder.parent)
    (folder / NAME).write_bytes(batches(0, 100))
    stream.poll()
    (folder / NAME).write_bytes(batches(0, 20) + batches(20, 100, epoch=2))
    with pytest.raises(
        MetashellError, match="is another log than the one that was read to offset 99, or was cut back by more than 32 batches"
    ):
        stream.poll()


def test_what_was_deleted_before_it_was_read_is_said(folder: Path) -> None:
    stream = Stream(folder.parent)
    (folder / NAME).write_bytes(batches(0, 10))
    stream.poll()
    (folder / NAME).unlink()
    (folder / f"{15:020}.log").write_bytes(batches(15, 10))
    assert stream.poll() == [f"{folder}: offsets 10 to 14 were deleted before they were read"]
    assert stream.offsets() == [*range(10), *range(15, 25)]


def test_a_log_that_is_compacted_gives_each_offset_once(tmp_path: Path) -> None:
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    stream = Stream(tmp_path)
    commit = b"\0\1\0\1g\0\1t\0\0\0\0"

    def of(offsets: list[int], epoch: int = 1) -> bytes:
        return b"".join(write_batch(n, [Record(n, 1000, commit, None)], leader_epoch=epoch) for n in offsets)

    (folder / NAME).write_bytes(of(list(range(60))))
    stream.poll()
    (folder / NAME).write_bytes(of([7, 9, 59]))
    (folder / f"{60:020}.log").write_bytes(of(list(range(60, 70))))
    assert stream.poll() == []
    (folder / NAME).write_bytes(of([59]))
    (folder / f"{60:020}.log").write_bytes(of([*range(60, 75)]))
    assert stream.poll() == []
    assert stream.offsets() == list(range(75))


def test_a_crash_between_planning_and_reading_gives_what_still_stands(folder: Path) -> None:
    stream = Stream(folder.parent)
    (folder / NAME).write_bytes(batches(0, 100))
    end = json.loads(json.dumps(stream.reader.latestOffset()))
    (folder / NAME).write_bytes(batches(0, 95) + batches(95, 1, epoch=2))
    stream.restart()
    parts = stream.reader.partitions({}, end)
    offsets = [row["offset"] for part in parts for batch in stream.reader.read(part) for row in batch.to_pylist()]
    assert offsets == list(range(95))
    stream.done, stream.rows = end, [(n, 1) for n in range(95)]
    stream.poll()
    assert stream.rows == [(n, 1) for n in range(95)] + [(95, 2)]


def with_bad_length(data: bytes, batch: int, size: int) -> bytes:
    """The batches with a length of one that is none."""
    at = batch * size + 8
    return data[:at] + (5).to_bytes(4, "big") + data[at + 4 :]


@pytest.mark.parametrize("before", [0, 10])
def test_damage_in_the_segment_that_is_written_is_said_once_by_each_run_of_a_stream(folder: Path, before: int) -> None:
    first = batches(0, before)
    name = f"{before:020}.log"
    data = batches(before, 40)
    size = len(data) // 40
    if before:
        (folder / NAME).write_bytes(first)
    stream = Stream(folder.parent)
    (folder / name).write_bytes(with_bad_length(data, 20, size)[: 30 * size])
    said = (
        f"{folder / name}: byte {20 * size}: batch length 5 is below 14, {10 * size} bytes left, among them a whole batch at byte "
        f"{21 * size}: nothing from here on is read before the segment is rolled"
    )
    assert stream.poll() == [said]
    assert stream.offsets() == list(range(before + 20))
    (folder / name).write_bytes(with_bad_length(data, 20, size))
    assert stream.poll() == []
    stream.restart()
    assert stream.poll() == [said.replace(f"{10 * size} bytes left", f"{20 * size} bytes left")]
    assert stream.poll() == []
    (folder / name).write_bytes(data)
    assert stream.poll() == []
    assert stream.offsets() == list(range(before + 40))


def test_damage_before_the_first_batch_of_a_new_segment_is_said(folder: Path) -> None:
    stream = Stream(folder.parent)
    (folder / NAME).write_bytes(batches(0, 10))
    data = batches(10, 5)
    (folder / f"{10:020}.log").write_bytes(with_bad_length(data, 0, len(data) // 5))
    (note,) = stream.poll()
    assert note.startswith(f"{folder / f'{10:020}.log'}: byte 0: batch length 5 is below 14, ")
    assert stream.offsets() == list(range(10))


@pytest.mark.parametrize("rest", [b"\0" * 5000, b"\0", batches(10, 1)[:-1], batches(10, 1)[:30]])
def test_a_tail_that_waits_for_its_rest_is_no_damage(folder: Path, rest: bytes) -> None:
    stream = Stream(folder.parent)
    (folder / NAME).write_bytes(batches(0, 10) + rest)
    assert stream.poll() == []
    assert stream.poll() == []


def test_a_stream_that_skips_faults_goes_on_behind_damage_once_the_segment_is_rolled(folder: Path) -> None:
    data = batches(0, 40)
    size = len(data) // 40
    (folder / NAME).write_bytes(with_bad_length(data, 20, size))
    stream = Stream(folder.parent, onError="skip")
    assert len(stream.poll()) == 1
    (folder / f"{40:020}.log").write_bytes(batches(40, 5))
    assert stream.poll() == []
    assert stream.offsets() == [*range(20), *range(21, 45)]


def test_progress_of_an_earlier_release_is_refused(folder: Path) -> None:
    stream = Stream(folder.parent)
    (folder / NAME).write_bytes(batches(0, 3))
    stream.done = {str(folder / NAME): 17}
    with pytest.raises(MetashellError, match="written by an earlier release"):
        stream.poll()
