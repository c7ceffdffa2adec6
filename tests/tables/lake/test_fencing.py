"""A writer whose lock is taken by another at any of its steps: it ends that one step, and begins nothing that another must not meet."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from metashell.common.errors import MetashellError
from metashell.tables.lake.layout import COMMITS, FORMAT, PENDINGS, WORK
from tests.tables.lake.dying import Died, Life, living
from tests.tables.lake.lakes import DAY, SEGMENT, expected, left_over, names, node, run, topics
from tests.tables.lake.sleeping import Lease, Leased, Two

TOPIC = {"tables": ("topic",)}


class Robbed(Life):
    """The life of a writer whose lock another takes while it does the step `at`."""

    def __init__(self, lease: Lease, at: int) -> None:
        super().__init__()
        self._lease, self._at = lease, at

    def step(self, name: str) -> None:
        if len(self.steps) == self._at:
            self._lease.owner += 1
        super().step(name)


def kind_of(step: str) -> str:
    """What a step is about: the work of its commit, the pending file, the format, the rows, or the commit."""
    word, _, name = step.partition(" ")
    places = {WORK: "work", PENDINGS: "pending", FORMAT: "format", COMMITS: "commit", "table=": "row"}
    place = next((place for prefix, place in places.items() if name.startswith(prefix)), "other")
    return "move" if word == "move" else f"{word} {place}"


MAY_FOLLOW = {"put_file work": {"put_file work"}, "put format": {"move"}, "move": {"move"}}
"""What a writer may still do after a step during which it lost its lock: rows get names that no other commit has, one after the other."""
TIDYING = {"remove row", "remove_below work", "remove pending"}
"""Behind its commit a writer removes what was its own, or what its commit replaced: so would whoever comes next."""


@pytest.mark.parametrize("options", [{}, {"replaces": True, "target_size": 1 << 20}, {"mode": "overwrite"}], ids=str)
def test_who_lost_its_lock_begins_nothing_more(tmp_path: Path, options: dict[str, Any]) -> None:
    out, base = tmp_path / "lake", tmp_path / "base"
    log = node(tmp_path / "node") / SEGMENT
    data, wanted = topics(0, 6, step=DAY // 4), expected(0, 6)
    if options:
        log.write_bytes(data)
        run(base, tmp_path / "node", **TOPIC)
        data, wanted = (
            topics(0, 4, step=DAY // 4) + topics(4, 6, epoch=2, name="new", step=DAY // 4),
            expected(0, 4) + expected(4, 6, "new"),
        )
    log.write_bytes(data)

    def write() -> None:
        run(out, tmp_path / "node", **TOPIC, **options)

    def live(life: Life, two: Two) -> str:
        shutil.rmtree(out, ignore_errors=True)
        if options:
            shutil.copytree(base, out)
        with two.patched():
            two.live(life, write)
        return two.ended.get(life, "")

    whole, two = Life(), Two()
    assert live(whole, two) == ""
    kinds = [kind_of(step) for step in whole.steps]
    assert {"put pending", "put format" if not options or "mode" in options else "move", "move", "put commit"} <= set(kinds)
    lost, last = 0, max(number for number, kind in enumerate(kinds) if kind == "put commit")
    for at in range(kinds.index("put_file work"), len(kinds)):
        two = Two()
        life = Robbed(two.lease, at)
        said = live(life, two)
        after = {kind_of(step) for step in life.steps[at + 1 :]}
        is_before = at <= last
        may = MAY_FOLLOW.get(kinds[at], set()) | {"remove_below work"} if is_before else TIDYING
        assert after <= may, life.steps[at:]
        if is_before:
            assert "another may have it now" in said, life.steps[at:]
            lost += 1
        write()
        assert (names(out), left_over(out)) == (wanted, []), life.steps[at]
    assert lost > 4


def test_who_undoes_the_work_of_another_looks_at_its_lock_before(tmp_path: Path) -> None:
    """The pending file of a dead writer is there, and not all of its parts: whoever comes next removes the rest only as the owner."""
    out, life = tmp_path / "lake", Life()
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6, step=DAY // 4))
    with living(life):
        run(out, tmp_path / "node", **TOPIC)
    shutil.rmtree(out)
    moves = [number for number, step in enumerate(life.steps) if step.startswith("move")]
    with living(Life(moves[1])), pytest.raises(Died):
        run(out, tmp_path / "node", **TOPIC)
    for part in out.rglob("*.part"):
        part.unlink()
    there = sorted(out.rglob("*.parquet"))
    assert there

    two, life = Two(), Life()
    with two.patched(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Leased, "require", _refuse)
        two.live(life, lambda: run(out, tmp_path / "node", **TOPIC))
    assert "another may have it now" in two.ended[life]
    assert sorted(out.rglob("*.parquet")) == there
    run(out, tmp_path / "node", **TOPIC)
    assert (names(out), left_over(out)) == (expected(0, 6), [])


def _refuse(self: object) -> None:
    raise MetashellError("the lock was removed, so another may have it now")
