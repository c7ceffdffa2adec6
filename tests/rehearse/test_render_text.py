"""The words of an outcome: the first line says what counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from metashell.metadata.image import MetadataImage
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.render_rows import verdict_row
from metashell.rehearse.render_text import numbers_text, outcome_lines, status_of, verdict_line
from metashell.rehearse.steps import ConfigSet, CreateTopic, DeleteTopic, KillBroker, LoseController, LoseRack, Step
from tests.rehearse.small_images import partition, small_image

VOTERS = (11, 12, 13)
THREE = {1: "a", 2: "b", 3: "c"}
SOUND = small_image(THREE, {"orders": [partition(1, 2, 3), partition(2, 3, 1)]}, voters=VOTERS)
MIN_ISR = {(2, "orders"): {"min.insync.replicas": "2"}}
UNCLEAN = {(2, "orders"): {"unclean.leader.election.enable": "true"}}

DELETED = "NOT SAFE: topic orders is deleted with all its records (2 partitions)"
CUT = "NOT SAFE: topic orders: the oldest records of each partition above 5 MB are deleted"


def config(name: str, value: str) -> ConfigSet:
    return ConfigSet(2, "orders", ((name, value),))


CASES: list[tuple[MetadataImage, Sequence[Step], int, str]] = [
    (SOUND, [KillBroker(3)], 0, "SAFE: nothing goes offline"),
    (SOUND, [KillBroker(1)], 0, "SAFE: nothing goes offline; 1 partition fails over for 9.1 s"),
    (
        small_image(THREE, {"orders": [partition(1, 2)]}, settings=MIN_ISR, voters=VOTERS),
        [KillBroker(2)],
        0,
        "WRITES REFUSED: nothing goes offline; 1 partition refuses writes with acks=all to the end",
    ),
    (SOUND, [LoseController()], 0, "SAFE: nothing goes offline; no active controller for 3 s"),
    (SOUND, [LoseController(11), LoseController(12)], 1, "NOT SAFE: no active controller any more: "),
    (small_image(THREE, {"orders": [partition(1)]}, voters=VOTERS), [LoseRack("a")], 1, "NOT SAFE: 1 partition goes offline and stays so"),
    (
        small_image(THREE, {"orders": [partition(1, 2, isr=[1])]}, settings=UNCLEAN, voters=VOTERS),
        [KillBroker(1)],
        1,
        "NOT SAFE: 1 partition may lose records (unclean election)",
    ),
    (SOUND, [DeleteTopic("orders")], 1, DELETED),
    (
        SOUND,
        [DeleteTopic("orders"), CreateTopic("orders", 2, 3)],
        1,
        DELETED,
    ),
    (SOUND, [CreateTopic("x", 1, 1), DeleteTopic("x")], 0, "SAFE: nothing goes offline"),
    (SOUND, [config("retention.ms", "1")], 1, "NOT SAFE: topic orders: records older than 1 ms are deleted"),
    (SOUND, [config("retention.ms", "604800001")], 0, "SAFE: nothing goes offline"),
    (SOUND, [config("retention.ms", "-1")], 0, "SAFE: nothing goes offline"),
    (
        SOUND,
        [config("retention.bytes", "5000000")],
        1,
        CUT,
    ),
    (SOUND, [config("cleanup.policy", "compact")], 1, "NOT SAFE: topic orders: of records with the same key only the newest is kept"),
    (
        SOUND,
        [config("unclean.leader.election.enable", "true")],
        1,
        "NOT SAFE: topic orders: a replica that is not in sync may become the leader, and records be lost",
    ),
    (
        SOUND,
        [ConfigSet(4, "", (("log.retention.ms", "60000"),))],
        1,
        "NOT SAFE: topics without a setting of their own: records older than 1 min are deleted",
    ),
    (SOUND, [config("max.message.bytes", "100")], 0, "SAFE: nothing goes offline"),
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
    assert (status_of(outcome), verdict_line(outcome)[: len(line)]) == (status, line)
    assert next(outcome_lines(outcome)) == verdict_line(outcome) == verdict_row(outcome)["verdict"]
    assert verdict_row(outcome)["safe"] is line.startswith("SAFE")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([3, 1, 2], "1-3"), ([1, 2], "1,2"), ([1, 3, 4, 7, 8, 9], "1,3,4,7-9"), ([5, 5], "5"), (range(0, 40, 2), "0,2,4,6,8,10,12,14,...")],
)
def test_numbers_are_told_as_ranges(numbers: Sequence[int], text: str) -> None:
    assert numbers_text(numbers) == text
