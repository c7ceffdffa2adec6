"""The text forms of Java that Kafka's shell prints: numbers, lists, Optionals, ranges, instants."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
