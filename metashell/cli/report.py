"""metashell report: questions to the logs of a cluster, answered on this machine."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_FAILED, STATUS_OK, complain, declared_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

NAME = "metashell report"
_PARTS = {"pyarrow": "report", "numpy": "report", "duckdb": "report", "jinja2": "report", "pygal": "report"}


def _report(values: SimpleNamespace) -> int:
    """Answer the report that the command line names, and print the files that were written."""
    require_parts()
    return _answer(values)


def require_parts() -> None:
    """Errors: MetashellError that says what to install, where a package of the extra `report` is missing."""
    from importlib.util import find_spec

    from metashell.errors import MetashellError

    for module, extra in _PARTS.items():
        if find_spec(module) is None:
            raise MetashellError(f"{module} is not installed; install it by: pip install 'metashell[{extra}]'")


def _answer(values: SimpleNamespace) -> int:
    from metashell.codec.uris import shown_uri
    from metashell.options.report_tools import ALL, FORMS
    from metashell.reports import REPORTS
    from metashell.reports.forms import left_out_lines, notes_on, write_answer
    from metashell.reports.local import run_local

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
        complain(NAME, f"{answers.fault_count} corrupt or unknown places were left out")
        return STATUS_FAILED
    return STATUS_OK


main = declared_tool(NAME, "report_tools:REPORT", _report)
