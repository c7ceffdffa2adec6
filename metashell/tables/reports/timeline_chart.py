"""The rows of the timeline as a picture: lanes for the quorum, each broker, storms, features and configurations above one axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from metashell.common.forms import counted
from metashell.common.html_page import html_text
from metashell.common.values import duration_text
from metashell.tables.reports.catalog import CLUSTER, datetime_of, second_text, unix_ms

BROKERS_MAX: Final = 60
_PARTS: Final = 400
"""Bars that lie closer together than this part of the whole time are drawn as one, in the colour of the worst."""
_SAID_MAX: Final = 5
_LABEL_SHARE: Final = 0.18
"""A bar that takes this share of its lane has room for what it says."""
_TICKS: Final = 6
_COLORS: Final = {"active": "s2", "shutting down": "s1", "fenced": "s3", "ISR storm": "s3", "feature": "s4", "config": "s6"}
_BADNESS: Final = {"active": 0, "shutting down": 1, "fenced": 2}
_LEADERS: Final = ("s0", "s5", "s4")
"""Colours on which a label can be read."""

Row = dict[str, Any]


class Bar(NamedTuple):
    """Something in a lane; times are Unix milliseconds, and equal ones are a moment."""

    from_ms: int
    to_ms: int
    css: str
    badness: int
    says: str
    label: str = ""


def timeline_charts(rows: list[Row]) -> Iterator[str]:
    """Yield the pictures of all clusters that the rows are about."""
    clusters = sorted({row[CLUSTER] or "" for row in rows})
    for cluster in clusters:
        if len(clusters) > 1:
            yield f"<p>Cluster {html_text(cluster)}</p>\n"
        yield from _picture([row for row in rows if (row[CLUSTER] or "") == cluster])


def span_ms(rows: Iterable[Row]) -> tuple[int, int]:
    """Return the time that the rows span."""
    times = [unix_ms(row["started_at"]) for row in rows if row["started_at"] is not None]
    ends = [unix_ms(row["ended_at"]) for row in rows if row["ended_at"] is not None]
    open_ends = [unix_ms(row["started_at"]) + row["lasted_ms"] for row in rows if row["is_open"] and row["lasted_ms"] is not None]
    return (min((*times, *ends), default=0), max((*times, *ends, *open_ends), default=0))


def _picture(rows: list[Row]) -> Iterator[str]:
    first_ms, last_ms = span_ms(rows)
    last_ms = max(last_ms, first_ms + 1)
    by_lane: dict[tuple[int, int, str], list[Bar]] = defaultdict(list)
    leaders = {name: number for number, name in enumerate(sorted({row["subject"] for row in rows if row["kind"] == "election"}))}
    for row in sorted(rows, key=lambda row: row["log_offset"]):
        by_lane[_lane_of(row)].append(_bar(row, first_ms, last_ms, leaders))
    names, left_out = _chosen(by_lane)
    yield '<div class="lanes">\n'
    for name in names:
        inside = "".join(_drawn(bar, first_ms, last_ms) for bar in _merged(by_lane[name], first_ms, last_ms))
        yield f'<span class="name">{html_text(name[2])}</span><span class="track">{inside}</span>\n'
    yield _time_axis(first_ms, last_ms)
    yield "</div>\n"
    used = {bar.css for name in names for bar in by_lane[name] if name[0] in (1, 2)}
    shown_kinds = [kind for kind in ("active", "shutting down", "fenced") if _COLORS[kind] in used]
    items = "".join(f'<li><span class="{_COLORS[kind]}"></span>{kind}</li>' for kind in shown_kinds)
    yield f'<ul class="legend">{items}</ul>\n' if items else ""
    if left_out:
        yield f'<p class="faint">and {counted(left_out, "more broker")}, of which less is told</p>\n'
    yield f'<p class="faint">From {_at(first_ms)} to {_at(last_ms)}, {duration_text(last_ms - first_ms)}; times are UTC.</p>\n'


def _lane_of(row: Row) -> tuple[int, int, str]:
    """Return a row's lane, so that lanes sort: the quorum, brokers by id, then all others."""
    if row["kind"] == "broker":
        number = row["subject"].removeprefix("broker ")
        return (1, int(number) if number.isdigit() else 0, row["subject"])
    place, name = {"election": (0, "leader"), "ISR storm": (2, "ISR storms"), "feature": (3, "features")}.get(row["kind"], (4, "configs"))
    return (place, 0, name)


def _chosen(by_lane: dict[tuple[int, int, str], list[Bar]]) -> tuple[list[tuple[int, int, str]], int]:
    """Return the lanes that are drawn, and how many brokers are not: those with the fewest events."""
    brokers = sorted((name for name in by_lane if name[0] == 1), key=lambda name: (-len(by_lane[name]), name))
    dropped = set(brokers[BROKERS_MAX:])
    return sorted(name for name in by_lane if name not in dropped), len(dropped)


def _bar(row: Row, first_ms: int, last_ms: int, leaders: dict[str, int]) -> Bar:
    kind, event = row["kind"], row["event"]
    start = None if row["started_at"] is None else unix_ms(row["started_at"])
    end = last_ms if row["is_open"] else start if row["ended_at"] is None else unix_ms(row["ended_at"])
    says = f"{row['subject']}: {event}, {_at(start) if start is not None else 'before the log'}"
    if row["lasted_ms"] is not None:
        says += f", {duration_text(row['lasted_ms'])}" + (" so far" if row["is_open"] else "")
    if kind == "election":
        css, label = _LEADERS[leaders[row["subject"]] % len(_LEADERS)], row["subject"]
    else:
        css, label = _COLORS.get(event, _COLORS.get(kind, "s7")), ""
    return Bar(first_ms if start is None else start, first_ms if end is None else end, css, _BADNESS.get(event, 0), says, label)


def _merged(bars: list[Bar], first_ms: int, last_ms: int) -> list[Bar]:
    """Return the bars in order of time, where those that would lie on each other are one."""
    part = (last_ms - first_ms) / _PARTS
    found: list[Bar] = []
    says: list[list[str]] = []
    for bar in sorted(bars, key=lambda bar: (bar.from_ms, bar.to_ms)):
        short = bar.to_ms - bar.from_ms < part
        if found and short and bar.from_ms - found[-1].from_ms < part and found[-1].to_ms - found[-1].from_ms < part:
            before = found[-1]
            css = bar.css if bar.badness > before.badness else before.css
            found[-1] = before._replace(to_ms=max(before.to_ms, bar.to_ms), css=css, badness=max(bar.badness, before.badness), label="")
            says[-1].append(bar.says)
        else:
            found.append(bar)
            says.append([bar.says])
    return [bar._replace(says=_together(texts)) for bar, texts in zip(found, says, strict=True)]


def _together(says: list[str]) -> str:
    more = len(says) - _SAID_MAX
    return "; ".join(says[:_SAID_MAX]) + (f"; and {more} more" if more > 0 else "")


def _drawn(bar: Bar, first_ms: int, last_ms: int) -> str:
    whole = last_ms - first_ms
    left, width = 100 * (bar.from_ms - first_ms) / whole, 100 * max(bar.to_ms - bar.from_ms, 0) / whole
    label = f"<b>{html_text(bar.label)}</b>" if bar.label and width >= 100 * _LABEL_SHARE else ""
    return f'<i class="{bar.css}" style="left:{min(left, 99.5):.2f}%;width:{width:.2f}%" title="{html_text(bar.says)}">{label}</i>'


def _time_axis(first_ms: int, last_ms: int) -> str:
    step = (last_ms - first_ms) / (_TICKS - 1)
    form = time_form(first_ms / 1000, last_ms / 1000, step / 1000)
    labels = [datetime_of(first_ms + step * number).strftime(form) for number in range(_TICKS)]
    return draw_axis(labels, [number / (_TICKS - 1) for number in range(_TICKS)])


def _at(ms: int) -> str:
    return second_text(datetime_of(ms))


# ---- the axis

_LABELS: Final = 6
"""The most labels along an axis."""
_NARROW_SHARE: Final = 0.5
"""A narrow screen shows only labels that are this share of the axis from the one before."""
_EDGE: Final = 0.12
"""A label this near to an end of its axis keeps inside."""


def draw_axis(labels: list[str], places: list[float]) -> str:
    """Draw an axis with some of the labels at their places, from 0 to 1; they are in order."""
    step = max(1, -(-(len(labels) - 1) // (_LABELS - 1)))
    marks = []
    last = -1.0
    for at in range(0, len(labels), step):
        is_minor = places[at] - last < _NARROW_SHARE - 1e-9
        last = last if is_minor else places[at]
        marks.append(_mark(labels[at], places[at], is_minor=is_minor))
    return f'<div class="x">{"".join(marks)}</div>\n'


def _mark(label: str, place: float, *, is_minor: bool) -> str:
    edge = ["first"] if place < _EDGE else ["last"] if place > 1 - _EDGE else []
    css = " ".join([*(["minor"] if is_minor else []), *edge])
    of_class = f' class="{css}"' if css else ""
    return f'<span{of_class} style="left:{100 * place:.2f}%">{html_text(label)}</span>'


def time_form(first_s: float, last_s: float, step_s: float) -> str:
    """Return the form of times along an axis: no more than tells them apart."""
    if step_s >= 86400:
        return "%Y-%m-%d"
    if step_s < 60:
        return "%H:%M:%S"
    return "%H:%M" if first_s // 86400 == last_s // 86400 else "%m-%d %H:%M"
