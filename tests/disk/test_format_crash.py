"""Formatting, stopped after every single step: whatever part of it is on disk, info explains it and format finishes it."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.common.errors import StorageError
from metashell.disk.config import NodeConfig, config_of
from metashell.disk.files import open_file
from metashell.disk.format import FormatPlan, FormatRequest, Given, Layout, plan_format, write_format
from metashell.disk.properties import load_ensemble
from metashell.disk.segment import read_batches
from metashell.disk.storage_info import read_info
from tests.recording_files import ModelledDisk, RecordingDisk, Step, Tree, UnsyncedDisk, write_tree

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
VOTERS = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
STATIC = {"controller.quorum.voters": "1@localhost:9093"}
DYNAMIC = {"controller.quorum.bootstrap.servers": "localhost:9093"}


class CrashError(AssertionError):
    """A state after a crash that format must not leave."""


def node(quorum: dict[str, str], directories: str) -> NodeConfig:
    return config_of(
        {
            "process.roles": "controller",
            "node.id": "1",
            "controller.listener.names": "CONTROLLER",
            "listeners": "CONTROLLER://localhost:9093",
            "log.dirs": directories,
            **quorum,
        }
    )


def given() -> Given:
    numbers = itertools.count(1)
    return Given(
        now_ms=1_700_000_000_000,
        date="Fri Nov 20 12:25:33 UTC 2026",
        new_uuid=lambda: bytes(15) + bytes([100 + next(numbers)]),
        new_salt=lambda: b"salt",
    )


def plan(config: NodeConfig, quorum: str, layout: Layout) -> FormatPlan:
    return plan_format(config, FormatRequest(cluster_id=CLUSTER_ID, quorum=quorum, layout=layout), given())


def record(config: NodeConfig, quorum: str, root: Path, layout: Layout = "4.4") -> list[Step]:
    """The steps of a format in the working directory, which is `root`."""
    disk = RecordingDisk(root)
    write_format(plan(config, quorum, layout), lambda _: None, disk)
    return disk.steps


def check_interrupted(config: NodeConfig, how: str, layout: Layout = "4.4") -> bool:
    """Hold a found state against the promises; whether every directory is formatted."""
    info = read_info(config.log_directories)
    for directory in info.directories:
        if directory.state == "formatted":
            require_whole(directory.path, config, layout, dynamic=how == "standalone")
        elif directory.state not in ("missing", "not_formatted"):
            raise CrashError(f"{directory.path} is {directory.state}: {directory.explanation}")
    done = [directory for directory in info.directories if directory.state == "formatted"]
    if len(done) == len(info.directories):
        return True
    if len(info.problems) != len(info.directories) - len(done):
        raise CrashError(f"not every directory is explained: {info.problems}")
    if done and len(info.explanations) != len(info.directories) - len(done):
        raise CrashError(f"an interrupted format is not told: {info.directories}")
    return False


def require_whole(path: str, config: NodeConfig, layout: Layout, *, dynamic: bool) -> None:
    """What a formatted directory must hold: whole checkpoints, and voters that name its own directory id."""
    is_metadata = path == config.metadata_log_directory
    if layout == "4.3":
        read_whole(f"{path}/bootstrap.checkpoint")
    elif is_metadata and b"metadata.version" not in read_whole(f"{path}/{VOTERS}"):
        raise CrashError(f"{path}: its first records are missing")
    if dynamic and is_metadata:
        directory_id = load_ensemble([path]).formatted[path].directory_id
        if directory_id is None or directory_id not in read_whole(f"{path}/{VOTERS}"):
            raise CrashError(f"{path}: its voters do not name it")


def read_whole(path: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise CrashError(f"{path} is missing") from None
    with open_file(path) as file:
        sizes = [batch.header.size_bytes for batch in read_batches(file) if hasattr(batch, "header") and batch.crc_fault() is None]
    if sum(sizes) != len(data) or not data:
        raise CrashError(f"{path} is not whole")
    return data


def finish(config: NodeConfig, quorum: str, layout: Layout = "4.4") -> None:
    """Format again as before, and require that all is as after a format that was never interrupted."""
    try:
        write_format(plan(config, quorum, layout), lambda _: None, UnsyncedDisk())
    except StorageError as error:
        raise CrashError(f"format does not finish: {error}") from None
    info = read_info(config.log_directories)
    if info.problems:
        raise CrashError(f"after finishing: {info.problems}")
    for path in config.log_directories:
        require_whole(path, config, layout, dynamic=quorum == "standalone")
        left = [name for _, _, names in os.walk(path) for name in names if name.endswith((".tmp", ".new", ".lock"))]
        if left:
            raise CrashError(f"{path}: left behind: {left}")


def try_every_crash(start: Path, steps: list[Step], work: Path, check: Callable[[Tree, int], None]) -> int:
    """Run `check` in a folder made of every state after every step; the number of states."""
    disk, count = ModelledDisk(start), 0
    for index, step in enumerate([None, *steps]):
        if step is not None:
            disk.follow(step)
        for tree in disk.states(seed=index):
            folder = work / str(count)
            folder.mkdir()
            write_tree(tree, folder)
            os.chdir(folder)
            check(tree, index)
            count += 1
            os.chdir(work)
            shutil.rmtree(folder)
    return count


SCENARIOS = {
    "one directory of a static quorum": (STATIC, "d1", ""),
    "a standalone voter": (DYNAMIC, "d1", "standalone"),
    "a standalone voter with two more directories": (DYNAMIC, "d1,d2,d3", "standalone"),
    "directories below others that are not there": (DYNAMIC, "a/b/d1,a/d2", "standalone"),
    "a node that joins": (DYNAMIC, "d1,d2", "none"),
}


QUICK = "one directory of a static quorum"


@pytest.mark.parametrize("layout", ["4.4", "4.3"])
@pytest.mark.parametrize("scenario", [name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SCENARIOS])
def test_after_a_crash_at_any_step_info_explains_and_format_finishes(
    scenario: str, layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quorum, directories, how = SCENARIOS[scenario]
    config = node(quorum, directories)
    real, start, work = (tmp_path / name for name in ("real", "start", "work"))
    for folder in (real, start, work):
        folder.mkdir()
    monkeypatch.chdir(real)
    steps = record(config, how, real, layout)

    def check(tree: Tree, index: int) -> None:
        try:
            if check_interrupted(config, how, layout):
                return
            finish(config, how, layout)
        except CrashError as error:
            raise CrashError(f"after step {index} ({steps[index - 1] if index else 'none'}): {error}\n{sorted(tree)}") from None

    assert try_every_crash(start, steps, work, check) > len(steps)
    monkeypatch.chdir(work)
    assert check_complete(start, steps, config, how, work, layout)


def check_complete(start: Path, steps: list[Step], config: NodeConfig, how: str, work: Path, layout: Layout) -> bool:
    """Whether what is sure to be on disk after the last step is all that format promises."""
    disk = ModelledDisk(start)
    for step in steps:
        disk.follow(step)
    folder = work / "complete"
    folder.mkdir()
    write_tree(next(iter(disk.states(seed=0))), folder)
    os.chdir(folder)
    return check_interrupted(config, how, layout)


@pytest.mark.slow
@pytest.mark.parametrize("left_out", ["sync_file", "sync_directory"])
def test_without_either_kind_of_sync_some_crash_would_be_noticed(left_out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = node(DYNAMIC, "d1")
    real, start, work = (tmp_path / name for name in ("real", "start", "work"))
    for folder in (real, start, work):
        folder.mkdir()
    monkeypatch.chdir(real)
    steps = [step for step in record(config, "standalone", real) if step.name != left_out]

    def check(tree: Tree, index: int) -> None:
        if not check_interrupted(config, "standalone"):
            finish(config, "standalone")

    with pytest.raises(CrashError):
        try_every_crash(start, steps, work, check)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["4.4", "4.3"])
def test_voters_of_an_interrupted_format_are_not_believed_when_the_node_then_joins(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = node(DYNAMIC, "d1")
    real, start, work = (tmp_path / name for name in ("real", "start", "work"))
    for folder in (real, start, work):
        folder.mkdir()
    monkeypatch.chdir(real)
    steps = record(config, "standalone", real, layout)

    def check(tree: Tree, index: int) -> None:
        if not check_interrupted(config, "standalone", layout):
            finish(config, "none", layout)
            assert not Path("d1", VOTERS).exists() or b"CONTROLLER" not in Path("d1", VOTERS).read_bytes()

    try_every_crash(start, steps, work, check)


@pytest.mark.slow
def test_the_format_that_finishes_may_be_interrupted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = node(DYNAMIC, "d1,d2,d3")
    first, start, real, work = (tmp_path / name for name in ("first", "start", "real", "work"))
    for folder in (first, work):
        folder.mkdir()
    monkeypatch.chdir(first)
    steps = record(config, "standalone", first)
    disk = ModelledDisk(work)
    done = next(index for index, step in enumerate(steps) if str(step.other).endswith("/meta.properties"))
    for step in steps[: done + 2]:
        disk.follow(step)
    for folder in (start, real):
        folder.mkdir()
        write_tree(next(iter(disk.states(seed=0))), folder)
    monkeypatch.chdir(real)
    assert len(load_ensemble(config.log_directories).formatted) == 1
    steps = record(config, "standalone", real)

    def check(tree: Tree, index: int) -> None:
        if not check_interrupted(config, "standalone"):
            finish(config, "standalone")

    assert try_every_crash(start, steps, work, check) > len(steps)
