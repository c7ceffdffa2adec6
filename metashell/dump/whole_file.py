"""One file from beginning to end, by one process or by several."""

from __future__ import annotations

import os

from metashell.dump.framing import Stop, WindowReader
from metashell.dump.output import Output
from metashell.dump.windows import dump_in_turn
from metashell.dump.writer import Writer

PARALLEL_SIZE_MIN = 2 << 20
"""Smaller files are done before a second process has started."""
JOBS_MAX = 2


def dump_file(writer: Writer, reader: WindowReader, output: Output, jobs: int) -> Stop:
    """Write the whole file; gives where and why it ended.

    Raises Halt where the run ends, after what precedes it is written.
    """
    writer.begin_file()
    output.write_all(writer.take())
    if jobs > 1 and output.fd is not None and (reader.end or 0) >= PARALLEL_SIZE_MIN and not reader.is_stream:
        from metashell.dump.parallel import dump_in_parallel

        return dump_in_parallel(writer, reader, output, jobs)
    return dump_in_turn(writer, reader, output)


def usable_jobs(asked: int) -> int:
    """How many processes to use: what was asked for, else as many as there are processors, at most two."""
    if asked > 0:
        return asked
    try:
        return min(JOBS_MAX, len(os.sched_getaffinity(0)))
    except AttributeError:  # pragma: no cover - a system without processor affinity
        return min(JOBS_MAX, os.cpu_count() or 1)
