"""The CPU seconds that each part of the suite takes, printed at its end beside what it may take.

A test's time is that of its process and of all processes below it that run or have ended. A server that all tests share is counted to each
test for what it did meanwhile.
"""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

PROPERTY = "cpu_s"
BUDGETS_S = {"simulation": 120, "interop": 200, "spark": 200, "lake": 60, "log": 80, "codec": 50, "secrets": 50, "cli": 80, "the rest": 240}
"""CPU seconds for each part: together 18 minutes, nine on two processors."""

_PLACES = (
    ("tests/simulation/", "simulation"),
    ("tests/interop/", "interop"),
    ("tests/spark_reports/", "spark"),
    ("tests/tables/lake/", "lake"),
    ("tests/disk/", "log"),
    ("tests/codec/", "codec"),
    ("tests/test_secrets", "secrets"),
    ("tests/cli/", "cli"),
)


def part_of(nodeid: str) -> str:
    """The part of the suite that a test belongs to, by its place."""
    return next((part for prefix, part in _PLACES if nodeid.startswith(prefix)), "the rest")


class CpuTimes:
    """Measures each test in the process that runs it, and prints the sums in the one that the person started."""

    def __init__(self, written_to: Path | None) -> None:
        self._written_to = written_to
        self._seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        item.stash[_BEGAN] = _used_s()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
        report: Any = yield
        if call.when == "teardown":
            report.user_properties = [*report.user_properties, (PROPERTY, max(0.0, _used_s() - item.stash[_BEGAN]))]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY and report.when == "teardown":
                assert isinstance(value, float)
                self._seconds[report.nodeid] += value

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        parts: dict[str, float] = dict.fromkeys(BUDGETS_S, 0.0)
        for nodeid, seconds in self._seconds.items():
            parts[part_of(nodeid)] += seconds
        if self._seconds:
            told = ", ".join(f"{part} {seconds:.0f} of {BUDGETS_S[part]}" for part, seconds in parts.items())
            terminalreporter.write_line(f"CPU seconds: {told}; {sum(parts.values()):.0f} of {sum(BUDGETS_S.values())} together")
        if self._written_to is not None:
            rows = sorted(self._seconds.items(), key=lambda row: -row[1])
            self._written_to.write_text("".join(f"{seconds:.2f}\t{nodeid}\n" for nodeid, seconds in rows), "utf-8")


_TICKS = os.sysconf("SC_CLK_TCK")
_BEGAN = pytest.StashKey[float]()


def _used_s() -> float:
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime + sum(map(_running_s, _children(os.getpid())))


def _children(pid: int) -> list[int]:
    """The processes that threads of a process have started and that are not waited for yet; none where the system does not say."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def _running_s(pid: int) -> float:
    """What a process and all below it have used; 0 where it is gone meanwhile."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime, and those of the children that it has waited for; see proc(5).
    return sum(map(int, fields[11:15])) / _TICKS + sum(map(_running_s, _children(pid)))
