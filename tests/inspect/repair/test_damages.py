"""Repairs of hundreds of damaged directories: they never fail, lose nothing that a start would not, and are taken back to the last byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import MetashellError
from metashell.disk.mend import undo, write_changes
from metashell.inspect.repair.facts import judge_log
from metashell.inspect.repair.plan import RepairRequest, plan_repair
from tests.disk.mend_cases import tree_of
from tests.interop.start_bases import make_base
from tests.interop.start_cases import Damage, cases, random_case
from tests.quick import quick

CASES = cases()
GROUPS = 24
NEW_ID = bytes(range(50, 66))


def try_case(folder: Path, case: tuple[str, Damage]) -> str:
    """Repair a damaged directory and take it back; how it ended."""
    kind, damage = case
    place = folder / "d"
    damage(make_base(place, kind))
    before = tree_of(folder)
    log = place / "__cluster_metadata-0"
    try:
        end = _end_of(log)
        made = plan_repair(RepairRequest(path=str(place), date="now", new_uuid=lambda: NEW_ID))
        assert tree_of(folder) == before, "planning writes nothing"
        write_changes(str(place), made.changes, 1)
        again = plan_repair(RepairRequest(path=str(place), date="now", new_uuid=lambda: NEW_ID))
        assert again.steps == (), [step.cause for step in again.steps]
        assert end is None or (_end_of(log) or 0) >= end, "the log is not shorter than an opening would leave it"
        if not made.steps:
            return "left" if made.refusals else "sound"
        undo(str(place))
    except (MetashellError, OSError) as error:
        assert tree_of(folder) == before
        assert str(place) in str(error), error
        return "refused"
    finally:
        after = tree_of(folder)
        after.pop("d/repair.json", None)
    assert after == before
    return "repaired"


def _end_of(log: Path) -> int | None:
    """Where the log ends that an opening would leave; None if it cannot start."""
    if not log.is_dir():
        return None
    plan = judge_log(str(log)).plan
    return None if plan is None or plan.run is None else plan.run.end_offset


@pytest.mark.parametrize("group", quick(range(GROUPS)))
def test_every_kind_of_damage_is_repaired_and_taken_back_or_left(group: int, tmp_path: Path) -> None:
    ends = {name: try_case(tmp_path / str(number), CASES[name]) for number, name in enumerate(sorted(CASES)[group::GROUPS])}
    assert {end for name, end in ends.items() if name.endswith(": sound")} <= {"sound"}
    assert "repaired" in ends.values()


@pytest.mark.parametrize("seed", quick(range(0, 60, 10)))
def test_random_damage_is_repaired_and_taken_back_or_left(seed: int, tmp_path: Path) -> None:
    for number in range(seed, seed + 10):
        try_case(tmp_path / str(number), random_case(number))
