"""The command line of `metashell groups`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.group_log_tools import LOG_COMMANDS
from metashell.options.spec import Argument, CommandSpec, Option, flag

CLIENT_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
SERVER_ASSIGNORS = ("server-uniform", "server-range", "server-simple")
"""As the rows of `metashell groups assign` name them: clients have a range too."""

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
        shared.output("text", "json", "jsonl", "csv", "table"),
    ),
    (Argument(name="files", metavar="FILE", nargs="+", type="path", kind="file", help="inputs or rows as JSON, also packed with gzip"),),
    examples=(
        ("metashell groups assign --assignor cooperative-sticky group.json", "who gets what in this round"),
        ("metashell groups assign -a server-uniform group.json -o jsonl", "the same for the broker's assignor, for a program"),
        ("metashell groups assign --check rows.jsonl.gz", "whether rows of another implementation agree"),
    ),
    epilog=(("INPUT OF CLIENTS' ASSIGNORS", _CLIENT_INPUT), ("INPUT OF THE BROKER'S ASSIGNORS", _SERVER_INPUT), shared.EXIT_STATUS),
)

COMMANDS = (*LOG_COMMANDS, ASSIGN)

GROUPS = CommandSpec(
    name="metashell-groups",
    summary="what groups do with topics and partitions",
    description="Groups of consumers, share groups and streams groups.",
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=COMMANDS,
    examples=tuple(each.examples[0] for each in COMMANDS),
    epilog=(("COMMANDS", shared.listed({each.name: each.summary for each in COMMANDS})), shared.EXIT_STATUS),
    files=(("GROUP.json", "members and topics for assign, or rows with them, one on each line"),),
)
