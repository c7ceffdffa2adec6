"""metashell simulate: how groups rebalance, on a clock that nobody waits for."""

from __future__ import annotations

from metashell.cli.common import STATUS_FAILED, STATUS_OK, Tool, complain, parsed, run_sub_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace

    from metashell.forms import Display
    from metashell.options import CommandSpec
    from metashell.rebalance.outcome import Outcome
    from metashell.rebalance.plan import Plan, Strategy
    from metashell.rebalance.scenarios import Scenario

NAME = "metashell simulate"
MEMBERS_MAX = 5_000
PARTITIONS_MAX = 100_000
LARGE = 20_000
"""Members times partitions from which on it pays to start processes."""


def run(words: list[str]) -> int:
    """Find the command and run it."""
    from metashell.options.simulate_tools import SIMULATE

    return run_sub_command(SIMULATE._replace(name=NAME), words, _rebalance)


def _rebalance(command: CommandSpec, words: list[str]) -> int:
    values = parsed(command, words)
    if values is None:
        return STATUS_OK
    from metashell.forms import standard_output
    from metashell.rebalance.scenarios import SCENARIOS

    scenario = SCENARIOS[values.scenario]
    strategies = _strategies(values.strategy, scenario, is_default=values.strategy == command.option("strategy").default)
    plan = _plan(values, strategies[0])
    outcomes = _simulated(plan, scenario, strategies, values.verbose)
    if values.html is not None:
        from metashell.cli.common import write_page
        from metashell.rebalance.charts import simulation_page

        write_page(values.html, simulation_page(plan, scenario, outcomes))
    _print(standard_output(no_color=values.no_color), values.output, plan, scenario, outcomes)
    return _status(command.name, values.output, outcomes)


def _strategies(text: str, scenario: Scenario, *, is_default: bool) -> list[Strategy]:
    """The strategies that are compared. Errors: UsageError for an unknown one, and where the scenario has its own."""
    from metashell.errors import UsageError
    from metashell.options.values import choice
    from metashell.rebalance.plan import STRATEGIES

    if scenario.strategies:
        if not is_default:
            raise UsageError(f"option --strategy: the scenario {scenario.name} begins with {', '.join(scenario.strategies)}", text)
        return [STRATEGIES[name] for name in scenario.strategies]
    try:
        names = dict.fromkeys(choice(name.strip(), tuple(STRATEGIES)) for name in text.split(","))
    except UsageError as error:
        raise UsageError(f"option --strategy: {error}", text) from None
    return [STRATEGIES[name] for name in names]


def _plan(values: SimpleNamespace, strategy: Strategy) -> Plan:
    """Errors: UsageError for sizes that cannot be simulated, and assumptions that do not parse."""
    from metashell.cli.common import named_values
    from metashell.errors import UsageError
    from metashell.rebalance.assumptions import assume
    from metashell.rebalance.plan import Plan

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
    return assume(plan, named_values("--assume", values.assume, may_be_secret=False))


def _simulated(plan: Plan, scenario: Scenario, strategies: Sequence[Strategy], is_verbose: bool) -> list[Outcome]:
    """The outcome of each strategy; large ones side by side, in processes of their own."""
    from functools import partial

    from metashell.progress import shown_while

    play = partial(_play, plan, scenario.name)
    if len(strategies) == 1 or plan.members * plan.partitions < LARGE:
        found: list[tuple[Outcome, float]] = []
        with shown_while(lambda seconds: _how_far(scenario, len(found), len(strategies), seconds)):
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
    play: Callable[[Strategy], tuple[Outcome, float]], scenario: Scenario, strategies: Sequence[Strategy]
) -> list[tuple[Outcome, float]]:
    """Play each strategy in a process of its own; an interrupt ends them too."""
    import signal
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children

    from metashell.progress import shown_while
    from metashell.system import processors

    others = set(active_children())
    count = min(len(strategies), processors())
    with ProcessPoolExecutor(count, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            # The processes are there before the thread that shows how far they are: a process is not to be split off beside it.
            plays = [pool.submit(play, strategy) for strategy in strategies]
            with shown_while(lambda seconds: _how_far(scenario, sum(one.done() for one in plays), len(plays), seconds)):
                return [one.result() for one in plays]
        except BaseException:
            for process in set(active_children()) - others:
                process.kill()
            raise


def _play(plan: Plan, scenario: str, strategy: Strategy) -> tuple[Outcome, float]:
    """The outcome, and the seconds of a processor that it took."""
    from dataclasses import replace
    from time import process_time

    from metashell.rebalance.scenarios import SCENARIOS
    from metashell.rebalance.simulate import simulate

    began = process_time()
    outcome = simulate(replace(plan, strategy=strategy), SCENARIOS[scenario])
    return outcome, max(process_time() - began, 0.001)


def _print(display: Display, form: str, plan: Plan, scenario: Scenario, outcomes: Sequence[Outcome]) -> None:
    from metashell.forms import write_aligned, write_objects
    from metashell.rebalance.answer import heading, row, run_object, text_rows, whole_object

    if form == "text":
        display.line(heading(plan, scenario))
        rows = list(text_rows(outcomes))
        write_aligned(display, rows, right=range(1, len(rows[0])))
    elif form == "json":
        write_objects(display, form, [whole_object(plan, scenario, outcomes)], single=True)
    elif form == "jsonl":
        write_objects(display, form, map(run_object, outcomes))
    else:
        write_objects(display, form, map(row, outcomes))


def _status(name: str, form: str, outcomes: Sequence[Outcome]) -> int:
    from metashell.rebalance.answer import remarks

    for outcome in outcomes:
        for remark in remarks(outcome):
            complain(name, remark)
    return STATUS_FAILED if any(outcome.violations for outcome in outcomes) else STATUS_OK


main = Tool(NAME, run)
