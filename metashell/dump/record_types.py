"""The names of record types: those that each log has, how `--type` spells them, and which logs have a wanted one."""

from __future__ import annotations

import re
from collections.abc import Collection

from metashell.codec.control import CONTROL_TYPE_NAMES
from metashell.codec.frame import RECORD_TYPE_NAMES
from metashell.errors import UsageError
from metashell.log.kinds import DATA, KNOWN_LOGS, METADATA, REMOTE_LOG, LogKind


def type_names(log: LogKind) -> dict[int, str]:
    """The record types of a log by number; none of a topic's."""
    if log == METADATA:
        return RECORD_TYPE_NAMES
    if log == REMOTE_LOG:
        from metashell.codec.dispatch import REMOTE_LOG_TYPES
        from metashell.codec.record_text import remote_log_type_name

        return {type: remote_log_type_name(type) for type in REMOTE_LOG_TYPES}
    if log == DATA:
        return {}
    from metashell.codec.coordinator_text import coordinator_type_names

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
