"""One registry of declared options: what parsers, help, completions and man pages are made from.

A command, of the operating system's shell or of ours, is a `CommandSpec`: plain data. It is parsed by `parse`
(our own format, on click) or by `kafka_parsers` (the rules of Kafka's two parsers), never by hand. This package reads no
files, prints nothing and sets no exit status; it imports click only while it parses.
"""

from metashell.options.spec import Argument, CommandSpec, Option

__all__ = ["Argument", "CommandSpec", "Option"]
