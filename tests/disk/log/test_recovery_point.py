"""How far a log was durable: what the file says between the steps of a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.disk.file_system import Disk
from metashell.disk.state_files import DurableTo, RecoveryPoint, read_recovery_point


@pytest.fixture
def point(tmp_path: Path):
    made = RecoveryPoint(Disk(), str(tmp_path), [(3, 0)], 20)
    yield made
    made.close()


def test_a_log_that_begins_anew_claims_nothing_until_its_old_files_are_gone(tmp_path: Path, point: RecoveryPoint) -> None:
    assert read_recovery_point(str(tmp_path)) == DurableTo(20, 3)
    before, after = point.begin_at(10, 5)
    before()
    assert read_recovery_point(str(tmp_path)) == DurableTo(0, 0)
    after()
    assert read_recovery_point(str(tmp_path)) == DurableTo(10, 5)


def test_a_cut_lowers_it_before_the_files_are_cut(tmp_path: Path, point: RecoveryPoint) -> None:
    before = point.cut(7)
    assert read_recovery_point(str(tmp_path)) == DurableTo(20, 3)
    before()
    assert read_recovery_point(str(tmp_path)) == DurableTo(7, 3)
