"""Columns of ls."""

from __future__ import annotations

from metashell.common.forms import text_width
from metashell.shell.listing import column_lines, column_widths


def test_without_a_terminal_or_on_a_tiny_one_there_is_one_name_a_line():
    names = ["a", "b", "c"]
    assert list(column_lines(names, None)) == names
    assert list(column_lines(names, 7)) == names
    assert list(column_lines([], 80)) == []


def test_names_go_down_the_columns_and_the_last_column_is_not_padded():
    names = [f"n{index}" for index in range(7)]
    assert list(column_lines(names, 20)) == ["n0  n2  n4  n6", "n1  n3  n5  "]


def test_a_layout_whose_last_column_would_be_empty_is_not_taken():
    # Five names in four columns would need two rows and leave the fourth empty.
    assert column_widths(["a"] * 5, 16) == [3, 3, 3]


def test_a_name_as_wide_as_the_terminal_stands_alone():
    assert list(column_lines(["x" * 30, "y"], 20)) == ["x" * 30, "y"]


def test_wide_names_are_measured_as_the_terminal_shows_them():
    names = ["東京", "ab", "c", "d"]
    assert list(column_lines(names, 10, text_width)) == ["東京  c", "ab    d"]
    # Kafka counts characters.
    assert list(column_lines(names, 10)) == ["東京  c", "ab  d"]


def test_the_gap_after_the_last_column_counts_as_it_does_in_kafka():
    assert column_widths(["ab", "cd"], 8) == [4, 4]
    assert column_widths(["abc", "cd"], 8) == [0]
