"""A run that dies at any step, and then again: the rows are those of one run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tables.lake.dying import Died, Life, living, steps_of
from tests.tables.lake.lakes import DAY, SEGMENT, copied, left_over, node, rows, run, some_of, topics

pytestmark = pytest.mark.slow

Do = Callable[[Path], Any]


def dies_everywhere(tmp_path: Path, first: Do, second: Do) -> None:
    """Do `first` whole; then `second` to a copy of the lake, once for each step that it has, dying there, and once more."""
    base = tmp_path / "base"
    first(base)
    whole = copied(base, tmp_path / "whole")
    steps = steps_of(lambda: second(whole))
    assert len(steps) > 5
    wanted = everything(whole)
    for last in some_of(len(steps), 2):
        out = copied(base, tmp_path / f"died-{last}")
        with living(Life(last)), pytest.raises(Died):
            second(out)
        second(out)
        assert everything(out) == wanted, f"died before {steps[last]}"
        assert left_over(out) == [], f"died before {steps[last]}"
        shutil.rmtree(out)


def everything(lake: Path) -> dict[str, list[dict[str, Any]]]:
    tables = sorted(path.name.removeprefix("table=") for path in lake.glob("table=*"))
    return {table: found for table in tables if (found := rows(lake, table))}


def grown(tmp_path: Path, first: bytes, second: bytes) -> tuple[Do, Do]:
    """Two appends of a log that is written anew between them."""
    for name, data in (("first", first), ("second", second)):
        (node(tmp_path / name) / SEGMENT).write_bytes(data)
    # Both are the same log, at the same path.
    place = tmp_path / "node"

    def of(name: str, **options: Any) -> Do:
        def do(lake: Path) -> None:
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(tmp_path / name, place)
            run(lake, place, **options)

        return do

    return of("first"), of("second", replaces=True, target_size=1 << 20)


def test_the_first_append(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 20, step=DAY // 5))
    dies_everywhere(tmp_path, lambda lake: None, lambda lake: run(lake, tmp_path / "node", target_bytes=1000))


def test_an_append_that_replaces_and_compacts(tmp_path: Path) -> None:
    first, second = grown(
        tmp_path, topics(0, 12, step=DAY // 5), topics(0, 2, step=DAY // 5) + topics(2, 14, epoch=2, name="new", step=DAY // 5)
    )
    dies_everywhere(tmp_path, first, second)


def test_a_recovery_that_dies_too(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 6))
    steps = steps_of(lambda: run(tmp_path / "whole", tmp_path / "node"))
    wanted = everything(tmp_path / "whole")
    for last in some_of(len(steps), 2):
        for again in some_of(9, 4):
            out = tmp_path / f"{last}-{again}"
            for died in (last, again):
                with living(Life(died)):
                    try:
                        run(out, tmp_path / "node")
                    except Died:
                        continue
            run(out, tmp_path / "node")
            assert everything(out) == wanted
            assert left_over(out) == []
