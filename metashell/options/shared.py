"""Options that several commands declare alike, so that one name means one thing everywhere."""

from __future__ import annotations

from metashell.options.spec import Option

OUTPUT_FORMS = ("text", "json", "jsonl", "table", "csv", "kafka")

OUTPUT = Option(names=("--output", "-o"), metavar="FORM", type="choice", choices=OUTPUT_FORMS, help="form of what is printed")
SHOW_SECRETS = Option(names=("--show-secrets",), type="flag", help="print passwords, keys and salts instead of redacting them")
MAX_DECOMPRESSED = Option(
    names=("--max-decompressed",),
    metavar="SIZE",
    type="size",
    default=128 << 20,
    help="largest size of a batch after decompression; a larger one is a fault",
)
CERTAIN_ONLY = Option(
    names=("--certain-only",),
    type="flag",
    help="of a directory, stop at the newest complete checkpoint: what follows may not have been committed",
)
VERBOSE = Option(names=("--verbose", "-v"), type="flag", help="tell on standard error what was read, torn tails and every fault")
NO_COLOR = Option(names=("--no-color",), type="flag", help="no colours, as with NO_COLOR in the environment")
VERSION = Option(names=("--version",), type="flag", help="print the version and exit")

EXIT_STATUS = (
    "EXIT STATUS",
    "0  all went well\n1  a fault was found, or something failed; what could be printed was\n2  the command line is wrong",
)
