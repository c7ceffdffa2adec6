"""The command line of `metashell storage`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option, choice, file_option, flag

_QUORUM = "quorum"

CONFIG = shared.CONFIG._replace(required=True)
_OUTPUT = shared.output("text", "json", "kafka")
CLUSTER_ID = Option(names=("--cluster-id", "-t"), metavar="ID", required=True, help="the id of the cluster, the same on all its nodes")
ADD_SCRAM = Option(
    names=("--add-scram", "-S"),
    metavar="SPEC",
    multiple=True,
    help="a credential, SCRAM-SHA-256=[name=alice,password=...] or SCRAM-SHA-512=[...]; other users of this machine can see it",
)
ADD_SCRAM_FILE = file_option(
    "--add-scram-file",
    multiple=True,
    help="SCRAM credentials, one a line as in --add-scram; `-` is standard input. No password shows in a process list",
)
IGNORE_FORMATTED = flag("--ignore-formatted", "-g", help="skip directories that are formatted already, instead of failing")
RELEASE = Option(
    names=("--release-version", "-r"),
    metavar="VERSION",
    help="the release whose feature levels a new cluster gets (3.3 and later; by default the newest for production)",
)
FEATURE = Option(names=("--feature", "-f"), metavar="NAME=LEVEL", multiple=True, help="a feature and its level")
STANDALONE = flag("--standalone", "-s", exclusive=_QUORUM, help="this controller is the only voter of a new dynamic quorum")
NO_CONTROLLERS = flag("--no-initial-controllers", "-N", exclusive=_QUORUM, help="this node joins a dynamic quorum that others form")
CONTROLLERS = Option(
    names=("--initial-controllers", "-I"),
    metavar="LIST",
    exclusive=_QUORUM,
    help="the voters of a new dynamic quorum, id@host:port:directory-id separated by commas, the same on all of them",
)
LAYOUT = choice(
    "--layout",
    metavar="RELEASE",
    choices=("4.4", "4.3"),
    help="whose directories: servers before 4.4 need 4.3's, which later ones read too (by default 4.3's for a --release-version up to 4.3)",
)
DRY_RUN = flag("--dry-run", help="check everything and show what would be written, but write nothing")
STORAGE_FILES = (
    ("LOGDIR/meta.properties", "the ids of the cluster, the node and the directory; a directory that has it is formatted"),
    (
        "LOGDIR/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
        "of controllers: the first voters of a dynamic quorum and, in 4.4's layout, the first metadata records of a new cluster",
    ),
    ("LOGDIR/bootstrap.checkpoint", "in 4.3's layout, the first metadata records of a new cluster"),
    ("LOGDIR/.lock", "held by a running server, and by format while it writes"),
    ("LOGDIR/meta.properties.tmp", "left by an interrupted format; info explains it, and the next format completes it"),
)


def _own(name: str, summary: str, *options: Option, description: str = "", examples: tuple[tuple[str, str], ...]) -> CommandSpec:
    """A command of `metashell storage`."""
    return CommandSpec(name, summary, description, (*options, _OUTPUT), examples=examples, epilog=(shared.EXIT_STATUS,))


FORMAT = _own(
    "format",
    "prepare the log directories of a node before its server first starts",
    CONFIG,
    CLUSTER_ID,
    ADD_SCRAM,
    ADD_SCRAM_FILE,
    IGNORE_FORMATTED,
    RELEASE,
    FEATURE,
    STANDALONE,
    NO_CONTROLLERS,
    CONTROLLERS,
    LAYOUT,
    DRY_RUN,
    shared.SHOW_SECRETS,
    description="""
        Writes meta.properties into each directory of the configuration that has none yet. The metadata directory of a controller also gets
        the first records of the cluster and the first voters of a dynamic quorum, as 4.4 or as 4.3 lays them out (--layout): only servers
        from 4.4 on take the records of 4.4's layout into the log. A directory whose server is running is refused. Either all directories
        are formatted or none is; if the machine stops in between, `info` shows what is missing and the same command completes it.
        """,
    examples=(
        ("metashell storage format -c server.properties -t $(metashell storage random-uuid) -s", "a quorum of one controller"),
        ("metashell storage format -c server.properties -t ID -N --dry-run -o json", "what would be written, for a program"),
        ("metashell storage format -c server.properties -t ID -s --add-scram-file - < users", "with users, and no password in sight"),
    ),
)
INFO = _own(
    "info",
    "show what the log directories of a node hold, and what is wrong with them",
    CONFIG,
    description="""
        Lists each directory of the configuration with its state and ids, then problems, which fail the command, and warnings about
        settings that often cause trouble later: listeners that others cannot reach, directories below a temporary or relative
        path, ids that differ from those on disk.
        """,
    examples=(
        ("metashell storage info -c server.properties", "the directories of a node"),
        ("metashell storage info -c server.properties -o json", "the same, for a program"),
    ),
)
VERSION_MAPPING = _own(
    "version-mapping",
    "show the level of every feature in a release",
    RELEASE,
    examples=(("metashell storage version-mapping -r 4.1", "what a new cluster of 4.1 gets"),),
)
FEATURE_DEPENDENCIES = _own(
    "feature-dependencies",
    "show which other features a level of a feature requires",
    FEATURE._replace(required=True),
    examples=(("metashell storage feature-dependencies -f eligible.leader.replicas.version=1", "the features it requires"),),
)
RANDOM_UUID = _own(
    "random-uuid", "make a new id for a cluster or a directory", examples=(("metashell storage random-uuid", "a random id"),)
)
_COMMANDS = (FORMAT, INFO, VERSION_MAPPING, FEATURE_DEPENDENCIES, RANDOM_UUID)

STORAGE = CommandSpec(
    name="metashell-storage",
    summary="prepare and inspect the log directories of a node",
    description="""
        Prepares what a server needs on disk before it first starts, and shows what is there. @FILE is replaced by the lines of
        FILE, one argument per line.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=_COMMANDS,
    examples=tuple(command.examples[0] for command in _COMMANDS),
    epilog=(("COMMANDS", shared.listed({command.name: command.summary for command in _COMMANDS})), shared.EXIT_STATUS),
    files=STORAGE_FILES,
)
