"""A whole run in our own voice: every file is dumped, whatever is wrong with another, and the status says whether all was well."""

from __future__ import annotations

from metashell.dump.inputs import inputs_of
from metashell.dump.options import DumpOptions
from metashell.dump.output import Output, TextSink
from metashell.dump.own.json_array import json_form
from metashell.dump.own.session import Session
from metashell.dump.writer import Place
from metashell.errors import UsageError
from metashell.log.names import other_file


def run_own(options: DumpOptions, output: Output, err: TextSink) -> int:
    """Dump all inputs as JSON, in order, and then follow the last one if that is asked for; returns the exit status.

    The status is 1 if a fault was found. Errors: UsageError.
    """
    with json_form(options, output) as shaped:
        session = _session(options, shaped, err)
        for number, path in enumerate(options.files, 1):
            try:
                if other_file(path) is None:
                    _dump_inputs(session, path, is_followed=options.follow and number == len(options.files))
                elif options.summary:
                    raise UsageError(f"{path}: only logs and checkpoints are summed up", path)
                else:
                    from metashell.dump.own.index import OwnIndex

                    OwnIndex(session, path).dump()
            except UsageError as error:
                session.complain(str(error))
        return session.status


def _session(options: DumpOptions, output: Output, err: TextSink) -> Session:
    if not options.summary:
        return Session(options, output, err)
    from metashell.dump.own.summary import SummarySession

    return SummarySession(options, output, err)


def _dump_inputs(session: Session, path: str, is_followed: bool) -> None:
    """Dump the files that a path stands for."""
    inputs = list(inputs_of(path, session.wanted_logs, may_be_empty=is_followed))
    last: Place = None
    for before, entry in zip((None, *inputs), inputs, strict=False):
        if before is not None and before.directory is not entry.directory:
            last = None  # another log begins
        if entry is inputs[-1] and is_followed:
            from metashell.dump.own.follow import follow

            follow(session, entry, last)
            return
        try:
            file = entry.open()
        except OSError as error:  # a running node has removed it since it was listed
            session.complain(f"{entry.label}: {error.strerror or error}")
            continue
        with file:
            try:
                last = session.dump(entry, file, last)
            except UsageError as error:  # it is of another log than was asked for
                session.complain(str(error))
                last = None
