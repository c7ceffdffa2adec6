"""Charts as SVG text that stands inside a page: pygal draws, the page's CSS gives the colours.

pygal builds an element tree, so every text from data is escaped; its script is taken out, and what it would show on hovering becomes
the element's title, which browsers show by themselves.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from metashell.escape import terminal_line
from metashell.reports.catalog import Chart

if TYPE_CHECKING:
    import pyarrow as pa

COLORS = 8
"""How many series have a colour of their own; further ones are summed as `other`."""
BARS_MAX = 60
_LONGEST_MAX = 20
_LABEL_MAX = 36
_WHOLE_STEPS_MAX = 10
"""Up to this an axis is marked at whole numbers; things are counted here."""
_WIDTH, _HEIGHT, _HEIGHT_OF_BAR = 960, 320, 22

Points = dict[str, dict[Any, float]]


def draw(chart: Chart, table: pa.Table, name: str) -> str | None:
    """The SVG of a chart, `name` being unique in its page; None where no row takes part."""
    rows = [row for row in table.to_pylist() if chart.where is None or row[chart.where[0]] == chart.where[1]]
    rows = [row for row in rows if row[chart.x[0]] is not None]
    if not rows:
        return None
    if chart.kind == "longest bars":
        return _longest(chart, rows, name)
    return _over_time(chart, rows, name)


def _longest(chart: Chart, rows: list[dict[str, Any]], name: str) -> str | None:
    value = chart.values[0]
    ranked = sorted((row for row in rows if row[value]), key=lambda row: -row[value])[:_LONGEST_MAX]
    if not ranked:
        return None
    drawing = _drawing("HorizontalBar", chart, name, height=120 + _HEIGHT_OF_BAR * len(ranked), show_legend=False)
    # The first row of a horizontal chart is its lowest.
    ranked.reverse()
    drawing.x_labels = [_text(" ".join(str(row[column]) for column in chart.x)) for row in ranked]
    drawing.add(_text(value), [row[value] for row in ranked])
    return _svg(drawing)


def _over_time(chart: Chart, rows: list[dict[str, Any]], name: str) -> str | None:
    keys, label = _buckets([row[chart.x[0]] for row in rows], step_min=3600 if chart.x[0] == "hour" else 1)
    is_line = chart.kind == "lines over time"
    points: Points = defaultdict(lambda: defaultdict(float))
    for row in rows:
        at = label(row[chart.x[0]])
        for series, value in _values(chart, row):
            points[series][at] = max(points[series][at], value) if is_line else points[series][at] + value
    points = {series: found for series, found in points.items() if any(found.values())}
    if not points:
        return None
    drawing = _drawing("Line" if is_line else "StackedBar", chart, name, height=_HEIGHT)
    drawing.x_labels = [_text(key) for key in keys]
    drawing.x_labels_major_count = 8
    drawing.show_minor_x_labels = len(keys) <= 8
    top = max(max(found.values()) for found in points.values()) if is_line else _highest_stack(points)
    if top <= _WHOLE_STEPS_MAX:
        drawing.y_labels = list(range(int(top) + 1))
    for series, found in _largest(points):
        drawing.add(_text(series), [found.get(key, None if is_line else 0) for key in keys])
    return _svg(drawing)


def _highest_stack(points: Points) -> float:
    sums: dict[Any, float] = defaultdict(float)
    for found in points.values():
        for key, value in found.items():
            sums[key] += value
    return max(sums.values())


def _values(chart: Chart, row: dict[str, Any]) -> list[tuple[str, float]]:
    """The series that a row adds to, and how much; a chart without values counts rows."""
    if chart.series:
        name = " ".join(str(row[column]) for column in chart.series)
        return [(name, row[chart.values[0]] or 0 if chart.values else 1)]
    return [(value, row[value] or 0) for value in chart.values]


def _largest(points: Points) -> list[tuple[str, dict[Any, float]]]:
    ranked = sorted(points.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    if len(ranked) <= COLORS:
        return ranked
    other: dict[Any, float] = defaultdict(float)
    for _, found in ranked[COLORS - 1 :]:
        for key, value in found.items():
            other[key] += value
    return [*ranked[: COLORS - 1], (f"other ({len(ranked) - COLORS + 1})", other)]


def _buckets(found: list[Any], step_min: int) -> tuple[list[str], Any]:
    """The labels of the x axis in order, and what gives a value's: times fall into equal steps, other things are themselves."""
    if not isinstance(found[0], datetime):
        return sorted({str(value) for value in found}), str
    first, last = min(found).timestamp(), max(found).timestamp()
    step = next((size for size in _STEPS_S if size >= step_min and (last - first) / size < BARS_MAX), _STEPS_S[-1])
    start = first // step * step
    form = "%Y-%m-%d" if step >= 86400 else "%m-%d %H:%M" if step >= 60 else "%H:%M:%S"

    def label_at(seconds: float) -> str:
        from datetime import UTC

        return datetime.fromtimestamp(seconds, UTC).strftime(form)

    def label(value: datetime) -> str:
        return label_at(start + (value.timestamp() - start) // step * step)

    return [label_at(start + step * number) for number in range(int((last - start) // step) + 1)], label


_STEPS_S = (1, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)


def _text(text: str) -> str:
    """A label: control characters, which XML cannot hold, are escaped; long ones are cut."""
    safe = terminal_line(text)
    return safe if len(safe) <= _LABEL_MAX else safe[: _LABEL_MAX - 1] + "…"


def _drawing(kind: str, chart: Chart, name: str, **more: Any) -> Any:
    pygal = _pygal()
    from pygal.style import Style

    style = Style(
        background="transparent",
        plot_background="transparent",
        foreground="var(--text)",
        foreground_strong="var(--text)",
        foreground_subtle="var(--faint)",
        guide_stroke_color="var(--line)",
        major_guide_stroke_color="var(--line)",
        colors=tuple(f"var(--series-{number})" for number in range(COLORS)),
        font_family="inherit",
        opacity="1",
        opacity_hover=".7",
        transition="0s",
        legend_font_size=12,
        label_font_size=11,
        major_label_font_size=11,
    )
    drawing = getattr(pygal, kind)(
        style=style,
        js=[],
        disable_xml_declaration=True,
        width=_WIDTH,
        legend_at_bottom=True,
        legend_at_bottom_columns=3,
        value_formatter=_number,
        margin=10,
        margin_bottom=28,
        truncate_label=-1,
        truncate_legend=-1,
        **more,
    )
    # Else it is random, and two pages of one answer would differ.
    drawing.uuid = name
    drawing.title = chart.title
    return drawing


def _pygal() -> Any:
    """pygal without its hook for plug-ins, which would make every later import in this process warn."""
    import sys

    import pygal

    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]
    return pygal


def _number(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ")


def _svg(drawing: Any) -> str:
    from xml.etree import ElementTree

    root = drawing.render_tree()
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "script" or not isinstance(child.tag, str):
                parent.remove(child)
            elif child.tag == "desc":
                if child.get("class") == "value":
                    child.tag = "title"
                else:
                    parent.remove(child)
    root.set("role", "img")
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)
