"""Every table and column as the dictionary lists them, without what it takes to make tables.

Names, types and examples are in `listed.tsv` and the reports in `reports.tsv`, which `python -m tools.gen_dictionary` makes from the
schemas and from real logs; meanings come from the lines that schemas get them from too.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal, NamedTuple

from metashell.columns.meanings.companions import meaning_of
from metashell.columns.meanings.fields import rows
from metashell.columns.names import STATE_TABLES, log_of_table
from metashell.log.kinds import METADATA

LISTED: Final = "listed.tsv"
REPORTS: Final = "reports.tsv"
EVENTS: Final = "events"
STATE: Final = "state"
REPORT: Final = "report"
Kind = Literal["events", "state", "report"]
_NONE: Final = "-"


class ListedTable(NamedTuple):
    """One table. `log` is the kind of log that it is made from, None for those of all logs; `since` is the metadata.version that first
    wrote its records or, for the coordinators' logs, the release of Kafka; None where that says nothing."""

    name: str
    kind: Kind
    log: str | None
    since: str | None
    holds: str


class ListedColumn(NamedTuple):
    """One column, or the field of a struct, whose name is then `COLUMN.FIELD`. `example` is JSON text from a real log, None without one."""

    table: str
    name: str
    type: str
    unit: str | None
    since: str | None
    example: str | None
    meaning: str


@cache
def listed_tables() -> dict[str, ListedTable]:
    """All tables by name: those of the state, those of events, and the answers of reports."""
    found = {}
    for name, since, holds in rows("tables.tsv"):
        first = since.partition(" ")[0]
        kind: Kind = STATE if name in STATE_TABLES else EVENTS
        log = METADATA if kind == STATE else log_of_table(name)
        found[name] = ListedTable(name, kind, log, None if first == _NONE else first, holds)
    for name, read, holds in rows(REPORTS):
        found[name] = ListedTable(name, REPORT, read, None, holds)
    order = (STATE, EVENTS, REPORT)
    return dict(sorted(found.items(), key=lambda item: order.index(item[1].kind)))


@cache
def listed_columns() -> dict[str, list[ListedColumn]]:
    """The columns of each table, in order; the fields of a struct follow it."""
    lines: dict[str, list[list[str]]] = {}
    for table, *line in rows(LISTED):
        lines.setdefault(table, []).append(line)
    return {table: _columns(table, of_table) for table, of_table in lines.items()}


def _columns(table: str, lines: list[list[str]]) -> list[ListedColumn]:
    beside: dict[str, set[str]] = {}
    for name, *_ in lines:
        struct, _, last = name.rpartition(".")
        beside.setdefault(struct, set()).add(last)
    found = []
    for name, kind, since, example in lines:
        meaning = meaning_of(table, name, beside[name.rpartition(".")[0]])
        assert meaning is not None, f"{table}.{name} has no meaning"
        unit = None if meaning.unit == _NONE else meaning.unit
        found.append(ListedColumn(table, name, kind, unit, since or None, example or None, meaning.whole))
    return found
