"""Reports: `metashell report all` with every form, whole and by phase, and one report of a larger log.

Goal: below 10 s and 500 MiB for a log of METASHELL_BENCH_RECORDS (1000000), on two cores. The memory of `leadership_churn` is bounded: with
three times the records it takes less than a third more.

`python -m tools.bench reports [whole] [phases] [churn]` runs those parts, by default all.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.bench.common import Command, alternate, bench_directory, best, log_of, met, our_script

RECORDS = int(os.environ.get("METASHELL_BENCH_RECORDS", "1000000"))
RUNS = 3
GOAL_S, GOAL_MIB = 10.0, 500.0
GROWTH_GOAL = 4 / 3


def main(words: list[str]) -> int:
    """Run the parts that are named."""
    parts = {"whole": whole, "phases": phases, "churn": churn}
    for name, part in parts.items():
        if not words or name in words:
            part()
    return 0


def command(report: str, log: Path, *words: str) -> Command:
    return Command(name=f"{report} {log.parent.name}", argv=(our_script("metashell"), "report", report, str(log), *words))


def whole() -> None:
    """All reports in all forms, with the index."""
    out = bench_directory() / "answers"
    asked = command("all", log_of(RECORDS), "--out", str(out))
    run = best(alternate([asked], RUNS)[asked.name])
    shutil.rmtree(out)
    goal = f"goal {GOAL_S:.0f} s, {GOAL_MIB:.0f} MiB {met(run.wall_s < GOAL_S and run.peak_mib < GOAL_MIB)}"
    print(f"report all, {RECORDS} records   {_figures(run.wall_s, run.cpu_s, run.peak_mib)} | {goal}")


def churn() -> None:
    """One report of a log, and of one three times as large."""
    small, large = (command("leadership_churn", log_of(size), "--format", "csv") for size in (RECORDS, 3 * RECORDS))
    found = {name: best(runs) for name, runs in alternate([small, large], 1, warm_up=0).items()}
    for name, run in found.items():
        print(f"{name:<60} {_figures(run.wall_s, run.cpu_s, run.peak_mib)}")
    factor = found[large.name].peak_mib / found[small.name].peak_mib
    print(f"memory, three times the records {factor:5.2f} times | goal {GROWTH_GOAL:.2f} {met(factor <= GROWTH_GOAL)}")


def phases() -> None:
    """Where time goes: each report, then each form of all answers, then the state; in a process of its own."""
    subprocess.run([sys.executable, "-c", "from tools.bench.reports import print_phases; print_phases()"], check=True)


def print_phases() -> None:
    from metashell.common.options import ANSWER_FORMS
    from metashell.metadata.checks import judge
    from metashell.tables.reports import REPORTS
    from metashell.tables.reports.local import ReportDatabase, run_local
    from metashell.tables.reports.output import answer_parts

    log = str(log_of(RECORDS))
    ask = ReportDatabase.ask
    spent = 0.0

    def timed(self, report):  # type: ignore[no-untyped-def]
        nonlocal spent
        started = time.perf_counter()
        with phase(f"report {report.name}"):
            answer = ask(self, report)
        spent += time.perf_counter() - started
        return answer

    ReportDatabase.ask = timed  # type: ignore[method-assign]
    started = time.perf_counter()
    found = run_local(list(REPORTS.values()), [log])
    print(f"{'reading':<40} {time.perf_counter() - started - spent:7.2f} s wall")
    for form in ANSWER_FORMS:
        with phase(f"answers as {form}"):
            for name, answer in found.tables.items():
                for _ in answer_parts(REPORTS[name], answer, form, sources=log):
                    pass
    with phase("state, judged"):
        judge([log])


@contextmanager
def phase(name: str) -> Iterator[None]:
    started, cpu = time.perf_counter(), time.process_time()
    yield
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:<40} {_figures(time.perf_counter() - started, time.process_time() - cpu, peak_mib)} so far", flush=True)


def _figures(wall_s: float, cpu_s: float, peak_mib: float) -> str:
    return f"{wall_s:7.2f} s wall {cpu_s:7.2f} s cpu {peak_mib:6.0f} MiB"
