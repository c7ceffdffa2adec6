"""`metashell verify --start-safe` against real Kafka, started on copies of damaged directories: does it serve, and what is left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from metashell.log.text_checkpoints import read_leader_epochs
from metashell.verify.start.forecast import forecast
from metashell.verify.start.verdict import StartVerdict
from tests.interop.start_bases import make_base
from tests.interop.start_cases import Damage, cases, random_case
from tests.java import KAFKA, jars, java, run_program
from tools.interop.nodes import controller_settings, write_config

pytestmark = pytest.mark.slow

METADATA = "__cluster_metadata-0"
PROGRAM = Path(__file__).parent / "java" / "Starts.java"
UNKNOWN_MAX = 0.03
"""The share of cases of which may be said that it cannot be told."""


def start_all(folder: Path, chosen: dict[str, tuple[str, Damage]]) -> dict[str, tuple[str, str, Path, Path]]:
    """Start Kafka once on each case; what it did and why, and its directory before and after."""
    java()
    jars(KAFKA)
    configs: dict[str, tuple[str, Path, Path]] = {}
    for number, (name, (kind, damage)) in enumerate(chosen.items()):
        before, after = folder / f"before-{number}", folder / f"after-{number}"
        place = make_base(before, kind)
        damage(place)
        shutil.copytree(before, after)
        settings = controller_settings(1, 0, after, {"controller.quorum.voters": "1@localhost:9093"})
        configs[str(write_config(folder / f"{number}.properties", settings))] = name, before, after
    found: dict[str, tuple[str, str, Path, Path]] = {}
    left = list(configs)
    while left:
        answers = run_program(PROGRAM, stdin="".join(f"{config}\n" for config in left).encode()).decode("utf-8", "replace")
        answered = [line.split("\t") for line in answers.splitlines() if line.count("\t") == 2]
        assert answered, answers
        for config, did, why in answered:
            name, before, after = configs[config]
            found[name] = did, why, before, after
        left = left[len(answered) :]
    assert set(found) == set(chosen)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """The segments and checkpoints of a log directory."""
    place = folder / METADATA
    names = [path for path in place.iterdir() if path.is_file()] if place.is_dir() else []
    return {path.name: path.read_bytes() for path in names if path.suffix == ".log" or ".checkpoint" in path.name}


def differences(verdict: StartVerdict, did: str, before: Path, after: Path) -> list[str]:
    """Where Kafka did something else than was said."""
    if verdict.starts is None:
        return []
    if verdict.starts != (did == "serves"):
        return [f"starts: {verdict.starts}, but it {did}"]
    old, new = contents(before), contents(after)
    changes = {os.path.basename(change.file): change for change in verdict.changes}
    told = []
    for name, data in old.items():
        change = changes.get(name)
        kept = data if change is None else data[: change.position]
        left = new.get(name)
        if change is not None and change.action == "delete":
            if left is not None and name != f"{verdict.end_offset:020d}.log":
                told.append(f"{name} is there")
        elif left is None:
            told.append(f"{name} is gone")
        elif not left.startswith(kept):
            told.append(f"{name} is not kept up to byte {len(kept)}, it has {len(left)}")
        elif len(left) > len(kept) and did == "serves" and int.from_bytes(left[len(kept) :][:8], "big") != verdict.end_offset:
            told.append(f"{name} goes on behind byte {len(kept)}")
        if change is not None and change.bytes != len(data) - change.position:
            told.append(f"{name}: {change.bytes} bytes are not those behind byte {change.position}")
    if did == "serves":
        told += _end_differences(verdict, after)
    return told


def _end_differences(verdict: StartVerdict, after: Path) -> list[str]:
    """A server that serves has begun a new epoch where the log ended."""
    *earlier, newest = read_leader_epochs(str(after / METADATA / "leader-epoch-checkpoint"))
    told = []
    if newest.start_offset != verdict.end_offset:
        told.append(f"the log ended at {newest.start_offset}, not {verdict.end_offset}")
    if earlier and earlier[-1].epoch != verdict.epoch:
        told.append(f"its last epoch was {earlier[-1].epoch}, not {verdict.epoch}")
    return told


def judge(folder: Path, chosen: dict[str, tuple[str, Damage]]) -> None:
    """Start Kafka on all cases and compare."""
    wrong = {}
    unknown = []
    for name, (did, why, before, after) in start_all(folder, chosen).items():
        verdict = forecast(str(before), str(before / METADATA), 1)
        if verdict.starts is None:
            unknown.append(name)
        if told := differences(verdict, did, before, after):
            wrong[name] = [*told, verdict.reason[-200:], why[-200:]]
        if ": sound" in name:
            assert verdict.is_safe, (name, verdict)
    assert not wrong, "\n".join(f"{name}: {'; '.join(told)}" for name, told in wrong.items())
    assert len(unknown) <= UNKNOWN_MAX * len(chosen), unknown


def sample(all_cases: dict[str, tuple[str, Damage]]) -> dict[str, tuple[str, Damage]]:
    """Of the many flips and cuts of segments every fourth, all others: as many as fit a test. `make soak` takes all."""
    many = [name for name in all_cases if name.startswith("log:") and (" segment" in name or "batch" in name)]
    dropped = {name for number, name in enumerate(many) if number % 4}
    return {name: case for name, case in all_cases.items() if name not in dropped}


def test_kafka_does_what_was_said_on_every_kind_of_damage(tmp_path: Path) -> None:
    chosen = cases() if os.environ.get("METASHELL_SOAK") else sample(cases())
    assert len(chosen) > 60
    judge(tmp_path, chosen)


def test_kafka_does_what_was_said_on_random_damage(tmp_path: Path) -> None:
    begin = int(os.environ.get("METASHELL_SEED", "0"))
    count = 200 if os.environ.get("METASHELL_SOAK") else 40
    judge(tmp_path, {f"seed {seed}": random_case(seed) for seed in range(begin, begin + count)})
