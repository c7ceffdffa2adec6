"""Labels of axes overlap on no screen: computed from the page's text, so that it is checked where no browser is installed."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from metashell.tables.reports.charts import draw_axis, time_form

WIDE_PX, NARROW_PX = 1100, 270
"""What a chart's area has of a page of 1300 and of 390 px."""
DIGIT_PX = 7.5
"""A digit of .75rem is narrower in every usual font."""
LABELS = ["2026-11-21", "11-21 00:23", "00:21:16"]


def ranges(html: str, width: int) -> list[tuple[float, float]]:
    """From where to where each label goes that a screen of this width shows."""
    found = []
    for css, left, label in re.findall(r'<span(?: class="([^"]*)")? style="left:([0-9.]+)%">([^<]*)</span>', html):
        if width <= NARROW_PX and "minor" in css.split():
            continue
        size, at = DIGIT_PX * len(label), width * float(left) / 100
        start = at if "first" in css.split() else at - size if "last" in css.split() else at - size / 2
        found.append((start, start + size))
    return found


def faults(html: str, width: int) -> list[str]:
    found = ranges(html, width)
    assert found
    outside = [f"{one} is outside of {width}" for one in found if one[0] < -10 or one[1] > width + 10]
    return outside + [f"{one} and {next_one}" for one, next_one in pairwise(found) if next_one[0] < one[1] + 2]


@pytest.mark.parametrize("width", [WIDE_PX, NARROW_PX])
@pytest.mark.parametrize("label", LABELS)
def test_labels_neither_overlap_nor_leave_the_chart(width: int, label: str) -> None:
    for count in range(1, 200):
        assert not faults(draw_axis([label] * count, [(at + 0.5) / count for at in range(count)]), width), count
        assert not faults(draw_axis([label] * count, [at / max(count - 1, 1) for at in range(count)]), width), count


def test_the_check_finds_labels_that_overlap() -> None:
    crowded = "".join(f'<span style="left:{at}%">2026-11-21</span>' for at in range(0, 100, 10))
    assert faults(crowded, NARROW_PX)
    assert faults('<span style="left:100%">2026-11-21</span>', NARROW_PX)


def test_times_are_written_as_short_as_tells_them_apart() -> None:
    day = 86_400
    assert time_form(0, 30, 1) == "%H:%M:%S"
    assert time_form(0, 3600, 60) == "%H:%M"
    assert time_form(0, 2 * day, 3600) == "%m-%d %H:%M"
    assert time_form(0, 900 * day, 30 * day) == "%Y-%m-%d"
