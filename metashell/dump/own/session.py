"""What one run in our own voice shares between its files: options, streams, status, and how a file's writer and reader are made.

Faults stand in the output where they lie, and once more on stderr: one line each, the first few of a file.
"""

from __future__ import annotations

import os

from metashell.codec.framing import Stop
from metashell.dump.decoding import options_for, wanted_logs
from metashell.dump.inputs import Input
from metashell.dump.options import MAX_BYTES_DEFAULT, DumpOptions
from metashell.dump.output import Output, TextSink
from metashell.dump.own.filters import Filters
from metashell.dump.own.json_lines import JsonWriter
from metashell.dump.whole_file import dump_file
from metashell.dump.writer import Findings, Place
from metashell.log.files import OpenFile
from metashell.log.inputs import LOCAL, is_checkpoint_file, place_of
from metashell.log.kinds import METADATA
from metashell.log.tail import may_lack_batches
from metashell.log.window_reader import WindowReader


class Session:
    """The state of one run; `status` is 1 once a fault was found."""

    def __init__(self, options: DumpOptions, output: Output, err: TextSink) -> None:
        self.options = options
        self.output = output
        self.err = err
        # A record type that no log has is refused before anything is read.
        self.wanted_logs = wanted_logs(options)
        self._filters: dict[DumpOptions, Filters] = {}
        if options.decoder != "classes":
            self.filters(options)
        self.status = 0

    def dump(self, entry: Input, file: OpenFile, last: Place) -> Place:
        """Dump one file; returns the place of its last record, None after a checkpoint."""
        writer = self.writer(entry, file, last)
        self.finish(entry, writer, self.walk(writer, self.reader(file)))
        return None if writer.is_checkpoint else writer.last

    def walk(self, writer: JsonWriter, reader: WindowReader) -> Stop:
        """Write what a file holds; returns where and why it ended."""
        return dump_file(writer, reader, self.output, self.options.jobs)

    def finish(self, entry: Input, writer: JsonWriter, stop: Stop) -> None:
        """End the dump of one file, of which the walk is done."""
        self.report(entry.label, writer.take_findings())

    def writer(self, entry: Input, file: OpenFile, last: Place, is_followed: bool = False) -> JsonWriter:
        """The writer of one file; `last` is the place that its first batch has to follow.

        Errors: UsageError where it is of another log than was asked for.
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
        """The filters of a run, by the decoder that a file needs."""
        if options not in self._filters:
            self._filters[options] = Filters(options)
        return self._filters[options]

    def reader(self, file: OpenFile) -> WindowReader:
        """A reader of one file, as far as --max-bytes allows."""
        limit = None if self.options.max_bytes == MAX_BYTES_DEFAULT else self.options.max_bytes
        return WindowReader(file, limit, file.batch_size_max)

    def report(self, label: str, findings: Findings) -> None:
        """Report on stderr what is wrong with a file, and with -v what is no fault."""
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
    """Whether a file without a batch is no fault. An empty one that was named says nothing of its log: its folder does."""
    log = entry.log
    if log is None and file.size() == 0:
        log = place_of(os.path.dirname(entry.label) or ".", (os.path.basename(entry.label),), LOCAL)
    return may_lack_batches(log)
