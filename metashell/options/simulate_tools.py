"""The command line of `metashell simulate`, and the names that it knows."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option, choice, file_option, flag

STRATEGIES = {
    "eager": "everything is revoked before each rebalance; assignor range",
    "eager-roundrobin": "everything is revoked before each rebalance; assignor roundrobin",
    "eager-sticky": "everything is revoked before each rebalance; assignor sticky",
    "cooperative": "only what moves is revoked (KIP-429); assignor cooperative-sticky",
    "consumer": "the coordinator assigns (KIP-848); assignor uniform",
    "consumer-range": "the coordinator assigns (KIP-848); assignor range",
    "streams": "Kafka Streams 4.3: cooperative, metadata of version 11",
    "streams-2.0": "Kafka Streams 2.0: eager, metadata of version 3",
}
"""How members share partitions, by name."""
SCENARIOS = {
    "cold-start": "all members start, one after the other",
    "late-join": "all members start, the last one after the first rebalance",
    "join": "one member joins",
    "leave": "one member leaves",
    "scale-out": "half as many members again join",
    "scale-in": "every other member leaves",
    "crash": "one member dies",
    "leader-crash": "the leader dies while the others wait for its assignment",
    "bounce": "a rolling restart: one member after the other",
    "static-bounce": "a rolling restart of static members: one after the other",
    "restart-all": "all members stop, and start again",
    "storm": "a member joins every 2 s, 20 times",
    "slow-member": "a member joins while another one needs 30 s to let go",
    "stuck-member": "a member joins while another one needs longer than the rebalance timeout to let go",
    "no-poll": "one member does not poll for longer than it may",
    "pause": "a process stops for longer than its session, and goes on",
    "twin": "two processes have the same instance id",
    "more-partitions": "a topic gets twice as many partitions",
    "topic-deleted": "a topic is deleted",
    "failover": "the coordinator moves, at rest and within a rebalance",
    "coordinator-crash": "the broker of the coordinator dies, at rest and within a rebalance",
    "bad-network": "connections break for two minutes",
    "to-cooperative": "from eager to cooperative in two bounces (KIP-429)",
    "to-cooperative-at-once": "from eager to cooperative in one bounce, which fails",
    "to-consumer": "from classic to consumer protocol in one bounce (KIP-848)",
    "to-classic": "from consumer to classic protocol in one bounce",
    "streams-upgrade": "Kafka Streams 2.0 to 3.9 in two bounces: versions 3 to 11 (KIP-268)",
}
"""What happens to a group, by name."""
ASSUMPTIONS = {
    "session-timeout": "45s: a member that is silent for so long is expelled",
    "heartbeat-interval": "3s: classic members send heartbeats this often",
    "max-poll-interval": "5m: also the rebalance timeout",
    "auto-commit-interval": "5s: offsets are committed this often",
    "callback": "20ms: the application needs this long in each callback",
    "away": "5s: a member that restarts is off for so long",
    "join-gap": "200ms: between two members that start together",
    "commit": "3ms: the broker needs this long to commit a record",
    "latency": "4ms: a message takes from 1 ms up to this",
    "metadata": "2s: clients see a new topic within this time",
    "rate": "10: records a second of each partition",
    "patience": "15m: a group that is not at rest by then is reported",
}
"""What is assumed, by name: the default and what it is."""

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
        choice("--scenario", choices=tuple(SCENARIOS), default="bounce", metavar="NAME", help="what happens; SCENARIOS lists them"),
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
        ("STRATEGIES", shared.listed(STRATEGIES)),
        ("SCENARIOS", shared.listed(SCENARIOS)),
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
