"""Names: of nodes in both voices, of fields, and Java's forms of text.

Kafka's voice uses texts unchanged. Our own percent-escapes what a path cannot hold or a terminal must not get: `%`, `/`, control,
bidirectional and invisible characters, and the names `.` and `..` (`%2E`, `%2E%2E`). The empty name is a lone `%`. Every escaped name
stands for exactly one text.

Fields have Kafka's own names in `cat` and `-o json` (`addingReplicas`), and snake_case in SQL and `ls -l`. Where somebody types a field
(--where, --sort), both spellings work."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from metashell.codec.schema import snake_case
from metashell.common.terminal import UNSAFE_CHARACTERS

DEFAULT_ENTITY = "<default>"
"""The name of the default entity of quotas and configs in metashell's own output."""

EMPTY_NAME = "%"

_UNSAFE = f"%/\t\n{UNSAFE_CHARACTERS}"
# Patterns as texts, which re compiles at their first use: most commands start and end without any of them.
_ESCAPED = f"[{_UNSAFE}]"
_ESCAPED_IN_ENTITY = f"[{_UNSAFE}()\\\\]"
_ESCAPE_RUN = "(?:%[0-9A-Fa-f]{2})+"
_BEYOND_SURROGATES = "[\ue000-\U0010ffff]"
_UUID_TEXT = "[A-Za-z0-9_-]{22}(?:==)?"


def name_escape(text: str) -> str:
    """The own voice's path component for a text; `name_unescape` gives the text back."""
    if text in (".", ".."):
        return "%2E" * len(text)
    if text.isascii() and text.isprintable() and "%" not in text and "/" not in text:
        return text or EMPTY_NAME
    return re.sub(_ESCAPED, _percent, text)


def name_unescape(name: str) -> str:
    """The text of a path component of the own voice; any character may be escaped."""
    if name == EMPTY_NAME:
        return ""
    return re.sub(_ESCAPE_RUN, _unpercent, name) if "%" in name else name


def entity_escape(text: str | None) -> str:
    """The component for the name of an entity, `<default>` for the default one (None); a literal `<default>` is escaped."""
    if text is None:
        return DEFAULT_ENTITY
    return "%3Cdefault%3E" if text == DEFAULT_ENTITY else name_escape(text)


def entity_unescape(name: str) -> str | None:
    """The entity's name for a component, None for the default entity."""
    return None if name == DEFAULT_ENTITY else name_unescape(name)


def part_escape(text: str | None) -> str:
    """A text for the parentheses of a quota entity's name, with parentheses and backslashes escaped."""
    if text is None:
        return DEFAULT_ENTITY
    if text == DEFAULT_ENTITY:
        return "%3Cdefault%3E"
    return re.sub(_ESCAPED_IN_ENTITY, _percent, text)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _unpercent(match: re.Match[str]) -> str:
    raw = bytes.fromhex(match.group().replace("%", ""))
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return match.group()


class NameStyle(NamedTuple):
    """A voice's way with names: `show` makes a component of a text, `parse` the text of a component."""

    show: Callable[[str], str]
    parse: Callable[[str], str]


def _same(text: str) -> str:
    return text


KAFKA_NAMES = NameStyle(_same, _same)
OWN_NAMES = NameStyle(name_escape, name_unescape)


# ---- Java's order and forms of text


def utf16_key(text: str) -> bytes:
    """A key that orders texts by UTF-16 code units, as Java does."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_names(names: Iterable[str]) -> list[str]:
    """The names in Java's order of text.

    Code points and UTF-16 units differ in order only where a text has characters from U+E000 on, so that
    the usual names are sorted without a key.
    """
    result = list(names)
    joined = "".join(result)
    if joined.isascii() or not re.search(_BEYOND_SURROGATES, joined):
        result.sort()
    else:
        result.sort(key=utf16_key)
    return result


def is_uuid_text(name: str) -> bool:
    """Return whether Java's Uuid.fromString reads the name as 16 bytes: 22 base64url characters, padded or not."""
    return re.fullmatch(_UUID_TEXT, name) is not None


_INT = r"[+-]?\d+"
_SECONDS_A_DAY = 86_400
_DAYS_TO_1970 = 719_468
"""Days from 0000-03-01, where the counting of eras starts, to 1970-01-01."""


def parse_int(text: str) -> int | None:
    """The number that Java's Integer.parseInt reads, None where it throws.

    Shape: an optional sign and decimal digits of any script in the basic plane; 32 bits; no blanks.
    """
    if not re.fullmatch(_INT, text) or max(text) > "\uffff":
        return None
    digits = text.lstrip("+-0") or "0"
    if len(digits) > 10:
        return None
    # int() reads the digits of every script, as Java does.
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -(1 << 31) <= number < 1 << 31 else None


def double_text(value: float) -> str:
    """Java's Double.toString: always a fraction, an exponent from 1E7 on and below 1E-3.

    The digits are the shortest that read back; JDK 17 prints more of them for a few values from 1E17 on.
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return _plain(value)
    mantissa, _, exponent = f"{_shortest_scientific(value)}".partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _plain(value: float) -> str:
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
    return f"{sign}0.{'0' * (-int(exponent) - 1)}{digits.replace('.', '')}"


def _shortest_scientific(value: float) -> str:
    text = repr(value)
    if "e" in text:
        return text
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text)
    whole, _, fraction = digits.partition(".")
    if whole.strip("0"):
        exponent = len(whole) - 1
        significant = (whole + fraction).rstrip("0")
    else:
        exponent = len(fraction.lstrip("0")) - len(fraction) - 1
        significant = fraction.strip("0")
    return f"{sign}{significant[0]}.{significant[1:] or '0'}e{exponent}"


def bool_text(value: bool) -> str:
    """`true` or `false`."""
    return "true" if value else "false"


def list_text(items: Iterable[object]) -> str:
    """`[a, b]`."""
    return f"[{', '.join(map(str, items))}]"


def optional_text(value: object | None) -> str:
    """`Optional[value]`, or `Optional.empty` for None."""
    return "Optional.empty" if value is None else f"Optional[{value}]"


def version_range_text(low: int, high: int) -> str:
    """Kafka's VersionRange: `n`, `n+` for an open end (32767), else `low-high`."""
    if low == high:
        return str(low)
    return f"{low}+" if high == 32767 else f"{low}-{high}"


def utc_time_text(timestamp_ms: int) -> str:
    """ISO_ZONED_DATE_TIME of an instant in zone UTC: `2026-11-20T12:25:33.44Z[UTC]`.

    Units: milliseconds since 1970, any 64-bit number; the fraction has no trailing zeros and is absent when 0.
    """
    seconds, milliseconds = divmod(timestamp_ms, 1000)
    days, second = divmod(seconds, _SECONDS_A_DAY)
    year, month, day = _civil_date(days)
    fraction = f".{milliseconds:03d}".rstrip("0") if milliseconds else ""
    clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"{_year_text(year)}-{month:02d}-{day:02d}T{clock}{fraction}Z[UTC]"


def _year_text(year: int) -> str:
    if year > 9999:
        return f"+{year}"
    return f"-{-year:04d}" if year < 0 else f"{year:04d}"


def _civil_date(days: int) -> tuple[int, int, int]:
    # Python's dates end in the year 9999, while a hostile timestamp does not: count eras of 400 years from 1 March.
    era, day_of_era = divmod(days + _DAYS_TO_1970, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return era * 400 + year_of_era + (month <= 2), month, day


# ---- names of fields


SYNONYMS: Final = (
    ("partition_id", "partition"),
    ("partition_count", "partitions"),
    ("topic_id", "id"),
    ("epoch", "broker_epoch"),
    ("permission", "permission_type"),
    ("pattern_type", "pattern"),
    ("cordoned_directories", "cordoned_log_dirs"),
    ("directories", "log_dirs"),
    ("is_under_replicated", "under_replicated"),
)
"""The names of one field: first that of the SQL tables, then that of Kafka's record or of `ls -l`."""


@lru_cache(maxsize=256)
def spellings(name: str) -> tuple[str, ...]:
    """Every spelling of a field's name, the one that was given first."""
    plain = snake_case(name)
    group = next((names for names in SYNONYMS if plain in names), (plain,))
    return tuple(dict.fromkeys((name, *(each for one in (plain, *group) for each in (one, camel_case(one))))))


def camel_case(name: str) -> str:
    """The name that Kafka's JSON has: `adding_replicas` is `addingReplicas`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
