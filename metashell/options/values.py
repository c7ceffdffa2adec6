"""From an operator's word to a value, by the type that an option or argument declares.

Errors: UsageError whose message begins with the value at fault.
"""

import re
from typing import TYPE_CHECKING

from metashell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OffsetRange = tuple[int | None, int | None]

DECODERS = ("String", "Integer", "Long", "Default")
_DECODER_PACKAGE = "org.apache.kafka.tools.api."
_SIZE_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TOO_LARGE = 1 << 63
_INT64_DIGITS = 19
_SHOWN_DIGITS = 40
_YEARS_AGO_MAX = 100


def convert(type_name: str, text: str, choices: "Sequence[str]" = ()) -> object:
    """The value of `text` for a declared type."""
    if type_name in ("choice", "optional-choice"):
        return choice(text, choices)
    if type_name == "optional-int":
        return text if text in choices and not text.isdigit() else whole_number(text)
    return _CONVERTERS[type_name](text)


def did_you_mean(word: str, known: "Sequence[str]") -> str:
    """` (did you mean --files?)` when a known word is near, else nothing."""
    from difflib import get_close_matches

    # Dashes are alike in all options, and say nothing about which was meant.
    bare = {name.lstrip("-"): name for name in known}
    near = get_close_matches(word.lstrip("-"), bare, n=1)
    return f" (did you mean {bare[near[0]]}?)" if near else ""


def choice(text: str, choices: "Sequence[str]") -> str:
    """One of `choices`."""
    if text in choices:
        return text
    raise UsageError(f"{text!r} is not one of {', '.join(choices)}{did_you_mean(text, choices)}", text)


def decoder_class(text: str) -> str:
    """Kafka's name of one of its decoder classes, of which the last part is enough: `Integer` or `IntegerDecoder`."""
    kind = text.removeprefix(_DECODER_PACKAGE).removesuffix("Decoder")
    if kind not in DECODERS:
        raise UsageError(f"{text!r} is not one of {', '.join(DECODERS)}", text)
    return f"{_DECODER_PACKAGE}{kind}Decoder"


def whole_number(text: str) -> int:
    """A number of things: 0 or more."""
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{text!r} is not a whole number", text)
    return _int64(text)


def integer(text: str) -> int:
    """A number of either sign."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise UsageError(f"{text!r} is not a whole number", text)
    return _int64(text)


def _int64(digits: str, factor: int = 1) -> int:
    """A number that what counts, cuts or seeks by it can hold; Python's own numbers have no such end. Errors: UsageError."""
    # int() refuses thousands of digits with an error of its own.
    number = int(digits) * factor if len(digits.lstrip("+-0")) <= _INT64_DIGITS else _TOO_LARGE
    if not -_TOO_LARGE <= number < _TOO_LARGE:
        shown = digits if len(digits) <= _SHOWN_DIGITS else f"{digits[:_SHOWN_DIGITS]}..."
        raise UsageError(f"{shown!r} is too large a number", digits)
    return number


def int32(text: str) -> int:
    """A number that fits Java's int.

    Source: java.lang.Integer.valueOf.
    """
    number = integer(text)
    if not -(1 << 31) <= number < 1 << 31:
        raise UsageError(f"{text!r} does not fit in 32 bits", text)
    return number


def java_integer(text: str) -> int:
    """The same, refused in the words of Kafka's tools."""
    try:
        return int32(text)
    except UsageError:
        raise UsageError(f"could not convert '{text}' to Integer (For input string: \"{text}\")", text) from None


def size(text: str) -> int:
    """A number of bytes: `5242880`, `64k`, `128M`, `128MiB`, `1g`."""
    match = re.fullmatch(r"([0-9]+)\s*([kmg]?)(?:i?b)?", text.lower())
    if match is None:
        raise UsageError(f"{text!r} is not a size such as 5242880, 64k or 128M", text)
    return _int64(match[1], _SIZE_UNITS[match[2]])


def offset_range(text: str) -> OffsetRange:
    """The offsets of `FROM..TO`, both inclusive; a missing side is None, a single number is both."""
    first, dots, last = text.partition("..")
    if not dots:
        number = _range_end(first, text)
        return number, number
    if not first and not last:
        raise UsageError(f"{text!r} is not a range such as 7..42, 7.. or ..42", text)
    low = _range_end(first, text) if first else None
    high = _range_end(last, text) if last else None
    if low is not None and high is not None and low > high:
        raise UsageError(f"{text!r} is an empty range", text)
    return low, high


def _range_end(part: str, text: str) -> int:
    if not part.isascii() or not part.isdigit():
        raise UsageError(f"{text!r} is not a range such as 7..42, 7.. or ..42", text)
    return _int64(part)


def time_ms(text: str) -> int:
    """Unix milliseconds of a number of milliseconds or of an ISO 8601 time, UTC where no zone is given."""
    if text.isascii() and text.isdigit() and len(text) > 8:
        return _int64(text)
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is not a time such as 2026-11-20T12:00:00Z or Unix milliseconds", text) from None


def past_ms(text: str, now_ms: int | None = None) -> int:
    """Unix milliseconds of a time, or of how long ago it was: `10m` and `-10m` are ten minutes ago.

    Errors: UsageError for what is neither; a time may lie in the future.
    """
    try:
        return time_ms(text)
    except UsageError:
        import time

        from metashell.amounts import duration_ms

        try:
            ago = duration_ms(text.removeprefix("-"), years_max=_YEARS_AGO_MAX)
        except UsageError:
            raise UsageError(f"{text!r} is no time such as 2026-11-20T12:00:00Z, and not how long ago, such as 10m or -2h", text) from None
        return (round(time.time() * 1000) if now_ms is None else now_ms) - ago


def duration(text: str) -> int:
    """Milliseconds of `24h`, `1h30m` or `90s`."""
    from metashell.amounts import duration_ms

    return duration_ms(text)


def regex(text: str) -> re.Pattern[str]:
    """A compiled regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}", text) from None


def page(text: str) -> str:
    """The path of a page, which does not go to standard output: the answer goes there."""
    if text == "-":
        raise UsageError("'-' is no file: the page needs one of its own (./- is a file of this name)", text)
    return text


_CONVERTERS: "dict[str, Callable[[str], object]]" = {
    "str": str,
    "optional-str": str,
    "path": str,
    "page": page,
    "int32": int32,
    "java-integer": java_integer,
    "int": whole_number,
    "integer": integer,
    "size": size,
    "range": offset_range,
    "time": past_ms,
    "duration": duration,
    "regex": regex,
    "decoder-class": decoder_class,
}
