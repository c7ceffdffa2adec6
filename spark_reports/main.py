"""spark-reports: jobs over Kafka's logs on Spark. Also the file to give to spark-submit.

How the package reaches executors: it is installed on every node, or in an environment that is shipped with the job and that
PYSPARK_PYTHON names (`spark-submit --archives environment.tar.gz#environment` with PYSPARK_PYTHON=./environment/bin/python).
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from metashell.cli.common import STATUS_FAILED, STATUS_INTERRUPTED, STATUS_OK, complain, declared_tool
from metashell.errors import UsageError
from spark_reports.said import error_in, silence_interrupts

NAME = "spark-reports"


def run(values: SimpleNamespace) -> int:
    """Do the job that the command line names."""
    from metashell.reports.forms import left_out
    from metashell.stores import open_store
    from spark_reports.masters import check_master
    from spark_reports.session import end_at_once, open_session, require_parts

    require_parts()
    check_master(values.master)
    if values.job == "export":
        require_tables(values.table)
    silence_interrupts()
    open_store(values.out, sources=values.paths).require_writable()
    # A stream runs for days.
    gc.enable()
    require_inputs(values.paths, may_be_empty=values.job == "stream" and not values.once, is_whole=values.once)
    try:
        spark = open_session(NAME, values.master)
        try:
            fault_count = _JOBS.get(values.job, _report)(spark, values)
        except Exception as error:
            message = error_in(error)
            if message is None:
                raise
            raise message from None
        finally:
            if not isinstance(sys.exc_info()[1], KeyboardInterrupt):
                spark.stop()
    except KeyboardInterrupt:
        complain(NAME, "interrupted")
        end_at_once(STATUS_INTERRUPTED)
    if not fault_count:
        return STATUS_OK
    complain(NAME, left_out(fault_count))
    return STATUS_FAILED


def require_tables(names: Sequence[str]) -> None:
    """Errors: UsageError for a name that is no table's, of which an export would find no row."""
    from metashell.columns.names import table_names
    from metashell.options.values import did_you_mean

    known = table_names()
    for name in names:
        if name not in known:
            raise UsageError(f"--table: no table {name}{did_you_mean(name, known)}", name)


def require_inputs(paths: Sequence[str], *, may_be_empty: bool, is_whole: bool = False) -> None:
    """Errors: UsageError for a path of this machine that is not there or holds no log, before anything slow is started.

    With `is_whole` nothing looks again later, so logs without a batch are an error here too.
    """
    from metashell.codec.uris import is_uri
    from metashell.columns.inputs.files import input_files

    for path in paths:
        if not is_uri(path) and not (may_be_empty and os.path.isdir(path)):
            deque(input_files(path), maxlen=0) if is_whole else next(input_files(path))


def reading_options(values: SimpleNamespace) -> dict[str, str]:
    """The options of `kafka_metadata` that a command line stands for."""
    return {
        "onError": values.on_error,
        "showSecrets": str(values.show_secrets).lower(),
        "oldColumns": str(values.old_columns).lower(),
        "splitBytes": str(values.split_size),
    }


def _report(spark: Any, values: SimpleNamespace) -> int:
    from metashell.codec.uris import shown_uri
    from metashell.options.report_tools import ALL, FORMS
    from metashell.reports import REPORTS
    from metashell.reports.forms import left_out_lines, notes_on, write_answer, write_index
    from metashell.reports.inputs import answerable, logs_at
    from metashell.reports.today import judge
    from metashell.stores import open_store
    from spark_reports.report_job import count_faults, run_on_spark

    wanted = list(REPORTS.values()) if values.job == ALL else [REPORTS[values.job]]
    reports, left_out = answerable(wanted, logs_at(values.paths), values.paths)
    options = reading_options(values)
    fault_count = count_faults(spark, reports, values.paths, options=options)
    notes = notes_on(fault_count, show_secrets=values.show_secrets)
    sources = " ".join(map(shown_uri, values.paths))
    forms = values.format or FORMS
    has_index = values.job == ALL and "html" in forms
    answers = {}
    store = open_store(values.out, sources=values.paths)
    for report, answer in run_on_spark(spark, reports, values.paths, options=options):
        if has_index:
            answers[report.name] = answer
        written = write_answer(report, answer, store, forms, sources=sources, notes=notes, has_index=has_index)
        sys.stdout.write("".join(f"{path}\n" for path in written))
    if has_index:
        judged = judge(values.paths, on_error=values.on_error)
        index = write_index(store, answers, left_out, judged, sources=sources, notes=notes, fault_count=fault_count)
        sys.stdout.write(f"{index}\n")
    for line in left_out_lines(left_out):
        complain(NAME, line)
    return fault_count


def _export(spark: Any, values: SimpleNamespace) -> int:
    from spark_reports.export_job import export_tables

    rows = export_tables(
        spark,
        values.paths,
        values.out,
        values.table,
        split_bytes=values.split_size,
        on_error=values.on_error,
        show_secrets=values.show_secrets,
        columns="raw" if values.old_columns else "typed",
    )
    sys.stdout.write("".join(f"{table:<40} {count:>12}\n" for table, count in rows.items()))
    return rows.get("faults", 0)


def _stream(spark: Any, values: SimpleNamespace) -> int:
    from spark_reports.stream_job import start_stream

    say = partial(complain, NAME)
    query = start_stream(spark, values.paths, values.out, values.table, options=reading_options(values), say=say)
    if values.once:
        query.processAllAvailable()
        query.stop()
    else:
        query.awaitTermination()
    return 0


_JOBS = {"export": _export, "stream": _stream}
main = declared_tool(NAME, "report_tools:SPARK_REPORTS", run)

if __name__ == "__main__":
    sys.exit(main())
