"""The own voice over batches that come in pieces and from no file: a quorum's snapshot and log, as they are committed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from metashell.codec.framing import find_frames
from metashell.dump.inputs import Input
from metashell.dump.options import DumpOptions
from metashell.dump.output import ByteSink, Output, TextSink, output_for
from metashell.dump.own.json_array import json_form
from metashell.dump.own.json_lines import JsonWriter
from metashell.dump.own.session import Session
from metashell.dump.windows import format_window
from metashell.errors import UsageError
from metashell.log.file_kinds import Closing
from metashell.log.kinds import METADATA


class Piece(NamedTuple):
    """Whole batches. Pieces with one `label` follow one another; a checkpoint is one piece."""

    label: str
    data: bytes
    is_checkpoint: bool = False


def run_pieces(options: DumpOptions, out: int | ByteSink, err: TextSink, pieces: Iterable[Piece]) -> int:
    """Dump the pieces as JSON, each as it comes; returns the exit status: 1 if a fault was found. Errors: UsageError."""
    refuse_whole_files(options)
    with json_form(options, output_for(out, options.output)) as output:
        return _PieceSession(options, output, err).dump_all(pieces)


def refuse_whole_files(options: DumpOptions) -> None:
    """Errors: UsageError for a form that only whole files have."""
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
        """Dump all; Ctrl-C ends what has no end of its own."""
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
        self.output.write_all(writer.take())
        self.report(piece.label, writer.take_findings())


class _NoFile(Closing):
    """What stands for a file where the bytes are at hand."""

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
