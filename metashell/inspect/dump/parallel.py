"""Dumps one file with one process or several, in the order of the file.

The processes form a ring and take windows of the file in turn. Two tokens go round the ring. The first says where the next window starts:
a process reads its window, finds the batches in it, and passes the token on at once, so that the next process can begin. The second is
the turn to write: a process formats its window in memory, waits for the token, writes to the common output and passes the token on.

Why not a pool that returns text? Then all text would move through pipes to one writer. Here no text moves between processes, order is
kept for files and pipes alike, and each process holds the text of one window even if the reader of the output stalls.

Worker 0 is this process. A worker whose neighbour has exited reads the end of its pipe and exits too. This process waits for all others."""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import sys
from errno import EIO
from struct import Struct
from typing import Any, NoReturn

from metashell.codec.framing import Stop, Window
from metashell.common.errors import MetashellError
from metashell.common.runtime import processors
from metashell.disk.files import WindowReader
from metashell.inspect.dump.options import Output
from metashell.inspect.dump.writer import Findings, Halt, Place, Writer, dump_in_turn, format_window

PARALLEL_SIZE_MIN = 2 << 20
"""A smaller file is dumped before a second process has started."""
SIZE_OF_JOB_MIN = 4 << 20
"""Bytes for each further process: fewer are formatted sooner than a process starts."""


def dump_file(writer: Writer, reader: WindowReader, output: Output, jobs: int) -> Stop:
    """Write the whole file; return where and why it ended. `jobs` is the number of processes, 0 for as many as help.

    Raises Halt where the run ends, after everything before it is written.
    """
    writer.begin_file()
    output.write_all(writer.take_text())
    size = 0 if reader.is_stream or output.fd is None else reader.end or 0
    if size >= PARALLEL_SIZE_MIN:
        jobs = jobs or min(processors(), 1 + size // SIZE_OF_JOB_MIN)
        if jobs > 1:
            return dump_in_parallel(writer, reader, output, jobs)
    return dump_in_turn(writer, reader, output)


_START = Struct("<q")
_TURN = Struct("<??qi")
_NO_MORE = -1
_WINDOW_SIZE_MIN = 1 << 18
Pipe = tuple[int, int]
End = tuple[str | None, tuple[Any, ...] | None]
"""The end of the walk: the message of a Halt, and the fields of the Stop."""


class _Ring:
    """One worker's ends of the pipes: from the worker before it, and to the one after it."""

    def __init__(self, starts: list[Pipe], turns: list[Pipe], index: int) -> None:
        after = (index + 1) % len(starts)
        self._start_in, self._turn_in = starts[index][0], turns[index][0]
        self._start_out, self._turn_out = starts[after][1], turns[after][1]
        kept = {self._start_in, self._turn_in, self._start_out, self._turn_out}
        self._ends = kept
        _close({end for pipe in (*starts, *turns) for end in pipe} - kept)

    def close(self) -> None:
        _close(self._ends)
        self._ends = set()

    def next_start(self) -> int:
        """The start of this worker's next window; negative if there is none."""
        data = _read_exactly(self._start_in, _START.size)
        return int(_START.unpack(data)[0]) if data else _NO_MORE

    def pass_start(self, position: int) -> None:
        _send(self._start_out, _START.pack(position))

    def turn(self) -> tuple[bool, Place] | None:
        """Return whether to write, and the last place that was written; None if the worker before has exited."""
        data = _read_exactly(self._turn_in, _TURN.size)
        if not data:
            return None
        goes_on, has_place, offset, epoch = _TURN.unpack(data)
        return goes_on, ((offset, epoch) if has_place else None)

    def pass_turn(self, goes_on: bool, last: Place) -> None:
        _send(self._turn_out, _pack_turn(goes_on, last))


def _pack_turn(goes_on: bool, last: Place) -> bytes:
    return _TURN.pack(goes_on, last is not None, *(last or (0, 0)))


def dump_in_parallel(writer: Writer, reader: WindowReader, output: Output, jobs: int) -> Stop:
    """Write the whole file with several processes; `writer` gets the findings of all. Raises Halt."""
    # With more processes the windows are smaller, so that all of them together hold no more text than two with whole windows.
    reader.window_size = max(reader.window_size * 2 // jobs, _WINDOW_SIZE_MIN)
    starts = [os.pipe() for _ in range(jobs)]
    turns = [os.pipe() for _ in range(jobs)]
    os.write(starts[0][1], _START.pack(0))
    os.write(turns[0][1], _pack_turn(True, writer.last))
    children: list[tuple[int, int]] = []
    ring = None
    try:
        for index in range(1, jobs):
            children.append(_fork(index, starts, turns, [result for _, result in children], writer, reader, output))
        ring = _Ring(starts, turns, 0)
        end = _work(ring, writer, reader, output)
        ring.close()
        return _gather(reader.file.name, writer, children, end)
    finally:
        if ring is None:
            _close({end for pipe in (*starts, *turns) for end in pipe})
        else:
            ring.close()
        _reap(children)


def _fork(
    index: int,
    starts: list[Pipe],
    turns: list[Pipe],
    foreign: list[int],
    writer: Writer,
    reader: WindowReader,
    output: Output,
) -> tuple[int, int]:
    """Start one worker; return its process id and the pipe that its findings come from."""
    result_in, result_out = os.pipe()
    pid = os.fork()
    if pid:
        os.close(result_out)
        return pid, result_in
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _close({result_in, *foreign})
    _child(_Ring(starts, turns, index), writer, reader, output, result_out)


def _child(ring: _Ring, writer: Writer, reader: WindowReader, output: Output, result_out: int) -> NoReturn:
    status = 1
    try:
        try:
            end = _work(ring, writer, reader, output)
            result: Any = (0, writer.findings.fields(), end)
        except OSError as error:
            result = (error.errno or EIO, error.strerror, None)
        with open(result_out, "wb") as results:
            marshal.dump(result, results)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(status)


def _work(ring: _Ring, writer: Writer, reader: WindowReader, output: Output) -> End | None:
    """Dump this worker's windows; return the end of the walk if it is in one of them. Findings are left in `writer`."""
    found = Findings()
    end: End | None = None
    while end is None and (start := ring.next_start()) >= 0:
        window = reader.read(start)
        ring.pass_start(_NO_MORE if window.stop is not None else window.next)
        halt = _format_apart(writer, window)
        text, inside = writer.take_text(), writer.take_findings()
        window.buf = b""  # Free a large batch before waiting.
        turn = ring.turn()
        if turn is None:
            break
        goes_on, last = turn
        if not goes_on:  # The walk ended in an earlier window.
            ring.pass_turn(False, last)
            break
        writer.join(last)
        found.add(writer.take_findings())
        found.add(inside)
        output.write_all(text)
        if halt is not None or window.stop is not None:
            end = halt, None if window.stop is None else tuple(window.stop)
        ring.pass_turn(end is None, writer.last)
    writer.findings = found
    return end


def _format_apart(writer: Writer, window: Window) -> str | None:
    """Format a window without knowing the records before it; return the message of a Halt."""
    writer.first = writer.last = None
    try:
        format_window(writer, window)
    except Halt as halt:
        return str(halt)
    return None


def _gather(name: str, writer: Writer, children: list[tuple[int, int]], end: End | None) -> Stop:
    """Add the findings of the other workers; raise the error that ended one."""
    while children:
        pid, result_in = children[0]
        with open(result_in, "rb") as results:
            data = results.read()
        children.pop(0)
        _, wait_status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(wait_status)
        if code != 0:
            what = f"signal {-code}" if code < 0 else f"status {code}"
            raise MetashellError(f"{name}: a process that wrote a part of it ended with {what}")
        errno, fields, others_end = marshal.loads(data)
        if errno:
            raise OSError(errno, fields)
        writer.findings.add(Findings(*fields))
        end = end or others_end
    writer.findings.pairs.sort(key=lambda pair: pair[0])
    assert end is not None, "a worker came to the end"
    halt, stop = end
    if halt is not None:
        raise Halt(halt)
    assert stop is not None
    return Stop(*stop)


def _reap(children: list[tuple[int, int]]) -> None:
    """Kill the workers that are left, and wait for them."""
    for pid, result_in in children:
        with contextlib.suppress(OSError):
            os.close(result_in)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _send(fd: int, data: bytes) -> None:
    # A neighbour that has exited needs no token.
    with contextlib.suppress(BrokenPipeError):
        os.write(fd, data)


def _read_exactly(fd: int, size: int) -> bytes:
    """Read `size` bytes; nothing if the other end is closed."""
    data = b""
    while len(data) < size:
        piece = os.read(fd, size - len(data))
        if not piece:
            return b""
        data += piece
    return data


def _close(ends: set[int]) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)
