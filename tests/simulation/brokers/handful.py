"""The seeds that `make test` runs, each once in a process."""

from __future__ import annotations

from functools import cache
from typing import Final

from tests.simulation.brokers.run import run
from tests.simulation.run import Result

SEEDS: Final = (0, 4, 8, 10, 15, 20, 21)
"""Together they reach every row of the heartbeat table that a history of ours can reach."""


@cache
def check(seed: int) -> Result:
    """Run a seed, in which every rule holds."""
    result = run(seed)
    assert result.violation is None, f"python -m tests.simulation {seed} --brokers --trace  # {result.violation}"
    return result
