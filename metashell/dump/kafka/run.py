"""A whole run in Kafka's voice: the files in order, each by the suffix of its name, and the diagnostics at the end.

Kafka's tool ends at the first thing that raises in it; then nothing of what follows is printed, neither later files
nor diagnostics. Instead of its stack trace there is one line on stderr. Source: DumpLogSegments.main; tools.md 1.2, 1.10.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from metashell.codec.framing import FRAME_SIZE_MAX
from metashell.dump.kafka.java import java_absolute, java_long, java_path
from metashell.dump.kafka.payload import payloads_of
from metashell.dump.kafka.text import KafkaWriter
from metashell.dump.options import DumpOptions
from metashell.dump.output import Output, TextSink
from metashell.dump.whole_file import dump_file
from metashell.dump.writer import Halt
from metashell.errors import DecodeError, UsageError
from metashell.log.files import open_file, open_regular
from metashell.log.packing import COMPRESSED_SUFFIXES
from metashell.log.window_reader import WindowReader

_OFFSET_WIDTH = 20
_EPOCH_WIDTH = 10
TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.dump.kafka.index import IndexDump

BOOTSTRAP_NAME = "bootstrap.checkpoint"


class KafkaRun:
    """What one run keeps from file to file: `pairs` are the offsets that do not follow, by absolute path.

    `is_honest` is the rule of our own name: a fault is reported and makes the status 1. `may_end_early` marks the last
    segment of a directory.
    """

    def __init__(self, options: DumpOptions, output: Output, err: TextSink) -> None:
        self.options = options
        self.output = output
        self.err = err
        self.status = 0
        self.pairs: dict[str, dict[int, int]] = {}
        self.indexes: IndexDump | None = None
        self.is_honest = options.voice == "own"
        self.may_end_early = False

    def complain(self, text: str) -> None:
        """Report a fault on stderr."""
        self.err.write(f"{self.options.program}: {text}\n")
        self.status = 1

    def file(self, path: str) -> None:
        """Dump one file. Raises Halt."""
        path = java_path(path)
        self.output.write(f"Dumping {path}\n".encode("utf-8", "surrogateescape"))
        name = os.path.basename(path)
        if self.is_honest:
            # Kafka's tool knows no compressed file, ours expands it.
            name = name.removesuffix(next((f".{suffix}" for suffix in COMPRESSED_SUFFIXES if name.endswith(f".{suffix}")), ""))
        suffix = name[name.rfind(".") :] if "." in name else ""
        handler = _HANDLERS.get(suffix)
        if handler is None:
            self.err.write(f"Ignoring unknown file {path}\n")
            self.status = int(self.is_honest)
        else:
            handler(self, path, name)

    def log(self, path: str, name: str) -> None:
        """Dump a segment or a checkpoint. Raises Halt."""
        options = self.options
        try:
            payloads_of(options)
        except DecodeError as error:
            raise Halt(str(error)) from error
        heading = _heading(path, name)
        self.output.write(f"{heading}\n".encode())
        if options.max_bytes < 0:
            raise Halt(f"{path}: Invalid size: {options.max_bytes}")
        try:
            file = open_file(path) if self.is_honest else open_regular(path)
        except OSError as error:
            raise Halt(f"{path}: {error.strerror}") from error
        except UsageError as error:
            raise Halt(str(error)) from error
        with file:
            writer = KafkaWriter(options, file, path, name)
            # Kafka holds the first record against offset -1, and finds every later segment wanting.
            writer.last = None if self.is_honest else (-1, 0)
            reader = WindowReader(file, options.max_bytes, FRAME_SIZE_MAX)
            dump_file(writer, reader, self.output, options.jobs)
        findings = writer.findings
        if self.is_honest and not self.may_end_early:
            for fault in findings.fault_lines():
                self.complain(f"{path}: {fault}")
        if findings.pairs:
            # A number that is followed by two others keeps the later one.
            found = self.pairs.setdefault(java_absolute(path), {})
            found.update({offset: following for _, offset, following in findings.pairs})

    def diagnostics(self) -> None:
        """Print what was noticed about the files as a whole."""
        if self.indexes is not None:
            self.indexes.diagnostics.report(self.err)
        for path, pairs in self.pairs.items():
            self.err.write(f"Non-consecutive offsets in {path}\n")
            for offset in sorted(pairs):
                self.err.write(f"  {offset} is followed by {pairs[offset]}\n")

    def index(self, path: str, name: str) -> None:
        """Dump an index or a producer snapshot. Raises Halt."""
        from metashell.dump.kafka.index import IndexDump

        if self.indexes is None:
            self.indexes = IndexDump(self.options, self.output, self.err)
        self.indexes.dump(path, name)


_HANDLERS: dict[str, Callable[[KafkaRun, str, str], None]] = {
    ".log": KafkaRun.log,
    ".checkpoint": KafkaRun.log,
    **dict.fromkeys((".index", ".timeindex", ".txnindex", ".snapshot"), KafkaRun.index),
}
"""Suffix of a file's name, from its last dot -> what dumps it."""


def run_kafka(options: DumpOptions, output: Output, err: TextSink) -> int:
    """Dump all files in Kafka's voice; returns the exit status."""
    run = KafkaRun(options, output, err)
    try:
        for path in options.files:
            run.file(path)
    except Halt as halt:
        run.complain(str(halt))
    else:
        run.diagnostics()
    return run.status


def _heading(path: str, name: str) -> str:
    """The line before the first batch. Raises Halt for a name that does not fit its suffix."""
    if name == BOOTSTRAP_NAME:
        return "KRaft bootstrap snapshot"
    if name.endswith(".checkpoint"):
        end = _OFFSET_WIDTH + 1 + _EPOCH_WIDTH
        if len(name) < end:
            raise Halt(f"{path}: the name of a checkpoint begins with 20 digits, a dash and 10 digits")
        offset = java_long(path, name[:_OFFSET_WIDTH])
        return f"Snapshot end offset: {offset}, epoch: {java_long(path, name[_OFFSET_WIDTH + 1 : end], 32)}"
    return f"Log starting offset: {java_long(path, name.partition('.')[0])}"
