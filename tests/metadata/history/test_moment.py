"""Moments as people write them."""

from __future__ import annotations

import pytest

from metashell.common.errors import UsageError
from metashell.metadata.history import parse_moment

NOW_MS = 1_795_220_000_000


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("2026-11-20T03:00", 1_795_143_600_000),
        ("2026-11-20T03:00:00Z", 1_795_143_600_000),
        ("2026-11-20T04:00+01:00", 1_795_143_600_000),
        ("2026-11-20", 1_795_132_800_000),
        ("-2h", NOW_MS - 7_200_000),
        ("10m", NOW_MS - 600_000),
    ],
)
def test_a_time_is_utc_where_no_zone_is_given_or_counts_back_from_now(text, time_ms):
    assert parse_moment(text, NOW_MS).time_ms == time_ms


def test_a_number_is_an_offset_however_long():
    assert parse_moment("123456789012", NOW_MS).offset == 123_456_789_012


def test_end_is_neither():
    assert parse_moment("end", NOW_MS).is_end


@pytest.mark.parametrize("text", ["", "yesterday", "-5", "2026-13-01", "12.5", "٣", "9" * 30, "-2y", "2030-01-01"])
def test_anything_else_and_what_has_not_come_is_refused_in_one_line(text):
    with pytest.raises(UsageError) as caught:
        parse_moment(text, NOW_MS)
    assert "\n" not in str(caught.value)
