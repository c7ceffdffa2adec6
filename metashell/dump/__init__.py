"""Print what lies in a log directory: Kafka's text byte for byte, or JSON lines.

Segments, checkpoints, metadata directories, the indexes and producer snapshots beside a segment, text checkpoints. Nothing is
kept: a log is read, formatted and written window by window, straight from bytes to text, so that memory stays bounded at any size
and with any reader; a large file is formatted by two processes. Both voices are tables of writers over one walk: `framing` and
`writer` walk the batches and records of a log, `index_walk` the entries of an index and the log that it points into. Files are
only read. What is wrong with a file is told where it lies, and everything else is still printed, except where Kafka's own tool
would end. Kafka's voice knows the layouts of 4.3.1 only; ours tries every dialect and decodes what lies inside records.
"""

from __future__ import annotations

from metashell.dump.options import DumpOptions
from metashell.dump.output import ByteSink, TextSink, output_for

__all__ = ["DumpOptions", "run_dump"]


def run_dump(options: DumpOptions, out: int | ByteSink, err: TextSink) -> int:
    """Dump the files of `options`; gives the exit status.

    `out` is a file descriptor (then a second process may help) or anything that takes bytes.
    Errors: BrokenPipeError when nobody reads any more; KeyboardInterrupt passes. No other process is left behind.
    """
    import gc

    output = output_for(out, options.output)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        if options.output == "kafka" and options.voice == "own":
            from metashell.dump.kafka.own_rules import run_kafka_text

            return run_kafka_text(options, output, err)
        if options.output == "kafka":
            from metashell.dump.kafka.run import run_kafka

            return run_kafka(options, output, err)
        from metashell.dump.own.run import run_own

        return run_own(options, output, err)
    finally:
        if was_enabled:
            gc.enable()
