"""The words of an outcome: the first line says what counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from metashell.image import MetadataImage
from metashell.rehearse import rehearse_change
from metashell.rehearse.answer_text import numbers_text, outcome_lines, verdict_line
from metashell.rehearse.rows import verdict_row
from metashell.rehearse.steps import CreateTopic, KillBroker, LoseController, LoseRack, Step
from tests.rehearse.small_images import partition, small_image

VOTERS = (11, 12, 13)
THREE = {1: "a", 2: "b", 3: "c"}
SOUND = small_image(THREE, {"orders": [partition(1, 2, 3), partition(2, 3, 1)]}, voters=VOTERS)
MIN_ISR = {(2, "orders"): {"min.insync.replicas": "2"}}
UNCLEAN = {(2, "orders"): {"unclean.leader.election.enable": "true"}}
CASES: list[tuple[MetadataImage, Sequence[Step], int, str]] = [
    (SOUND, [KillBroker(3)], 0, "SAFE: nothing goes offline"),
    (SOUND, [KillBroker(1)], 0, "SAFE: nothing goes offline; 1 partition fails over for 9.1 s"),
    (
        small_image(THREE, {"orders": [partition(1, 2)]}, settings=MIN_ISR, voters=VOTERS),
        [KillBroker(2)],
        0,
        "SAFE: nothing goes offline; 1 partition refuses writes with acks=all to the end",
    ),
    (SOUND, [LoseController()], 0, "SAFE: nothing goes offline; no active controller for 3 s"),
    (SOUND, [LoseController(11), LoseController(12)], 1, "NOT SAFE: no active controller any more: "),
    (small_image(THREE, {"orders": [partition(1)]}, voters=VOTERS), [LoseRack("a")], 1, "NOT SAFE: 1 partition goes offline and stays so"),
    (
        small_image(THREE, {"orders": [partition(1, 2, isr=[1])]}, settings=UNCLEAN, voters=VOTERS),
        [KillBroker(1)],
        1,
        "NOT SAFE: 1 partition loses records, perhaps (unclean election)",
    ),
    (SOUND, [CreateTopic("x", 1, 5)], 1, "NOT SAFE: 1 request is refused (x: INVALID_REPLICATION_FACTOR (38))"),
    (
        small_image(THREE, {"orders": [partition(3, isr=[3], leader=-1)]}, fenced=[3], voters=VOTERS),
        [KillBroker(1)],
        0,
        "NO WORSE: 1 partition was offline before, and nothing else goes offline",
    ),
]


@pytest.mark.parametrize(("image", "steps", "status", "line"), CASES, ids=[line for _, _, _, line in CASES])
def test_the_first_line_and_the_status_agree(image: MetadataImage, steps: Sequence[Step], status: int, line: str) -> None:
    outcome = rehearse_change(image, steps)
    assert (outcome.verdict.status, verdict_line(outcome)[: len(line)]) == (status, line)
    assert next(outcome_lines(outcome)) == verdict_line(outcome) == verdict_row(outcome)["verdict"]
    assert verdict_row(outcome)["safe"] is line.startswith("SAFE")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([3, 1, 2], "1-3"), ([1, 2], "1,2"), ([1, 3, 4, 7, 8, 9], "1,3,4,7-9"), ([5, 5], "5"), (range(0, 40, 2), "0,2,4,6,8,10,12,14,...")],
)
def test_numbers_are_told_as_ranges(numbers: Sequence[int], text: str) -> None:
    assert numbers_text(numbers) == text
