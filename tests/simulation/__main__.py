"""Replays a seed, or searches many: `python -m tests.simulation SEED [--trace]`, `python -m tests.simulation FIRST --count N`.

`--production` runs the server itself instead of the core alone, `--controller` controllers, `--brokers` brokers and their clients,
`--groups` the log of a group coordinator; each with seeds and planted bugs of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from functools import partial

from tests.simulation.bugs import patched
from tests.simulation.harness import Result, shrink
from tests.simulation.simulations import SIMULATIONS
from tests.simulation.trace import Trace


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=1, help="how many seeds, beginning with SEED")
    parser.add_argument("--events", type=int, default=0, help="least number of events of a run")
    for name, what in (
        ("production", "run the server on a simulated clock, network and disk"),
        ("controller", "run the controller, its brokers and clients, on the production path"),
        ("brokers", "run brokers, their clients and their controllers"),
        ("groups", "run a group coordinator on a disk that stops at any step"),
    ):
        parser.add_argument(f"--{name}", dest="simulation", action="store_const", const=name, default="core", help=what)
    parser.add_argument("--trace", action="store_true", help="print every message, timer and fault")
    parser.add_argument("--last", type=int, default=0, help="print the last LAST lines of the trace of a failure")
    parser.add_argument("--without", default="", help="give these options, separated by commas, their plain value")
    parser.add_argument("--shrink", action="store_true", help="find the fewest faults that still break the rule")
    parser.add_argument("--bug", default="", help="run with this planted bug")
    parser.add_argument("--profile", default=None, help="let every seed follow this profile of faults ('': none)")
    parser.add_argument("--go-on", action="store_true", help="do not stop at the first failure")
    arguments = parser.parse_args()
    simulation = SIMULATIONS[arguments.simulation]
    with patched(simulation.bugs[arguments.bug].make() if arguments.bug else []):
        return play(arguments)


def play(arguments: argparse.Namespace) -> int:
    run = partial(SIMULATIONS[arguments.simulation].run, events=arguments.events, profile=arguments.profile)
    without = [name for name in arguments.without.split(",") if name]
    counts: Counter[str] = Counter()
    events = failures = 0
    begin = time.process_time()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        trace = Trace(sys.stdout, is_verbose=True) if arguments.trace else None
        result = run(seed, without=without, trace=trace)
        events += result.events
        counts.update(result.counts)
        if result.violation is not None:
            failures += 1
            report(run, result, arguments, without)
            if not arguments.go_on:
                break
    seconds = time.process_time() - begin
    print(f"{events} events, {events / max(seconds, 1e-9):.0f} a second, {failures} failures; {dict(sorted(counts.items()))}")
    return 1 if failures else 0


def report(run: partial[Result], result: Result, arguments: argparse.Namespace, without: list[str]) -> None:
    print(f"seed {result.seed}: {result.violation} (event {result.events}, {result.ms} ms)")
    if arguments.shrink:
        without = shrink(result, without, run)
        more = f" --bug {arguments.bug}" if arguments.bug else ""
        more += f" --{arguments.simulation}" if arguments.simulation != "core" else ""
        more += f' --profile "{arguments.profile}"' if arguments.profile is not None else ""
        print(f"  python -m tests.simulation {result.seed} --trace --without {','.join(without)}{more}")
    if arguments.last:
        trace = Trace(last=arguments.last)
        run(result.seed, without=without, trace=trace)
        print("\n".join(trace.last[-arguments.last :]))


if __name__ == "__main__":
    sys.exit(main())
