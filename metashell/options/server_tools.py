"""The command line of `metashell server`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import CommandSpec, Option, choice, flag, path_argument

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
        shared.OVERRIDE,
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
