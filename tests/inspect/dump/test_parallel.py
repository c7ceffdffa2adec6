"""Several processes write the same text as one, and none is left behind."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metashell.codec.framing import Stop
from metashell.disk.files import WINDOW_SIZE, WindowReader
from metashell.inspect.dump import DumpOptions, parallel, run_dump
from metashell.inspect.dump import parallel as whole_file
from metashell.inspect.dump.options import Output
from metashell.inspect.dump.parallel import PARALLEL_SIZE_MIN, dump_in_parallel
from metashell.inspect.dump.writer import Writer
from tests.inspect.dump.making import batch, change, write
from tests.inspect.dump.making import log as log_of
from tests.quick import quick
from tests.running import command_line, no_longer_than

RECORDS = 75_000
DUMP = ("metashell.cli.inspect.dump_log", "--cluster-metadata-decoder", "--jobs", "2")


@pytest.fixture(scope="module")
def log() -> bytes:
    """A log that is large enough for several processes. It takes a second to make."""
    return log_of(RECORDS, per_batch=50)


def run(path: Path, folder: Path, jobs: int, output: str) -> tuple[int, bytes, str]:
    """A run into a file, as the parallel form asks for a descriptor."""
    err = io.StringIO()
    target = folder / f"out-{jobs}-{output}"
    with target.open("wb") as file:
        options = DumpOptions(files=(str(path),), output=output, cluster_metadata_decoder=True, jobs=jobs)  # type: ignore[arg-type]
        status = run_dump(options, file.fileno(), err)
    return status, target.read_bytes(), err.getvalue()


def children() -> set[str]:
    """The processes that this one has started, a zombie that nobody collected among them."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found.update((task / "children").read_text().split())
    return found


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    """Other tests of this process may have started a JVM that lives on: only what came during the test counts."""
    before = children()
    yield
    assert children() <= before


def test_the_log_of_these_tests_is_large_enough(log: bytes) -> None:
    assert len(log) > PARALLEL_SIZE_MIN


@pytest.mark.parametrize("output", quick(["jsonl", "kafka"]))
@pytest.mark.parametrize("jobs", quick([2, 5, 3], 2))
def test_any_number_of_processes_writes_the_same(log: bytes, tmp_path: Path, output: str, jobs: int) -> None:
    path = write(tmp_path, log)
    assert run(path, tmp_path, jobs, output) == run(path, tmp_path, 1, output)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a gap in the offsets": lambda log: log + batch([change(1, 1)], RECORDS + 5) + log_of(3),
    "a torn tail": lambda log: log[:-9],
    "a zero tail": lambda log: log + bytes(4000),
    "a bad length in the middle": lambda log: log[: len(log) // 2] + b"\xff" * 100 + log[len(log) // 2 :],
    "a flipped bit in the middle": lambda log: log[:1_500_000] + bytes((log[1_500_000] ^ 8,)) + log[1_500_001:],
}


@pytest.mark.parametrize("output", quick(["jsonl", "kafka"]))
@pytest.mark.parametrize("what", quick(DAMAGE, 2))
def test_damage_is_reported_as_one_process_reports_it(log: bytes, tmp_path: Path, output: str, what: str) -> None:
    path = write(tmp_path, DAMAGE[what](log))
    assert run(path, tmp_path, 2, output) == run(path, tmp_path, 1, output)


def test_a_gap_between_two_windows_is_noticed(tmp_path: Path) -> None:
    parts = [batch([change(number, 1)] * 3000, number * 3001) for number in range(30)]
    path = write(tmp_path, b"".join(parts))
    status, text, err = run(path, tmp_path, 2, "kafka")
    assert status == 0
    assert text.count(b"\n| ") == 90_000
    assert err.count("is followed by") == 29


def started(path: Path) -> subprocess.Popen[bytes]:
    """A run that is in the middle: nobody reads what it writes."""
    argv = command_line(*DUMP, str(path))
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    child.stdout.read(1)
    return child


def test_a_closed_pipe_ends_all_processes(log: bytes, tmp_path: Path) -> None:
    with started(write(tmp_path, log)) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=120) == 0
    assert_group_is_gone(child.pid)


@pytest.mark.parametrize("to_group", [True, False])
def test_ctrl_c_leaves_no_process(log: bytes, tmp_path: Path, to_group: bool) -> None:
    with started(write(tmp_path, log)) as child:
        assert child.stderr is not None
        (os.killpg if to_group else os.kill)(child.pid, signal.SIGINT)
        assert child.wait(timeout=120) == 130
        assert b"Traceback" not in child.stderr.read()
    assert_group_is_gone(child.pid)


def assert_group_is_gone(group: int) -> None:
    """No process of a process group is left; a killed one may take a moment to vanish."""
    with no_longer_than(120), contextlib.suppress(ProcessLookupError):
        while True:
            os.killpg(group, 0)
            time.sleep(0.02)


@pytest.mark.slow
def test_a_process_that_is_killed_is_one_line_and_status_1(log: bytes, tmp_path: Path) -> None:
    """The reader has read nothing yet, so all processes wait; the first that the run has started is killed."""
    path = write(tmp_path, log)
    with started(path) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        (helper, *_) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        os.kill(int(helper), signal.SIGKILL)
        text = child.stdout.read()
        err = child.stderr.read().decode()
        assert child.wait(timeout=120) == 1
    assert err == f"dump-log: {path}: a process that wrote a part of it ended with signal 9\n"
    whole = run(path, tmp_path, 1, "jsonl")[1]
    assert whole.startswith(b"{" + text[: text.rindex(b"\n")].removeprefix(b"{"))
    assert_group_is_gone(child.pid)


@pytest.mark.slow
def test_as_many_processes_help_as_there_are_processors_and_the_file_is_large(
    log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, log)
    size = len(log)
    used: list[int] = []

    def spied(writer: Writer, reader: WindowReader, output: Output, jobs: int) -> Stop:
        used.append(jobs)
        return dump_in_parallel(writer, reader, output, jobs)

    monkeypatch.setattr(parallel, "dump_in_parallel", spied)
    monkeypatch.setattr(whole_file, "SIZE_OF_JOB_MIN", size // 3 - 1)
    expected = run(path, tmp_path, 1, "jsonl")
    for processors in (1, 2, 4, 64):
        monkeypatch.setattr(whole_file, "processors", lambda processors=processors: processors)
        assert run(path, tmp_path, 0, "jsonl") == expected
    assert used == [2, 4, 4]


@pytest.mark.slow
def test_a_file_that_is_wrong_everywhere_costs_no_memory_for_its_faults(tmp_path: Path) -> None:
    """Each record is a fault; of as many as there are, ten are kept, whichever process found them."""
    number = RECORDS // 25
    parts = [batch([b"\1\x63\0" + bytes(9)] * 25, 25 * index) for index in range(number)]
    path = write(tmp_path, b"".join(parts) + bytes(3000))
    err = io.StringIO()
    with (tmp_path / "out").open("wb") as file:
        run_dump(DumpOptions(files=(str(path),), cluster_metadata_decoder=True, jobs=3), file.fileno(), err)
    lines = err.getvalue().splitlines()
    assert lines[0].endswith("offset 0: record type 99 is not known")
    assert lines[9].endswith("offset 9: record type 99 is not known")
    assert lines[10].endswith(f"{25 * number + 1 - 10} more faults")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_is_reported(log: bytes, tmp_path: Path, jobs: int) -> None:
    path = write(tmp_path, log)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command_line("metashell.cli.inspect.dump_log", "--cluster-metadata-decoder", "--jobs", str(jobs), str(path)),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120,
        )
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def test_no_more_than_a_window_of_text_waits_at_a_time(log: bytes, tmp_path: Path) -> None:
    path = write(tmp_path, log)
    written: list[int] = []

    class Sizes:
        def write(self, data: bytes) -> None:
            written.append(len(data))

    run_dump(DumpOptions(files=(str(path),), cluster_metadata_decoder=True), Sizes(), io.StringIO())
    assert sum(written) > 5 * len(log)
    assert max(written) < 10 * WINDOW_SIZE
