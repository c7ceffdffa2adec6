"""Seeds move when the core changes: `python -m tests.simulation.refind` finds new ones for what stands in `found`."""

from __future__ import annotations

import sys

from tests.simulation.found import FOUND
from tests.simulation.planted import patched
from tests.simulation.run import run
from tests.simulation.test_found import options_of

SEEDS_MAX = 3_000


def bites(seed: int, name: str) -> bool:
    """Whether a seed holds with the code of today, and breaks a rule with the old one."""
    make = next(make for make in FOUND if make.__name__ == name)
    special = FOUND[make][1]
    with patched(make()):
        violation = run(seed, options=options_of(seed, special)).violation
    return violation is not None and run(seed, options=options_of(seed, special)).violation is None


def main() -> int:
    """Print a line for each; status 1 where a bug was not found again."""
    missing = 0
    for make, (first, _) in FOUND.items():
        name = make.__name__
        seed = next((seed for seed in (first, *range(SEEDS_MAX)) if bites(seed, name)), None)
        missing += seed is None
        print(name, "not found" if seed is None else seed, "" if seed != first else "(as before)", flush=True)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
