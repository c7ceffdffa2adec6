"""A writer that fails takes its own work away, and nothing of another's, who may have the lock by then."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.tables.lake.append import leaving_no_work
from metashell.tables.lake.layout import work_of
from metashell.tables.lake.ledger import LakeState
from metashell.tables.stores import Store, open_store
from tests.tables.lake.dying import Life
from tests.tables.lake.lakes import DAY, SEGMENT, copied, expected, left_over, names, node, run, topics
from tests.tables.lake.sleeping import Lease, LeasedStore, Sleeper, Two, Waker


class Stopped:
    """A runner of which only its end matters."""

    is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("is_far", [False, True])
def test_only_the_work_of_the_one_that_failed_goes(tmp_path: Path, number: int, is_far: bool) -> None:
    store: Store = open_store(str(tmp_path))
    if is_far:
        store = LeasedStore(store, Life(), Lease())
    mine, others = f"{work_of('a' * 32)}/part-0", f"{work_of('b' * 32)}/part-0"
    lock, pending = "_metashell/locks/other.json", "_metashell/pending/00000001-other.json"
    for name in (mine, others, lock, pending):
        store.put(name, b"x")
    runner = Stopped()
    with pytest.raises(ZeroDivisionError), leaving_no_work(store, LakeState(number=number), "a" * 32, runner):  # type: ignore[arg-type]
        raise ZeroDivisionError
    assert runner.is_stopped
    left = {file.name for file in store.files("_metashell")}
    # On a disk nobody else can hold the lock; a lake that never came to be leaves nothing there.
    assert left == (set() if number == 0 and not is_far else {others, lock, pending})


@pytest.mark.parametrize("has_lake", [False, True])
def test_a_writer_that_fails_while_another_has_its_lock_disturbs_nobody(tmp_path: Path, has_lake: bool) -> None:
    """The first sleeps before each of its steps; what it reads then is damaged. The other is anywhere in its work meanwhile."""
    whole, base = topics(0, 14, step=DAY // 8), tmp_path / "base"
    spoilt = bytearray(whole)
    spoilt[-1] ^= 1
    for name, data in (("good", whole), ("bad", bytes(spoilt))):
        (node(tmp_path / name) / SEGMENT).write_bytes(data)
    if has_lake:
        (node(tmp_path / "begin") / SEGMENT).write_bytes(topics(0, 6, step=DAY // 8))
        run(base, tmp_path / "begin", tables=("topic",))

    def steps(name: str, out: Path) -> int:
        two, life = Two(), Life()
        with two.patched():
            two.live(life, lambda: run(out, tmp_path / name, tables=("topic",)))
        return len(life.steps)

    counts = []
    for name in ("bad", "good"):
        out = copied(base, tmp_path / f"counted-{name}")
        counts.append(steps(name, out))
    assert counts[0] >= 1 and counts[1] > 5
    failed = 0
    for sleeps_at in range(counts[0]):
        for wakes_at in range(counts[1]):
            out = copied(base, tmp_path / f"{sleeps_at}-{wakes_at}")
            two, sleeper = Two(), Sleeper(sleeps_at)
            with two.patched():
                wake = two.sleeping(sleeper, lambda out=out: run(out, tmp_path / "bad", tables=("topic",)))  # type: ignore[misc]
                waker = Waker(wakes_at, wake)
                two.live(waker, lambda out=out: run(out, tmp_path / "good", tables=("topic",)))  # type: ignore[misc]
                wake()
            assert waker not in two.ended, two.ended[waker]
            failed += "CRC" in two.ended[sleeper]
            run(out, tmp_path / "good", tables=("topic",))
            assert names(out) == expected(0, 14)
            assert left_over(out) == []
    assert failed == counts[0] * counts[1]
