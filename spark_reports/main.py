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
from contextlib import nullcontext
from functools import partial
from shlex import split
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from metashell.common.command import STATUS_FAILED, STATUS_INTERRUPTED, STATUS_OK, Tool, complain, print_version, settings_file
from metashell.common.errors import UsageError
from metashell.common.option_parser import HelpRequested, parse_command
from metashell.common.options import ALL_REPORTS, ANSWER_FORMS, did_you_mean
from metashell.common.settings import read_settings
from metashell.common.uris import is_uri, shown_uri
from metashell.demo import demo_directory
from metashell.tables.dictionary import table_names
from metashell.tables.input_files import expand_globs, input_files
from metashell.tables.read_options import SPARK_REPORTS
from metashell.tables.stores import open_store
from spark_reports.session import check_master, end_at_once, error_from, open_session, require_parts, silence_interrupts

if TYPE_CHECKING:
    from metashell.tables.stores import Held

NAME = "spark-reports"


def run(values: SimpleNamespace) -> int:
    """Do the job that the command line names."""
    from metashell.tables.reports.output import left_out
    from spark_reports.export_job import is_done_without_spark, require_fitting

    require_parts()
    check_master(values.master)
    require_fitting(values)
    if values.job == "export":
        require_tables(values.table)
    silence_interrupts()
    store = open_store(values.out, sources=values.paths)
    if not values.dry_run:
        store.require_writable()
    # A stream runs for days.
    gc.enable()
    require_inputs(values.paths, may_be_empty=values.job == "stream" and not values.once, is_whole=values.once)
    if values.job == "export" and is_done_without_spark(store, values):
        return STATUS_OK
    try:
        # Others of one export are kept out by its driver; a stream has its folder as long as it runs.
        with store.lock(f"{NAME} stream") if values.job == "stream" else nullcontext() as held:
            if held is not None:
                from spark_reports.stream_job import refuse_other_output

                refuse_other_output(store)
            spark = open_session(NAME, values.master)
            try:
                fault_count = do_job(spark, values, held)
            except Exception as error:
                message = error_from(error)
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


def do_job(spark: Any, values: SimpleNamespace, held: Held | None) -> int:
    """Do a job; returns how many places of the logs were left out."""
    match values.job:
        case "export":
            from spark_reports.export_job import run_export

            return run_export(spark, values)
        case "stream":
            return _stream(spark, values, held)
        case _:
            return _report(spark, values)


def require_tables(names: Sequence[str]) -> None:
    """Errors: UsageError for a name that is no table's, of which an export would find no row."""

    known = table_names()
    for name in names:
        if name not in known:
            raise UsageError(f"--table: no table {name}{did_you_mean(name, known)}", name)


def require_inputs(paths: Sequence[str], *, may_be_empty: bool, is_whole: bool = False) -> None:
    """Errors: UsageError for a path of this machine that is not there or holds no log, before anything slow is started.

    With `is_whole` nothing looks again later, so logs without a batch are an error here too.
    """
    from metashell.tables.remote_files import remote_input

    for path in paths:
        if is_uri(path):
            # Only whether something is there: the job lists what is below a folder of a store.
            if expand_globs(path) == [path]:
                remote_input(path)
        elif not (may_be_empty and os.path.isdir(path)):
            deque(input_files(path), maxlen=0) if is_whole else next(input_files(path))


def reading_options(values: SimpleNamespace) -> dict[str, str]:
    """Return the options of `kafka_metadata` that a command line stands for."""
    return {
        "onError": values.on_error,
        "showSecrets": str(values.show_secrets).lower(),
        "splitBytes": str(values.split_size),
    }


def _report(spark: Any, values: SimpleNamespace) -> int:
    from metashell.tables.reports import REPORTS
    from metashell.tables.reports.local import answerable, logs_at
    from metashell.tables.reports.output import left_out_lines, notes_on, write_answer, write_index
    from metashell.tables.reports.page import judge_clusters
    from spark_reports.report_job import count_faults, run_on_spark

    wanted = list(REPORTS.values()) if values.job == ALL_REPORTS else [REPORTS[values.job]]
    reports, left_out = answerable(wanted, logs_at(values.paths), values.paths)
    options = reading_options(values)
    fault_count = count_faults(spark, reports, values.paths, options=options)
    notes = notes_on(fault_count, show_secrets=values.show_secrets)
    sources = " ".join(map(shown_uri, values.paths))
    forms = values.format or ANSWER_FORMS
    has_index = values.job == ALL_REPORTS and "html" in forms
    answers = {}
    store = open_store(values.out, sources=values.paths)
    for report, answer in run_on_spark(spark, reports, values.paths, options=options):
        if has_index:
            answers[report.name] = answer
        written = write_answer(report, answer, store, forms, sources=sources, notes=notes, has_index=has_index)
        sys.stdout.write("".join(f"{path}\n" for path in written))
    if has_index:
        judged = judge_clusters(values.paths, on_error=values.on_error)
        index = write_index(store, answers, left_out, judged, sources=sources, notes=notes, fault_count=fault_count)
        sys.stdout.write(f"{index}\n")
    for line in left_out_lines(left_out):
        complain(NAME, line)
    return fault_count


def _stream(spark: Any, values: SimpleNamespace, held: Held | None) -> int:
    from spark_reports.stream_job import start_stream

    say, counts = partial(complain, NAME), list[int]()
    options = reading_options(values)
    query = start_stream(spark, values.paths, values.out, values.table, options=options, say=say, held=held, count_faults=counts.append)
    if values.once:
        query.processAllAvailable()
        query.stop()
    else:
        query.awaitTermination()
    return sum(counts)


def run_words(words: Sequence[str]) -> int:
    """Do the job that the words of a command line name, or print the help or the version."""
    try:
        values = parse_command(SPARK_REPORTS, words)
    except HelpRequested as help_text:
        sys.stdout.write(str(help_text))
        return STATUS_OK
    values.paths = tuple(_named_path(path) if path.startswith("@") else path for path in values.paths)
    return print_version(NAME) if values.version else run(values)


def _named_path(word: str) -> str:
    """Return the path that the settings have for `@NAME`. Errors: UsageError for a name that is not set, or is no path."""
    path, _ = settings_file()
    sources = read_settings(path).sources if path else {}
    if word[1:] not in sources:
        raise UsageError(f"{word}: the settings name no such source{did_you_mean(word[1:], [*sources])}", word)
    words = split(sources[word[1:]])
    match words:
        case ["--demo"]:
            return demo_directory()
        case ["-s" | "--snapshot", path]:
            return path
        case [option, *_] if option.startswith("-"):
            raise UsageError(f"{word} is a live cluster, and this reads files", word)
    return os.path.expanduser(sources[word[1:]])


main = Tool(NAME, run_words)

if __name__ == "__main__":
    sys.exit(main())
