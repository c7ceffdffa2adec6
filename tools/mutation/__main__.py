"""Changes metashell line by line and runs tests until one fails: `python -m tools.mutation --room lake`.

Status 0: of the mutations that are not listed as equivalent, every room found its share (95 % in the core, 90 % elsewhere), and the list
is right. 1: otherwise. 2: no answer.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from metashell.common.errors import UsageError
from tools.mutation import listed, running
from tools.mutation.checkout import copy_of_checkout
from tools.mutation.choosing import stages
from tools.mutation.modules import ROOT, name_of, path_of
from tools.mutation.mutants import Mutation, mutations_of
from tools.mutation.recording import Recording, Stored
from tools.mutation.report import Report, place
from tools.mutation.results import Result, Results
from tools.mutation.rooms import Room, room_of, rooms_named
from tools.mutation.running import Run
from tools.mutation.sampling import sample
from tools.mutation.server import is_imported_first

COUNT = 60
SECONDS_OF_FILE = 5.0


def main(argv: Sequence[str] | None = None) -> int:
    try:
        # Whoever ends it finds no copy of the checkout left.
        with ended_as_by_a_key():
            return run(parser().parse_args(argv))
    except UsageError as error:
        print(f"mutation: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


@contextmanager
def ended_as_by_a_key() -> Iterator[None]:
    """SIGTERM is what Ctrl-C is; only the main thread may ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    made.add_argument("--room", action="append", metavar="NAME", help="a room to change; may be repeated; by default all of them")
    made.add_argument("--module", action="append", metavar="quorum/raft/elections.py", help="a module to change; may be repeated")
    made.add_argument("--count", type=int, default=COUNT, help=f"about how many mutations of each room, spread evenly ({COUNT})")
    made.add_argument("--all", action="store_true", help="every mutation")
    made.add_argument("--equivalent", action="store_true", help="also every one that is listed as equivalent: no test may find these")
    made.add_argument("--seed", type=int, default=0, help="chooses the sample: the same seed gives the same mutations")
    made.add_argument("--sample", action="store_true", help="those of `make test`, each with its tests of sample.tsv")
    made.add_argument("--one", action="append", metavar="ID", help="run this mutation again; may be repeated")
    made.add_argument("--jobs", type=int, default=2, help="processes at once (2)")
    made.add_argument("--seconds", type=float, default=60.0, help="time for each mutation (60)")
    made.add_argument("--fresh", action="store_true", help="do not use results and recordings of earlier runs")
    made.add_argument("--log", metavar="FILE", help="append the output of the tests to this file")
    made.add_argument("--list", action="store_true", help="print the mutations that would be taken")
    made.add_argument("-o", "--output", choices=("text", "json"), default="text")
    return made


def run(arguments: argparse.Namespace) -> int:
    sampled = [one for one in listed.read(listed.SAMPLE) if not arguments.module or one.key.module in arguments.module]
    named = sorted({one.key.module for one in sampled}) if arguments.sample else arguments.module or ()
    rooms = sources_by_room(arguments.room or (), named)
    sources = {module: source for found in rooms.values() for module, source in found.items()}
    mutations = {module: mutations_of(module, source) for module, source in sources.items()}
    everything = {mutation.id: mutation for found in mutations.values() for mutation in found}
    keys = {mutation.key for mutation in everything.values()}
    equivalents = [one for one in listed.read(listed.EQUIVALENT) if one.key.module in sources]
    faults = listed.stale(listed.EQUIVALENT, equivalents, keys)
    reasons = {one.key.id: one.text for one in equivalents}
    files: dict[str, list[str]] = {}
    if arguments.sample:
        faults += listed.stale(listed.SAMPLE, sampled, keys)
        files = {one.key.id: one.text.split(listed.AND) for one in sampled if one.key in keys}
        chosen = [everything[id] for id in files]
    else:
        chosen = choose(arguments, rooms, mutations, everything, reasons)
    if arguments.list:
        # A reader that has seen enough closes its end.
        with suppress(BrokenPipeError):
            for mutation in chosen:
                print(f"{mutation.id}  {place(mutation)}  {mutation.key.change}", flush=True)
        return 0
    progress = Progress(len(chosen), reasons)
    found: dict[str, Result] = {}
    with copy_of_checkout() as copy:
        # A sample is asked anew each time, and its results do not count for other runs: it runs the named files alone.
        stored = copy / "results.jsonl" if arguments.sample else running.CACHE / "results.jsonl"
        results = Results(stored, is_fresh=arguments.fresh or bool(arguments.one))
        for room, of_room in rooms.items() if not arguments.sample else ():
            here = [mutation for mutation in chosen if mutation.key.module in of_room]
            if not here:
                continue
            notes = Stored(room, ROOT, running.CACHE, is_fresh=arguments.fresh)
            known = running.recorded(copy, notes, room, arguments.jobs)
            faults += [f"{test}: fails on the sound code, so it judged nothing: {why}" for test, why in known.failed.items()]
            order = by_recording(known, results)
            runner = Run(copy, of_room, order, results, arguments.jobs, arguments.seconds, arguments.log, room.is_slow)
            found |= runner.perform(here, progress.note)
        # A sample takes one mutation of most rooms: processes that have imported what none of them changes serve all at once.
        for of_group in groups(sources) if arguments.sample else ():
            here = [mutation for mutation in chosen if mutation.key.module in of_group]
            runner = Run(
                copy, of_group, by_files(files), results, arguments.jobs, arguments.seconds, arguments.log, asks_soundness_at_end=True
            )
            found |= runner.perform(here, progress.note)
    progress.end()
    report = Report(chosen, found, reasons, {room: list(of_room) for room, of_room in rooms.items()}, sources, faults)
    print(json.dumps(report.json(), indent=1) if arguments.output == "json" else report.text())
    return 0 if report.is_good else 1


def groups(sources: Mapping[str, bytes]) -> list[dict[str, bytes]]:
    """The sources of modules that every warm process imports, where it may, and those of the others; none that is empty."""
    beneath = {module: source for module, source in sources.items() if is_imported_first(name_of(module))}
    return [group for group in (beneath, {module: source for module, source in sources.items() if module not in beneath}) if group]


def by_files(files: dict[str, list[str]]) -> Callable[[Mutation], list[dict[str, float]]]:
    return lambda mutation: [dict.fromkeys(files[mutation.id], SECONDS_OF_FILE)]


def by_recording(known: Recording, results: Results) -> Callable[[Mutation], list[dict[str, float]]]:
    return lambda mutation: stages(mutation, known, results.killers.get(mutation.id))


def sources_by_room(names: Sequence[str], modules: Sequence[str]) -> dict[Room, dict[str, bytes]]:
    """The sources that may be changed: of named modules, of named rooms, or of all. Errors: UsageError for a name that is none."""
    found: dict[Room, dict[str, bytes]] = {}
    if modules:
        for module in modules:
            room = room_of(module)
            found.setdefault(room, {})[module] = path_of(module).read_bytes()
        return found
    return {room: {module: path_of(module).read_bytes() for module in room.modules()} for room in rooms_named(names)}


def choose(
    arguments: argparse.Namespace,
    rooms: Mapping[Room, Iterable[str]],
    mutations: dict[str, list[Mutation]],
    everything: dict[str, Mutation],
    reasons: Iterable[str],
) -> list[Mutation]:
    if arguments.one:
        for id in arguments.one:
            if id not in everything:
                raise UsageError(f"{id}: no mutation of this name; --list --all prints them")
        return [everything[id] for id in arguments.one]
    chosen: list[Mutation] = []
    for modules in rooms.values():
        of_room = {module: mutations[module] for module in modules}
        whole = [mutation for found in of_room.values() for mutation in found]
        chosen += whole if arguments.all else sample(of_room, arguments.count, arguments.seed)
    more = [everything[id] for id in reasons if id in everything] if arguments.equivalent else []
    return list({mutation.id: mutation for mutation in (*chosen, *more)}.values())


class Progress:
    """How far a run is: one line that is written over on a terminal; elsewhere a line for each survivor only."""

    def __init__(self, total: int, reasons: dict[str, str]) -> None:
        self.total = total
        self.reasons = reasons
        self.done = self.survived = 0
        self.is_terminal = sys.stderr.isatty()

    def note(self, mutation: Mutation, result: Result) -> None:
        self.done += 1
        if not result.is_kill and mutation.id not in self.reasons:
            self.survived += 1
            if not self.is_terminal:
                line = f"{self.done}/{self.total} survived: {place(mutation)} {mutation.id} {mutation.key.change} ({result.seconds} s)"
                print(line, file=sys.stderr, flush=True)
        if self.is_terminal:
            print(f"\r{self.done} of {self.total}, {self.survived} survived", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.is_terminal:
            print(file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
