"""metashell kafka: Kafka's names, whatever else bears them on this machine."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_OK, Tool, parsed

NAME = "metashell kafka"


def run(words: list[str]) -> int:
    """Hand the words after a name to the command of that name; without one list the names."""
    from importlib import import_module

    from metashell.errors import UsageError
    from metashell.options.subcommands import KAFKA_NAMES, SUBCOMMANDS
    from metashell.options.values import did_you_mean

    if not words:
        sys.stdout.write("".join(f"{name}\n" for name in KAFKA_NAMES))
        return STATUS_OK
    if words[0].startswith("-"):
        from metashell.options.kafka_names import KAFKA

        values = parsed(KAFKA._replace(name=NAME), words)
        if values is None:
            return STATUS_OK
        words = list(values.name)
    name = words[0] if words[0].startswith("kafka-") else f"kafka-{words[0]}"
    if name not in KAFKA_NAMES:
        raise UsageError(f"unknown name {words[0]}{did_you_mean(name, list(KAFKA_NAMES))}", words[0])
    module, _ = SUBCOMMANDS["shell" if name == "kafka-shell" else name]
    main = import_module(f"metashell.cli.{module}").main
    assert isinstance(main, Tool)
    return main(words[1:])


main = Tool(NAME, run)
