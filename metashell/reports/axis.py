"""The horizontal axis of a chart: a few labels, which overlap on no screen."""

from __future__ import annotations

from typing import Final

from metashell.page import shown

_LABELS: Final = 6
"""The most labels along an axis."""
_NARROW_SHARE: Final = 0.5
"""A narrow screen shows only labels that are this share of the axis from the one before."""
_EDGE: Final = 0.12
"""A label this near to an end of its axis keeps inside."""


def axis(labels: list[str], places: list[float]) -> str:
    """Some of the labels at their places, from 0 to 1; they are in order."""
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
    return f'<span{of_class} style="left:{100 * place:.2f}%">{shown(label)}</span>'


def time_form(first_s: float, last_s: float, step_s: float) -> str:
    """How times along an axis are written: no more than tells them apart."""
    if step_s >= 86400:
        return "%Y-%m-%d"
    if step_s < 60:
        return "%H:%M:%S"
    return "%H:%M" if first_s // 86400 == last_s // 86400 else "%m-%d %H:%M"
