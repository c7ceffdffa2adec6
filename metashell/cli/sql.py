"""metashell sql: questions to logs in SQL."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_FAILED, STATUS_OK, complain, declared_tool
from metashell.cli.extras import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

NAME = "metashell sql"


def _answer(values: SimpleNamespace) -> int:
    """Answer the query that the command line holds."""
    with needed("sql", "duckdb, pyarrow and numpy"):
        from metashell.columns.sql.answers import write_answer
        from metashell.columns.sql.query import query
    answer = query(values.query, values.paths, on_error=values.on_error, show_secrets=values.show_secrets, log=values.log)
    write_answer(answer, values.output, sys.stdout, is_terminal=sys.stdout.isatty())
    if answer.fault_count:
        complain(NAME, f"{answer.fault_count} faults were skipped; the table faults lists them")
        return STATUS_FAILED
    return STATUS_OK


main = declared_tool(NAME, "analyse_tools:SQL", _answer)
