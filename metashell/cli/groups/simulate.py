"""metashell simulate: compares how strategies of assignment rebalance a group, in simulated time."""

from __future__ import annotations

import signal
from dataclasses import replace
from functools import partial
from time import process_time
from typing import TYPE_CHECKING

from metashell.cli.tool import named_values, parsed, run_sub_command, write_page
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, Tool, complain
from metashell.common.errors import UsageError
from metashell.common.forms import standard_output, write_aligned, write_objects
from metashell.common.options import Argument, CommandSpec, Option, choice, file_option, flag, one_of
from metashell.common.runtime import processors
from metashell.common.terminal import show_progress
from metashell.groups.simulation import ASSUMPTIONS, SCENARIO_SUMMARIES, STRATEGIES, STRATEGY_SUMMARIES, Plan, apply_assumptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace

    from metashell.common.forms import Display
    from metashell.groups.simulation import Outcome, Plan, StrategyConfig
    from metashell.groups.simulation.scenarios import Scenario


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
