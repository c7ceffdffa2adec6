"""The state of one run in our own voice: options, streams and status, and the writer and reader of each file.

A fault is printed at its place in the output, and the first few of each file on stderr too, one line each. `-o json` prints one array
instead of a line for each object. Batches can also come in pieces without a file: a live quorum's snapshot, and its log as it is
committed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import nullcontext
from types import TracebackType
from typing import NamedTuple, Self

from metashell.codec.framing import Stop, find_frames
from metashell.common.errors import UsageError
from metashell.disk.files import OpenFile, WindowReader
from metashell.disk.inputs import LOCAL, is_checkpoint_file, place_of
from metashell.disk.names import METADATA, Closing
from metashell.disk.segment import may_lack_batches
from metashell.inspect.dump.inputs import Filters, Input, options_for, wanted_logs
from metashell.inspect.dump.options import MAX_BYTES_DEFAULT, ByteSink, DumpOptions, Output, TextSink, output_for
from metashell.inspect.dump.own_lines import JsonWriter
from metashell.inspect.dump.parallel import dump_file
from metashell.inspect.dump.writer import Findings, Place, format_window


class Session:
    """The state of one run; `status` is 1 once a fault was found."""

    def __init__(self, options: DumpOptions, output: Output, err: TextSink) -> None:
        self.options = options
        self.output = output
        self.err = err
        # Refuse a record type that no log has before anything is read.
        self.wanted_logs = wanted_logs(options)
        self._filters: dict[DumpOptions, Filters] = {}
        if options.decoder != "classes":
            self.filters(options)
        self.status = 0

    def dump(self, entry: Input, file: OpenFile, last: Place) -> Place:
        """Dump one file; return the place of its last record, None after a checkpoint."""
        writer = self.writer(entry, file, last)
        self.finish(entry, writer, self.walk(writer, self.reader(file)))
        return None if writer.is_checkpoint else writer.last

    def walk(self, writer: JsonWriter, reader: WindowReader) -> Stop:
        """Write the contents of a file; return where and why it ended."""
        return dump_file(writer, reader, self.output, self.options.jobs)

    def finish(self, entry: Input, writer: JsonWriter, stop: Stop) -> None:
        """End the dump of one file after its walk: report its faults."""
        self.report(entry.label, writer.take_findings())

    def writer(self, entry: Input, file: OpenFile, last: Place, is_followed: bool = False) -> JsonWriter:
        """The writer of one file; `last` is the place that its first batch must follow.

        Errors: UsageError if the file is of another log than the options name.
        """
        options = options_for(self.options, entry.label, entry.log, file)
        writer = self.make_writer(
            options,
            self.filters(options),
            file,
            entry.label,
            may_end_early=entry.may_end_early,
            is_checkpoint=entry.is_checkpoint or is_checkpoint_file(os.path.basename(entry.label), file),
            is_followed=is_followed,
        )
        writer.last = last
        writer.may_be_empty |= _may_be_empty(entry, file)
        if entry.log == METADATA:
            writer.take_for_metadata()
            if last is None and entry.follows is not None:
                writer.last = (entry.follows, 0)
        return writer

    make_writer = JsonWriter

    def filters(self, options: DumpOptions) -> Filters:
        """The filters of a run for the decoder of one file."""
        if options not in self._filters:
            self._filters[options] = Filters(options)
        return self._filters[options]

    def reader(self, file: OpenFile) -> WindowReader:
        """A reader of one file, up to --max-bytes."""
        limit = None if self.options.max_bytes == MAX_BYTES_DEFAULT else self.options.max_bytes
        return WindowReader(file, limit, file.batch_size_max)

    def report(self, label: str, findings: Findings) -> None:
        """Report the faults of a file on stderr, and with -v its notes."""
        for fault in findings.fault_lines():
            self.complain(f"{label}: {fault}")
        if self.options.verbose:
            for note in findings.notes:
                self.err.write(f"{self.options.program}: {label}: {note}\n")

    def complain(self, text: str) -> None:
        """Report a fault on stderr."""
        self.err.write(f"{self.options.program}: {text}\n")
        self.status = 1


def _may_be_empty(entry: Input, file: OpenFile) -> bool:
    """Return whether a file without a batch is no fault. For an empty file that was named, the name of its folder decides."""
    log = entry.log
    if log is None and file.size() == 0:
        log = place_of(os.path.dirname(entry.label) or ".", (os.path.basename(entry.label),), LOCAL)
    return may_lack_batches(log)


def json_form(options: DumpOptions, output: Output) -> ArrayOutput | nullcontext[Output]:
    """A context manager whose output turns lines into the wanted form: JSON lines, or one JSON array."""
    return ArrayOutput(output) if options.output == "json" else nullcontext(output)


class ArrayOutput(Output):
    """Writes JSON lines as the elements of an array; every `write` is whole lines."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._is_empty = True
        self._target = output

    def write(self, data: bytes) -> None:
        if not data:
            return
        before = b"[\n" if self._is_empty else b",\n"
        self._is_empty = False
        super().write(before + data.removesuffix(b"\n").replace(b"\n", b",\n"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # After Ctrl-C the array is closed only if that does not block: the reader of the output may have stalled.
        is_interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if (is_interrupted and not self._target.takes_more()) or (kind is not None and issubclass(kind, OSError)):
            return
        super().write(b"[]\n" if self._is_empty else b"\n]\n")


class Piece(NamedTuple):
    """Some whole batches. Pieces with one `label` follow one another; a checkpoint is one piece."""

    label: str
    data: bytes
    is_checkpoint: bool = False


def run_pieces(options: DumpOptions, out: int | ByteSink, err: TextSink, pieces: Iterable[Piece]) -> int:
    """Dump the pieces as JSON, each as it comes; return the exit status, 1 if a fault was found. Errors: UsageError."""
    refuse_whole_files(options)
    with json_form(options, output_for(out, options.output)) as output:
        return _PieceSession(options, output, err).dump_all(pieces)


def refuse_whole_files(options: DumpOptions) -> None:
    """Refuse options that only whole files have. Errors: UsageError."""
    for name, is_given in (("-o kafka", options.output == "kafka"), ("--summary", options.summary), ("FILE", bool(options.files))):
        if is_given:
            raise UsageError(f"{name} goes with files, not with a quorum", name)


class _PieceSession(Session):
    def __init__(self, options: DumpOptions, output: Output, err: TextSink) -> None:
        super().__init__(options, output, err)
        self._label = ""
        self._position = 0
        self._writer: JsonWriter | None = None

    def dump_all(self, pieces: Iterable[Piece]) -> int:
        """Dump all pieces; Ctrl-C ends a stream that has no end."""
        try:
            for piece in pieces:
                self._dump_piece(piece)
        except KeyboardInterrupt:
            if not self.options.follow:
                raise
        return self.status

    def _dump_piece(self, piece: Piece) -> None:
        if piece.label != self._label or self._writer is None or piece.is_checkpoint:
            self._label, self._position = piece.label, 0
            entry = Input(label=piece.label, open=lambda: _NoFile(piece.label), is_checkpoint=piece.is_checkpoint, log=METADATA)
            self._writer = self.writer(entry, entry.open(), None, is_followed=not piece.is_checkpoint)
        writer = self._writer
        window = find_frames(piece.data, self._position, len(piece.data), len(piece.data))
        if window.stop is not None and not piece.is_checkpoint and window.stop.kind == "end":
            window.stop = None
        format_window(writer, window)
        self._position += len(piece.data)
        self.output.write_all(writer.take_text())
        self.report(piece.label, writer.take_findings())


class _NoFile(Closing):
    """A file of bytes in memory."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read_at(self, position: int, size: int) -> bytes:
        return b""

    def peek(self, size: int) -> bytes:
        return b""

    def size(self) -> int | None:
        return None

    def close(self) -> None:
        return
