"""How a bench is run and judged, on commands that take no time."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from tools.bench.__main__ import COMMANDS, benches, main
from tools.bench.common import Case, Command, Run, measure, measured, ours

QUICK = Command(name="ours", argv=("true",))
ONE = Run(wall_s=1.0, cpu_s=2.0, peak_mib=30.0)


@pytest.mark.slow
def test_every_bench_has_a_line_and_can_be_called() -> None:
    known = benches()
    assert len(known) > 25 and "common" not in known and "table" not in known
    for name, (module, line) in known.items():
        assert line.endswith((".", ":", "core.")) or len(line) > 20, name
        assert callable(getattr(import_module(f"tools.bench.{module}"), name if module == COMMANDS else "main"))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"wall_s": 1.0}, ("1 s", True)),
        ({"wall_s": 0.99}, ("0.99 s", False)),
        ({"cpu_s": 2.0}, ("2 s cpu", True)),
        ({"cpu_s": 1.9}, ("1.9 s cpu", False)),
        ({"us": 2.0, "records": 1_000_000}, ("2 us", True)),
        ({"us": 1.9, "records": 1_000_000}, ("1.9 us", False)),
        ({"mib": 30.0}, ("30 MiB", True)),
        ({"mib": 29.0}, ("29 MiB", False)),
        ({"times": 4.0}, ("4 x", True)),
        ({"times": 4.1}, ("4.1 x", False)),
        ({"cpu_times": 3.0}, ("3 x cpu", True)),
        ({"cpu_times": 3.1}, ("3.1 x cpu", False)),
    ],
)
def test_a_goal_is_met_up_to_its_bound(wanted: dict[str, float], said: tuple[str, bool]) -> None:
    theirs = Run(wall_s=4.0, cpu_s=6.0, peak_mib=90.0)
    assert list(Case(what="", ours=QUICK, **wanted).goals(ONE, theirs)) == [said]  # type: ignore[arg-type]
    without = list(Case(what="", ours=QUICK, **wanted).goals(ONE, None))  # type: ignore[arg-type]
    assert without == ([] if "times" in next(iter(wanted)) else [said])


def test_both_sides_run_in_turn_and_what_warms_up_is_not_counted() -> None:
    turns: list[int] = []
    case = Case(what="", ours=QUICK, theirs=("true",), runs=3, kafka_runs=1, before=lambda: turns.append(1))
    mine, others = measured(case)
    assert (len(mine), len(others), len(turns)) == (3, 1, 4 + 2)


def test_a_goal_that_is_missed_is_said_and_is_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert measure([Case(what="none", ours=QUICK, runs=1), Case(what="met", ours=QUICK, runs=1, wall_s=60)]) == 0
    assert measure([Case(what="late", ours=QUICK, runs=1, wall_s=1e-9, records=5), Case(what="met", ours=QUICK, runs=1, wall_s=60)]) == 1
    none, good, late, _ = capsys.readouterr().out.splitlines()
    assert "goal" not in none and good.endswith("| goal 60 s met")
    assert late.startswith("late") and "us of CPU a record, goal 1e-09 s MISSED" in late


def test_a_command_that_fails_would_look_fast_and_ends_the_bench() -> None:
    with pytest.raises(SystemExit, match="status 1"):
        measure([Case(what="", ours=Command(name="ours", argv=("false",)))])
    assert measure([Case(what="", ours=Command(name="ours", argv=("false",), statuses=(1,)), runs=1)]) == 0


def test_words_that_name_no_bench_go_to_the_last_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def ended(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(argv[3:])
        return subprocess.CompletedProcess(argv, int("server" in argv))

    monkeypatch.setattr("compileall.compile_dir", lambda *_, **__: True)
    monkeypatch.setattr(subprocess, "run", ended)
    assert main(["server", "sql", "7", "-x"]) == 1
    assert asked == [["--here", "server"], ["--here", "sql", "7", "-x"]]
    with pytest.raises(SystemExit, match="no bench is called 7"):
        main(["7"])


def test_a_command_of_ours_is_the_installed_one() -> None:
    assert ours("metashell", "sql", statuses=(0, 1)).argv[1:] == ("sql",)
    assert ours("metashell").argv[0].startswith(sys.prefix)
