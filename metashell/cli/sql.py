"""metashell sql: questions to logs in SQL."""

from __future__ import annotations

from functools import partial

from metashell.cli.common import STATUS_FAILED, STATUS_OK, complain, declared_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

NAME = "metashell sql"


def _answer(values: SimpleNamespace) -> int:
    """Answer the query that the command line holds."""
    from metashell.columns.packages import require_packages
    from metashell.forms import counted, standard_output, write_rows

    require_packages("sql", "duckdb", "pyarrow", "numpy")
    from metashell.columns.sql.query import query

    answer = query(values.query, values.paths, on_error=values.on_error, show_secrets=values.show_secrets, log=values.log)
    write_rows(standard_output(note=partial(complain, NAME)), values.output, answer.columns, answer.rows)
    if answer.fault_count:
        complain(NAME, f"{counted(answer.fault_count, 'fault')} skipped; the table faults has the details")
        return STATUS_FAILED
    return STATUS_OK


main = declared_tool(NAME, "analyse_tools:SQL", _answer)
