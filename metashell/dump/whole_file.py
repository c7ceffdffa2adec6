"""One file from beginning to end, by one process or by several."""

from __future__ import annotations

from metashell.codec.framing import Stop
from metashell.dump.output import Output
from metashell.dump.windows import dump_in_turn
from metashell.dump.writer import Writer
from metashell.log.window_reader import WindowReader
from metashell.system import processors

PARALLEL_SIZE_MIN = 2 << 20
"""Smaller files are done before a second process has started."""
SIZE_OF_JOB_MIN = 4 << 20
"""One process more for each of these: fewer bytes are formatted sooner than a process starts."""


def dump_file(writer: Writer, reader: WindowReader, output: Output, jobs: int) -> Stop:
    """Write the whole file; returns where and why it ended. `jobs` is how many processes to use, 0 for as many as help.

    Raises Halt where the run ends, after what precedes it is written.
    """
    writer.begin_file()
    output.write_all(writer.take())
    size = 0 if reader.is_stream or output.fd is None else reader.end or 0
    if size >= PARALLEL_SIZE_MIN:
        jobs = jobs or min(processors(), 1 + size // SIZE_OF_JOB_MIN)
        if jobs > 1:
            from metashell.dump.parallel import dump_in_parallel

            return dump_in_parallel(writer, reader, output, jobs)
    return dump_in_turn(writer, reader, output)
