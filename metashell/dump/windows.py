"""Windows of a file are read, formatted and written, one after another.

Memory holds one window and its text, whatever the file's size, also when nobody reads what is written.
"""

from __future__ import annotations

from metashell.codec.framing import Stop, Window
from metashell.dump.output import Output
from metashell.dump.writer import Writer
from metashell.log.window_reader import WindowReader


def dump_in_turn(writer: Writer, reader: WindowReader, output: Output, position: int = 0) -> Stop:
    """Write the file from `position` on, window after window."""
    while True:
        window = reader.read(position)
        try:
            format_window(writer, window)
        finally:
            output.write_all(writer.take())
        if window.stop is not None:
            return window.stop
        position = window.next


def format_window(writer: Writer, window: Window) -> None:
    """Let the text of a window's batches, and of the stop after them, wait in the writer. Raises Halt."""
    buf, position, batch = window.buf, window.position, writer.batch
    for start, size in window.frames:
        batch(buf, start, size, position + start)
    if window.stop is not None:
        writer.stop(window.stop)
