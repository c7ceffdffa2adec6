"""Batches with very many records: no more of them is kept than is needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metashell.codec import metadata_records
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record, RecordBatch, read_batch_header
from metashell.codec.metadata_records import GAVE_UP, HEADERS_MAX, make_loop, write_metadata_record
from metashell.codec.registry import message_type
from metashell.metadata import directory_facts
from tests.running import MEASURED
from tools.bench.large_batches import area_of, batch_of

COUNT = 200_000
MEMORY_MAX_KB = 130 * 1024
"""A process that starts takes 40 MB; to keep one object a record would take some 100 MB more."""
NO_OP = write_metadata_record(message_type("metadata", "NoOpRecord").cls())
FEATURE = write_metadata_record(message_type("metadata", "FeatureLevelRecord").cls(name="f", feature_level=1))


def batch(value: bytes, count: int, codec_id: int = 0) -> bytes:
    return write_batch(0, [Record(offset, 1_700_000_000_000, None, value) for offset in range(count)], leader_epoch=1, codec_id=codec_id)


def test_the_newest_events_of_a_log_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_facts, "EVENTS_MAX", 3)
    data = batch(FEATURE, 10)
    found = directory_facts.read_events(iter([RecordBatch(read_batch_header(data, 0), 0, data)]))
    assert [event.offset for event in found.events] == [7, 8, 9]


def test_a_loop_over_usual_records_keeps_a_bounded_number_of_their_beginnings() -> None:
    loop = make_loop("pass")
    assert loop(bytes(100), 0, HEADERS_MAX, 1) == GAVE_UP
    assert len(metadata_records._headers) <= HEADERS_MAX + 64


@pytest.mark.slow
@pytest.mark.parametrize("codec_id", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "words", [("status", "{0}"), ("verify", "{0}"), ("log", "{0}", "/image"), ("bundle", "{0}", "--out", "{out}"), ("health", "{0}")]
)
def test_no_command_keeps_an_object_a_record(tmp_path: Path, codec_id: int, words: tuple[str, ...]) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(batch(NO_OP, COUNT, codec_id))
    program = "import sys; from metashell.cli.main import main; main(sys.argv[1:])"
    words = tuple(word.format(tmp_path, out=tmp_path.parent / f"{codec_id}.tar.gz") for word in words)
    line = [sys.executable, "-c", MEASURED, sys.executable, "-c", program, *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.splitlines()[-1]) < MEMORY_MAX_KB, done.stderr


TABLES_COUNT = 1_500_000
TABLES_MEMORY_MAX_KB = {"export": 160 * 1024, "report": 185 * 1024, "sql": 200 * 1024}
"""pyarrow and DuckDB take 100 to 150 MB; to keep all records of the batch at once would take some 350 MB more, to map all columns 60."""
PROGRAM = "import sys; from metashell.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A metadata log that is one batch of very many records."""
    folder = tmp_path_factory.mktemp("large") / "__cluster_metadata-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(batch_of(0, *area_of(None, NO_OP, TABLES_COUNT), 4))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("export", "{0}", "--out", "{out}"),
        ("report", "all", "{0}", "--out", "{out}"),
        ("sql", "select type, max(offset), max(payload) from records group by type", "{0}"),
    ],
)
def test_tables_are_decoded_part_by_part(large: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    words = tuple(word.format(large, out=tmp_path / "out") for word in words)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.splitlines()[-1]) < TABLES_MEMORY_MAX_KB[words[0]], done.stderr


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "words",
    [
        ("verify", "--deep", "{0}"),
        ("bundle", "{0}", "--out", "{out}"),
        ("export", "{0}", "--out", "{out}"),
        ("dump-log", "--cluster-metadata-decoder", "{0}/00000000000000000000.log"),
    ],
)
def test_ctrl_c_within_a_batch_ends_a_command_in_one_line(large: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    words = tuple(word.format(large, out=tmp_path / "out") for word in words)
    line = [sys.executable, "-c", PROGRAM, *words]
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while cpu_ticks(child.pid) < 0.5 * os.sysconf("SC_CLK_TCK") and child.poll() is None:
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGINT)
    _, stderr = child.communicate(timeout=120)
    assert (child.returncode, len(stderr.splitlines()) < 2) == (130, True), stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "/." not in str(path)]
