"""Options that name a quorum to attach to, and how to reach it; KIP-631's words beside today's."""

from __future__ import annotations

from metashell.options.spec import Option

CONTROLLERS = Option(
    names=("--bootstrap-controller", "--controllers", "-C"),
    metavar="HOST:PORT,...",
    help="attach to the quorum of these controllers as an observer; ID@HOST:PORT is taken too",
)
BOOTSTRAP_SERVER = Option(
    names=("--bootstrap-server", "-b"),
    metavar="HOST:PORT,...",
    help="ask these brokers where the controllers are, and attach there",
)
COMMAND_CONFIG = Option(
    names=("--command-config", "--config", "-c"),
    metavar="FILE",
    type="path",
    kind="file",
    help="property file of a Kafka client: security.protocol, sasl.*, ssl.*",
)
ADDRESS_MAP = Option(
    names=("--address-map",),
    metavar="HOST:PORT=HOST:PORT,...",
    multiple=True,
    help="where to connect instead, for controllers whose own addresses cannot be reached from here; [::1]:9093 is IPv6",
)
TIMEOUT = Option(
    names=("--timeout",),
    metavar="SECONDS",
    type="int",
    help="give up attaching after so long (10; 2 where no address takes a connection); once attached there is no limit",
)

QUORUM_OPTIONS = (CONTROLLERS, BOOTSTRAP_SERVER, COMMAND_CONFIG, ADDRESS_MAP, TIMEOUT)
