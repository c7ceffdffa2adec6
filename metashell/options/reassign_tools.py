"""The command line of `metashell reassign`."""

from __future__ import annotations

from metashell.options.administering import DRY_RUN, WAIT, WATCH, YES, command, noun
from metashell.options.spec import Option, file_option, flag, path_argument

EVEN = ("topics", "replicas", "leaders")
_THROTTLE = Option(
    names=("--throttle",), metavar="BYTES", type="size", help="let no broker send or receive more than this a second for the moves: 50M"
)
_CLEARED = _THROTTLE._replace(help="the rate that apply was given: only this rate is removed from brokers; without it all rates stay")
_PLAN = path_argument("plan", "PLAN", "1", "a plan: from `reassign plan`, or from kafka-reassign-partitions; - is standard input")

PLAN = command(
    "plan",
    "compute which brokers should have which replicas",
    """
        Computes a plan from a live cluster or, with --snapshot, from the metadata on disk. No replica stays on brokers that are left,
        each partition gets as many racks as it can, each topic's replicas and leaders become even over the brokers, and so do all
        together; as little as possible moves for it. Leaders become even by the order of replicas alone.

        It shows how the cluster is before and after, and what has to be copied. --out writes the plan, in the JSON that
        kafka-reassign-partitions takes too. Nothing is changed.
        """,
    options=(
        Option(names=("--off",), metavar="IDS", help="move everything off these brokers: 3,4"),
        Option(names=("--brokers",), metavar="IDS", help="only these brokers take replicas, all others are left; by default all do"),
        Option(names=("--topic", "-t"), metavar="TOPIC", multiple=True, help="change only this topic; by default all"),
        Option(
            names=("--even",),
            metavar="WHAT",
            default=",".join(EVEN),
            help=f"what to even out, of {','.join(EVEN)}; none: move only what has to",
        ),
        flag("--ignore-racks", help="do not look at racks"),
        file_option("--sizes", help="output of kafka-log-dirs --describe: small partitions move first, and sizes are shown"),
        _THROTTLE._replace(help="with --sizes, say how long the copies take at so many bytes a second for each broker"),
        file_option("--out", help="write the plan to this file; - is standard output, in place of the figures"),
        file_option("--snapshot", "-s", metavar="PATH", help="a checkpoint, segment or metadata directory, in place of a live cluster"),
    ),
    examples=(
        ("metashell reassign plan --off 3 --out plan.json -b localhost:9092", "empty broker 3"),
        ("metashell reassign plan -s /var/lib/kafka --sizes sizes.json --throttle 50M", "what would evening out cost?"),
        ("metashell reassign plan --even none --off 3 --topic orders --out - -C localhost:9093", "one topic, and only what has to move"),
    ),
)
APPLY = command(
    "apply",
    "carry a plan out, or go on with it",
    """
        Begins the moves of a plan. Before anything is begun, every partition is compared with what the plan assumed; what is done
        or under way already is left alone, so that `apply` again goes on after it was stopped. If a partition was changed since,
        nothing is done without --skip-changed. Moves go on in the cluster when this command ends.

        With --batch only so many partitions move at a time. --throttle limits the copies: rates on the brokers that take part, and the
        replicas that move in lists of their topics. It is removed at the end with --wait or --batch, else by
        `status --clear-throttle --throttle RATE`. Brokers that are down, and that nothing is copied to, get no rate.
        With --dry-run the plan is rehearsed on a copy of the cluster's metadata.
        """,
    options=(
        _THROTTLE,
        Option(names=("--batch",), metavar="N", type="int", help="move so many partitions at a time, and wait for them"),
        flag("--force", help="also where the disks of the brokers that get replicas cannot be seen"),
        flag("--skip-changed", help="leave out what is not as the plan assumed, and do the rest; the status is 1"),
        WAIT,
        DRY_RUN,
        YES,
    ),
    arguments=(_PLAN,),
    examples=(
        ("metashell reassign apply plan.json --throttle 50M --batch 20 --wait 3600 -b localhost:9092", "20 partitions at a time"),
        ("metashell reassign apply plan.json --dry-run -C localhost:9093", "what would happen"),
    ),
)
STATUS = command(
    "status",
    "show moves that are under way, or how far a plan is",
    """
        With a plan: each partition that is not where it should be, and why; the status is 0 when all are. Without: all moves under
        way in the cluster. Each move has what it waits for: brokers that are gone or fenced, log directories that failed, throttles, or the
        records that are left to copy (which brokers alone know, -b).

        --clear-throttle removes the throttled replicas of the plan, and with --throttle RATE this rate from the plan's brokers. Any other
        rate is somebody else's: it stays, and the brokers are named. So do all rates without --throttle, and what moves under way need.
        Without a plan it removes every throttle of replication from all brokers and topics, and says what it was, if nothing is being
        moved: where a tool died before it removed its own, `status` names them. If a broker's settings cannot be read or changed, the
        status is 1, and the same command again goes on.
        """,
    options=(
        WATCH,
        flag(
            "--clear-throttle",
            help="remove the plan's throttled replicas, and --throttle's rate, if none of it is being moved; without plan all",
        ),
        _CLEARED,
    ),
    arguments=(_PLAN._replace(nargs="?"),),
    examples=(
        ("metashell reassign status plan.json --watch -b localhost:9092", "look until it is done"),
        ("metashell reassign status plan.json --clear-throttle --throttle 50M -b localhost:9092", "remove what apply has set"),
        ("metashell reassign status --clear-throttle -b localhost:9092", "remove what a tool has left behind"),
        ("metashell reassign status -C localhost:9093 -o jsonl", "every move under way"),
        ("metashell reassign status /var/lib/kafka", "the moves that a disk has, and what they wait for"),
    ),
    reads=True,
)
CANCEL = command(
    "cancel",
    "stop moves that are under way, and go back",
    """
        Cancels the moves of a plan, single ones (orders:0), or with --all every move: the replicas that were being added are dropped, the
        old ones stay. What is done already stays done. Moves of the plan's partitions to other brokers than the plan's are left alone. The
        plan's throttled replicas are removed too, and with --throttle RATE this rate from its brokers; without it rates stay, and the
        brokers are named.
        """,
    options=(flag("--all", help="every move under way in the cluster"), _CLEARED, DRY_RUN, YES),
    arguments=(_PLAN._replace(nargs="*", metavar="PLAN|TOPIC:IDS", help=f"{_PLAN.help}; or partitions: orders:0 or orders:0,3"),),
    examples=(
        ("metashell reassign cancel orders:0 orders:3 -b localhost:9092", "stop the moves of two partitions"),
        ("metashell reassign cancel plan.json --throttle 50M -b localhost:9092", "stop a plan, and remove its throttle"),
        ("metashell reassign cancel --all --yes -b localhost:9092", "stop everything"),
    ),
)
_COMMANDS = (PLAN, APPLY, STATUS, CANCEL)

REASSIGN = noun(
    "reassign",
    "move replicas between brokers: plan, apply, status, cancel",
    """
        Plans which brokers have which replicas, and carries plans out. Plans are the JSON of kafka-reassign-partitions, with two more
        keys that it passes over: where each partition was, and its topic's id.
        """,
    _COMMANDS,
)
