"""Logs with any history: appended to, rolled anywhere, cut and written anew by another leader; the lake has what the log has, once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from tests.tables.lake.lakes import node, rows, run, segment, some_seeds, topics

pytestmark = pytest.mark.slow

Batch = tuple[int, int, int]
"""Its first offset, its records and its epoch."""


class History:
    """A log that lives through what may happen to one."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.log, self.rng = node(folder), rng
        self.batches: list[Batch] = []
        self.bases = [0]
        self.end, self.epoch = 0, 1

    def grow(self, count: int) -> None:
        for _ in range(count):
            self.batches.append((self.end, self.rng.choice((1, 2)), self.epoch))
            self.end += self.batches[-1][1]
            if self.rng.random() < 0.25:
                self.bases.append(self.end)

    def cut(self) -> None:
        at = self.rng.randrange(1, len(self.batches))
        self.end = self.batches[at][0]
        self.batches, self.epoch = self.batches[:at], self.epoch + 1
        self.bases = [base for base in self.bases if base < self.end]

    def write(self) -> None:
        for file in self.log.glob("*.log"):
            file.unlink()
        for base, until in zip(self.bases, (*self.bases[1:], 1 << 30), strict=True):
            held = [topics(at, count, epoch=epoch, name=f"e{epoch}-") for at, count, epoch in self.batches if base <= at < until]
            if held:
                (self.log / segment(base)).write_bytes(b"".join(held))

    @property
    def names(self) -> dict[int, str]:
        return {offset: f"e{epoch}-{offset}" for at, count, epoch in self.batches for offset in range(at, at + count)}


@pytest.mark.parametrize("far", [False, True], ids=["here", "in-a-store"])
@pytest.mark.parametrize("seed", some_seeds(6))
def test_a_lake_has_what_the_log_has(tmp_path: Path, seed: int, far: bool) -> None:
    rng = random.Random(2 * seed + far)
    history, out = History(tmp_path / "node", rng), tmp_path / "lake"
    path = f"file://{tmp_path}/node" if far else tmp_path / "node"
    for _ in range(5):
        history.grow(rng.randint(2, 6))
        if rng.random() < 0.5:
            history.cut()
            history.grow(rng.randint(1, 6))
        history.write()
        options = {"tables": ("topic",)}
        try:
            run(out, path, **options)
        except UsageError as error:
            assert "not what the lake has there" in str(error)
            run(out, path, replaces=True, **options)
        found = rows(out)
        names = {row["offset"]: row["name"] for row in found}
        assert len(names) == len(found), "a record is there twice"
        assert {offset: names.get(offset) for offset in history.names} == history.names
        if len(names) > len(history.names):
            return  # cut, and ends before what the lake had: that is said in a note, and kept
