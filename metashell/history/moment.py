"""A moment in a log as people write it: an offset, a time, a time ago, or the end."""

from __future__ import annotations

from typing import NamedTuple

from metashell.errors import UsageError
from metashell.options.values import past_ms

END = "end"


class Moment(NamedTuple):
    """An offset, or a time in Unix milliseconds; the end of the log where both are None."""

    text: str
    offset: int | None = None
    time_ms: int | None = None

    @property
    def is_end(self) -> bool:
        return self.offset is None and self.time_ms is None


def parse_moment(text: str, now_ms: int) -> Moment:
    """The moment that `120400`, `2026-11-20T03:00`, `2026-11-20`, `-2h`, `2h` or `end` names; UTC where no zone is given.

    Shape: an offset stands for the state before the record of that offset, as the name of a checkpoint does.
    Errors: UsageError for anything else, and for a time that has not come.
    """
    word = text.strip()
    if word == END:
        return Moment(text)
    if word.isascii() and word.isdigit() and len(word) < 20:
        return Moment(text, offset=int(word))
    try:
        moment = past_ms(word, now_ms)
    except UsageError:
        raise UsageError(f"{text!r} is no moment: an offset, a time such as 2026-11-20T03:00, -2h, or end", text) from None
    if moment > now_ms:
        raise UsageError(f"{text!r} has not come yet", text)
    return Moment(text, time_ms=moment)
