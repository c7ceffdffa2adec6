"""Prints the files of a log directory: as Kafka's text, byte for byte, or as JSON lines.

It reads segments, checkpoints, metadata directories, the indexes and producer snapshots beside a segment, and small text files. A log is
read, formatted and written window by window, straight from bytes to text, so memory is bounded for a file of any size and for a slow
reader of the output. One process for each processor formats a large file.

There are two voices: `kafka_*` prints what Kafka's own tool prints, `own_*` prints JSON lines. Both share one walk: `writer` walks the
batches and records of a log, `index_walk` the entries of an index and the log that it points into. Files are only read. A fault is
reported at its place and the rest is still printed, except where Kafka's own tool would exit. Kafka's voice knows only the layouts of
4.4.0; ours tries every dialect."""

from __future__ import annotations

from metashell.inspect.dump.options import ByteSink, DumpOptions, TextSink, output_for

__all__ = ["DumpOptions", "run_dump"]


def run_dump(options: DumpOptions, out: int | ByteSink, err: TextSink) -> int:
    """Dump the files of `options`; returns the exit status.

    `out` is a file descriptor, to which several processes can write, or any object that takes bytes.
    Errors: BrokenPipeError if the reader has closed its end; KeyboardInterrupt is passed on. No other process is left behind.
    """
    from metashell.common.runtime import PausedCollector

    output = output_for(out, options.output)
    with PausedCollector():
        if options.output == "kafka" and options.voice == "own":
            from metashell.inspect.dump.kafka_text import run_kafka_text

            return run_kafka_text(options, output, err)
        if options.output == "kafka":
            from metashell.inspect.dump.kafka_text import run_kafka

            return run_kafka(options, output, err)
        from metashell.inspect.dump.own_run import run_own

        return run_own(options, output, err)
