"""Options that name a quorum to attach to, and how to reach it: the names of KIP-631 beside today's."""

from __future__ import annotations

from metashell.options.spec import Option, file_option

SOURCE = "source"
"""The options that say what to open exclude each other."""

CONTROLLERS = Option(
    names=("--bootstrap-controller", "--controllers", "-C"),
    metavar="HOST:PORT,...",
    help="attach to the quorum of these controllers as an observer; ID@HOST:PORT works too",
    exclusive=SOURCE,
)
BOOTSTRAP_SERVER = Option(
    names=("--bootstrap-server", "-b"),
    metavar="HOST:PORT,...",
    help="ask these brokers for the controllers, and attach there",
    exclusive=SOURCE,
)
COMMAND_CONFIG = file_option("--command-config", "--config", "-c", help="property file of a Kafka client: security.protocol, sasl.*, ssl.*")
ADDRESS_MAP = Option(
    names=("--address-map",),
    metavar="HOST:PORT=HOST:PORT,...",
    multiple=True,
    help="connect to the second address in place of the first, where controllers advertise one that is not reachable from here",
)
TIMEOUT = Option(
    names=("--timeout",),
    metavar="SECONDS",
    type="int",
    help="give up attaching after this time (10; 2 if no address accepts a connection); an attached observer has no limit",
)

QUORUM_OPTIONS = (CONTROLLERS, BOOTSTRAP_SERVER, COMMAND_CONFIG, ADDRESS_MAP, TIMEOUT)
