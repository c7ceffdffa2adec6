"""A whole run in our own voice: every file is dumped, whatever is wrong with another, and the status tells.

Faults stand in the output where they lie, and once more on stderr: one line each, the first few of a file.
"""

from __future__ import annotations

from metashell.dump.decoding import options_for, wanted_logs
from metashell.dump.framing import WindowReader
from metashell.dump.inputs import Input, inputs_of, starts_like_checkpoint
from metashell.dump.options import MAX_BYTES_DEFAULT, DumpOptions
from metashell.dump.output import Output, TextSink
from metashell.dump.own.filters import Filters
from metashell.dump.own.json_lines import JsonWriter
from metashell.dump.windows import dump_file, usable_jobs
from metashell.errors import UsageError
from metashell.log.files import OpenFile
from metashell.log.names import other_file

_TOLD_FAULTS_MAX = 10


def run_own(options: DumpOptions, output: Output, err: TextSink) -> int:
    """Dump all inputs as JSON; gives the exit status: 1 if a fault was found. Errors: UsageError."""
    run = OwnRun
    if options.summary:
        from metashell.dump.own.summary import SummaryRun

        run = SummaryRun
    if options.output == "json":
        from metashell.dump.own.json_array import ArrayOutput

        with ArrayOutput(output) as array:
            return run(options, array, err).run()
    return run(options, output, err).run()


class OwnRun:
    """What one run shares between its files."""

    def __init__(self, options: DumpOptions, output: Output, err: TextSink) -> None:
        self.options = options
        self.output = output
        self.err = err
        # What no log has is refused before anything is read.
        self.wanted_logs = wanted_logs(options)
        self._filters: dict[DumpOptions, Filters] = {}
        if options.decoder != "classes":
            self.filters(options)
        self.is_terminal = output.is_terminal
        self.status = 0

    def run(self) -> int:
        """Dump all inputs in order, and then follow the last one if that is asked for."""
        for number, path in enumerate(self.options.files, 1):
            try:
                if other_file(path) is not None:
                    self._other_kind(path)
                    continue
                self._inputs(path, is_followed=self.options.follow and number == len(self.options.files))
            except UsageError as error:
                self.complain(str(error))
        return self.status

    def _other_kind(self, path: str) -> None:
        from metashell.dump.own.index import OwnIndex

        OwnIndex(self, path).dump()

    def complain(self, text: str) -> None:
        """Tell of a fault on stderr."""
        self.err.write(f"{self.options.program}: {text}\n")
        self.status = 1

    def _inputs(self, path: str, is_followed: bool) -> None:
        inputs = list(inputs_of(path, self.wanted_logs, may_be_empty=is_followed))
        last: tuple[int, int] | None = None
        for before, entry in zip((None, *inputs), inputs, strict=False):
            if before is not None and before.directory is not entry.directory:
                last = None  # another log begins
            if entry is inputs[-1] and is_followed:
                from metashell.dump.own.follow import follow

                follow(self, entry, last)
                return
            try:
                file = entry.open()
            except OSError as error:  # a running node has removed it since it was listed
                self.complain(f"{entry.label}: {error.strerror or error}")
                continue
            with file:
                try:
                    last = self._file(entry, file, last)
                except UsageError as error:  # it is of another log than was asked for
                    self.complain(str(error))
                    last = None

    def _file(self, entry: Input, file: OpenFile, last: tuple[int, int] | None) -> tuple[int, int] | None:
        writer = self.writer(entry, file, last)
        dump_file(writer, self.reader(file), self.output, usable_jobs(self.options.jobs))
        self.tell(entry.label, writer)
        return None if entry.is_checkpoint else writer.last

    def writer(self, entry: Input, file: OpenFile, last: tuple[int, int] | None, is_followed: bool = False) -> JsonWriter:
        """The writer of one file; `last` is the place that its first batch has to follow.

        Errors: UsageError where it is of another log than was asked for.
        """
        options = options_for(self.options, entry.label, entry.log, file)
        writer = JsonWriter(
            options,
            self.filters(options),
            file,
            entry.label,
            is_terminal=self.is_terminal,
            may_end_early=entry.may_end_early,
            is_checkpoint=entry.is_checkpoint or starts_like_checkpoint(file, entry.label),
            is_followed=is_followed,
        )
        writer.last = last
        if last is None and entry.follows is not None:
            writer.last = (entry.follows, 0)
        return writer

    def filters(self, options: DumpOptions) -> Filters:
        """The filters of a run, by the decoder that a file needs."""
        if options not in self._filters:
            self._filters[options] = Filters(options)
        return self._filters[options]

    def reader(self, file: OpenFile) -> WindowReader:
        """A reader of one file, as far as --max-bytes allows."""
        limit = None if self.options.max_bytes == MAX_BYTES_DEFAULT else self.options.max_bytes
        return WindowReader(file, limit, file.batch_size_max)

    def tell(self, label: str, writer: JsonWriter) -> None:
        """Tell on stderr what is wrong with a file, and what is worth a note; then forget it."""
        for _, fault in writer.faults[:_TOLD_FAULTS_MAX]:
            self.complain(f"{label}: {fault}")
        if len(writer.faults) > _TOLD_FAULTS_MAX:
            self.complain(f"{label}: {len(writer.faults) - _TOLD_FAULTS_MAX} more faults")
        if self.options.verbose:
            for note in writer.notes:
                self.err.write(f"{self.options.program}: {label}: {note}\n")
        writer.faults.clear()
        writer.notes.clear()
