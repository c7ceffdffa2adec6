"""metashell groups: its command lines, and the function that each command runs."""

from __future__ import annotations

from importlib import import_module

from metashell.cli.connection import CLUSTER_OPTIONS, DRY_RUN, ENVIRONMENT, FORMS, WATCH, YES
from metashell.cli.connection import FILES as CLUSTER_FILES
from metashell.cli.connection import command as changing
from metashell.cli.sources import split_options
from metashell.cli.tool import run_sub_command
from metashell.common import options
from metashell.common import options as shared
from metashell.common.command import Tool
from metashell.common.options import Argument, CommandSpec, Option, file_option, flag, source_argument
from metashell.groups.notes import RULES

_GROUP = Argument("group", "the group's id", "1", "GROUP")
_GROUPS = Argument("group", "the group's id, or a pattern of ids; without one, all groups of the paths", "1", "GROUP", form="[GROUP]")
_PATHS = source_argument(
    "paths",
    "PATH",
    "+",
    "log directories of brokers, directories or files of __consumer_offsets, or folders and quoted patterns of these; "
    "copies of several brokers count once; @NAME is one of the settings",
)
_PATHS_OR_CLUSTER = _PATHS._replace(nargs="*")
_METADATA = file_option(
    "--metadata",
    metavar="PATH",
    help="metadata that has the names of topics; by default those that the log directories around the paths know",
)
_SERVER_LOG = file_option(
    "--server-log",
    metavar="FILE",
    multiple=True,
    help="a broker's own log (server.log): why rebalances began, how members left, member ids that were not used; may be repeated",
)
_NOW = Option(names=("--at",), metavar="TIME", type="time", help="as if it were this time (default: now)")
_RETENTION = Option(
    names=("--retention",),
    metavar="TIME",
    type="duration",
    default="7d",
    help="offsets.retention.minutes of the brokers, such as 7d or 24h",
)
_COMMON = (shared.output(*FORMS), shared.MAX_DECOMPRESSED, shared.VERBOSE)
_FILES = (("LOGDIR/__consumer_offsets-N/", "the log of one partition of groups and offsets: segments (.log)"),)
_FROM_LOGS = """
        It reads logs only: nothing is written or locked, and the brokers may run or not. A record that several brokers keep
        counts once. What does not decode is reported and the rest is shown, with status 1.
        """


_OR_CLUSTER = """
        Without a path it asks a live cluster: the brokers of -b or of METASHELL_BOOTSTRAP_SERVER, or those that the controllers of -C name.
        """


def _command(
    name: str,
    summary: str,
    text: str,
    arguments: tuple[Argument, ...],
    options: tuple[Option, ...],
    *examples: tuple[str, str],
    is_live: bool = False,
) -> CommandSpec:
    """Declare a command that reads logs; with `is_live` it asks a cluster if no log is named."""
    return CommandSpec(
        name,
        summary,
        f"{text.rstrip()}\n{_FROM_LOGS}{_OR_CLUSTER if is_live else ''}",
        (*options, *_COMMON, *(CLUSTER_OPTIONS if is_live else ())),
        (*arguments, _PATHS_OR_CLUSTER if is_live else _PATHS._replace(nargs="*", form="PATH...") if _GROUPS in arguments else _PATHS),
        examples=examples,
        epilog=(shared.EXIT_STATUS,),
        files=(*_FILES, *(CLUSTER_FILES if is_live else ())),
        environment=ENVIRONMENT if is_live else (),
    )


LIST = _command(
    "list",
    "list groups with their kind, state, members and offsets",
    """
        Shows every group: its type (classic, consumer, share, streams), state, epoch (the generation of a classic group), members, and for
        how many partitions it has committed. A group of which only offsets are known is a classic one that is Empty.
        """,
    (),
    (
        Option(
            names=("--group-type",), metavar="TYPE", type="choice", choices=("classic", "consumer", "share", "streams"), help="only these"
        ),
        Option(names=("--state",), metavar="STATE", help="only groups in this state, such as Empty or Stable"),
    ),
    ("metashell groups list /var/lib/kafka", "all groups of a broker's log directory"),
    ("metashell groups list broker-*/ -o jsonl", "those of a whole cluster, for a program"),
    ("metashell groups list -b localhost:9092 --state Stable", "those that a live cluster works with"),
    is_live=True,
)
DESCRIBE = _command(
    "describe",
    "show a group with its members",
    """
        Shows a group's state, epochs and members: what each subscribes to, what it has, what it is to have, and what it has still to give
        up. Subscriptions and assignments of Kafka Streams, Kafka Connect and the sticky assignors are decoded (-o json shows all of them).

        Notes say since when a group is as it is and what a rebalance waits for, and judge the assignment: partitions that are uneven in
        total or by topic, without an owner or read in another rack, and members without any. They are no findings, and the status is 0.
        Brokers do not say since when a classic group rebalances: the group's log has when its last generation was written, --watch shows
        since when it was seen so, and a broker's own log (--server-log) when it began and which member ids were given and not used.
        """,
    (_GROUP,),
    (_SERVER_LOG, WATCH, _METADATA),
    ("metashell groups describe orders-app /var/lib/kafka", "the members, as the log last has them"),
    ("metashell groups describe orders-app -b localhost:9092", "the members of now"),
    ("metashell groups describe orders-app -b localhost:9092 --watch", "again every 2 s, with since when it rebalances"),
    is_live=True,
)
OFFSETS = _command(
    "offsets",
    "show a group's committed offsets, and its lag",
    """
        Shows the newest commit of each partition, with its time and who has the partition now. An offset that an open transaction holds
        back is shown with its producer id. --lag compares with where the partitions' own logs end, live or in the named log directories:
        LAG counts all records up to there, READABLE_LAG those up to the last stable offset, behind which consumers with
        isolation.level=read_committed read nothing. The transaction that begins there is named with its producer.
        """,
    (_GROUP,),
    (flag("--lag", help="also show where the logs end and how much is left to read; offline where they lie beside"), _METADATA),
    ("metashell groups offsets orders-app /var/lib/kafka", "what is committed, also while the cluster is down"),
    ("metashell groups offsets orders-app --lag broker-*/", "with the lag"),
    ("metashell groups offsets orders-app --lag -C localhost:9093", "asked of the brokers that the controllers name"),
    is_live=True,
)
LAG = _command(
    "lag",
    "show how far behind groups are, worst first, with a verdict",
    """
        Shows the lag of one group by partition, or of all groups (--all), the worst first: the records to read, how many of them a consumer
        of committed records can read now, the age of the first, how many come and are committed per second, when all is read if that
        stays, and a verdict whose rules stand below. An open transaction that holds a partition is named with its producer.

        Rates need two looks at a live cluster: one group is looked at twice, 10 s apart, all groups once (--over changes both), and with
        --watch each look is compared with the one before. On the disk rates come from the times of records and commits, of the last
        10 minutes before the newest commit. An age is that of the batch at the commit. With --all there is no rate out from the disk, which
        would take the commits of all groups, and no age live, which would take a request for each partition: name a group for these.
        """,
    (Argument("group", "the group's id", "?", "GROUP"),),
    (
        flag("--all", help="all groups, one line each: the sums, and the verdict of its worst partition"),
        Option(
            names=("--over",), metavar="TIME", type="duration", help="the time between two looks, such as 30s; 0: one look, without rates"
        ),
        WATCH,
        _METADATA,
    ),
    ("metashell groups lag orders-app -b localhost:9092", "one group, with rates"),
    ("metashell groups lag --all -b localhost:9092", "all groups, the worst first"),
    ("metashell groups lag --all --watch 10 -b localhost:9092", "again every 10 s, with the rates since the look before"),
    ("metashell groups lag orders-app broker-*/", "from the logs, also while the cluster is down"),
    is_live=True,
)
LAG = LAG._replace(epilog=(("VERDICTS", options.listed(RULES)), *LAG.epilog))
WHY = _command(
    "why",
    "say why a group rebalanced, and who held it up",
    """
        Begins with what repeats: a static member that is replaced over and over, a member that leaves and returns in a rhythm that fits
        its poll interval, topics that appear. Each names the records and timeouts that it rests on, and what the log cannot show. Then
        one line for each rebalance that the log still has: when it began, what caused it, how many partitions went to another member,
        who had to give up partitions while others waited, and who came last. Records do not tell a member that left from one that timed
        out, and of a classic group they tell only the end of each generation; a broker's own log (--server-log) does.
        """,
    (_GROUP,),
    (
        Option(names=("--last",), metavar="N", type="int", help="only the last N rebalances"),
        _SERVER_LOG,
        _METADATA,
    ),
    ("metashell groups why orders-app /var/lib/kafka", "what happened to the group"),
    ("metashell groups why orders-app --last 1 /var/lib/kafka", "why it rebalances right now"),
    ("metashell groups why orders-app /var/lib/kafka --server-log /var/log/kafka/server.log", "with the reasons that the broker logged"),
)
HISTORY = _command(
    "history",
    "tell the story of a group: members, generations, assignments, commits",
    "Shows what repeats, then everything that the log still has of a group, in order, with offsets and times.",
    (_GROUP,),
    (
        _SERVER_LOG,
        Option(names=("--since",), metavar="TIME", type="time", help="only what happened at or after this time; 10m: ten minutes ago"),
        Option(names=("--until",), metavar="TIME", type="time", help="only what happened before this time"),
        flag("--commits", help="also show runs of commits"),
        _METADATA,
    ),
    ("metashell groups history orders-app /var/lib/kafka", "the whole story"),
    ("metashell groups history orders-app --since 2026-11-22T03:00 /var/lib/kafka -o jsonl", "one night, for a program"),
)
EXPIRING = _command(
    "expiring",
    "show offsets that expire soon",
    """
        Shows the offsets that brokers will delete within some time if their groups stay as they are, by Kafka's rules for each kind of
        group. Topics that a group subscribes to keep their offsets.
        """,
    (),
    (
        Option(names=("--within",), metavar="TIME", type="duration", default="24h", help="from now on, such as 24h or 3d"),
        _RETENTION,
        _NOW,
    ),
    ("metashell groups expiring --within 24h broker-*/", "what is lost tomorrow"),
)
DOWNGRADE_CHECK = _command(
    "downgrade-check",
    "say what would break if brokers or groups went back",
    """
        Shows for each group the oldest release that reads its records, and what an older one would do: skip them, so that the group is
        gone, or fail to load the whole partition. It also says whether the group could change its protocol while it runs.
        """,
    (_GROUPS,),
    (Option(names=("--to",), metavar="RELEASE", help="only what would break with this release, such as 3.9; status 1 if anything would"),),
    ("metashell groups downgrade-check --to 3.9 /var/lib/kafka", "before brokers go back to 3.9"),
    ("metashell groups downgrade-check orders-app /var/lib/kafka", "one group"),
)
STREAMS_UPGRADE = _command(
    "streams-upgrade",
    "say how far the upgrade of a Kafka Streams application is",
    """
        Shows which version of Streams' metadata each member uses and which it knows, what the leader assigned with, and what is still
        to be done. Status 1 if a member cannot go on.
        """,
    (_GROUPS,),
    (),
    ("metashell groups streams-upgrade payments /var/lib/kafka", "between two bounces"),
)
LOG_COMMANDS = (LIST, DESCRIBE, OFFSETS, LAG, WHY, HISTORY, EXPIRING, DOWNGRADE_CHECK, STREAMS_UPGRADE)


CLIENT_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
SERVER_ASSIGNORS = ("server-uniform", "server-range", "server-simple")
"""Server assignors as the rows of `metashell groups assign` name them; clients have a range assignor too."""

_CLIENT_INPUT = """\
{"nodes": [{"id": 1, "rack": "a"}],              racks of brokers; may be missing
 "topics": {"orders": [[1], [1]]},               replicas of each partition
 "members": [{"id": "m1", "topics": ["orders"],
   "instanceId": null, "rack": null,             these may be missing
   "owned": [["orders", [0, 1]]], "generation": 3, "userData": HEX,
   "version": 3, "subscription": HEX}]}          the bytes that it sent"""
_SERVER_INPUT = """\
{"topics": {ID: {"partitions": 2}},
 "members": [{"id": "m1", "topicIds": [ID],
   "previous": {ID: [0, 1]},                     its target so far
   "instanceId": null, "rackId": null}],
 "assignable": {ID: [0]}}                        of server-simple; may be missing"""

ASSIGN = CommandSpec(
    "assign",
    "what an assignor gives to whom",
    """
        Runs one of Kafka's assignors on members and topics that files hold as JSON, and shows what each member gets: exactly what Kafka
        4.3.1's class gives. A file has one object, or an object on each line, and may be packed with gzip; - is standard input. An object
        is an input as below, or a row with `assignor`, `input` and what else there is. Keys of an input that are not known, and
        partitions that do not exist or have two owners, are reported on standard error, and the answer is given.

        In the forms json and jsonl the answer is the row with its `output`: `assignment`, or `error` and `message` where Kafka's
        class throws, which is status 1.
        """,
    (
        Option(
            names=("--assignor", "-a"),
            metavar="NAME",
            type="choice",
            choices=(*CLIENT_ASSIGNORS, *SERVER_ASSIGNORS),
            help="the assignor of clients, or of the broker (server-...); by default each row names its own",
        ),
        flag("--check", help="compare with the output that rows have, and show only those that differ; status 1 where one does"),
        options.output("text", "json", "jsonl", "csv", "table"),
    ),
    (Argument(name="files", metavar="FILE", nargs="+", type="path", kind="file", help="inputs or rows as JSON, also packed with gzip"),),
    examples=(
        ("metashell groups assign --assignor cooperative-sticky group.json", "who gets what in this round"),
        ("metashell groups assign -a server-uniform group.json -o jsonl", "the same for the broker's assignor, for a program"),
        ("metashell groups assign --check rows.jsonl.gz", "whether rows of another implementation agree"),
    ),
    epilog=(("INPUT OF CLIENTS' ASSIGNORS", _CLIENT_INPUT), ("INPUT OF THE BROKER'S ASSIGNORS", _SERVER_INPUT), options.EXIT_STATUS),
)

_GROUPS_TO_CHANGE = (
    Argument("groups", "ids of groups", "*", "GROUP"),
    (
        Option(names=("--group",), metavar="GROUP", multiple=True, help="the same as GROUP, as Kafka's tools have it; may be repeated"),
        flag("--all-groups", help="all groups of a type"),
        Option(
            names=("--group-type",),
            metavar="TYPE",
            type="choice",
            choices=("consumer", "share", "streams"),
            default="consumer",
            help="what --all-groups takes: consumer groups of both protocols (the default), share or streams groups",
        ),
    ),
)
_ALL_INTERNAL = flag("--delete-all-internal-topics", help="also delete the changelogs and repartition topics of streams groups")
_INTERNAL = Option(
    names=("--delete-internal-topic",),
    metavar="TOPIC",
    multiple=True,
    help="also delete this internal topic of a streams group; may be repeated",
)
_TOPICS = Option(
    names=("--topic",),
    metavar="TOPIC",
    multiple=True,
    help="partitions: TOPIC for all of a topic, or TOPIC:0,1; may be repeated",
)
_CSV = """\
orders,0,42              TOPIC,PARTITION,OFFSET, of one group
billing,orders,0,42      GROUP,TOPIC,PARTITION,OFFSET, of several"""
RESET_OFFSETS = changing(
    "reset-offsets",
    "set the offsets of groups that have no members",
    """
        Shows to which offset each partition of a group would be set and, with --execute, sets it. A group that has members is refused,
        whatever else is asked. Offsets are kept within the log: what lies before its start or after its end is set to that, and said.
        Consumer groups of both protocols, streams groups, and share groups, whose start offset is set; these have no --shift-by and no
        --by-duration, as in Kafka. A group that does not exist is made by its first offset.

        Internal topics of a streams group stay, as with Kafka's tool, unless they are named: its state is then built anew from the new
        offsets. They are deleted once all offsets are set.

        --export prints the plan as CSV, and --from-file takes it back; both are those of kafka-consumer-groups. The group stands in each
        line where several are named.
        """,
    options=(
        *_GROUPS_TO_CHANGE[1],
        _TOPICS,
        flag("--all-topics", help="all partitions for which the group has an offset"),
        flag("--to-earliest", help="to the first record that each log still has"),
        flag("--to-latest", help="to the end of each log"),
        flag("--to-current", help="to where the group is; to the end where it has no offset"),
        Option(names=("--to-offset",), metavar="N", type="integer", help="to this offset"),
        Option(names=("--shift-by",), metavar="N", type="integer", help="by so many records, back with a minus: --shift-by=-10"),
        Option(
            names=("--to-datetime",),
            metavar="TIME",
            type="time",
            help="to the first record at or after a time, such as 2026-11-20T12:00:00.000; UTC unless it says otherwise",
        ),
        Option(names=("--by-duration",), metavar="DURATION", help="to so long ago: PnDTnHnMnS, such as P7D or PT1H30M"),
        file_option("--from-file", help="to the offsets of a CSV file"),
        flag("--execute", help="set the offsets; without it nothing is changed"),
        flag("--dry-run", help="change nothing: the default"),
        flag("--export", help="print the plan as CSV"),
        _ALL_INTERNAL,
        _INTERNAL,
    ),
    arguments=(_GROUPS_TO_CHANGE[0],),
    examples=(
        ("metashell groups reset-offsets billing --topic orders --to-earliest -b localhost:9092", "what reading all again would set"),
        ("metashell groups reset-offsets billing --all-topics --to-datetime 2026-11-20T12:00:00 --execute -b localhost:9092", "do it"),
        ("metashell groups reset-offsets billing --all-topics --to-current --export -b localhost:9092 > offsets.csv", "keep them"),
        ("metashell groups reset-offsets billing --from-file offsets.csv --execute -b localhost:9092", "put them back"),
    ),
)
RESET_OFFSETS = RESET_OFFSETS._replace(epilog=(("CSV", _CSV), *RESET_OFFSETS.epilog))
DELETE_GROUPS = changing(
    "delete",
    "delete groups that have no members, with their offsets",
    """
        Shows what would be lost and asks first; where nobody can be asked it needs --yes. A group that has members is refused. Internal
        topics of a streams group stay without --delete-all-internal-topics.
        """,
    options=(*_GROUPS_TO_CHANGE[1], _ALL_INTERNAL, DRY_RUN._replace(help="change nothing: show what would be deleted"), YES),
    arguments=(_GROUPS_TO_CHANGE[0],),
    examples=(
        ("metashell groups delete billing-test -b localhost:9092", "ask, then delete it"),
        ("metashell groups delete --all-groups --group-type share --dry-run -b localhost:9092", "which share groups would go"),
    ),
)
DELETE_OFFSETS = changing(
    "delete-offsets",
    "delete offsets of a group",
    """
        Deletes what a group has committed for some partitions; of a share group, its state for some topics. Asks first; where nobody can
        be asked it needs --yes. Brokers refuse a topic that a member of the group subscribes to.
        """,
    options=(_TOPICS._replace(required=True), DRY_RUN._replace(help="change nothing: show what would be deleted"), YES),
    arguments=(_GROUP,),
    examples=(
        ("metashell groups delete-offsets billing --topic orders -b localhost:9092", "ask, then delete those of a topic"),
        ("metashell groups delete-offsets billing --topic orders:0,1 --yes -b localhost:9092", "those of two partitions, without asking"),
    ),
)
COMMANDS = (*LOG_COMMANDS, ASSIGN, RESET_OFFSETS, DELETE_GROUPS, DELETE_OFFSETS)

GROUPS = CommandSpec(
    name="metashell-groups",
    summary="what groups do with topics and partitions",
    description="Groups of consumers, share groups and streams groups.",
    options=(options.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=COMMANDS,
    examples=tuple(each.examples[0] for each in COMMANDS),
    epilog=(("COMMANDS", options.listed({each.name: each.summary for each in COMMANDS})), options.EXIT_STATUS),
    files=(("GROUP.json", "members and topics for assign, or rows with them, one on each line"),),
)


NAME = "metashell groups"
_COMMANDS = {
    "list": "logs:list_groups",
    "describe": "logs:describe",
    "offsets": "lag:offsets",
    "lag": "lag:lag",
    "why": "timeline:why",
    "history": "timeline:history",
    "expiring": "logs:expiring",
    "downgrade-check": "timeline:downgrade_check",
    "streams-upgrade": "timeline:streams_upgrade",
    "assign": "simulate:assign",
    "reset-offsets": "changes:reset_offsets",
    "delete": "changes:delete",
    "delete-offsets": "changes:delete_group_offsets",
}
"""The function of each command, as module and name. It takes the command's spec and its words, and returns the exit status."""


def run_groups(words: list[str]) -> int:
    """Find the command and run it. Options and paths may come before it: `metashell groups LOGDIR list`."""
    return run_sub_command(GROUPS._replace(name=NAME), _command_first(words), _run_command)


def _command_first(words: list[str]) -> list[str]:
    """Return the words with the command first. Paths that came before the command move to the end."""
    at = next((index for index, word in enumerate(words) if word in _COMMANDS), 0)
    if not at or words[0] in ("--help", "-h", "--version"):
        return words
    command = next(command for command in COMMANDS if command.name == words[at])
    options, paths = split_options(command.options, words[:at])
    return [words[at], *options, *words[at + 1 :], *paths]


def _run_command(command: CommandSpec, words: list[str]) -> int:
    module, _, function = _COMMANDS[command.name.rpartition(" ")[2]].partition(":")
    status = getattr(import_module(f"metashell.cli.groups.{module}"), function)(command, words)
    assert isinstance(status, int)
    return status


main = Tool(NAME, run_groups)
