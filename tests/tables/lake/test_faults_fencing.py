"""A writer that sleeps before any of its steps while another takes its lock over: what it does when it wakes harms nobody."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from metashell.tables.lake.layout import read_format, read_state
from metashell.tables.stores import open_store
from tests.tables.lake.dying import Died, Life
from tests.tables.lake.lakes import SOAKS, TOPIC, copied, expected, grown, left_over, names, run
from tests.tables.lake.sleeping import Sleeper, Two, Waker

pytestmark = pytest.mark.slow


class Story:
    """A lake to begin with, a log that grows, and two writers."""

    def __init__(self, place: Path, has_lake: bool, first: dict[str, Any], second: dict[str, Any]) -> None:
        self.place = place
        self.base = place / "base"
        self.first, self.second = first, second
        grown(place, 6)
        if has_lake:
            run(self.base, place / "node", **TOPIC)
            grown(place, 10)

    def steps(self) -> list[str]:
        """Those of a writer that nobody disturbs."""
        two, life = Two(), Life()
        out = copied(self.base, self.place / "counted")
        with two.patched():
            two.live(life, lambda: self.write(out, self.first))
        assert two.ended == {}
        shutil.rmtree(out)
        return life.steps

    def write(self, out: Path, options: dict[str, Any]) -> None:
        run(out, self.place / "node", **{**TOPIC, **options})

    def tell(self, sleeps_at: int, wakes_at: int, *, dies: bool) -> str:
        """Both writers, then one more; what the first said at its end."""
        out, two, sleeper = copied(self.base, self.place / f"{sleeps_at}-{wakes_at}-{dies}"), Two(), Sleeper(sleeps_at)
        grown(self.place, 10)
        with two.patched():
            wake = two.sleeping(sleeper, lambda: self.write(out, self.first))
            grown(self.place, 14)
            waker = Waker(wakes_at, wake, dies=dies)
            with suppress(Died):
                two.live(waker, lambda: self.write(out, self.second))
            wake()
        # Whoever has the lock is not even disturbed.
        assert waker not in two.ended
        self.write(out, {"tables": None})
        assert names(out) == expected(0, 14)
        assert left_over(out) == []
        store = open_store(str(out))
        state = read_state(store)
        assert {file.name for file in store.files() if file.name.startswith("table=")} == set(state.files)
        found = read_format(store)
        assert found is not None and found.to_json() == state.format and state.rows["topic"] == 14
        shutil.rmtree(out)
        return two.ended.get(sleeper, "")


OVERWRITES = {"mode": "overwrite", "tables": ("batches", "topic")}


@pytest.mark.parametrize(
    ("has_lake", "first", "second"), [(False, {}, {}), (True, {}, {}), (True, {}, OVERWRITES), (True, OVERWRITES, {"tables": None})]
)
def test_one_late_step_of_a_writer_whose_lock_was_taken_harms_nobody(
    tmp_path: Path, has_lake: bool, first: dict[str, Any], second: dict[str, Any]
) -> None:
    story = Story(tmp_path, has_lake, first, second)
    count = len(story.steps())
    assert count > 8
    lost = 0
    for sleeps_at in range(count):
        met = range(count + 2) if SOAKS else {sleeps_at * 7 % (count + 2), *([] if first or second else [count + 1])}
        for wakes_at in met:
            for dies in (False, True) if SOAKS else ((sleeps_at + wakes_at) % 2 == 1,):
                lost += "another may have it now" in story.tell(sleeps_at, wakes_at, dies=dies)
    assert lost > count // 3
