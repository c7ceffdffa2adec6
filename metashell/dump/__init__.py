"""Print what lies in a log directory: Kafka's text byte for byte, or JSON lines.

It reads segments, checkpoints, metadata directories, the indexes and producer snapshots beside a segment, and text checkpoints. A log
is read, formatted and written window by window, straight from bytes to text, so memory stays bounded at any size of the file and with
any reader of the output; a large file is formatted by as many processes as there are processors. Both voices, the rooms `own` and
`kafka`, are tables of writers over one walk: `windows` and `writer` walk the batches and records of a log, `index_walk` the entries of
an index and the log that it points into. Files are only read. A fault is reported where it lies, and everything else is still
printed, except where Kafka's own tool would end. Kafka's voice knows the layouts of 4.4.0 only; ours tries every dialect and decodes
what lies inside records.
"""

from __future__ import annotations

from metashell.dump.options import DumpOptions
from metashell.dump.output import ByteSink, TextSink, output_for

__all__ = ["DumpOptions", "run_dump"]


def run_dump(options: DumpOptions, out: int | ByteSink, err: TextSink) -> int:
    """Dump the files of `options`; returns the exit status.

    `out` is a file descriptor (then other processes may help) or anything that takes bytes.
    Errors: BrokenPipeError when the reader has closed its end; KeyboardInterrupt passes. No other process is left behind.
    """
    from metashell.uncollected import Uncollected

    output = output_for(out, options.output)
    with Uncollected():
        if options.output == "kafka" and options.voice == "own":
            from metashell.dump.kafka.own_rules import run_kafka_text

            return run_kafka_text(options, output, err)
        if options.output == "kafka":
            from metashell.dump.kafka.run import run_kafka

            return run_kafka(options, output, err)
        from metashell.dump.own.run import run_own

        return run_own(options, output, err)
