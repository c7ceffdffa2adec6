"""How many seeds from a random start find each planted bug: `python -m tests.simulation.needed [--write] [NAME ...]`.

It prints a line for each, and with `--write` keeps what it found in `needed.tsv`: simulation, bug, seeds needed, a seed that finds it, and
the rule that it breaks there. More than 500 seeds say that the simulation lacks a fault. Status 1 where a bug was not found.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.simulation.bugs import Bug
from tests.simulation.harness import RAISED, Simulation
from tests.simulation.simulations import SIMULATIONS

FILE = Path(__file__).with_name("needed.tsv")
HEAD = "# Planted bugs, and the seeds from a random start that find them: python -m tests.simulation.needed --write\n"
SEEDS_MAX = 500
HITS = 3
"""So often a bug is to be found: the seeds tried by then, divided by that."""


class Row(NamedTuple):
    """What was measured of one bug."""

    simulation: str
    bug: str
    needed: float
    seed: int
    rule: str


def read() -> list[Row]:
    lines = [line for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines]
    return [Row(simulation, bug, float(needed), int(seed), rule) for simulation, bug, needed, seed, rule in rows]


def write(rows: list[Row]) -> None:
    order = [(name, bug) for name, simulation in SIMULATIONS.items() for bug in simulation.bugs]
    known = {(row.simulation, row.bug): row for row in rows}
    lines = ["\t".join((row[0], row[1], f"{row[2]:g}", *map(str, row[3:]))) + "\n" for key in order if (row := known.get(key)) is not None]
    FILE.write_text(HEAD + "".join(lines), "utf-8")


def measure(simulation: Simulation, bug: Bug, first: int, seconds: float, hits: int = HITS) -> Row | None:
    """Try one seed after the other until it was found often enough, or for as long as may be."""
    end = time.process_time() + seconds
    found: list[tuple[int, str]] = []
    tried = 0
    while len(found) < hits and tried < SEEDS_MAX and time.process_time() < end:
        result = simulation.run_bug(bug, first + tried)
        tried += 1
        if result.violation is not None and result.violation.rule != RAISED and simulation.holds_without(bug, result):
            found.append((result.seed, result.violation.rule))
    return Row(simulation.name, bug.name, round(tried / len(found), 1), *found[0]) if found else None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.needed", description=__doc__)
    parser.add_argument("names", nargs="*", help="simulations or bugs; all by default")
    parser.add_argument("--write", action="store_true", help="keep what was found in needed.tsv")
    parser.add_argument("--first", type=int, help="begin with this seed in place of a random one")
    parser.add_argument("--seconds", type=float, default=600.0, help="processor time for each bug (600)")
    parser.add_argument("--hits", type=int, default=HITS, help=f"how often each is to be found ({HITS})")
    arguments = parser.parse_args()
    missing = 0
    for simulation in SIMULATIONS.values():
        for name, bug in simulation.bugs.items():
            if arguments.names and not {name, simulation.name} & set(arguments.names):
                continue
            begin = time.process_time()
            first = Random().randrange(1_000_000) if arguments.first is None else arguments.first
            row = measure(simulation, bug, first, arguments.seconds, arguments.hits)
            seconds = time.process_time() - begin
            missing += row is None
            told = "not found" if row is None else f"{row.needed:6.1f} seeds, seed {row.seed}: {row.rule}"
            print(f"{simulation.name:11}{name:56} {seconds:6.1f} s  {told}", flush=True)
            if row is not None and arguments.write:
                rest = [other for other in read() if (other.simulation, other.bug) != (row.simulation, row.bug)] if FILE.exists() else []
                write([*rest, row])
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
