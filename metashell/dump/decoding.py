"""Which decoder reads a file: the one that was asked for, else the one of the log that the file belongs to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from metashell.dump.options import DECODER_FLAGS, DumpOptions
from metashell.errors import UsageError
from metashell.log.files import OpenFile
from metashell.log.identity import name_of
from metashell.log.inputs import log_of_file, other_log
from metashell.log.kinds import DATA, KNOWN_LOGS, LogKind

_FLAGS: Final = {log: flag for flag, log in DECODER_FLAGS.items()}


def wanted_logs(options: DumpOptions) -> Collection[LogKind]:
    """The logs that a run wants of a folder: that of its decoder, or those that have the wanted types; empty where it says nothing."""
    decoder = options.decoder
    if decoder != "classes":
        return (decoder,)
    if not options.types:
        return ()
    from metashell.dump.record_types import logs_with_types

    logs = logs_with_types(options.types)
    return () if len(logs) == len(KNOWN_LOGS) else logs


def options_for(options: DumpOptions, label: str, log: LogKind | None, file: OpenFile) -> DumpOptions:
    """The options of a run with the decoder for one of its files. `log` is what it belongs to, where that is known already.

    Errors: UsageError where the decoder is that of another log, or the wanted types are.
    """
    is_sure = log is not None
    decoder = options.decoder
    if decoder == "classes" and not _needs_decoder(options):
        return options
    if log is None:
        log, is_sure = log_of_file(label, file)
    if decoder != "classes":
        if log not in (None, decoder) and (is_sure or log != DATA):
            raise other_log(label, log, decoder)
        return options
    if options.types:
        log = _log_with_types(options.types, label, log)
    if log is not None and log != DATA:
        return options._replace(is_decoder_implied=True, **{_FLAGS[log]: True})  # type: ignore[arg-type]
    return options if options.summary else options._replace(print_data_log=True)


def _needs_decoder(options: DumpOptions) -> bool:
    """Whether what is asked for is inside the records: their types, or patterns for their text."""
    has_pattern = options.key_pattern is not None or options.value_pattern is not None
    return bool(options.types) or options.summary or (has_pattern and not options.prints_contents)


def _log_with_types(types: tuple[str, ...], label: str, log: LogKind | None) -> LogKind:
    from metashell.dump.record_types import logs_with_types

    logs = logs_with_types(types)
    if log in logs:
        return log
    if log is None and len(logs) == 1:
        return logs[0]
    if log is None:
        raise UsageError(f"{label}: what its records are is not known: --type needs a decoder here", label)
    raise UsageError(f"{label}: {name_of(log)} has no record type {', '.join(types)}", label)
