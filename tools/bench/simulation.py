"""How many events a second the simulation of quorums does, with all its checkers: `python -m tools.bench simulation [SEEDS]`.

One core, in time of the process. An event is a delivered message, a timer or a disk completion.
"""

from __future__ import annotations

import time
from collections import Counter

from tests.simulation.run import run

SEEDS = 100
FLOOR = 20_000
"""Events a second that there have to be."""


def main(words: list[str]) -> int:
    count = int(words[0]) if words else SEEDS
    run(0)
    events: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for seed in range(count):
        begin = time.process_time()
        result = run(seed)
        kind = "log on disk" if result.options.log_on_disk else "log in memory"
        seconds[kind] += time.process_time() - begin  # type: ignore[assignment]
        events[kind] += result.events
        assert result.violation is None, f"seed {seed}: {result.violation}"
    for kind in sorted(events):
        print(f"{kind:14} {events[kind]:>9} events {events[kind] / seconds[kind]:>9.0f} a second")
    total = sum(seconds.values())
    rate = sum(events.values()) / total
    print(f"{'all':14} {sum(events.values()):>9} events {rate:>9.0f} a second, {1_000 * total / count:.0f} s for 2 000 seeds on two cores")
    return 0 if rate >= FLOOR else 1
