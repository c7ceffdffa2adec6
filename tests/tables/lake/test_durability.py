"""The machine stops after any step of an append: what was committed is there, and in the end each record once."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from metashell.tables.lake.appends import read_state
from metashell.tables.lake.delta import active_files, open_table
from metashell.tables.stores import open_store
from tests.disk.conftest import quick_place
from tests.recording_files import ModelledDisk, Step, write_tree
from tests.tables.lake.lakes import DAY, SEGMENT, SOAKS, expected, left_over, names, node, run, topics
from tests.tables.lake.recorded import Recorder

SAMPLES = 8 if SOAKS else 2


class LostError(AssertionError):
    """A lake that does not come back as it was promised."""


class Story(NamedTuple):
    """Appends of a log that grows and is cut: of each the bytes, the options, and the topics of the lake after it."""

    name: str
    appends: tuple[tuple[bytes, dict[str, Any], list[str]], ...]


def log(count: int) -> bytes:
    return topics(0, count, step=DAY // 4)


ANEW = log(4) + topics(4, 8, epoch=2, name="new", step=DAY // 4)
STORIES = (
    Story("grows", ((log(4), {}, expected(0, 4)), (log(8), {}, expected(0, 8)))),
    Story("cut", ((log(8), {}, expected(0, 8)), (ANEW, {"replaces": True}, expected(0, 4) + expected(4, 8, "new")))),
    Story("overwritten", ((log(8), {}, expected(0, 8)), (log(6), {"mode": "overwrite"}, expected(0, 6)))),
)


class Recorded(NamedTuple):
    """The steps of a story; for each append the number of steps before it and after it, and the lake's commits by then."""

    steps: list[Step]
    spans: list[tuple[int, int, int]]


def append(place: Path, out: Path, data: bytes, options: dict[str, Any]) -> None:
    (node(place / "node") / SEGMENT).write_bytes(data)
    run(out, place / "node", tables=("topic",), **options)


def record(place: Path, story: Story) -> Recorded:
    out = place / "disk" / "lake"
    out.parent.mkdir()
    recorder, spans = Recorder(out.parent), []
    for data, options, _ in story.appends:
        begin = len(recorder.steps)
        with recorder.noting():
            append(place, out, data, options)
        spans.append((begin, len(recorder.steps), read_state(open_store(str(out))).number))
    return Recorded(recorder.steps, spans)


def check(place: Path, out: Path, story: Story, at: int, committed: int) -> None:
    """Hold a lake that a crash during its append `at` left against what was promised."""
    data, options, wanted = story.appends[at]
    state = read_state(open_store(str(out)))
    assert state.number >= committed, f"commit {committed} is gone"
    append(place, out, data, options)
    assert names(out) == wanted
    store = open_store(str(out))
    for table in ("appends", "topic"):
        found = open_table(store, table)
        assert found is not None
        for file in active_files(found, table):
            assert (out / file.name).stat().st_size == file.size, f"{file.name} is not there"
    # A file that was being written may stay: no table names it.
    assert {name for name in left_over(out) if (out / name).stat().st_size == 0 or "topic/" not in name} >= set()


def try_every_crash(story: Story, samples: int, keep: Callable[[Step], bool] = lambda _: True) -> int:
    """Check what a crash may leave before each sync, and after each append; steps that `keep` refuses count as not made.

    What a crash leaves at another moment is among what it may leave at the next sync.
    """
    with quick_place() as place:
        return _try_every_crash(place, story, samples, keep)


def _try_every_crash(place: Path, story: Story, samples: int, keep: Callable[[Step], bool]) -> int:
    steps, spans = record(place, story)
    (place / "start").mkdir()
    disk, chance, seen = ModelledDisk(place / "start"), random.Random(1), set()
    for number, step in enumerate(steps, 1):
        at = next(at for at, (_, end, _) in enumerate(spans) if number <= end)
        is_last = number == spans[at][1]
        committed = spans[at][2] if is_last else spans[at - 1][2] if at else 0
        if is_last and keep(step):
            disk.follow(step)
        if is_last or step.name.startswith("sync"):
            for tree in disk.samples(chance, samples):
                key = frozenset(tree.items()), at, committed
                if key not in seen:
                    seen.add(key)
                    after = place / "after"
                    after.mkdir()
                    write_tree(tree, after)
                    try:
                        check(place, after / "lake", story, at, committed)
                    except Exception as error:
                        raise LostError(f"crash at step {number}, {step.name} {step.path}: {error}") from error
                    shutil.rmtree(after)
        if not is_last and keep(step):
            disk.follow(step)
    return len(seen)


@pytest.fixture(autouse=True)
def no_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.mark.parametrize("story", STORIES, ids=[story.name for story in STORIES])
def test_whatever_a_crash_of_the_machine_leaves_each_record_is_there_once(story: Story) -> None:
    assert try_every_crash(story, SAMPLES) > 20


@pytest.mark.parametrize("left_out", ["sync_file", "sync_directory"])
def test_without_either_kind_of_sync_some_crash_is_noticed(left_out: str) -> None:
    with pytest.raises(LostError):
        try_every_crash(STORIES[0], SAMPLES, lambda step: step.name != left_out)
