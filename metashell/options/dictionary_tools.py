"""The command line of `metashell tables`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec

TABLES_FORMS = ("text", "json", "jsonl", "csv", "table")

TABLES = CommandSpec(
    name="metashell-tables",
    summary="what the tables of export, sql and reports are, and what each column means",
    description="""
        Without NAME it lists all tables: those of the state, of events, and the answers of reports. With the NAME of a table it shows each
        column: type, unit, meaning with special values, the metadata.version (for coordinators' logs, the release of Kafka) that first
        wrote it, and an example from a real log. A column's NAME shows it in every table that has it; TABLE.COLUMN is one column. Kafka's
        names of records and fields are understood: PARTITION_CHANGE_RECORD, leaderEpoch.
        """,
    options=(shared.output(*TABLES_FORMS), shared.VERSION),
    arguments=(
        Argument(
            name="names",
            metavar="NAME",
            nargs="*",
            kind="any-table",
            help="a table, a column, TABLE.COLUMN, or all: the columns of all tables",
        ),
    ),
    examples=(
        ("metashell tables", "all tables, with a line each"),
        ("metashell tables partition", "the columns of partition"),
        ("metashell tables partition_change.leader", "what -2 means there"),
        ("metashell tables topic_id", "every table that can be joined by it"),
        ("metashell tables all -o csv", "everything, for a spreadsheet"),
    ),
    epilog=(shared.EXIT_STATUS,),
    files=(("docs/dictionary.md", "the same as a page, in the source"),),
)
