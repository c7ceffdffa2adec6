"""What an append says of itself, and what a plan says of it before."""

from __future__ import annotations

import pytest

from metashell.tables.lake.append import AppendReport
from metashell.tables.lake.appends import LakeState
from metashell.tables.lake.log_state import Coverage, LogKey, LogState
from metashell.tables.lake.plan import Plan, Task
from metashell.tables.lake.status import added_lines, planned_lines
from metashell.tables.splits import Piece, Split

ONE, OTHER, NEW = LogKey("c", "1", "a-0"), LogKey("c", "2", "a-0"), LogKey("", "", "x.log@0-1-2")


def log(*spans: tuple[int, int], checkpoints: tuple[str, ...] = ()) -> LogState:
    return LogState(offsets=Coverage(spans), checkpoints=list(checkpoints))


def report(**more: object) -> AppendReport:
    piece = Piece(path="f", log="metadata", cluster_id="c", start=0, end=2048, size=2048)
    plan = Plan(
        tasks=[Task(Split((piece,)), (0,))],
        logs={ONE: log((10, 20), (30, 31), checkpoints=("5-1.checkpoint",)), NEW: log((0, 4))},
        seen={ONE, OTHER, NEW},
        file_count=5,
        known_count=2,
    )
    state = LakeState(logs={ONE: log((0, 10)), OTHER: log((5, 7), (9, 12)), LogKey("c", "3", "a-0"): log((0, 1))})
    return AppendReport(plan, state, **more)  # type: ignore[arg-type]


def test_a_plan_says_of_each_log_that_was_given_what_is_there_and_what_comes() -> None:
    assert list(planned_lines(report())) == [
        "LOG                 IN THE LAKE      TO ADD",
        "x.log               nothing          0 to 3",
        "a-0 of node 1 of c  0 to 9           5-1.checkpoint, 10 to 19, 30 to 30",
        "a-0 of node 2 of c  5 to 6, 9 to 11  nothing",
        "3 of 5 files with something new, 2.05 kB to read; nothing was written",
    ]
    (*_, last) = planned_lines(report(removed={"topic": 1200, "batches": 34}))
    assert last == "3 of 5 files with something new, 2.05 kB to read, 1234 rows to remove; nothing was written"


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({}, ["nothing new: the lake has all of 5 files already"]),
        ({"number": 7}, ["added as append 7; 2 of 5 files had nothing new"]),
        (
            {"number": 7, "rows": {"topic": 1234, "batches": 5}, "removed": {"topic": 2}},
            [
                "batches             5",
                "topic           1,234",
                "added as append 7; 2 of 5 files had nothing new",
                "removed 2 rows that were there",
            ],
        ),
    ],
)
def test_an_append_says_what_it_added(more: dict[str, object], lines: list[str]) -> None:
    assert list(added_lines(report(**more))) == lines
