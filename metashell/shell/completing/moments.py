"""Moments that say something about a source: times at which it has records, and the offsets of its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.amounts import moment_text
from metashell.errors import MetashellError
from metashell.shell.looking_back import now_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.shell.context import Context

_MINUTE_MS: Final = 60_000
_AGES: Final = (("10m", "ten minutes", 10 * _MINUTE_MS), ("1h", "an hour", 60 * _MINUTE_MS), ("1d", "a day", 1440 * _MINUTE_MS))
_STARTS_MAX: Final = 4
"""So many checkpoints are opened, the newest ones."""


def moments(ctx: Context) -> Mapping[str, str]:
    """Words for moments, each with what it is.

    Shape: a time ago is offered where there are newer records; else the log ended before it, and the time is counted back from its end.
    """
    position = (ctx.present or ctx.image).provenance
    newest, now = position.timestamp_ms, now_ms()
    starts = _starts(ctx)
    oldest = starts[0][1] if starts else newest
    found = {"end": "the newest state"}
    if newest >= 0 and newest <= now - _AGES[0][2]:
        found[moment_text(newest)] = "the newest record"
    for word, about, age in _AGES:
        if newest > now - age:
            found[f"-{word}"] = f"{about} ago"
        elif oldest < newest - age:
            found[moment_text(newest - age)] = f"{about} before the newest record"
    found[str(position.end_offset)] = "the end offset of what is shown"
    for offset, time in reversed(starts):
        what = "a checkpoint" if offset else "the beginning"
        found.setdefault(str(offset), f"{what}, {moment_text(time)}")
    return found


def _starts(ctx: Context) -> list[tuple[int, int]]:
    """Where an image can begin, with the time of the first record from there on; nothing of a quorum, which would have to be asked."""
    if ctx.past is None or (ctx.feed is not None and ctx.feed.is_live):
        return []
    try:
        return ctx.past().times(_STARTS_MAX)
    except (MetashellError, OSError):
        return []
