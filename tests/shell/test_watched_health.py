"""`watch health` prints what is wrong, and then each kind whose count changes, once."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from metashell.disk.source import open_source
from metashell.metadata.image import load_image
from metashell.metadata.image.differences import Step
from metashell.shell import Context, run_line
from tests.metadata.image.batches import record
from tests.shell.test_lifespan import TOPIC, broker, change, context

LOG = (
    broker(1, False),
    record("TopicRecord", name="orders", topic_id=TOPIC),
    record("PartitionRecord", partition_id=0, topic_id=TOPIC, replicas=(1,), isr=(1,), leader=1),
    change(1, 1),
    record("NoOpRecord"),
    record("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, leader=-1),
    change(1, -1),
)


class View:
    lag, trouble, details = 0, "", {}

    def __init__(self, image: object) -> None:
        self.image = image


class Played:
    """A feed that gives the images after each record of a log, then Ctrl-C."""

    is_live = True

    def __init__(self, images: list[object]) -> None:
        self.start = images[0]
        self._steps = [Step(before, after, None) for before, after in pairwise(images)]

    def view(self) -> View:
        return View(self.start)

    def subscribe(self) -> Played:
        return self

    def next(self, timeout_s: float) -> Step:
        if not self._steps:
            raise KeyboardInterrupt
        return self._steps.pop(0)

    def close(self) -> None:
        self._steps = []


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    ctx = context(tmp_path, *LOG)
    assert ctx.past is not None
    images = [ctx.past().image(end) for end in range(3, len(LOG) + 1)]
    ctx.show(images[0])
    ctx.feed = Played(images)
    with open_source(str(tmp_path / "00000000000000000000.log")) as source:
        assert load_image(source).has_same_metadata(images[-1])
    return ctx


def test_each_change_is_printed_once(ctx: Context) -> None:
    assert run_line(ctx, "watch health -o jsonl") == 0
    rows = [json.loads(line) for line in ctx.display.out.getvalue().splitlines()]
    assert [(row["kind"], row["before"], row["after"], row["end_offset"]) for row in rows] == [
        ("fenced", 0, 1, 4),
        ("offline", 0, 1, 4),
        ("leaderless", 0, 1, 6),
        ("offline", 1, 0, 6),
        ("fenced", 1, 0, 7),
    ]


def test_as_text_it_is_a_line_each(ctx: Context) -> None:
    assert run_line(ctx, "watch health") == 0
    lines = ctx.display.out.getvalue().splitlines()
    # That nothing is wrong at first is said too, and in no other form.
    assert "checks of 1 partition and 1 broker: found nothing; not run: " in lines[0]
    assert lines[0].endswith(", as of offset 3, epoch 1, 1970-01-01T02:00:00Z")
    assert lines[3] == "6  1970-01-01T05:00:00Z  leaderless  0 -> 1  partitions without a leader"


def test_what_is_wrong_at_first_is_printed_first(ctx: Context) -> None:
    assert ctx.past is not None
    image = ctx.past().image(6)
    ctx.show(image)
    ctx.feed = Played([image])
    assert run_line(ctx, "watch health") == 0
    assert [line.split()[2] for line in ctx.display.out.getvalue().splitlines()] == ["fenced", "leaderless"]


def test_a_path_of_that_name_is_meant_with_a_dot(ctx: Context) -> None:
    assert run_line(ctx, "watch ./health") == 0
    assert "/health: does not exist yet, waiting" in ctx.err.getvalue()
