"""Looks for the first seed that finds each planted bug: `python -m tests.simulation.brokers.search [NAME ...]`.

Prints a line for each, with the processor time that it took. Status 1 where one was not found within two minutes.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from itertools import count

from tests.simulation.brokers.options import draw
from tests.simulation.brokers.planted import BUGS, Planted
from tests.simulation.brokers.run import RAISED, run
from tests.simulation.planted import patched
from tests.simulation.run import Result

SECONDS_MAX = 120.0


def search(bug: Planted, first: int = 0) -> Result | None:
    """The first run that breaks a rule with the bug, where the same seed without it breaks none."""
    end = time.process_time() + SECONDS_MAX
    for seed in count(first):
        options = replace(draw(seed), **bug.special)  # type: ignore[arg-type]
        with patched(bug.make()):
            result = run(seed, options=replace(options), is_black_box=bug.shows_outside)
        if result.violation is not None and result.violation.rule != RAISED and run(seed, options=replace(options)).violation is None:
            return result
        if time.process_time() > end:
            return None
    return None


def main(names: list[str]) -> int:
    missing = 0
    for name in names or list(BUGS):
        begin = time.process_time()
        result = search(BUGS[name])
        seconds = time.process_time() - begin
        missing += result is None
        found = "not found" if result is None else f"seed {result.seed}  {result.violation}"[:140]
        print(f"{name:48} {seconds:6.1f} s  {found}", flush=True)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
