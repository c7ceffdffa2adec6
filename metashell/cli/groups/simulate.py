"""metashell simulate compares how strategies of assignment rebalance a group, in simulated time; metashell groups assign computes the
assignments of assignors for rows of inputs."""

from __future__ import annotations

import signal
from dataclasses import replace
from functools import partial
from time import process_time
from typing import TYPE_CHECKING

from metashell.cli.tool import named_values, parsed, run_sub_command, write_page
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, Tool, complain
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import JsonWriter, aligned, counted, standard_output, write_aligned, write_objects
from metashell.common.options import Argument, CommandSpec, Option, choice, file_option, flag, one_of
from metashell.common.runtime import processors
from metashell.common.terminal import show_progress, terminal_line
from metashell.disk.files import open_file
from metashell.groups.assignors.rows import answer_row, input_warnings
from metashell.groups.simulation import ASSUMPTIONS, SCENARIO_SUMMARIES, STRATEGIES, STRATEGY_SUMMARIES, Plan, apply_assumptions
from metashell.groups.view import parts_text, ranges_text
from metashell.rehearse.placement.plan_file import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import SimpleNamespace
    from typing import Any

    from metashell.common.forms import Display
    from metashell.common.options import CommandSpec
    from metashell.groups.simulation import Outcome, Plan, StrategyConfig
    from metashell.groups.simulation.scenarios import Scenario

    Row = dict[str, Any]


REBALANCE = CommandSpec(
    "rebalance",
    "what rebalances cost a group, by strategy",
    """
        Plays a scenario with a group of consumers, in memory and on a clock that nobody waits for, once for each strategy: real state
        machines of clients and coordinator, assignors that give what Kafka's classes give, and a network that delays messages.

        The figures say what each rebalance protocol costs: partitions that moved, time that members had no work, time that partitions had
        no owner, rounds. Meanwhile checkers look whether the rules of the protocol hold; a rule that does not is reported, with status 1.
        """,
    (
        Option(names=("--members",), metavar="N", type="int", default=10, help="members of the group before the scenario"),
        Option(names=("--partitions",), metavar="N", type="int", default=60, help="partitions, of all topics together"),
        Option(names=("--topics",), metavar="N", type="int", default=4, help="topics, to which all members subscribe"),
        Option(
            names=("--strategy",),
            metavar="NAME,...",
            kind="strategy",
            default="eager,cooperative,consumer",
            help="the strategies that are compared; STRATEGIES lists them",
        ),
        choice(
            "--scenario", choices=tuple(SCENARIO_SUMMARIES), default="bounce", metavar="NAME", help="what happens; SCENARIOS lists them"
        ),
        flag("--static", help="members are static: they have instance ids"),
        Option(names=("--seed",), metavar="N", type="int", default=0, help="where chance comes from: the same seed, the same answer"),
        Option(names=("--assume",), metavar="NAME=VALUE", multiple=True, help="assume something else; ASSUMPTIONS lists the names"),
        file_option("--html", help="write the answer as one HTML page with pictures, too")._replace(type="page"),
        options.output("text", "json", "jsonl", "table", "csv"),
        options.VERBOSE._replace(help="report on standard error how many events a second were simulated"),
        options.NO_COLOR,
    ),
    examples=(
        ("metashell simulate rebalance --members 100 --partitions 1000 --scenario join", "what one more member costs"),
        ("metashell simulate rebalance --strategy eager,cooperative,consumer --scenario bounce --html page.html", "a rolling restart"),
        ("metashell simulate rebalance --scenario static-bounce --assume session-timeout=10s -o json", "for a program"),
    ),
    epilog=(
        ("STRATEGIES", options.listed(STRATEGY_SUMMARIES)),
        ("SCENARIOS", options.listed(SCENARIO_SUMMARIES)),
        ("ASSUMPTIONS", options.listed(ASSUMPTIONS)),
        (
            "EXIT STATUS",
            "0  every rule held\n1  a rule did not hold, or the page could not be written\n2  the command line is wrong",
        ),
    ),
    environment=options.TERMINAL_ENVIRONMENT,
)

SIMULATE = CommandSpec(
    name="metashell-simulate",
    summary="how groups rebalance, simulated",
    description="Simulations of what clients and coordinator do with each other; no cluster is needed.",
    options=(options.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=(REBALANCE,),
    examples=(REBALANCE.examples[0],),
    epilog=(("COMMANDS", options.listed({REBALANCE.name: REBALANCE.summary})), options.EXIT_STATUS),
    files=(("PAGE.html", "the page that --html writes"),),
)


NAME = "metashell simulate"
MEMBERS_MAX = 5_000
PARTITIONS_MAX = 100_000
LARGE = 20_000
"""Members times partitions from which separate processes are faster."""


def run_simulate(words: list[str]) -> int:
    """Find the command and run it."""
    return run_sub_command(SIMULATE._replace(name=NAME), words, _rebalance)


def _rebalance(command: CommandSpec, words: list[str]) -> int:
    values = parsed(command, words)
    if values is None:
        return STATUS_OK
    from metashell.groups.simulation.scenarios import SCENARIOS

    scenario = SCENARIOS[values.scenario]
    strategies = _strategies(values.strategy, scenario, is_default=values.strategy == command.option("strategy").default)
    plan = _plan(values, strategies[0])
    outcomes = _simulated(plan, scenario, strategies, values.verbose)
    if values.html is not None:
        from metashell.groups.simulation.report import simulation_page

        write_page(values.html, simulation_page(plan, scenario, outcomes))
    _print(standard_output(no_color=values.no_color), values.output, plan, scenario, outcomes)
    return _status(command.name, values.output, outcomes)


def _strategies(text: str, scenario: Scenario, *, is_default: bool) -> list[StrategyConfig]:
    """Return the strategies to compare. Errors: UsageError for an unknown one, and if the scenario defines its own."""
    if scenario.strategies:
        if not is_default:
            raise UsageError(f"option --strategy: the scenario {scenario.name} begins with {', '.join(scenario.strategies)}", text)
        return [STRATEGIES[name] for name in scenario.strategies]
    try:
        names = dict.fromkeys(one_of(name.strip(), tuple(STRATEGIES)) for name in text.split(","))
    except UsageError as error:
        raise UsageError(f"option --strategy: {error}", text) from None
    return [STRATEGIES[name] for name in names]


def _plan(values: SimpleNamespace, strategy: StrategyConfig) -> Plan:
    """Return the plan for a strategy. Errors: UsageError for sizes that cannot be simulated, or assumptions that do not parse."""
    for name, least, most in (("members", 2, MEMBERS_MAX), ("partitions", 1, PARTITIONS_MAX), ("topics", 1, PARTITIONS_MAX)):
        if not least <= getattr(values, name) <= most:
            raise UsageError(f"option --{name}: {getattr(values, name)} is not from {least} to {most}", f"--{name}")
    plan = Plan(
        strategy=strategy,
        members=values.members,
        partitions=values.partitions,
        topics=values.topics,
        seed=values.seed,
        is_static=values.static,
    )
    return apply_assumptions(plan, named_values("--assume", values.assume, may_be_secret=False))


def _simulated(plan: Plan, scenario: Scenario, strategies: Sequence[StrategyConfig], is_verbose: bool) -> list[Outcome]:
    """Return the outcome of each strategy. Large simulations run in parallel processes."""
    play = partial(_play, plan, scenario.name)
    if len(strategies) == 1 or plan.members * plan.partitions < LARGE:
        found: list[tuple[Outcome, float]] = []
        with show_progress(lambda seconds: _how_far(scenario, len(found), len(strategies), seconds)):
            found.extend(map(play, strategies))
    else:
        found = _side_by_side(play, scenario, strategies)
    if is_verbose:
        for outcome, seconds in found:
            text = f"{outcome.strategy}: {outcome.events} events in {seconds:.1f} s, {outcome.events / seconds:,.0f} a second"
            complain(f"{NAME} rebalance", text)
    return [outcome for outcome, _ in found]


def _how_far(scenario: Scenario, done: int, count: int, seconds: float) -> str:
    return f"{scenario.name}: {done} of {count} strategies played, {seconds:.0f} s"


def _side_by_side(
    play: Callable[[StrategyConfig], tuple[Outcome, float]], scenario: Scenario, strategies: Sequence[StrategyConfig]
) -> list[tuple[Outcome, float]]:
    """Play each strategy in its own process. An interrupt ends the processes too."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children

    others = set(active_children())
    count = min(len(strategies), processors())
    with ProcessPoolExecutor(count, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            # Start the processes before the thread that shows progress, so that no process is forked while it runs.
            plays = [pool.submit(play, strategy) for strategy in strategies]
            with show_progress(lambda seconds: _how_far(scenario, sum(one.done() for one in plays), len(plays), seconds)):
                return [one.result() for one in plays]
        except BaseException:
            for process in set(active_children()) - others:
                process.kill()
            raise


def _play(plan: Plan, scenario: str, strategy: StrategyConfig) -> tuple[Outcome, float]:
    """Return the outcome, and the processor time it took in seconds."""

    from metashell.groups.simulation.scenarios import SCENARIOS, simulate

    began = process_time()
    outcome = simulate(replace(plan, strategy=strategy), SCENARIOS[scenario])
    return outcome, max(process_time() - began, 0.001)


def _print(display: Display, form: str, plan: Plan, scenario: Scenario, outcomes: Sequence[Outcome]) -> None:
    from metashell.groups.simulation.report import outcome_object, outcome_row, outcome_text_rows, simulation_heading, simulation_object

    if form == "text":
        display.line(simulation_heading(plan, scenario))
        rows = list(outcome_text_rows(outcomes))
        write_aligned(display, rows, right=range(1, len(rows[0])))
    elif form == "json":
        write_objects(display, form, [simulation_object(plan, scenario, outcomes)], single=True)
    elif form == "jsonl":
        write_objects(display, form, map(outcome_object, outcomes))
    else:
        write_objects(display, form, map(outcome_row, outcomes))


def _status(name: str, form: str, outcomes: Sequence[Outcome]) -> int:
    from metashell.groups.simulation.report import outcome_remarks

    for outcome in outcomes:
        for remark in outcome_remarks(outcome):
            complain(name, remark)
    return STATUS_FAILED if any(outcome.violations for outcome in outcomes) else STATUS_OK


main = Tool(NAME, run_simulate)


COLUMNS = ("id", "assignor", "member", "topic", "partitions")
STDIN = "-"
_READ_SIZE = 1 << 20


def assign(command: CommandSpec, words: Sequence[str]) -> int:
    """Answer every row of the files and return the exit status. Errors: UsageError; MetashellError for a file."""
    values = parsed(command, words)
    if values is None:
        return STATUS_OK
    work = _Work(command.name, values.output, standard_output(), is_check=values.check)
    try:
        for place, row in _rows(values.files):
            work.take(place, row, values.assignor)
    except UsageError as error:
        if error.argument == "--assignor":
            raise
        # The command line is right even if a file is missing, cannot be read or holds something else.
        raise _WrongFileError(error) from None
    finally:
        work.close()
    return work.status


class _WrongFileError(MetashellError):
    """A file without valid inputs; `excerpt` shows the faulty place if it is known."""

    def __init__(self, error: MetashellError) -> None:
        super().__init__(str(error))
        self.excerpt: tuple[str, ...] = getattr(error, "excerpt", ())


class _Work:
    """The answers to the rows. Shape: `status` is the exit status for the rows so far."""

    def __init__(self, name: str, form: str, display: Display, *, is_check: bool) -> None:
        self.status = STATUS_OK
        self._name = name
        self._form = form
        self._display = display
        self._is_check = is_check
        self._writer = JsonWriter(display, form) if form in ("json", "jsonl") else None
        self._cells: list[Row] = []

    def take(self, place: str, row: Row, assignor: str | None) -> None:
        given = row.get("output")
        answered = answer_row(assignor, row, place)
        if self._is_check:
            if not isinstance(given, dict):
                self._complain(place, "there is no output to compare with")
                return
            if answered["output"] == given:
                return
            self._complain(place, f"{_called(answered)}: the output differs")
        else:
            for text in input_warnings(answered["assignor"], row):
                complain(self._name, f"{place}: {_called(answered)}: {text}")
        if not self._is_check and "error" in answered["output"]:
            self._complain(place, f"{_called(answered)}: {_error_text(answered['output'])}")
        if self._writer is not None:
            self._writer.add(answered)
        elif self._form == "text":
            _write_text(self._display, answered)
        else:
            self._cells += _cells(answered)

    def _complain(self, place: str, text: str) -> None:
        complain(self._name, f"{place}: {text}")
        self.status = STATUS_FAILED

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        elif self._cells:
            write_objects(self._display, self._form, self._cells, columns=COLUMNS)


def _rows(paths: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """Yield the objects in the files, each with the name of its place. Errors: UsageError."""
    for path in paths:
        source, text = "standard input" if path == STDIN else path, _text(path)
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        # The first line of an object that spans several lines is not JSON by itself.
        if len(lines) < 2 or not lines[0][1].rstrip().endswith("}"):
            whole = parse_json(text, source)
            found = [(source, row) for row in (whole if isinstance(whole, list) else [whole])]
        else:
            found = [(f"{source}: line {number}", parse_json(line, source, number)) for number, line in lines]
        for place, row in found:
            if not isinstance(row, dict):
                raise UsageError(f"{place}: not a JSON object", path)
            yield place, row


def _text(path: str) -> str:
    with open_file(path) as file:
        pieces = []
        position = 0
        while piece := file.read_at(position, _READ_SIZE):
            pieces.append(bytes(piece))
            position += len(piece)
        if file.trouble is not None:
            raise UsageError(f"{file.name}: {file.trouble}", path)
    try:
        return b"".join(pieces).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8", path) from None


def _called(row: Row) -> str:
    """Return the name of a row for messages: its id, or its assignor."""
    return str(row.get("id") or row["assignor"])


def _error_text(output: Row) -> str:
    name = str(output["error"]).rpartition(".")[2]
    return name if output["message"] is None else f"{name}: {output['message']}"


def _parts(assigned: Any) -> list[tuple[str, list[int]]]:
    """Return a member's topics with their partitions, from pairs (clients' assignors) or an object (the broker's).

    A topic that comes in several runs is returned several times.
    """
    pairs = assigned.items() if isinstance(assigned, dict) else assigned or ()
    return [(topic, partitions) for topic, partitions in pairs]


def _write_text(display: Display, row: Row) -> None:
    """Write one line per member with the number of its partitions and their names."""
    output = row["output"]
    if "assignment" not in output:
        return
    lines = []
    for member, assigned in output["assignment"].items():
        parts = [(topic, tuple(partitions)) for topic, partitions in _parts(assigned)]
        lines.append([member, counted(sum(len(partitions) for _, partitions in parts), "partition"), parts_text(tuple(parts))])
    display.line(terminal_line(f"{_called(row)}: {counted(len(lines), 'member')}"))
    for line in aligned(lines, right=[1]):
        display.line(line)
    withheld = output.get("transferring") if row["assignor"] == "cooperative-sticky" else None
    if withheld:
        display.line(terminal_line(f"nobody's until their owners give them up: {' '.join(sorted(withheld))}"))


def _cells(row: Row) -> list[Row]:
    return [
        {"id": row.get("id"), "assignor": row["assignor"], "member": member, "topic": topic, "partitions": ranges_text(partitions)}
        for member, assigned in row["output"].get("assignment", {}).items()
        for topic, partitions in _parts(assigned)
    ]
