"""Which decoder reads a file: the one that was asked for, else the one of the log that the file belongs to."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from metashell.codec.control import CONTROL_TYPE_NAMES
from metashell.codec.frame import RECORD_TYPE_NAMES
from metashell.dump.options import Decoder, DumpOptions
from metashell.errors import UsageError
from metashell.log.files import OpenFile
from metashell.log.identity import name_of
from metashell.log.inputs import log_of_file, other_log
from metashell.log.kinds import DATA, KNOWN_LOGS, METADATA, OFFSETS, REMOTE_LOG, SHARE, TRANSACTIONS, LogKind

LOG_OF_DECODER: Final[dict[Decoder, LogKind]] = {
    "metadata": METADATA,
    "offsets": OFFSETS,
    "transactions": TRANSACTIONS,
    "share": SHARE,
    "remote-log": REMOTE_LOG,
}
_FLAGS: Final[dict[LogKind, str]] = {
    METADATA: "cluster_metadata_decoder",
    OFFSETS: "offsets_decoder",
    TRANSACTIONS: "transaction_log_decoder",
    SHARE: "share_group_state_decoder",
    REMOTE_LOG: "remote_log_metadata_decoder",
}


def wanted_logs(options: DumpOptions) -> Collection[LogKind]:
    """The logs that a run wants of a folder: that of its decoder, or those that have the wanted types; empty where it says nothing."""
    if options.decoder != "classes":
        return (LOG_OF_DECODER[options.decoder],)
    logs = logs_with_types(options.types)
    return () if len(logs) == len(KNOWN_LOGS) else logs


def options_for(options: DumpOptions, label: str, log: LogKind | None, file: OpenFile) -> DumpOptions:
    """The options of a run with the decoder for one of its files. `log` is what it belongs to, where that is known already.

    Errors: UsageError where the decoder is that of another log, or the wanted types are.
    """
    is_sure = log is not None
    if options.decoder == "classes" and not _needs_decoder(options):
        return options
    if log is None:
        log, is_sure = log_of_file(label, file)
    if options.decoder != "classes":
        wanted = LOG_OF_DECODER[options.decoder]
        if log not in (None, wanted) and (is_sure or log != DATA):
            raise other_log(label, log, wanted)
        return options
    if options.types:
        log = _log_with_types(options.types, label, log)
    if log in _FLAGS:
        return replace(options, is_decoder_implied=True, **{_FLAGS[log]: True})  # type: ignore[arg-type]
    return options if options.summary else replace(options, print_data_log=True)


def _needs_decoder(options: DumpOptions) -> bool:
    """Whether what is asked for is inside the records: their types, or patterns that are held against their text."""
    has_pattern = options.key_pattern is not None or options.value_pattern is not None
    return bool(options.types) or options.summary or (has_pattern and not options.prints_contents)


def _log_with_types(types: tuple[str, ...], label: str, log: LogKind | None) -> LogKind:
    logs = logs_with_types(types)
    if log in logs:
        return log
    if log is None and len(logs) == 1:
        return logs[0]
    if log is None:
        raise UsageError(f"{label}: what its records are is not known: --type needs a decoder here", label)
    raise UsageError(f"{label}: {name_of(log)} has no record type {', '.join(types)}", label)


def logs_with_types(types: tuple[str, ...]) -> tuple[LogKind, ...]:
    """The logs that have any of the wanted types. Errors: UsageError for a type that no log has."""
    words = type_words(types)
    if not words:
        return KNOWN_LOGS
    names = {log: {plain_type(name) for name in type_names(log).values()} for log in KNOWN_LOGS}
    control = {plain_type(name) for name in CONTROL_TYPE_NAMES.values()}
    for word in words:
        if not (is_number(word) or plain_type(word) in control or any(plain_type(word) in known for known in names.values())):
            raise unknown_type(word, [name for log in KNOWN_LOGS for name in type_names(log).values()])
    plain = {plain_type(word) for word in words}
    if plain & control or any(is_number(word) for word in words):
        return KNOWN_LOGS
    return tuple(log for log in KNOWN_LOGS if plain & names[log])


def type_names(log: LogKind) -> dict[int, str]:
    """The record types of a log by number."""
    if log == METADATA:
        return RECORD_TYPE_NAMES
    from metashell.dump.own.records import coordinator_type_names, remote_log_type_names

    return remote_log_type_names() if log == REMOTE_LOG else coordinator_type_names(log)


def type_words(types: tuple[str, ...]) -> list[str]:
    """The words of `--type`, which may have commas between."""
    return [part.strip() for words in types for part in words.split(",")]


def is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def plain_type(name: str) -> str:
    """A type's name in the form in which spellings are compared: `PARTITION_RECORD`, `PartitionRecord`, `partition`."""
    plain = name.replace("_", "").replace("-", "").lower()
    return plain.removesuffix("record")


def unknown_type(word: str, names: Collection[str]) -> UsageError:
    """The complaint about a name that is no type's, and which one may be meant."""
    from difflib import get_close_matches

    known = {plain_type(name): name for name in (*CONTROL_TYPE_NAMES.values(), *names)}
    near = get_close_matches(plain_type(word), known, n=1)
    return UsageError(f"--type: {word!r} is no record type{f' (did you mean {known[near[0]]}?)' if near else ''}", word)
