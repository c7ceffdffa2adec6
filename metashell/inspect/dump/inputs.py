"""Finds the files of a run, chooses the decoder of each file, and filters records.

- An argument is a file, a directory (its log), or standard input.
- A file's decoder is the one that the command line names, else that of the log that the file belongs to.
- Most batches are filtered by their header, before anything is decoded. Only a batch that crosses a limit is filtered record by record.
  Patterns see the text that is printed, so nobody can search for redacted bytes.
- Without a decoder, users' data is shown as it is, but bytes of the metadata log are hidden, since they may be secrets. A file counts as
  metadata if `disk/inputs.py` says so by its content and place, by the name of its folder or checkpoint alone, or if its first data
  record has no key and a value that decodes as metadata. `disk/directory.py` asks for more evidence, but here a wrong guess has unequal
  costs: a hidden user record is a nuisance, a shown secret is not."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from metashell.codec.batch_writer import CONTROL_TYPE_NAMES
from metashell.codec.batches import LOG_APPEND_TIME, BatchHeader, RecordBatch
from metashell.codec.dispatch import REMOTE_LOG_TYPES
from metashell.codec.metadata_records import RECORD_TYPE_NAMES, FrameError, read_metadata_record
from metashell.common.errors import DecodeError, PathError, UsageError
from metashell.common.terminal import writable
from metashell.disk.directory import ListedFile, MetadataDirectory, listed_files, log_name_of
from metashell.disk.files import OpenFile, open_file
from metashell.disk.inputs import (
    LogFolder,
    content_of_file,
    empty_logs_fault,
    find_metadata,
    log_folder,
    log_folders,
    log_of_file,
    named_file,
    no_log_fault,
    other_log_fault,
    paths_of,
)
from metashell.disk.names import DATA, KNOWN_LOGS, METADATA, METADATA_DIRECTORY, REMOTE_LOG, LogKind, parse_name
from metashell.disk.segment import read_batches
from metashell.inspect.dump.options import DECODER_FLAGS, DumpOptions


class Input(NamedTuple):
    """One file to dump.

    `open` opens it (errors: OSError, UsageError). `may_end_early` marks the last segment of a directory, whose torn tail is no fault.
    `follows` is the offset before its first one, `directory` its directory, and `log` the log that it belongs to, where these are known.
    """

    label: str
    open: Callable[[], OpenFile]
    is_checkpoint: bool = False
    may_end_early: bool = False
    follows: int | None = None
    directory: MetadataDirectory | None = None
    log: LogKind | None = None


def inputs_of(path: str, wanted: Collection[LogKind] = (), *, may_be_empty: bool = False) -> Iterator[Input]:
    """The files of an argument, in order.

    A log's directory gives its segments; if they do not begin at offset 0, its newest complete checkpoint comes first. A folder gives the
    `wanted` logs below it. If none are wanted, it gives its metadata log, or without one all logs whose records are known.
    Errors: UsageError if there are none, or if no batch was ever written to them, unless it `may_be_empty`.
    """
    for place in paths_of(path):
        if place == "-" or not os.path.isdir(place):
            yield Input(label=place, open=partial(open_file, place))
            continue
        folders = _folders(place, wanted)
        if not may_be_empty and all(folder.is_empty for folder in folders):
            raise empty_logs_fault(place, [folder.kind for folder in folders])
        for folder in folders:
            if os.path.isdir(folder.path):
                yield from _of_directory(folder)
            else:
                yield Input(label=folder.path, open=partial(open_file, folder.path), is_checkpoint=True, log=METADATA)


def _folders(path: str, wanted: Collection[LogKind]) -> list[LogFolder]:
    """The logs that a directory stands for."""
    try:
        named = log_folder(path)
        if named is not None and named.path == path:
            return [named]
        below: list[LogFolder] | None = None
        if not wanted or set(wanted) == {METADATA}:
            try:
                place = find_metadata(path)
            except UsageError:
                below = list(log_folders(path))
                if wanted or any(folder.kind == METADATA for folder in below):
                    raise
            else:
                found = log_folder(place) if os.path.isdir(place) else None
                return [found or LogFolder(place, METADATA)]
        below = list(log_folders(path)) if below is None else below
    except OSError as error:
        raise PathError.of(path, error) from error
    chosen = sorted(folder for folder in below if folder.kind in (wanted or KNOWN_LOGS))
    if not chosen:
        raise no_log_fault(path, [folder.kind for folder in below], wanted)
    return chosen


def _of_directory(folder: LogFolder) -> Iterator[Input]:
    directory = MetadataDirectory(folder.path)
    for file in listed_files(directory.list(), directory.open, shows_damaged=True):
        yield directory_input(directory, file, METADATA if file.is_checkpoint else folder.kind)


def directory_input(directory: MetadataDirectory, file: ListedFile, log: LogKind | None) -> Input:
    """Make an input from a listed file of a directory."""
    return Input(
        label=os.path.join(directory.path, file.name),
        open=partial(directory.open, file.name),
        is_checkpoint=file.is_checkpoint,
        may_end_early=file.may_end_early,
        follows=file.follows,
        directory=directory,
        log=log,
    )


def shown_path(path: str) -> str:
    """A path as text, whatever the locale: a byte that is not UTF-8 is the text `\\xe9`."""
    return writable(os.fsencode(path).decode("utf-8", "surrogateescape"))


_FLAGS: Final = {log: flag for flag, log in DECODER_FLAGS.items()}


def wanted_logs(options: DumpOptions) -> Collection[LogKind]:
    """The logs of a folder that a run wants: that of its decoder, or those with the wanted types; empty if it names neither."""
    decoder = options.decoder
    if decoder != "classes":
        return (decoder,)
    if not options.types:
        return ()

    logs = logs_with_types(options.types)
    return () if len(logs) == len(KNOWN_LOGS) else logs


def options_for(options: DumpOptions, label: str, log: LogKind | None, file: OpenFile) -> DumpOptions:
    """The options of a run with the decoder of one file. `log` is the file's log, if it is known already.

    Errors: UsageError if the decoder or the wanted types are those of another log.
    """
    is_sure = log is not None
    decoder = options.decoder
    if decoder == "classes" and not _needs_decoder(options):
        return options
    if log is None:
        log, is_sure = log_of_file(label, file)
    if decoder != "classes":
        if log not in (None, decoder) and (is_sure or log != DATA):
            raise other_log_fault(label, log, decoder)
        return options
    if options.types:
        log = _log_with_types(options.types, label, log)
    if log is not None and log != DATA:
        return options._replace(is_decoder_implied=True, **{_FLAGS[log]: True})  # type: ignore[arg-type]
    return options if options.summary else options._replace(print_data_log=True)


def _needs_decoder(options: DumpOptions) -> bool:
    """Return whether the options ask for record types, or patterns of their text."""
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
    raise UsageError(f"{label}: {log_name_of(log)} has no record type {', '.join(types)}", label)


def type_names(log: LogKind) -> dict[int, str]:
    """The record types of a log by number; none for a user's topic."""
    if log == METADATA:
        return RECORD_TYPE_NAMES
    if log == REMOTE_LOG:
        from metashell.codec.record_text import remote_log_type_name

        return {type: remote_log_type_name(type) for type in REMOTE_LOG_TYPES}
    if log == DATA:
        return {}
    from metashell.codec.coordinator import coordinator_type_names

    return coordinator_type_names(log)


def logs_with_types(types: tuple[str, ...]) -> tuple[LogKind, ...]:
    """The logs that have any of the wanted types. Errors: UsageError for a type that no log has."""
    words = type_words(types)
    if not words:
        return KNOWN_LOGS
    names = {log: {plain_type(name) for name in type_names(log).values()} for log in KNOWN_LOGS}
    control = {plain_type(name) for name in CONTROL_TYPE_NAMES.values()}
    for word in words:
        if not (is_any_logs(word) or plain_type(word) in control or any(plain_type(word) in known for known in names.values())):
            raise unknown_type(word, [name for log in KNOWN_LOGS for name in type_names(log).values()])
    plain = {plain_type(word) for word in words}
    if plain & control or any(map(is_any_logs, words)):
        return KNOWN_LOGS
    return tuple(log for log in KNOWN_LOGS if plain & names[log])


def type_words(types: tuple[str, ...]) -> list[str]:
    """Split the values of `--type` at commas."""
    return [part.strip() for words in types for part in words.split(",")]


def is_any_logs(word: str) -> bool:
    """Return whether a word fits any log: a number, or the name that is printed for an unknown type."""
    return record_number(word) is not None or control_number(word) is not None


def record_number(word: str) -> int | None:
    """The record type in a number or in the name that is printed for an unknown type, such as `UNKNOWN_RECORD_63`."""
    return _number(word, "(?:UNKNOWN_RECORD_)?")


def control_number(word: str) -> int | None:
    """The control record type in a name such as `UNKNOWN_CONTROL_9`."""
    return _number(word, "UNKNOWN_CONTROL_")


def _number(word: str, before: str) -> int | None:
    found = re.fullmatch(rf"{before}(-?[0-9]{{1,9}})", word, re.IGNORECASE | re.ASCII)
    return None if found is None else int(found[1])


def plain_type(name: str) -> str:
    """A type's name in one spelling, to compare `PARTITION_RECORD`, `PartitionRecord` and `partition`."""
    plain = name.replace("_", "").replace("-", "").lower()
    return plain.removesuffix("record")


def unknown_type(word: str, names: Collection[str]) -> UsageError:
    """The error for an unknown type, with the nearest known name."""
    from difflib import get_close_matches

    # The word may resemble the full name (TOPIC_RECORDS) or the name without the common ending (partion).
    all_names = (*CONTROL_TYPE_NAMES.values(), *names)
    known = {plain_type(name): name for name in all_names} | {name.lower(): name for name in all_names}
    near = get_close_matches(word.lower(), known, n=1) or get_close_matches(plain_type(word), known, n=1)
    return UsageError(f"--type: {word!r} is no record type{f' (did you mean {known[near[0]]}?)' if near else ''}", word)


_LOOK_BYTES = 1 << 20
_LOOKED_AT_MAX = 16


def holds_user_data(file: OpenFile, label: str, key: bytes | None, value: bytes | None) -> bool:
    """Return whether a file holds users' data. A stream cannot be read twice, so there its first record, `key` and `value`, decides."""
    with suppress(UsageError):  # It is a stream, or was deleted meanwhile.
        if named_file(label).log == METADATA:
            return False
    name = parse_name(os.path.basename(label))
    folder = os.path.basename(os.path.dirname(os.path.abspath(label)))
    if (name is not None and name.kind != "segment") or folder.rpartition("-")[0] == METADATA_DIRECTORY.rpartition("-")[0]:
        return False
    if file.size() is None:
        return _is_user_record(key, value)
    for item, _ in zip(read_batches(file, max_bytes=_LOOK_BYTES), range(_LOOKED_AT_MAX), strict=False):
        if isinstance(item, RecordBatch) and not item.header.is_control:
            with suppress(DecodeError):
                for record in item.records():
                    return _is_user_record(record.key, record.value)
    return True


def begins_as_metadata(file: OpenFile) -> bool:
    """Return whether a stream that was not read yet begins as only the metadata log does, for example with a leader change."""
    return file.size() is None and content_of_file(file).kind == METADATA


def _is_user_record(key: bytes | None, value: bytes | None) -> bool:
    """Return whether the first record of a log cannot be one of the metadata log."""
    if key is not None or not value:
        return True
    try:
        return read_metadata_record(value).message is None
    except FrameError:
        return True


OFFSET_MAX = (1 << 63) - 1


class Filters:
    """The filters of one run.

    `types` and `control_types` are the numbers of the wanted record and control record types, None for all.
    """

    def __init__(self, options: DumpOptions) -> None:
        first, last = options.offsets
        self.first_offset = -OFFSET_MAX if first is None else first
        self.last_offset = OFFSET_MAX if last is None else last
        self.since_ms = -OFFSET_MAX if options.since_ms is None else options.since_ms
        self.until_ms = OFFSET_MAX if options.until_ms is None else options.until_ms
        self.key = options.key_pattern
        self.value = options.value_pattern
        self.types: frozenset[int] | None = None
        self.control_types: frozenset[int] | None = None
        if options.types:
            self.types, self.control_types = _wanted_types(options)
        self.has_pattern = self.key is not None or self.value is not None
        self.has_range = first is not None or last is not None or options.since_ms is not None or options.until_ms is not None

    def wants_part(self, header: BatchHeader) -> bool:
        """Return whether a batch can hold a wanted record."""
        if header.last_offset < self.first_offset or header.base_offset > self.last_offset:
            return False
        if header.max_timestamp < self.since_ms:
            return False
        return not (_has_one_time(header) and header.max_timestamp > self.until_ms)

    def wants_all(self, header: BatchHeader) -> bool:
        """Return whether every record of a batch passes the filters of offset and time."""
        if header.base_offset < self.first_offset or header.last_offset > self.last_offset:
            return False
        return _has_one_time(header) and self.since_ms <= header.max_timestamp <= self.until_ms

    def wants_place(self, offset: int, timestamp: int) -> bool:
        """Return whether a record passes the filters of offset and time."""
        return self.first_offset <= offset <= self.last_offset and self.since_ms <= timestamp <= self.until_ms

    def wants_type(self, type_id: int | None) -> bool:
        return self.types is None or type_id in self.types

    def wants_control(self, type_id: int | None) -> bool:
        return self.control_types is None or type_id in self.control_types

    def wants_text(self, key: str | None, value: str | None) -> bool:
        """Return whether the printed key and value match the patterns; a missing one matches none."""
        if self.key is not None and (key is None or self.key.search(key) is None):
            return False
        return self.value is None or (value is not None and self.value.search(value) is not None)


def _has_one_time(header: BatchHeader) -> bool:
    return bool(header.attributes & LOG_APPEND_TIME) or header.base_timestamp == header.max_timestamp


def _wanted_types(options: DumpOptions) -> tuple[frozenset[int], frozenset[int]]:
    """The record types and control record types of a log that the words of `--type` name.

    A number is a record type; so is the name that is printed for an unknown one.
    Errors: UsageError for a name that no log has, or that the only log of the run does not have.
    """

    log = METADATA if options.decoder == "classes" else options.decoder
    names = type_names(log)
    others = options.is_decoder_implied and logs_with_types(options.types)
    records = {plain_type(name): number for number, name in names.items()}
    control = {plain_type(name): number for number, name in CONTROL_TYPE_NAMES.items()}
    types: set[int] = set()
    control_types: set[int] = set()
    for word in type_words(options.types):
        plain = plain_type(word)
        if (number := record_number(word)) is not None:
            types.add(number)
        elif (control_type := control_number(word)) is not None:
            control_types.add(control_type)
        elif plain in records:
            types.add(records[plain])
        elif plain in control:
            control_types.add(control[plain])
        elif not others:
            raise unknown_type(word, list(names.values()))
    return frozenset(types), frozenset(control_types)
