"""The command line of `metashell configs`."""

from __future__ import annotations

from metashell.options.administering import DRY_RUN, YES, command, noun
from metashell.options.spec import Argument, Option, file_option, flag

_RESOURCES_TEXT = "topic:NAME, broker:ID, broker:default (all brokers), group:NAME, client-metrics:NAME or broker-logger:ID"
GET = command(
    "get",
    "show settings",
    """
        Shows what somebody has set, with where it is set: for the topic, for one broker or all brokers, or in a broker's
        server.properties. --all adds defaults. Passwords are never shown: Kafka does not tell them.

        Through controllers only what was set by commands is known of brokers.
        """,
    options=(
        flag("--all", "-a", help="also what has its default"),
        Option(names=("--key", "-k"), metavar="KEY", multiple=True, help="only this key, set or not"),
        flag("--explain", help="say what each key is for"),
    ),
    arguments=(Argument("resources", _RESOURCES_TEXT, "+", "TYPE:NAME"),),
    examples=(
        ("metashell configs get topic:orders -b localhost:9092", "what is set for a topic"),
        ("metashell configs get broker:1 broker:default -b localhost:9092", "for a broker, and for all"),
        ("metashell configs get topic:orders --all --explain -k retention.ms -b localhost:9092", "one key, and what it means"),
        ("metashell configs get /var/lib/kafka topic:orders", "what a disk says was set"),
    ),
    reads=True,
)
SET = command(
    "set",
    "change settings",
    """
        Sets keys of one resource or of several, and says what they were before. KEY+=VALUE and KEY-=VALUE add to a list and take from it.
        Each resource gets all of its changes or none. A value that can lose records or availability is said and asked about first, such
        as a shorter retention.

        Passwords on a command line can be seen by other users of the machine: put them into a file for --from-file.
        """,
    options=(
        file_option("--from-file", help="a properties file with keys and values to set"),
        DRY_RUN,
        YES,
    ),
    arguments=(Argument("words", f"{_RESOURCES_TEXT}; then the settings", "+", "TYPE:NAME|KEY=VALUE"),),
    examples=(
        ("metashell configs set topic:orders retention.ms=3600000 -b localhost:9092", "keep records for an hour"),
        (
            "metashell configs set broker:default log.cleaner.threads=2 --dry-run -b localhost:9092",
            "only ask whether the cluster would take it",
        ),
        ("metashell configs set topic:orders cleanup.policy+=compact -b localhost:9092", "add to a list"),
    ),
)
UNSET = command(
    "unset",
    "let settings have their defaults again",
    "Removes keys of one resource or of several, and says what they were before and are now.",
    options=(DRY_RUN, YES),
    arguments=(Argument("words", f"{_RESOURCES_TEXT}; then the keys", "+", "TYPE:NAME|KEY"),),
    examples=(("metashell configs unset topic:orders retention.ms -b localhost:9092", "take the cluster's retention again"),),
)
CONFIGS = noun("configs", "show and change settings of topics, brokers, groups and client metrics", "Dynamic settings.", (GET, SET, UNSET))
