"""What every bench shares: inputs, runs of whole process trees, and a table with ratios.

Kafka is looked for at $METASHELL_KAFKA (the script that runs a tool of a version), else in `shared/kafka/kafka` beside
the checkout; without it only our own figures are printed. Inputs are made once, by `gen_metadata.py`, in
$METASHELL_BENCH_DIR or ~/.cache/metashell-bench.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
KAFKA_VERSION = "4.3.1"
KAFKA_CLASSES = {
    "dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "shell": "org.apache.kafka.shell.MetadataShell",
    "storage": "kafka.tools.StorageTool",
    "server": "kafka.Kafka",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
}
MIB = 1 << 20
# Descendants are summed this often; the largest single process is known exactly from wait4 all the same.
MEMORY_SAMPLE_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished run of a command: figures of the whole process tree.

    Units: seconds and MiB; `first_byte_s` is -1 where standard output was not read.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float
    first_byte_s: float = -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line to measure, and where its standard streams go.

    `stdout` is a file to write, or None for the null device; `watch` reads it through a pipe instead and notes when
    the first byte came. `statuses` are those that are no failure.
    """

    name: str
    argv: tuple[str, ...]
    stdin: bytes = b""
    stdout: Path | None = None
    watch: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    statuses: tuple[int, ...] = (0,)


def run_once(command: Command) -> Run:
    """Run the command to its end and return what it took, children included.

    A command that fails would look fast: it ends the bench, with the last line of what it said.
    """
    with _streams(command) as (stdin, stdout), tempfile.TemporaryFile() as stderr:
        started = time.perf_counter()
        child = subprocess.Popen(
            command.argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            # Unbuffered, as some environments have it, each line would be a system call.
            env={**os.environ, "PYTHONUNBUFFERED": "", **command.env},
        )
        sampler = MemorySampler(child.pid)
        sampler.start()
        first_byte_s = _drain(child, started) if command.watch else -1.0
        _, wait_status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(wait_status)
        if child.returncode not in command.statuses:
            stderr.seek(0)
            sys.exit(f"{' '.join(command.argv)}: status {child.returncode}: {stderr.read()[-300:].decode(errors='replace')}")
    peak_kib = max(sampler.stop(), usage.ru_maxrss)
    return Run(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_mib=peak_kib / 1024,
        first_byte_s=first_byte_s,
    )


@contextlib.contextmanager
def _streams(command: Command) -> Iterator[tuple[int, int]]:
    """Open descriptors for the child's standard input and output."""
    with contextlib.ExitStack() as stack:
        stdin = stack.enter_context(open(os.devnull, "rb"))
        if command.stdin:
            reader, writer = os.pipe()
            stack.callback(os.close, reader)
            threading.Thread(target=_feed, args=(writer, command.stdin), daemon=True).start()
        if command.watch:
            yield (reader if command.stdin else stdin.fileno()), subprocess.PIPE
            return
        stdout = stack.enter_context(open(command.stdout or os.devnull, "wb"))
        yield (reader if command.stdin else stdin.fileno()), stdout.fileno()


def _feed(writer: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb") as pipe:
        pipe.write(data)


def _drain(child: subprocess.Popen[bytes], started: float) -> float:
    """Read standard output to its end; the first byte's time is returned, -1 if there was none."""
    assert child.stdout is not None
    with child.stdout as pipe:
        if not os.read(pipe.fileno(), 1):
            return -1.0
        first_byte_s = time.perf_counter() - started
        while os.read(pipe.fileno(), MIB):
            pass
    return first_byte_s


class MemorySampler(threading.Thread):
    """Sums the memory of a process and all its descendants now and then, and keeps the largest sum.

    Proportional set size is summed, so that pages shared after a fork count once.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._peak_kib = 0
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(MEMORY_SAMPLE_INTERVAL_S):
            total = sum(_proportional_kib(pid) for pid in process_tree(self._pid))
            self._peak_kib = max(self._peak_kib, total)

    def stop(self) -> int:
        """End sampling and return the peak in KiB."""
        self._stopped.set()
        self.join()
        return self._peak_kib


def process_tree(pid: int) -> list[int]:
    """The process and its living descendants, as far as /proc tells."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _proportional_kib(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def alternate(commands: Sequence[Command], runs: int, *, warm_up: int = 1) -> dict[str, list[Run]]:
    """Run the commands in turn, `runs` times each, so that a slow spell of the machine hits all of them."""
    results: dict[str, list[Run]] = {command.name: [] for command in commands}
    for turn in range(warm_up + runs):
        for command in commands:
            result = run_once(command)
            if turn >= warm_up:
                results[command.name].append(result)
    return results


def best(runs: Sequence[Run]) -> Run:
    """The least of each figure over several runs; the peak of memory is the largest."""
    return Run(
        wall_s=min(run.wall_s for run in runs),
        cpu_s=min(run.cpu_s for run in runs),
        peak_mib=max(run.peak_mib for run in runs),
        first_byte_s=min(run.first_byte_s for run in runs),
    )


def print_pair(what: str, ours: Sequence[Run], theirs: Sequence[Run] = (), note: str = "") -> None:
    """Print one line: our figures, Kafka's beside them, and how many times less ours are."""
    mine = best(ours)
    cells = [f"{what:<44}", f"{mine.wall_s:8.3f} s", f"{mine.cpu_s:8.3f} s cpu", f"{mine.peak_mib:7.0f} MiB"]
    if mine.first_byte_s >= 0:
        cells.append(f"first byte {mine.first_byte_s:.3f} s")
    if theirs:
        other = best(theirs)
        cells += [
            f"| Kafka {other.wall_s:8.3f} s {other.cpu_s:8.3f} s cpu {other.peak_mib:7.0f} MiB",
            f"| {other.wall_s / mine.wall_s:5.1f} x wall {other.cpu_s / mine.cpu_s:5.1f} x cpu",
        ]
    if note:
        cells.append(f"| {note}")
    print(" ".join(cells), flush=True)


def met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A command of ours, Kafka's beside it where there is one, and what is wanted of the best run.

    `times` and `cpu_times` are how many times less than Kafka's ours has to be; `us` is for one of `records`, in CPU time. `before` is
    called before each run.
    """

    what: str
    ours: Command
    theirs: tuple[str, ...] | None = None
    runs: int = 3
    kafka_runs: int = 3
    warm_up: int = 1
    wall_s: float = 0.0
    cpu_s: float = 0.0
    us: float = 0.0
    mib: float = 0.0
    times: float = 0.0
    cpu_times: float = 0.0
    records: int = 0
    before: Callable[[], object] = int

    def goals(self, ours: Run, theirs: Run | None) -> Iterator[tuple[str, bool]]:
        """What is wanted, and whether it is so."""
        if self.wall_s:
            yield f"{self.wall_s:g} s", ours.wall_s <= self.wall_s
        if self.cpu_s:
            yield f"{self.cpu_s:g} s cpu", ours.cpu_s <= self.cpu_s
        if self.us:
            yield f"{self.us:g} us", ours.cpu_s / self.records * 1e6 <= self.us
        if self.mib:
            yield f"{self.mib:.0f} MiB", ours.peak_mib <= self.mib
        if theirs and self.times:
            yield f"{self.times:g} x", theirs.wall_s / ours.wall_s >= self.times
        if theirs and self.cpu_times:
            yield f"{self.cpu_times:g} x cpu", theirs.cpu_s / ours.cpu_s >= self.cpu_times


def measured(case: Case) -> tuple[list[Run], list[Run]]:
    """Runs of ours and of Kafka's, in turn."""
    sides = [(case.ours, case.runs, list[Run]())]
    sides.append((Command(name="kafka", argv=case.theirs or (), stdout=case.ours.stdout), case.kafka_runs if case.theirs else -1, []))
    for turn in range(case.warm_up + max(case.runs, case.kafka_runs)):
        for command, runs, found in sides:
            if runs >= 0 and turn < case.warm_up + runs:
                case.before()
                run = run_once(command)
                found += [run] if turn >= case.warm_up else []
    return sides[0][2], sides[1][2]


def measure(cases: Iterable[Case]) -> int:
    """Run and print each case; 1 where a goal was missed."""
    status = 0
    for case in cases:
        ours, theirs = measured(case)
        goals = list(case.goals(best(ours), best(theirs) if theirs else None))
        notes = [f"{best(ours).cpu_s / case.records * 1e6:.2f} us of CPU a record"] if case.records else []
        notes += [f"goal {', '.join(f'{wanted} {met(is_met)}' for wanted, is_met in goals)}"] if goals else []
        print_pair(case.what, ours, theirs, ", ".join(notes))
        status |= not all(is_met for _, is_met in goals)
    return status


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bytes_read() -> int:
    """What this process has read, as the system counts it."""
    with open("/proc/self/io", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("rchar")).split()[1])


def print_interpreter() -> None:
    """Print which Python is measured, the build flags it records, and how fast it runs a plain loop.

    A build without profile-guided optimisation runs decoders 1.3 to 1.7 times slower. Debian builds its interpreter
    apart from the library whose flags are recorded, so the loop is the better witness.
    """
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    flags = f"{sysconfig.get_config_var('OPT') or ''} {sysconfig.get_config_var('CFLAGS_NODIST') or ''}"
    recorded = [word for word in ("--enable-optimizations", "--with-lto") if word in arguments]
    recorded += [flag for flag in flags.split() if flag.startswith(("-O", "-fprofile", "-flto"))]
    print(
        f"# {sys.executable}: CPython {sys.version.split()[0]}, recorded flags {' '.join(recorded) or 'none'}, "
        f"plain loop {_loop_ns():.0f} ns a turn; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def _loop_ns() -> float:
    """Nanoseconds of one turn of a loop like those of a decoder, best of five."""
    data, turns = bytes(range(256)) * 400, 100_000

    def walk() -> int:
        total = position = 0
        while position < turns:
            byte = data[position]
            position += 1
            total += byte & 127 if byte > 127 else byte
        return total

    best_s = 1e9
    for _ in range(5):
        started = time.perf_counter()
        walk()
        best_s = min(best_s, time.perf_counter() - started)
    return best_s / turns * 1e9


def ours(name: str, *words: str, **about: Any) -> Command:
    """A command of an installed script."""
    return Command(name="ours", argv=(our_script(name), *words), **about)


def our_script(name: str) -> str:
    """The installed console script of that name, beside the running interpreter."""
    script = Path(sys.executable).parent / name
    if not script.exists():
        sys.exit(f"{script}: not installed; run `make` first")
    return str(script)


def kafka_script() -> Path | None:
    """The script that runs a tool of a real Kafka, or None where there is none."""
    told = os.environ.get("METASHELL_KAFKA")
    script = Path(told) if told else REPOSITORY.parent / "shared" / "kafka" / "kafka"
    return script if script.exists() else None


def kafka_argv(tool: str, *arguments: str) -> tuple[str, ...] | None:
    """Kafka's own tool with its smallest class path and nothing else that costs start-up time.

    The script is asked once for the folder of jars; java is then run directly, so that no shell is measured.
    """
    script = kafka_script()
    if script is None:
        return None
    answer = subprocess.run([str(script), KAFKA_VERSION, "libs"], capture_output=True, text=True, check=True)
    logging = script.with_name("log4j2.properties")
    return (
        "java",
        f"-Dlog4j2.configurationFile={logging}",
        "-Dkafka.log=WARN",
        "-cp",
        f"{answer.stdout.strip()}/*",
        KAFKA_CLASSES[tool],
        *arguments,
    )


def bench_directory() -> Path:
    """The folder for inputs and outputs; it is made if absent."""
    told = os.environ.get("METASHELL_BENCH_DIR")
    directory = Path(told) if told else Path.home() / ".cache" / "metashell-bench"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def generated(kind: str, **options: int) -> Path:
    """A `snapshot` or `log` made by gen_metadata.py with these options, from the cache if it was made before."""
    name = "-".join([kind, *(f"{key}-{value}" for key, value in sorted(options.items()))])
    folder = bench_directory() / name
    if not (folder / "complete").exists():
        flags = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        maker = Path(__file__).with_name("gen_metadata.py")
        folder.mkdir(exist_ok=True)
        subprocess.run([sys.executable, str(maker), kind, "--out", str(folder), *flags], check=True)
        (folder / "complete").touch()
    files = [path for path in folder.iterdir() if path.suffix in (".log", ".checkpoint")]
    assert len(files) == 1, files
    return files[0]


def log_of(records: int) -> Path:
    """A log of that many records whose mix does not depend on the size."""
    return generated("log", records=records, partitions=max(10, records // 10))


def snapshot_of(partitions: int) -> Path:
    """A snapshot of that many partitions in a tenth as many topics."""
    return generated("snapshot", partitions=partitions)
