"""A whole repair of a voter's directory, stopped after every step: the repair that is run again leads to the same directory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metashell.disk.file_system import Disk
from metashell.disk.mend import take_back, undo, write_changes
from metashell.disk.names import METADATA_DIRECTORY, segment_name
from metashell.inspect.repair.plan import RepairRequest, plan_repair
from tests.disk.mend_cases import tree_of
from tests.disk.test_mend_crash import try_every_crash
from tests.inspect.repair.test_plan import NEW_ID, dynamic, lost_state
from tests.recording_files import RecordingDisk, UnsyncedDisk

pytestmark = pytest.mark.slow
STATES_MIN = 60


def damaged(at: Path) -> Path:
    """Voter 1 with a torn tail, a torn meta.properties, a lost quorum-state and a leftover."""
    place = dynamic(1).write(at)
    log = place / METADATA_DIRECTORY / segment_name(0)
    log.write_bytes(log.read_bytes() + bytes(30))
    (place / "meta.properties").write_text((place / "meta.properties").read_text()[:-30])
    (place / METADATA_DIRECTORY / "quorum-state.tmp").write_bytes(b"x")
    lost_state(place)
    return place


def in_use(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree_of(folder).items() if ".damaged-" not in name and name != "repair.json"}


def test_an_interrupted_repair_leads_to_the_same_directory(tmp_path: Path) -> None:
    sources = tuple(str(dynamic(id).write(tmp_path / "others" / str(id))) for id in (2, 3))
    real, start, work = damaged(tmp_path / "real"), damaged(tmp_path / "start"), tmp_path / "work"
    work.mkdir()

    def repair(folder: Path, disk: Disk) -> None:
        take_back(str(folder), disk)
        made = plan_repair(RepairRequest(path=str(folder), sources=sources, date="now", new_uuid=lambda: NEW_ID))
        assert made.refusals == ()
        if made.steps:
            write_changes(str(folder), made.changes, 1, disk)

    before = tree_of(start)
    disk = RecordingDisk(real)
    repair(real, disk)
    end = in_use(real)

    def check(folder: Path) -> None:
        repair(folder, UnsyncedDisk())
        assert in_use(folder) == end
        undo(str(folder), UnsyncedDisk())
        left = {name: data for name, data in tree_of(folder).items() if name in before}
        assert left == before

    assert try_every_crash(start, disk.steps, work, check) > STATES_MIN
    shutil.rmtree(work)
