"""Times and sizes of plans and answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import UsageError
from metashell.common.values import clock_text, duration_ms, duration_text, duration_word, moment_text, size_text, time_text


@pytest.mark.parametrize(
    ("word", "ms"),
    [
        ("90s", 90_000),
        ("1.5s", 1500),
        ("2m", 120_000),
        ("1h30m", 5_400_000),
        ("250ms", 250),
        ("2m250ms", 120_250),
        ("1d", 86_400_000),
        ("0", 0),
    ],
)
def test_a_time_is_read(word: str, ms: int) -> None:
    assert duration_ms(word) == ms


@pytest.mark.parametrize("word", ["", "5", "-5s", "s", "1x", "1m1h", "1.5m", "9" * 30 + "s", "400d", "٣s"])
def test_what_is_no_time_is_refused_by_its_text(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        duration_ms(word)
    assert str(caught.value).startswith(repr(word))


@given(st.integers(0, 365 * 86_400_000))
def test_a_time_that_is_written_is_read_again(ms: int) -> None:
    assert duration_ms(duration_word(ms)) == ms


@pytest.mark.parametrize(
    ("ms", "text", "clock"),
    [
        (0, "0 s", "+0:00.0"),
        (9345, "9.3 s", "+0:09.3"),
        (250_000, "4 min 10 s", "+4:10.0"),
        (7_200_000, "2 h", "+2:00:00.0"),
        (59_999, "1 min", "+1:00.0"),
    ],
)
def test_times_for_people(ms: int, text: str, clock: str) -> None:
    assert (duration_text(ms), clock_text(ms)) == (text, clock)


def test_sizes_for_people() -> None:
    assert [size_text(size) for size in (0, 999, 1500, 999_950_000, 2_500_000_000_000)] == ["0 B", "999 B", "1.5 kB", "1000 MB", "2.5 TB"]


def test_a_time_is_shown_in_utc_with_milliseconds_and_as_a_number_where_no_calendar_has_it() -> None:
    assert time_text(1_763_641_533_440) == "2025-11-20T12:25:33.440Z"
    assert time_text(-1) == "1969-12-31T23:59:59.999Z"
    assert time_text(1 << 62) == str(1 << 62)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (1_795_143_600_000, "2026-11-20T03:00:00Z"),
        (1_795_143_600_040, "2026-11-20T03:00:00.040Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-1, "no time"),
        (None, "no time"),
        (1 << 62, str(1 << 62)),
    ],
)
def test_a_moment_has_milliseconds_only_where_there_are_any(ms: int | None, text: str) -> None:
    assert moment_text(ms) == text


def test_a_time_that_no_calendar_holds_stays_a_number() -> None:
    assert duration_text((1 << 63) - 1) == f"{(1 << 63) - 1} ms"
