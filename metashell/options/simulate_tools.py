"""The command line of `metashell simulate`, and the names that it knows."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option, choice, file_option, flag
from metashell.rebalance.plan import ASSUMPTIONS, SCENARIO_SUMMARIES, STRATEGY_SUMMARIES

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
        shared.output("text", "json", "jsonl", "table", "csv"),
        shared.VERBOSE._replace(help="report on standard error how many events a second were simulated"),
        shared.NO_COLOR,
    ),
    examples=(
        ("metashell simulate rebalance --members 100 --partitions 1000 --scenario join", "what one more member costs"),
        ("metashell simulate rebalance --strategy eager,cooperative,consumer --scenario bounce --html page.html", "a rolling restart"),
        ("metashell simulate rebalance --scenario static-bounce --assume session-timeout=10s -o json", "for a program"),
    ),
    epilog=(
        ("STRATEGIES", shared.listed(STRATEGY_SUMMARIES)),
        ("SCENARIOS", shared.listed(SCENARIO_SUMMARIES)),
        ("ASSUMPTIONS", shared.listed(ASSUMPTIONS)),
        (
            "EXIT STATUS",
            "0  every rule held\n1  a rule did not hold, or the page could not be written\n2  the command line is wrong",
        ),
    ),
    environment=shared.TERMINAL_ENVIRONMENT,
)

SIMULATE = CommandSpec(
    name="metashell-simulate",
    summary="how groups rebalance, simulated",
    description="Simulations of what clients and coordinator do with each other; no cluster is needed.",
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=(REBALANCE,),
    examples=(REBALANCE.examples[0],),
    epilog=(("COMMANDS", shared.listed({REBALANCE.name: REBALANCE.summary})), shared.EXIT_STATUS),
    files=(("PAGE.html", "the page that --html writes"),),
)
