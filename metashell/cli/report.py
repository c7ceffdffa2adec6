"""metashell report: questions to the logs of a cluster, answered on this machine."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_FAILED, STATUS_OK, complain, declared_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

NAME = "metashell report"


def _report(values: SimpleNamespace) -> int:
    """Answer the report that the command line names, and print the files that were written."""
    from metashell.codec.uris import shown_uri
    from metashell.columns.packages import require_packages
    from metashell.options.report_tools import ALL, FORMS
    from metashell.reports import REPORTS
    from metashell.reports.forms import left_out, left_out_lines, notes_on, write_answer
    from metashell.reports.local import run_local

    require_packages("report", "pyarrow", "numpy", "duckdb", "jinja2", "pygal")
    wanted = [REPORTS[name] for name in (REPORTS if values.report == ALL else (values.report,))]
    answers = run_local(wanted, values.paths, on_error=values.on_error, show_secrets=values.show_secrets)
    notes = notes_on(answers.fault_count, show_secrets=values.show_secrets)
    sources = " ".join(map(shown_uri, values.paths))
    for name, answer in answers.tables.items():
        written = write_answer(REPORTS[name], answer, values.out, values.format or FORMS, sources=sources, notes=notes)
        sys.stdout.write("".join(f"{path}\n" for path in written))
    for line in left_out_lines(answers.left_out):
        complain(NAME, line)
    if answers.fault_count:
        complain(NAME, left_out(answers.fault_count))
        return STATUS_FAILED
    return STATUS_OK


main = declared_tool(NAME, "report_tools:REPORT", _report)
