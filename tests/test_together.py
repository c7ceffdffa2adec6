"""Tests that need one large thing stay in one process of pytest-xdist."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.together import shared_out


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize(("spark", "interop", "others"), [(4, 3, 30), (0, 0, 7), (9, 0, 2), (5, 8, 0), (0, 0, 0)])
def test_each_process_begins_with_the_folders_that_it_keeps(processes: int, spark: int, interop: int, others: int) -> None:
    counts = {"a": others, "interop": interop, "spark_reports": spark}
    tests = [f"tests/{folder}/{n}" for folder, count in counts.items() for n in range(count)]
    order = shared_out(tests, processes)
    assert sorted(order) == list(range(len(tests)))
    runs = [folder for folder, _ in groupby(tests[number].split("/")[1] for number in order)]
    assert runs.count("spark_reports") <= 1 and runs.count("interop") <= 1
    if others > interop + spark and spark and processes > 1:
        share = len(tests) // processes
        assert [tests[order[at]].split("/")[1] for at in (0, share)] == ["spark_reports", "interop"]
