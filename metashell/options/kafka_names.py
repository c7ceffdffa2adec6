"""The command line of `metashell kafka`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec
from metashell.options.subcommands import KAFKA_NAMES, SUBCOMMANDS

KAFKA = CommandSpec(
    name="metashell-kafka",
    summary="any of Kafka's names, where the name itself is another's: metashell kafka storage",
    description="""
        Runs one of the commands below, with or without `kafka-` before its name. Confluent's packages, and any Kafka whose bin/ is on the
        PATH without `.sh`, have commands of the same names; this one is always ours.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="name", nargs="+", kind="kafka-name", help="one of the names below, and its words"),),
    examples=(
        ("metashell kafka storage random-uuid", "kafka-storage random-uuid, of this package"),
        ("metashell kafka dump-log --files FILE", "kafka-dump-log: what Kafka's own tool prints"),
    ),
    epilog=(
        ("NAMES", shared.listed({name: SUBCOMMANDS[name.replace("kafka-shell", "shell")][1] for name in KAFKA_NAMES})),
        shared.KAFKA_EXIT_STATUS,
    ),
    files=shared.LOG_FILES,
    first_word_ends_options=True,
)
