"""Input in a store: the plan reads little of it, its tasks read it once, and what was guessed is proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.common.errors import LogCorruptError, MetashellError
from metashell.disk.names import HeldBytes
from metashell.tables import remote_files
from metashell.tables.columns.reader import SMALL_MAX
from metashell.tables.lake import plan, remote_probe
from metashell.tables.lake.appends import read_state
from metashell.tables.lake.remote_probe import KEPT_MAX, hop_over_batches, last_batch, probe_remote_file
from metashell.tables.stores import Store, open_store
from tests.tables.lake.lakes import CLUSTER, SEGMENT, START, expected, left_over, names, node, rows, run, segment, topics

TOPIC = message_type("metadata", "TopicRecord").cls
PROPERTIES = f"version=1\ncluster.id={CLUSTER}\nnode.id=1\n".encode()


def wide(first: int, count: int, *, epoch: int = 1, name: str = "t", value: bytes = b"") -> bytes:
    """One batch of topics; `value` lies in its last record as it is."""
    records = [
        Record(offset, START + offset, None, write_metadata_record(TOPIC(name=f"{name}{offset}", topic_id=offset.to_bytes(16, "big"))))
        for offset in range(first, first + count)
    ]
    if value:
        records[-1] = Record(first + count - 1, START, None, value)
    return write_batch(first, records, leader_epoch=epoch)


def long_log(count: int, *, epochs: Callable[[int], int] = lambda _: 1) -> bytes:
    """Some hundred batches of different sizes."""
    random, first, data = Random(7), 0, []
    while first < count:
        size = min(random.choice((1, 5, 40, 90)), count - first)
        data.append(wide(first, size, epoch=epochs(first)))
        first += size
    return b"".join(data)


class Held(HeldBytes):
    """Bytes as a file, near or far."""

    def __init__(self, data: bytes, *, is_far: bool = True) -> None:
        super().__init__("held", data)
        self.is_far = is_far


@pytest.mark.parametrize("target", [1 << 30, 100_000, 30_000])
def test_a_guess_is_what_a_walk_finds(target: int) -> None:
    data = long_log(16_000, epochs=lambda offset: 1 + (offset > 13_000))
    assert len(data) > 2 * KEPT_MAX
    for start in (0, hop_over_batches(Held(data), 0, len(data), 20_000).cuts[3]):
        walked = hop_over_batches(Held(data), start, len(data), target)
        found = probe_remote_file(Held(data), start, len(data), target)
        assert found is not None
        assert (found.position, found.end) == (walked.position, walked.end)
        assert found.cuts == walked.cuts
        known = {offset: epoch for begin, end, epoch in walked.epoch_runs(16_000) for offset in range(begin, end)}
        seen = {offset: epoch for begin, end, epoch in found.epoch_runs(16_000) for offset in range(begin, end)}
        assert seen.items() <= known.items()
        assert seen[0 if start == 0 else max(seen)] == (1 if start == 0 else 2)


def test_what_does_not_end_with_a_batch_is_walked() -> None:
    data = long_log(8_000)
    assert len(data) > KEPT_MAX
    for other in (data[:-1], data + b"\0", data + b"\0" * 100_000, data[:-1] + b"x", data[: KEPT_MAX - 9]):
        assert probe_remote_file(Held(other), 0, len(other), 100_000) is None
    assert probe_remote_file(Held(data, is_far=False), 0, len(data), 100_000) is None


def test_a_batch_within_a_record_is_no_last_batch() -> None:
    inner = wide(50_000, 9)
    data = long_log(8_000) + wide(8_000, 3, value=inner)
    assert last_batch(Held(data), 0, len(data)) == len(data) - len(wide(8_000, 3, value=inner))
    # A file that was cut where the inner one ends: only reading it shows that, and does.
    cut = data[: data.index(inner) + len(inner)]
    assert last_batch(Held(cut), 0, len(cut)) == cut.index(inner)


class Reads:
    """What was read of files in a store, by the name of each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = Counter[str]()
        self.count = Counter[str]()
        real: Any = remote_files.RemoteFile._bytes

        def read(file: Any, position: int, size: int) -> bytes:
            self.bytes[file._uri.rpartition("/")[2]] += size
            self.count[file._uri.rpartition("/")[2]] += 1
            return bytes(real(file, position, size))

        monkeypatch.setattr(remote_files.RemoteFile, "_bytes", read)

    def of(self, name: str) -> tuple[int, int]:
        found = self.bytes[name], self.count[name]
        self.bytes.clear()
        self.count.clear()
        return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def put(store: Store, data: bytes) -> str:
    store.put("meta.properties", PROPERTIES)
    store.put(f"__cluster_metadata-0/{SEGMENT}", data)
    return store.place


@pytest.mark.slow
def test_new_input_crosses_the_network_once(s3: str, tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    store, out = open_store(f"{s3}/dump"), tmp_path / "lake"
    data = long_log(60_000)
    size = len(data)
    cut = hop_over_batches(Held(data), 0, size, size // 2).cuts[0]
    run(out, put(store, data[:cut]), tables=("topic",), target_bytes=1 << 20)  # type: ignore[arg-type]
    asked, count = reads.of(SEGMENT)
    assert cut < asked < cut + 6 * (1 << 16) + 1000
    assert count < 40
    # What is behind the place that was read is read, once.
    report = run(out, put(store, data), target_bytes=1 << 19)  # type: ignore[arg-type]
    assert len(report.plan.tasks) == round((size - cut) / (1 << 19)) > 1
    assert size - cut < reads.of(SEGMENT)[0] < size - cut + 8 * (1 << 16) + 1000
    assert run(out, store.place).rows == {}  # type: ignore[arg-type]
    assert reads.of(SEGMENT)[0] < 3 * (1 << 16)
    assert names(out) == expected(0, 60_000)
    (known,) = read_state(open_store(str(out))).logs.values()
    assert list(known.epochs) == [(0, 60_000, 1)]
    # The same as of a walk.
    monkeypatch.setattr(plan, "probe_remote_file", lambda *_: None)
    run(tmp_path / "walked", store.place, tables=("topic",))  # type: ignore[arg-type]
    (walked,) = read_state(open_store(str(tmp_path / "walked"))).logs.values()
    assert (known.offsets, known.files, known.epochs) == (walked.offsets, walked.files, walked.epochs)


def test_a_small_file_takes_few_requests(s3: str, tmp_path: Path, reads: Reads) -> None:
    data = topics(0, 20)
    place = put(open_store(f"{s3}/dump"), data)
    run(tmp_path / "lake", place)  # type: ignore[arg-type]
    # Each time that it is opened: to see what it is, for the plan, and for its rows.
    assert reads.of(SEGMENT) == (3 * len(data), 3)
    assert names(tmp_path / "lake") == expected(0, 20)


def ending_with(inner: bytes) -> bytes:
    """A log whose last batch is larger than what is looked at first; the value of its last header is the end of it."""
    value = write_metadata_record(TOPIC(name="t", topic_id=bytes(15) + b"\1"))
    records = [Record(offset, START, None, value) for offset in range(8_000, 11_000)]
    records.append(Record(11_000, START, None, value, headers=(("h", inner),)))
    data = long_log(8_000) + write_batch(8_000, records, leader_epoch=1)
    assert data.endswith(inner)
    return data


@pytest.mark.parametrize("tables", [None, ("topic",)])
def test_where_a_guess_is_wrong_the_file_is_walked(s3: str, tmp_path: Path, tables: tuple[str, ...] | None) -> None:
    store, out = open_store(f"{s3}/dump"), tmp_path / "lake"
    data = ending_with(wide(10**12, 1))
    assert last_batch(Held(data), 0, len(data)) == len(data) - len(wide(10**12, 1))
    place = put(store, data)
    assert run(out, place, tables=tables).rows["topic"] == 11_001  # type: ignore[arg-type]
    (known,) = read_state(open_store(str(out))).logs.values()
    assert list(known.offsets) == [(0, 11_001)]
    store.put(f"__cluster_metadata-0/{segment(11_001)}", wide(11_001, 99))
    assert run(out, place).rows["topic"] == 99  # type: ignore[arg-type]
    assert left_over(out) == []


def test_a_file_that_was_cut_off_within_a_record_is_an_error_and_adds_nothing(s3: str, tmp_path: Path) -> None:
    inner = wide(9_990, 1)
    whole = long_log(8_000) + wide(8_000, 3, value=inner)
    place = put(open_store(f"{s3}/dump"), whole[: whole.index(inner) + len(inner)])
    with pytest.raises(LogCorruptError, match=rf"{SEGMENT}: offset 8000: "):
        run(tmp_path / "lake", place)  # type: ignore[arg-type]
    assert not list((tmp_path / "lake").rglob("*.parquet"))


@pytest.mark.parametrize("tables", [None, ("topic",)])
def test_a_file_that_is_written_anew_between_the_plan_and_its_task_adds_nothing(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: tuple[str, ...] | None
) -> None:
    store, out = open_store(f"{s3}/dump"), tmp_path / "lake"
    data = long_log(8_000)
    place = put(store, data)
    real = remote_probe.last_batch

    def written_anew(*words: Any) -> int | None:
        found = real(*words)
        put(store, wide(0, 50) + data[len(wide(0, 50)) :])
        return found

    monkeypatch.setattr(remote_probe, "last_batch", written_anew)
    with pytest.raises(MetashellError):
        run(out, place, tables=tables)  # type: ignore[arg-type]
    assert not list(out.rglob("*.parquet"))


@pytest.mark.slow
def test_with_faults_that_are_skipped_nothing_is_guessed(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = long_log(8_000)
    spoilt = bytearray(data)
    spoilt[len(data) // 2] ^= 1
    place = put(open_store(f"{s3}/dump"), bytes(spoilt))
    with pytest.raises(MetashellError):
        run(tmp_path / "lake", place, target_bytes=60_000)  # type: ignore[arg-type]
    report = run(tmp_path / "lake", place, target_bytes=60_000, on_error="skip")  # type: ignore[arg-type]
    assert report.rows["faults"] >= 1
    (tmp_path / "here").mkdir()
    (node(tmp_path / "here") / SEGMENT).write_bytes(spoilt)
    run(tmp_path / "local", tmp_path / "here", on_error="skip")
    assert names(tmp_path / "lake") == names(tmp_path / "local")


@pytest.mark.slow
def test_files_that_are_guessed_are_not_read_together(s3: str, tmp_path: Path) -> None:
    """They are above what a plan keeps, and below what is read alone."""
    data = long_log(9_000)
    assert KEPT_MAX < len(data) < SMALL_MAX
    store = open_store(f"{s3}/fleet")
    for number in (1, 2, 3):
        store.put(f"node{number}/meta.properties", PROPERTIES.replace(b"node.id=1", b"node.id=%d" % number))
        store.put(f"node{number}/__cluster_metadata-0/{SEGMENT}", data)
    report = run(tmp_path / "lake", store.place)  # type: ignore[arg-type]
    assert report.rows["topic"] == 3 * 9_000
    assert len(rows(tmp_path / "lake")) == 3 * 9_000
