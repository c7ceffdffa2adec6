"""What a run reads: the files that the arguments stand for, the decoder of each file, and the records that are printed.

- An argument is a file, a directory (its log), or standard input.
- A file's decoder is the one that was asked for, else that of the log that the file belongs to.
- Most of the filter works on a whole batch by its header, before anything is decoded; a batch that crosses a border is filtered record by
  record. Patterns see the text that is printed, so what is redacted cannot be searched.
- Of a log without a decoder, users' data is shown as it is. Fewer bytes of the metadata log are shown, since they may be secrets: it
  counts as the metadata log where `log/inputs` says so by content and place, also by its folder's name alone or a checkpoint's own name,
  and where its first data record has no key and a value that decodes. That asks for less evidence than `log/identity` does: hiding in vain
  costs less than showing a secret."""

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

    `open` opens it (errors: OSError, UsageError). `may_end_early` marks the last segment of a directory, whose torn tail is no
    fault; `follows` is the offset before its first one where that is known, and `directory` what it is one of. `log` is what it
    belongs to, where that is known before it is opened.
    """

    label: str
    open: Callable[[], OpenFile]
    is_checkpoint: bool = False
    may_end_early: bool = False
    follows: int | None = None
    directory: MetadataDirectory | None = None
    log: LogKind | None = None


def inputs_of(path: str, wanted: Collection[LogKind] = (), *, may_be_empty: bool = False) -> Iterator[Input]:
    """The files that `path` stands for, in order.

    A directory stands for its segments; where they do not begin at offset 0, its newest complete checkpoint comes first. A
    folder stands for the `wanted` logs below it; where none is wanted more than others, for its metadata log, or where there is none, for
    all whose records are known.
    Errors: UsageError for one without any, or in whose logs no batch was ever written, unless it `may_be_empty`.
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
    """Where the logs lie that a directory stands for."""
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
    """A listed file of a directory as an input."""
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
    """The logs that a run wants of a folder: that of its decoder, or those that have the wanted types; empty where it says nothing."""
    decoder = options.decoder
    if decoder != "classes":
        return (decoder,)
    if not options.types:
        return ()

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
            raise other_log_fault(label, log, decoder)
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
    logs = logs_with_types(types)
    if log in logs:
        return log
    if log is None and len(logs) == 1:
        return logs[0]
    if log is None:
        raise UsageError(f"{label}: what its records are is not known: --type needs a decoder here", label)
    raise UsageError(f"{label}: {log_name_of(log)} has no record type {', '.join(types)}", label)


def type_names(log: LogKind) -> dict[int, str]:
    """The record types of a log by number; none of a topic's."""
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
    """The words of `--type`, which may have commas between."""
    return [part.strip() for words in types for part in words.split(",")]


def is_any_logs(word: str) -> bool:
    """Whether a word is of no log in particular: a number, or the name of a type that nobody knows."""
    return record_number(word) is not None or control_number(word) is not None


def record_number(word: str) -> int | None:
    """The record type that is given as a number, or as the name that is printed of a type that nobody knows: `UNKNOWN_RECORD_63`."""
    return _number(word, "(?:UNKNOWN_RECORD_)?")


def control_number(word: str) -> int | None:
    """The type of control record of a name such as `UNKNOWN_CONTROL_9`."""
    return _number(word, "UNKNOWN_CONTROL_")


def _number(word: str, before: str) -> int | None:
    found = re.fullmatch(rf"{before}(-?[0-9]{{1,9}})", word, re.IGNORECASE | re.ASCII)
    return None if found is None else int(found[1])


def plain_type(name: str) -> str:
    """A type's name in the form in which spellings are compared: `PARTITION_RECORD`, `PartitionRecord`, `partition`."""
    plain = name.replace("_", "").replace("-", "").lower()
    return plain.removesuffix("record")


def unknown_type(word: str, names: Collection[str]) -> UsageError:
    """The complaint about a name that is no type's, and which one may be meant."""
    from difflib import get_close_matches

    # A word may be near a name as it stands (TOPIC_RECORDS) or without what all names share (partion).
    all_names = (*CONTROL_TYPE_NAMES.values(), *names)
    known = {plain_type(name): name for name in all_names} | {name.lower(): name for name in all_names}
    near = get_close_matches(word.lower(), known, n=1) or get_close_matches(plain_type(word), known, n=1)
    return UsageError(f"--type: {word!r} is no record type{f' (did you mean {known[near[0]]}?)' if near else ''}", word)


_LOOK_BYTES = 1 << 20
_LOOKED_AT_MAX = 16


def holds_user_data(file: OpenFile, label: str, key: bytes | None, value: bytes | None) -> bool:
    """Whether it does. A stream cannot be looked into once it is being read: there the first record, `key` and `value`, decides."""
    with suppress(UsageError):  # a stream, or a file that is gone by now
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
    """Whether a stream that nothing was read from begins as only the metadata log does, such as with a leader's record."""
    return file.size() is None and content_of_file(file).kind == METADATA


def _is_user_record(key: bytes | None, value: bytes | None) -> bool:
    """Whether the first record of a log shows that it is not the metadata log."""
    if key is not None or not value:
        return True
    try:
        return read_metadata_record(value).message is None
    except FrameError:
        return True


OFFSET_MAX = (1 << 63) - 1


class Filters:
    """The filters of one run.

    `types` are the numbers of wanted record types of the log and `control_types` those of control records, None for all.
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
        """Whether a batch can hold a record that is wanted."""
        if header.last_offset < self.first_offset or header.base_offset > self.last_offset:
            return False
        if header.max_timestamp < self.since_ms:
            return False
        return not (_has_one_time(header) and header.max_timestamp > self.until_ms)

    def wants_all(self, header: BatchHeader) -> bool:
        """Whether offsets and times alone let every record of a batch pass."""
        if header.base_offset < self.first_offset or header.last_offset > self.last_offset:
            return False
        return _has_one_time(header) and self.since_ms <= header.max_timestamp <= self.until_ms

    def wants_place(self, offset: int, timestamp: int) -> bool:
        """Whether a record's offset and timestamp let it pass."""
        return self.first_offset <= offset <= self.last_offset and self.since_ms <= timestamp <= self.until_ms

    def wants_type(self, type_id: int | None) -> bool:
        return self.types is None or type_id in self.types

    def wants_control(self, type_id: int | None) -> bool:
        return self.control_types is None or type_id in self.control_types

    def wants_text(self, key: str | None, value: str | None) -> bool:
        """Whether the printed key and value match the patterns; what is missing matches none."""
        if self.key is not None and (key is None or self.key.search(key) is None):
            return False
        return self.value is None or (value is not None and self.value.search(value) is not None)


def _has_one_time(header: BatchHeader) -> bool:
    return bool(header.attributes & LOG_APPEND_TIME) or header.base_timestamp == header.max_timestamp


def _wanted_types(options: DumpOptions) -> tuple[frozenset[int], frozenset[int]]:
    """The record types and the control record types that the words name, of the log that is decoded.

    A number is a record type, and so is the name that is printed of an unknown one.
    Errors: UsageError for a name that no log has, or with one log only, that it has not.
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
