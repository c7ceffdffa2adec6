"""The command line of `metashell quorum`: a quorum of controllers on this machine, and the quorum of any cluster."""

from __future__ import annotations

from metashell.cli.connection import COMMAND_CONFIG, DRY_RUN, WAIT, WATCH, YES, command
from metashell.common import options
from metashell.common.options import Argument, CommandSpec, Option, file_option, flag

QUORUM_DESCRIBE = command(
    "describe",
    "show the quorum of a cluster: leader, voters, observers, and how far each is",
    """
        Shows for each voter and observer its log end offset, how many records it is behind, and when it last fetched and was last caught
        up. With -C it connects to each voter where the voter set says: `reached` is what was there. Where nobody leads it shows what
        each controller answers. Status 1 where the checks find anything bad: a voter that does not fetch or is not reached, no leader.
        """,
    options=(WATCH,),
    examples=(
        ("metashell quorum describe -b localhost:9092", "who leads, and who lags"),
        ("metashell quorum describe -C localhost:9093 --watch", "again every two seconds"),
        ("metashell quorum describe /var/lib/kafka", "leader and voters as a disk has them"),
    ),
    reads=True,
)
_CONTROLLER_ID = Argument("id", "node.id of the controller", "1", "ID", type="int32")
_DIRECTORY_ID = Option(names=("--directory-id", "-d"), metavar="UUID", help="its directory.id, as meta.properties has it")
ADD_CONTROLLER = command(
    "add-controller",
    "let a controller vote",
    """
        The controller has to run already, with this quorum as its controller.quorum.bootstrap.servers: it follows as an observer, and
        becomes a voter here. Id, directory id and endpoints come from its server.properties, or from --id, --directory-id and --endpoint.
        It refuses a controller that does not follow yet, since a voter that is missing brings the quorum closer to its end.
        """,
    options=(
        file_option("--server-config", help="the new controller's server.properties, on the machine that it runs on"),
        Option(names=("--id",), metavar="ID", type="int32", help="its node.id"),
        _DIRECTORY_ID,
        Option(names=("--endpoint",), metavar="NAME://HOST:PORT", multiple=True, help="a controller listener, as it advertises it"),
        flag("--force", help="also a controller that is not seen to follow"),
        DRY_RUN,
        WAIT._replace(help="return when the new voter has caught up; status 1 where that takes longer than this (300)"),
    ),
    examples=(
        ("metashell quorum add-controller --server-config server.properties -C localhost:9093", "the controller of this machine"),
        (
            "metashell quorum add-controller --id 4 -d Sj7YxLXCQJmKyKJH3Qcsxg --endpoint CONTROLLER://host4:9093 -C host1:9093",
            "one on another machine",
        ),
    ),
)
REMOVE_CONTROLLER = command(
    "remove-controller",
    "take a controller's vote away",
    """
        Says how many voters remain and how many of them may fail, and asks first. The directory id is looked up unless it is given.
        It refuses where those that remain and are caught up would be no majority.

        With --unregister the cluster then forgets the controller too, as quorum unregister-controller does: stop it before, since one that
        runs registers again at once.
        """,
    options=(
        _DIRECTORY_ID,
        flag("--unregister", help="also remove its registration, once it has no vote"),
        flag("--force", help="also where the rest may not be able to elect a leader"),
        DRY_RUN,
        YES,
    ),
    arguments=(_CONTROLLER_ID,),
    examples=(
        ("metashell quorum remove-controller 3 -C localhost:9093", "before controller 3 is taken away"),
        ("metashell quorum remove-controller 3 --unregister -C localhost:9093", "after controller 3 was stopped for good"),
    ),
)
UNREGISTER_CONTROLLER = command(
    "unregister-controller",
    "let the cluster forget a controller that is gone for good",
    """
        For a controller that will never come back under its id: as long as it is registered, the features that it supported limit those
        of the cluster. It needs metadata.version 4.4-IV2. The registration alone goes, no vote: it refuses a voter, which
        quorum remove-controller is for. A controller that runs is refused too, since it registers again at once. --force
        unregisters either all the same.
        """,
    options=(flag("--force", help="also a controller that votes or runs"), DRY_RUN, YES),
    arguments=(_CONTROLLER_ID,),
    examples=(("metashell quorum unregister-controller 3 -b localhost:9092", "after controller 3 was removed and taken away"),),
)
RESTORE = CommandSpec(
    "restore",
    "make the first controller of a new quorum from what is left of a lost one",
    """
        For a quorum that has lost its majority for good. SOURCE is what is left: the log directory of a controller or a broker, a
        __cluster_metadata-0 directory, a checkpoint, or a bundle. Name all that there are: the one with the latest epoch, and of these the
        longest, is used, as in an election. Sources are only read.

        It first says up to which offset records are known to be committed, what follows, and what the others have that the best one lacks.
        It asks the voters and brokers that the sources name at their addresses. It refuses while a majority of the voters may run (one that
        does not answer may), while a broker runs (it would delete topics that the restored metadata lacks), if the sources contradict each
        other, and if the best one is damaged. --force overrides that, and says what.

        DIR becomes the log directory of one controller, which is the only voter of the new quorum. Take the id and the address of an old
        voter: others that start again then follow it. Topics with their ids, settings, users, ACLs and brokers are those of the source. It
        begins far above all offsets and epochs seen, so that brokers with more or older metadata fetch a snapshot from it, and follow no
        controller of the old quorum again. Epochs of partitions, and the next producer id, are raised as well. Further controllers
        join it. The answer ends with what to do next.
        """,
    (
        file_option("--out", metavar="DIR", required=True, help="the new log directory, which must be absent or empty"),
        Option(names=("--node-id",), metavar="N", type="int32", required=True, help="node.id of the controller that will run on it"),
        Option(
            names=("--listener",),
            metavar="[NAME://]HOST:PORT",
            required=True,
            help="its controller listener, as it advertises it; the name is by default that of the old voters",
        ),
        flag("--static", help="write no voters (kraft.version 0): every server.properties has controller.quorum.voters"),
        Option(
            names=("--release-version", "-r"),
            metavar="VERSION",
            help="the release of the controller that will run on it (by default the newest)",
        ),
        Option(
            names=("--voters",),
            metavar="ID@HOST:PORT,...",
            help="where the old voters are to be asked, as in controller.quorum.voters: for sources that do not say, or no longer rightly",
        ),
        flag("--force", help="also where the old quorum or a broker may still run, or the sources contradict each other or are damaged"),
        DRY_RUN._replace(help="write nothing: show what would be done"),
        COMMAND_CONFIG._replace(names=("--command-config", "-c"), help="how to ask the old voters: security.protocol, sasl.*, ssl.*"),
        options.output("text", "json"),
    ),
    (Argument("source", "what is left: a directory, a checkpoint, a bundle", "+", "SOURCE", type="path", kind="source"),),
    examples=(
        (
            "metashell quorum restore /var/lib/kafka --out /var/lib/kafka-new --node-id 1 --listener host1:9093",
            "from the directory of the only controller that is left",
        ),
        (
            "metashell quorum restore broker1/ broker2/ --out new --node-id 1 --listener host1:9093 --dry-run",
            "what the brokers' own copies of the metadata log have",
        ),
        (
            "metashell quorum restore broker1/ case.tar.gz --out new --node-id 1 --listener host1:9093 --static",
            "with a bundle, for brokers with controller.quorum.voters",
        ),
    ),
    epilog=(options.EXIT_STATUS,),
    files=(
        ("DIR/__cluster_metadata-0/OFFSET-EPOCH.checkpoint", "the metadata of the restored cluster"),
        ("DIR/meta.properties.restoring", "left by an interrupted restore; the same command starts over"),
    ),
)
LIVE_QUORUM = (QUORUM_DESCRIBE, ADD_CONTROLLER, REMOVE_CONTROLLER, UNREGISTER_CONTROLLER)
"""The commands on any cluster; start, status and stop work on a quorum of this machine."""

_OUTPUT = options.output("text", "json")
START = CommandSpec(
    "start",
    "start a quorum on this machine, and print its addresses",
    """
        Starts controllers in one process in the background, waits until one of them leads, and prints `HOST:PORT,...` as tools take it.
        They listen on loopback alone. Without --dir everything is thrown away when the quorum stops. A directory that holds a quorum is
        opened as it is, with the same ports. A user has one quorum in the background at a time.
        """,
    (
        Option(names=("--controllers", "-n"), metavar="N", type="int", help="number of controllers, 1 to 15 (3)"),
        file_option("--dir", metavar="DIR", help="keep the quorum there, or open the one that is there"),
        Option(names=("--port", "-p"), metavar="PORT", type="int", help="port of the first controller, the others follow; else any"),
        Option(
            names=("--fake-brokers",),
            metavar="N",
            type="int",
            default=0,
            help="brokers that register and do nothing else, so that topics can be made without Kafka (0 to 1000)",
        ),
        flag("--groups", help="let clients form groups, without any broker and without data, for tests"),
        Option(names=("--release-version", "-r"), metavar="VERSION", help="the release whose feature levels a new quorum gets (from 3.3)"),
        Option(names=("--feature", "-f"), metavar="NAME=LEVEL", multiple=True, help="a feature and its level, of a new quorum"),
        options.OVERRIDE._replace(help="a setting of every controller; other users of this machine can see it"),
        flag("--foreground", help="run in this process, until SIGINT or SIGTERM"),
        _OUTPUT,
        options.VERBOSE._replace(help="with --foreground, report events on standard error"),
    ),
    examples=(
        ("metashell quorum start", "three controllers; prints their addresses"),
        ("quorum=$(metashell quorum start -n 1); kafka-shell -C $quorum", "one controller, and a prompt on it"),
        ("metashell quorum start --dir ./quorum --port 9093", "a quorum that is kept, at fixed ports"),
        ("metashell quorum start --fake-brokers 3", "one in which topics can be made"),
        ("metashell quorum start -n 1 --groups", "one on which consumers form groups; it says where"),
    ),
    epilog=(options.EXIT_STATUS,),
)
STATUS = CommandSpec(
    "status",
    "show the quorum that runs in the background",
    """
        Shows process, addresses, directory, log, leader and epoch. Status 1 where no quorum runs; one that was killed, or ended with the
        machine, is named.
        """,
    (_OUTPUT,),
    examples=(("metashell quorum status -o json", "the same, for a program"),),
    epilog=(options.EXIT_STATUS,),
)
STOP = CommandSpec(
    "stop",
    "stop the quorum that runs in the background",
    "Stops it, and removes its directory unless --dir named one. Status 1 where no quorum runs; what a killed one left is removed then.",
    (_OUTPUT,),
    examples=(("metashell quorum stop", "stop it"),),
    epilog=(options.EXIT_STATUS,),
)
_COMMANDS = (START, STATUS, STOP, *LIVE_QUORUM, RESTORE)

QUORUM = CommandSpec(
    name="metashell-quorum",
    summary="a quorum of controllers on this machine, and the quorum of any cluster",
    description="""
        Starts, shows and stops a local quorum of controllers, without Java. Kafka's tools, clients of the admin protocol, kafka-shell and
        real brokers work against it.

        describe, add-controller, remove-controller and unregister-controller ask the quorum of any cluster, through its brokers or
        controllers. restore makes a new one from what is left of a lost one.
        """,
    options=(options.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=_COMMANDS,
    examples=tuple(command.examples[0] for command in _COMMANDS),
    epilog=(("COMMANDS", options.listed({command.name: command.summary for command in _COMMANDS})), options.EXIT_STATUS),
    files=(
        ("~/.local/state/metashell/quorum/quorum.json", "where the quorum in the background is; below $XDG_STATE_HOME where that is set"),
        ("DIR/controller-N/server.properties", "the configuration of a controller, which `metashell server` and Kafka's server take"),
        ("DIR/quorum.log", "what the process in the background reports"),
    ),
    environment=(
        ("XDG_STATE_HOME", "directory of what is known about the quorum in the background"),
        ("TMPDIR", "directory of quorums that are thrown away"),
    ),
)
