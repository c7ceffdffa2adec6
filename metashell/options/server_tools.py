"""The command lines of controllers: `metashell server` and `metashell quorum`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.cluster_tools import LIVE_QUORUM
from metashell.options.spec import Argument, CommandSpec, Option, choice, file_option, flag, path_argument

_OVERRIDE = Option(
    names=("--override",),
    metavar="NAME=VALUE",
    multiple=True,
    help="a setting in place of that in the configuration; other users of this machine can see it",
)
_SERVER_FILES = (
    ("LOGDIR/meta.properties", "the ids of the cluster, the node and the directory, which `metashell storage format` wrote"),
    ("LOGDIR/__cluster_metadata-0/", "the metadata log: segments, snapshots, quorum-state"),
    ("LOGDIR/.lock", "held while the controller runs"),
)

SERVER = CommandSpec(
    name="metashell-server",
    summary="run a controller from Kafka's server.properties",
    description="""
        Runs a controller of a KRaft quorum, in the foreground, on a directory that `metashell storage format` or Kafka's kafka-storage
        formatted. It takes Kafka's own server.properties with `process.roles=controller`, forms quorums with controllers of Kafka, and
        brokers of Kafka register with it. A server that is also a broker is refused: this package has no broker.

        SIGTERM and SIGINT stop it gracefully: a leader hands over first. A second one stops it at once. It ends with status 1 and one
        line when its disk or directory fails. Events go to standard error, one line each.

        A listener that other machines reach has to authenticate who connects, by SASL or certificates; --allow-plaintext overrides that.

        For tests, `group.coordinator=embedded` also lets clients form groups, without any broker: the server registers as broker 100
        (`group.coordinator.broker.id`) and listens on localhost:9092 (`group.coordinator.listener`). Groups and offsets are in memory and
        are lost with the process; topics have no data. The settings of groups are those of Kafka's brokers (`group.*`, `offsets.*`).
        """,
    options=(
        _OVERRIDE,
        choice("--log-format", choices=("text", "json"), default="text", help="form of the lines on standard error"),
        Option(
            names=("--metrics-port",),
            metavar="PORT",
            type="int",
            help="serve /metrics, /healthz and /readyz over HTTP on this port of loopback, 0 for any (needs the extra metrics)",
        ),
        flag("--allow-plaintext", help="let other machines in without authentication"),
        flag("--accept-loss", help="start and vote although records or a vote were lost, as Kafka does (docs/damage.md)"),
        shared.VERSION,
    ),
    arguments=(path_argument("config", "CONFIG", "1", "the server's configuration, a properties file"),),
    examples=(
        ("metashell server controller.properties", "a controller on a formatted directory"),
        ("metashell server controller.properties --log-format json 2> controller.log", "with one JSON object for each event"),
        ("metashell server controller.properties --override controller.quorum.append.linger.ms=0", "with another setting"),
        ("metashell server controller.properties --override group.coordinator=embedded", "with groups, for tests of consumers"),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0    it was stopped by SIGTERM\n1    it could not start, or ended by itself\n2    the command line is wrong\n"
            "130  it was stopped by SIGINT",
        ),
    ),
    files=_SERVER_FILES,
)

_OUTPUT = shared.output("text", "json")
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
        flag("--groups", help="let clients form groups, without any broker: in memory and without data, for tests"),
        Option(names=("--release-version", "-r"), metavar="VERSION", help="the release whose feature levels a new quorum gets (from 3.3)"),
        Option(names=("--feature", "-f"), metavar="NAME=LEVEL", multiple=True, help="a feature and its level, of a new quorum"),
        _OVERRIDE._replace(help="a setting of every controller; other users of this machine can see it"),
        flag("--foreground", help="run in this process, until SIGINT or SIGTERM"),
        _OUTPUT,
        shared.VERBOSE._replace(help="with --foreground, report events on standard error"),
    ),
    examples=(
        ("metashell quorum start", "three controllers; prints their addresses"),
        ("quorum=$(metashell quorum start -n 1); kafka-shell -C $quorum", "one controller, and a prompt on it"),
        ("metashell quorum start --dir ./quorum --port 9093", "a quorum that is kept, at fixed ports"),
        ("metashell quorum start --fake-brokers 3", "one in which topics can be made"),
        ("metashell quorum start -n 1 --groups", "one on which consumers form groups; it says where"),
    ),
    epilog=(shared.EXIT_STATUS,),
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
    epilog=(shared.EXIT_STATUS,),
)
STOP = CommandSpec(
    "stop",
    "stop the quorum that runs in the background",
    "Stops it, and removes its directory unless --dir named one. Status 1 where no quorum runs; what a killed one left is removed then.",
    (_OUTPUT,),
    examples=(("metashell quorum stop", "stop it"),),
    epilog=(shared.EXIT_STATUS,),
)
_COMMANDS = (START, STATUS, STOP, *LIVE_QUORUM)

QUORUM = CommandSpec(
    name="metashell-quorum",
    summary="a quorum of controllers on this machine, and the quorum of any cluster",
    description="""
        Starts, shows and stops a local quorum of controllers, without Java. Kafka's tools, clients of the admin protocol, kafka-shell and
        real brokers work against it.

        describe, add-controller, remove-controller and unregister-controller ask the quorum of any cluster, through its brokers or
        controllers.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=_COMMANDS,
    examples=tuple(command.examples[0] for command in _COMMANDS),
    epilog=(("COMMANDS", shared.listed({command.name: command.summary for command in _COMMANDS})), shared.EXIT_STATUS),
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
