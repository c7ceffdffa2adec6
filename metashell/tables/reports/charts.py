"""Charts as HTML that stands inside a page: areas are SVG without text, which stretches; labels are text, which does not.

The rows of the timeline are lanes for the quorum, each broker, storms, features and configurations above one axis.

So a label has one size on every screen, and labels that would not fit a narrow one are left out there (class `minor`). Every text from
data goes through `page.shown`. An answer may have a million rows: a chart draws the few rows that it names, or sums by time and series.

Why no library draws them: pygal and matplotlib make SVG whose labels are inside the picture. Drawn for 960 px, pygal's labels of 11 px
were 4 px high on a telephone of 390 px, names of checkpoints overlapped, and a picture cannot be laid out again without a script, which
our pages forbid. Libraries that can (Vega, Plotly, ECharts) are scripts. pygal also took 85 ms to import and 20 to 30 kB a chart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from metashell.common.forms import counted
from metashell.common.html_page import html_text
from metashell.common.values import duration_text
from metashell.tables.reports.catalog import CLUSTER, Chart, datetime_of, heading, number_text, second_text, unix_ms

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


COLORS: Final = 8
"""The number of series with a colour of their own; further ones are summed as `other`."""
BARS_MAX: Final = 60
_LONGEST_MAX: Final = 20
_LABEL_MAX: Final = 60
_Y_STEPS: Final = 5
_BAR_SHARE: Final = 0.06
"""No bar over time is wider than this share of its chart."""
_CHECKPOINT: Final = re.compile(r"0*([0-9]+)-0*([0-9]+)\.checkpoint")

Points = dict[str, dict[Any, float]]


def draw_chart(chart: Chart, table: pa.Table) -> str | None:
    """Return the HTML of a chart; None where no row takes part."""
    table = rows_of_chart(chart, table)
    drawn = "".join(_DRAWERS[chart.kind](chart, table)) if table.num_rows else ""
    return f"<figure>\n<figcaption>{html_text(chart.title)}</figcaption>\n{drawn}</figure>\n" if drawn else None


# ---- bars beside each other


def _longest(chart: Chart, table: pa.Table) -> Iterator[str]:
    column = chart.values[0]
    ranked = longest_rows(chart, table, _LONGEST_MAX)
    bars = []
    for row in ranked:
        name = _short(_name(chart.x, row))
        bars.append((name, [("s1" if _is_open(chart, row) else "s0", row[column])]))
    yield from _bars(column, bars)
    open_count = sum(_is_open(chart, row) for row in ranked)
    if open_count:
        yield _legend(["open", "ended"] if open_count < len(ranked) else ["open"], ["s1", "s0"])


def _is_open(chart: Chart, row: Row) -> bool:
    return chart.open is not None and row[chart.open[0]] == chart.open[1]


def _stacked(chart: Chart, table: pa.Table) -> Iterator[str]:
    rows = summed_rows(chart, table)
    points = _summed(chart, rows, _short_key)
    series = _largest(points)
    keys = sorted({(row[chart.x[0]]) for row in rows})[-_LONGEST_MAX:]
    shares = (
        (_short_key(key), [(f"s{number}", found.get(_short_key(key), 0)) for number, (_, found) in enumerate(series)]) for key in keys
    )
    yield from _bars(chart.values[0], shares)
    yield _legend([name for name, _ in series])


def _bars(column: str, bars: Iterable[tuple[str, list[tuple[str, float]]]]) -> Iterator[str]:
    """Bars of parts, each with its name before and its sum behind it."""
    drawn = list(bars)
    most = max((sum(value for _, value in parts) for _, parts in drawn), default=0)
    if most <= 0:
        return
    yield '<ul class="bars">\n'
    for name, parts in drawn:
        inner = "".join(f'<i class="{css}" style="width:{100 * value / most:.2f}%"></i>' for css, value in parts if value)
        total = number_text(column, sum(value for _, value in parts))
        yield f'<li><span class="name">{html_text(name)}</span><span class="track">{inner}</span><span class="value">{total}</span></li>\n'
    yield "</ul>\n"


# ---- over time


def _over_time(chart: Chart, table: pa.Table) -> Iterator[str]:
    first_ms, last_ms = times_of(chart, table)
    labels, start_s, step_s = _steps(first_ms // 1000, last_ms // 1000, step_min=3600 if chart.x[0] == "hour" else 1)
    is_line = chart.kind == "lines over time"
    points = _summed(chart, summed_rows(chart, table, start_s, step_s, largest=is_line), int, largest=is_line)
    series = _ranked(points)[:COLORS] if is_line else _largest(points)
    if not series:
        return
    yield f'<p class="when">{_days(first_ms, last_ms)}</p>\n'
    column = chart.values[0] if chart.values else ""
    top = max(max(found.values()) for _, found in series) if is_line else _highest_stack(points)
    ticks = _ticks(top)
    yield '<div class="plot">\n<div class="y">' + "".join(f"<span>{number_text(column, tick)}</span>" for tick in ticks) + "</div>\n"
    yield f'<div class="area"><svg viewBox="0 0 {len(labels)} 1" preserveAspectRatio="none" role="img" '
    yield f'aria-label="{html_text(chart.title)}">\n'
    yield "".join(f'<line x1="0" x2="{len(labels)}" y1="{y:.4g}" y2="{y:.4g}"/>' for tick in ticks for y in (1 - tick / ticks[-1],))
    drawer = _line_marks if is_line else _bar_marks
    yield from drawer(series, labels, ticks[-1], column)
    yield "\n</svg></div>\n" + draw_axis(labels, [(at + 0.5) / len(labels) for at in range(len(labels))]) + "</div>\n"
    if chart.series or len(series) > 1:
        yield _legend([name for name, _ in series])
    if len(series) < len(points) and is_line:
        yield f'<p class="when">and {len(points) - len(series)} more, which are lower, are not drawn</p>\n'


def _days(first_ms: int, last_ms: int) -> str:
    """Return the days that a chart is about, which its axis may not show."""
    first, last = datetime_of(first_ms).strftime("%Y-%m-%d"), datetime_of(last_ms).strftime("%Y-%m-%d")
    return f"{first}, UTC" if first == last else f"{first} to {last}, UTC"


def _bar_marks(series: list[tuple[str, dict[Any, float]]], labels: list[str], top: float, column: str) -> Iterator[str]:
    width = min(0.8, _BAR_SHARE * len(labels))
    heights: dict[int, float] = defaultdict(float)
    for number, (name, found) in enumerate(series):
        for at, value in sorted(found.items()):
            if value:
                heights[at] += value
                place = f'x="{at + 0.5 - width / 2:.4g}" y="{1 - heights[at] / top:.4g}" width="{width:.4g}" height="{value / top:.4g}"'
                says = f"{labels[at]}: {name} {number_text(column, value)}"
                yield f'<rect class="s{number}" {place}><title>{html_text(says)}</title></rect>\n'


def _line_marks(series: list[tuple[str, dict[Any, float]]], labels: list[str], top: float, column: str) -> Iterator[str]:
    for number, (name, found) in enumerate(series):
        places = [(at + 0.5, 1 - value / top, at, value) for at, value in sorted(found.items())]
        yield f'<g class="s{number}"><path d="M{" L".join(f"{x:g} {y:.4g}" for x, y, _, _ in places)}"/>'
        for x, y, at, value in places:
            says = f"{labels[at]}: {name} {number_text(column, value)}"
            yield f'<path class="dot" d="M{x:g} {y:.4g}h0"><title>{html_text(says)}</title></path>'
        yield "</g>\n"


def _legend(names: list[str], classes: list[str] | None = None) -> str:
    colors = classes or [f"s{number}" for number in range(len(names))]
    items = "".join(f'<li><span class="{css}"></span>{html_text(_short(name))}</li>' for css, name in zip(colors, names, strict=False))
    return f'<ul class="legend">{items}</ul>\n'


# ---- sums, buckets, steps


def _summed(chart: Chart, rows: list[Row], key: Callable[[Any], Any], *, largest: bool = False) -> Points:
    """Return the values of each series by key: their sums, or the largest of each; `rows` are those of `summed_rows`."""
    points: Points = defaultdict(lambda: defaultdict(float))
    for row in rows:
        at = key(row[chart.x[0]])
        for series, value in _values(chart, row):
            points[series][at] = max(points[series][at], value) if largest else points[series][at] + value
    return {series: found for series, found in points.items() if any(found.values())}


def _values(chart: Chart, row: Row) -> list[tuple[str, float]]:
    """Return the series that a row adds to, and how much; a chart without values counts rows."""
    if chart.series:
        name = _name(chart.series, row)
        return [(name, row[chart.values[0]] or 0 if chart.values else row[COUNT])]
    return [(heading(value), row[value] or 0) for value in chart.values]


def _name(columns: Sequence[str], row: Row) -> str:
    """Return a row's name, made of some of its columns: `orders/1`, `broker 5, broker epoch 367`."""
    values = [row[column] for column in columns]
    if isinstance(values[0], str):
        return "/".join(map(str, values))
    named = zip((heading(column).removesuffix(" id") for column in columns), values, strict=True)
    return ", ".join(f"{name} {'unknown' if value is None else value}" for name, value in named)


def _highest_stack(points: Points) -> float:
    sums: dict[Any, float] = defaultdict(float)
    for found in points.values():
        for key, value in found.items():
            sums[key] += value
    return max(sums.values())


def _ranked(points: Points) -> list[tuple[str, dict[Any, float]]]:
    return sorted(points.items(), key=lambda item: (-sum(item[1].values()), item[0]))


def _largest(points: Points) -> list[tuple[str, dict[Any, float]]]:
    ranked = _ranked(points)
    if len(ranked) <= COLORS:
        return ranked
    other: dict[Any, float] = defaultdict(float)
    for _, found in ranked[COLORS - 1 :]:
        for key, value in found.items():
            other[key] += value
    return [*ranked[: COLORS - 1], (f"other ({len(ranked) - COLORS + 1})", other)]


def _ticks(top: float) -> list[float]:
    """Whole numbers at equal steps from 0 to at least `top`; things are counted here."""
    unit = 1
    while True:
        for step in (unit, 2 * unit, 5 * unit):
            if step * _Y_STEPS >= top:
                return [float(step * number) for number in range(-int(-top // step) + 1)]
        unit *= 10


def _steps(first: int, last: int, step_min: int) -> tuple[list[str], int, int]:
    """Return the labels of equal steps of time, the second that the first begins with, and the seconds of each."""
    step = next((size for size in _STEPS_S if size >= step_min and (last - first) / size < BARS_MAX), _STEPS_S[-1])
    start = first // step * step
    form = time_form(first, last, step)
    labels = [datetime_of(1000 * (start + step * number)).strftime(form) for number in range((last - start) // step + 1)]
    return labels, start, step


_STEPS_S: Final = (1, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)


def _short_key(text: str) -> str:
    """Return a checkpoint by its end offset and epoch, without the zeros of its name."""
    found = _CHECKPOINT.fullmatch(text)
    return f"{found[1]}-{found[2]}" if found else _short(text)


def _short(text: str) -> str:
    """Return a label; long ones lose the middle, since partitions differ at the end."""
    half = _LABEL_MAX // 2
    return text if len(text) <= _LABEL_MAX else f"{text[:half]}…{text[-half:]}"


def _lanes(_: Chart, table: pa.Table) -> Iterator[str]:
    return timeline_charts(table.to_pylist())


_DRAWERS: Final[dict[str, Callable[[Chart, pa.Table], Iterator[str]]]] = {
    "bars over time": _over_time,
    "lines over time": _over_time,
    "longest bars": _longest,
    "stacked bars": _stacked,
    "lanes": _lanes,
}


# ---- the rows that a chart draws

COUNT: Final = "rows counted"
"""The column of sums that says how many rows are summed."""


def rows_of_chart(chart: Chart, table: pa.Table) -> pa.Table:
    """Return the rows that take part, with the columns that the chart is about."""
    if chart.kind != "lanes":
        named = (*chart.x, *chart.values, *chart.series, *(name for name, _ in filter(None, (chart.where, chart.open))))
        table = table.select(list(dict.fromkeys(named)))
    if chart.where is not None:
        table = table.filter(compute.equal(table.column(chart.where[0]), chart.where[1]))
    return table if chart.kind == "lanes" else table.filter(table.column(chart.x[0]).is_valid())


def longest_rows(chart: Chart, table: pa.Table, count: int) -> list[dict[str, Any]]:
    """Return the rows with the most `values[0]`, open ones first; equal ones in their order."""
    column = table.column(chart.values[0])
    table = table.filter(compute.fill_null(compute.not_equal(column, 0), False))
    keys = {"size": table.column(chart.values[0])}
    if chart.open is not None:
        keys["open"] = compute.fill_null(compute.equal(table.column(chart.open[0]), chart.open[1]).cast(pa.int8()), 0)
    order = compute.sort_indices(pa.table(keys), sort_keys=[(name, "descending") for name in sorted(keys)])
    rows: list[dict[str, Any]] = table.take(order[:count]).to_pylist()
    return rows


def times_of(chart: Chart, table: pa.Table) -> tuple[int, int]:
    """Return the first and the last time of a chart over time, as Unix milliseconds."""
    found = compute.min_max(as_ms(table.column(chart.x[0])))
    return found["min"].as_py(), found["max"].as_py()


def summed_rows(chart: Chart, table: pa.Table, start_s: int = 0, step_s: int = 0, *, largest: bool = False) -> list[dict[str, Any]]:
    """Return a row for each x and series, with sums or maxima of `values`, and `COUNT`; where a step is given, x is its number."""
    x = table.column(chart.x[0])
    if step_s:
        x = pa.array((as_ms(x).to_numpy() // 1000 - start_s) // step_s, pa.int64())
    by = {chart.x[0]: x, **{name: table.column(name) for name in chart.series}}
    columns = {**by, **{name: table.column(name) for name in chart.values if name not in by}, COUNT: pa.array(np.ones(len(x), np.int64))}
    how = "max" if largest else "sum"
    wanted = [(name, how) for name in chart.values] + [(COUNT, "sum")]
    found = pa.table(columns).group_by(list(by), use_threads=False).aggregate(wanted)
    names = [*by, *chart.values, COUNT]
    found = found.select([*by, *(f"{name}_{kind}" for name, kind in wanted)]).rename_columns(names)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def as_ms(times: pa.ChunkedArray) -> pa.ChunkedArray:
    # An answer's times are whole milliseconds: `local.as_declared` makes them from those.
    return times.cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
