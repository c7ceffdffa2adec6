"""Kafka's text under our own name, `dump-log -o kafka`: the text is Kafka's, the rules are ours.

Every file is dumped, whatever is wrong with another; secrets are redacted unless they are asked for; faults are
reported on stderr and make the status 1. Kafka's text has no form for a part of a log, so the options that choose one are refused.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.dump.kafka.run import KafkaRun
from metashell.dump.options import DumpOptions
from metashell.dump.output import Output, TextSink
from metashell.dump.writer import Halt
from metashell.errors import UsageError
from metashell.log.files import open_file

if TYPE_CHECKING:
    from metashell.dump.inputs import Input


def run_kafka_text(options: DumpOptions, output: Output, err: TextSink) -> int:
    """Dump all files as Kafka's text; returns the exit status: 1 if a fault was found. Errors: UsageError."""
    _refuse(options)
    run = KafkaRun(options, output, err)
    for path in options.files:
        _dump(run, path)
    run.diagnostics()
    return run.status


def _dump(run: KafkaRun, path: str) -> None:
    """Dump a file, or the files that a directory stands for."""
    # kafka-dump-log takes its words as they are, and starts sooner without these.
    from metashell.dump.decoding import wanted_logs
    from metashell.dump.inputs import inputs_of

    try:
        for entry in inputs_of(path, wanted_logs(run.options)):
            run.may_end_early = entry.may_end_early
            try:
                _check(run, entry)
                run.file(entry.label)
            except (Halt, UsageError) as trouble:
                run.complain(str(trouble))
    except UsageError as error:
        run.complain(str(error))


def _check(run: KafkaRun, entry: Input) -> None:
    """Errors: UsageError where there is no file, or the decoder is that of another log, which would be one odd line for each record."""
    from metashell.dump.decoding import options_for
    from metashell.log.names import other_file

    try:
        os.stat(entry.label)
    except OSError as error:
        raise UsageError(f"{entry.label}: {error.strerror}", entry.label) from error
    if run.options.decoder != "classes" and other_file(entry.label) is None and os.path.isfile(entry.label):
        with open_file(entry.label) as file:
            options_for(run.options, entry.label, entry.log, file)


def _refuse(options: DumpOptions) -> None:
    given = {
        "--type": options.types,
        "--offset": options.offsets != (None, None),
        "--since": options.since_ms is not None,
        "--until": options.until_ms is not None,
        "--key": options.key_pattern,
        "--value": options.value_pattern,
        "--batches": options.batches != "no",
        "--follow": options.follow,
        "standard input": "-" in options.files,
    }
    for name, is_given in given.items():
        if is_given:
            raise UsageError(f"{name} does not go with -o kafka: Kafka's text is that of whole files", name)
