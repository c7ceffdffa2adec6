"""Times and sizes as command lines and plans write them and as answers show them."""

from __future__ import annotations

import re
from typing import Final

from metashell.errors import UsageError

_UNITS_MS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_DURATION: Final = (
    r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m(?!s))?"
    r"(?:([0-9]{1,9}(?:\.[0-9]{1,3})?)s)?(?:([0-9]{1,12})ms)?"
)
_YEAR_MS: Final = 366 * 86_400_000
_CALENDAR_MS: Final = 10_000 * _YEAR_MS
_STEPS: Final = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def duration_ms(text: str, *, years_max: int = 1) -> int:
    """The milliseconds of `90s`, `1.5s`, `2m`, `1h30m`, `250ms` or `0`; at most so many years.

    Errors: UsageError that begins with the text; a number without a unit could mean anything.
    """
    word = text.strip().lower()
    found = re.fullmatch(_DURATION, word) if word else None
    if word == "0":
        return 0
    if found is None or not any(found.groups()):
        raise UsageError(f"{text!r} is not a time such as 90s, 2m, 1h30m or 250ms", text)
    days, hours, minutes, seconds, millis = found.groups()
    total = sum(int(count or 0) * _UNITS_MS[unit] for count, unit in ((days, "d"), (hours, "h"), (minutes, "m"), (millis, "ms")))
    total += round(float(seconds or 0) * 1000)
    if total > years_max * _YEAR_MS:
        raise UsageError(f"{text!r} is longer than {'a year' if years_max == 1 else f'{years_max} years'}", text)
    return total


def duration_text(ms: int) -> str:
    """`250 ms`, `9.3 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`: two units at most, for people.

    What no calendar holds, as a hostile log may claim, stays milliseconds.
    """
    if ms < 1000 or ms > _CALENDAR_MS:
        return f"{ms} ms" if ms else "0 s"
    if ms < 59_950:
        tenths = round(ms / 100)
        return f"{tenths / 10:g} s"
    seconds = round(ms / 1000)
    for size, large, part, small in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size} {large}" + (f" {rest} {small}" if rest else "")
    raise AssertionError(ms)


def duration_word(ms: int) -> str:
    """A time as `duration_ms` reads it: `1h30m`, `90s` as `1m30s`, `250ms`, `0s`."""
    parts = []
    for unit, size in _UNITS_MS.items():
        count, ms = divmod(ms, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def time_text(ms: int) -> str:
    """`2026-11-20T12:25:33.440Z`; the number itself where no calendar has such a day. Units: ms since 1970."""
    from datetime import datetime, timedelta

    try:
        moment = datetime(1970, 1, 1) + timedelta(milliseconds=ms)
    except OverflowError:
        return str(ms)
    return f"{moment.isoformat(timespec='milliseconds')}Z"


def moment_text(ms: int | None) -> str:
    """`2026-11-20T03:12:09Z`, for people: milliseconds only where there are any; `no time` for none, and for the negative ones of logs."""
    return "no time" if ms is None or ms < 0 else time_text(ms).replace(".000Z", "Z")


def clock_text(ms: int) -> str:
    """A moment of a rehearsal: `+0:09.3`, `+12:05.0`, `+1:02:03.4`."""
    tenths = round(ms / 100)
    minutes, tenths = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{tenths / 10:04.1f}"
    return f"+{hours}:{minutes:02d}:{seconds}" if hours else f"+{minutes}:{seconds}"


def size_text(size: int) -> str:
    """`512 B`, `1.5 GB`: powers of ten, as disks and networks are sold."""
    for unit, step in _STEPS:
        if size >= step:
            return f"{size / step:.3g} {unit}" if size < 100 * step else f"{round(size / step)} {unit}"
    return f"{size} B"
