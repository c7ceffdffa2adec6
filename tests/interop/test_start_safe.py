"""`metashell verify --start-safe` against real Kafka, started on copies of damaged directories: does it serve, and what is left."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.releases import NEWEST_RELEASE, RELEASES, Release, level_name
from metashell.disk.state_files import read_leader_epochs
from metashell.inspect.verify.output import start_of
from metashell.inspect.verify.start import StartVerdict
from metashell.metadata.checks.facts import Configuration
from metashell.metadata.facts import gather_facts
from tests.disk.conftest import quick_place
from tests.interop.start_bases import CLUSTER_ID, make_base
from tests.interop.start_cases import Damage, cases, random_case
from tests.java import KAFKA, kafka, lone_controllers
from tests.unknown_rows import make_directory
from tools.interop.nodes import controller_settings, write_config

pytestmark = pytest.mark.slow

METADATA = "__cluster_metadata-0"
RACE = "no metadata.version record is left"
TRIES_OF_A_RACE = 5
UNKNOWN_MAX = 0.03
"""The share of cases of which may be said that it cannot be told."""


Maker = Callable[[Path], object]
"""Makes a log directory of node 1."""


def start_all(folder: Path, chosen: Mapping[str, Maker], version: str = KAFKA) -> dict[str, tuple[str, str, Path, Path]]:
    """Start Kafka once on each case; what it did and why, and its directory before and after."""
    found: dict[str, tuple[str, str, Path, Path]] = {}
    for number, (name, make) in enumerate(chosen.items()):
        # Log directories side by side could be those of one node.
        own = folder / str(number)
        own.mkdir(parents=True)
        before, after = own / "before", own / "after"
        make(before)
        shutil.copytree(before, after)
        answer = start_once(after, version)
        found[name] = answer["did"], answer["why"], before, after
    return found


def start_once(log_dir: Path, version: str = KAFKA) -> dict[str, Any]:
    """What a controller of a release does on a log directory of node 1."""
    settings = controller_settings(1, 0, log_dir, {"controller.quorum.voters": "1@localhost:9093"})
    return lone_controllers(version).try_to_start(write_config(log_dir.with_suffix(".properties"), settings))


def start_on(folder: Path, release: Release = NEWEST_RELEASE) -> StartVerdict:
    """What is said of a start of node 1 on a log directory."""
    config = Configuration(path="server.properties", node_id=1)
    return start_of(replace(gather_facts([str(folder)], release=release), configurations=(config,)), 0)


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


def damaged(kind: str, damage: Damage) -> Maker:
    return lambda folder: damage(make_base(folder, kind))


def said(verdict: StartVerdict) -> list[Any]:
    """What Kafka confirms or refutes of a verdict: whether it starts, what it changes, and where its log ends."""
    changes = sorted([os.path.basename(change.file), change.action, change.position, change.bytes] for change in verdict.changes)
    return [verdict.starts, changes, verdict.end_offset, verdict.epoch]


def judge(folder: Path, chosen: dict[str, tuple[str, Damage]]) -> dict[str, list[Any]]:
    """Start Kafka on all cases and compare; gives what was said, and is right."""
    wrong = {}
    right = {}
    for name, (did, why, before, after) in start_all(folder, {name: damaged(*case) for name, case in chosen.items()}).items():
        verdict = start_on(before)
        right[name] = said(verdict)
        told = differences(verdict, did, before, after)
        for again in range(TRIES_OF_A_RACE if told and RACE in verdict.reason else 0):
            # A real server ends here, but for where its first records are committed before its loader shows an image without them.
            other = before.with_name(f"again-{again}")
            shutil.copytree(before, other)
            if not (told := differences(verdict, start_once(other)["did"], before, other)):
                break
        if told:
            wrong[name] = [*told, verdict.reason[-200:], why[-200:]]
        if ": sound" in name:
            assert verdict.is_safe, (name, verdict)
    assert not wrong, "\n".join(f"{name}: {'; '.join(told)}" for name, told in wrong.items())
    return right


def sample(all_cases: dict[str, tuple[str, Damage]]) -> dict[str, tuple[str, Damage]]:
    """Every sixth case, another one of each file and kind of damage, on which Kafka starts in each run; `make soak` takes all."""
    return {name: case for number, (name, case) in enumerate(all_cases.items()) if number % 6 == 0 or ": sound" in name}


GOLDEN = Path(__file__).parents[1] / "golden" / "start" / "verdicts.json"


def random_cases(first: int, count: int) -> dict[str, tuple[str, Damage]]:
    return {f"seed {seed}": random_case(seed) for seed in range(first, first + count)}


def test_all_damage_is_judged_as_when_kafka_confirmed_it() -> None:
    expected = json.loads(GOLDEN.read_text())
    found = {}
    for name, case in (cases() | random_cases(0, 40)).items():
        with quick_place() as folder:
            damaged(*case)(folder / "log")
            found[name] = said(start_on(folder / "log"))
    assert found == expected
    assert sum(starts is None for starts, *_ in found.values()) <= UNKNOWN_MAX * len(found)


def test_kafka_does_what_was_said_on_every_kind_of_damage(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    is_rewritten = request.config.getoption("--rewrite")
    chosen = cases() if os.environ.get("METASHELL_SOAK") or is_rewritten else sample(cases())
    assert len(chosen) > 60
    right = judge(tmp_path, chosen | (random_cases(0, 40) if is_rewritten else {}))
    if is_rewritten:
        GOLDEN.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(told)}" for name, told in right.items()) + "\n}\n")


def test_kafka_does_what_was_said_on_random_damage(tmp_path: Path) -> None:
    begin = int(os.environ.get("METASHELL_SEED", "0"))
    count = 200 if os.environ.get("METASHELL_SOAK") else 12
    judge(tmp_path, random_cases(begin, count))


def formatted(version: str, *words: str) -> Maker:
    """What `kafka-storage format` of a release leaves for a static quorum."""

    def make(folder: Path) -> None:
        settings = controller_settings(1, 9093, folder, {"controller.quorum.voters": "1@localhost:9093"})
        config = write_config(folder.with_suffix(".format"), settings)
        done = kafka(version, "storage", "format", "-t", CLUSTER_ID, "-c", str(config), *words)
        assert done.returncode == 0, done.stderr

    return make


RELEASED: dict[str, Maker] = {
    "formatted by 3.9": formatted("3.9.2"),
    "formatted by 4.3": formatted("4.3.1"),
    "formatted by 4.4": formatted("4.4.0"),
    "formatted by 4.4 at 3.9": formatted("4.4.0", "--release-version", "3.9"),
    **{row: partial(make_directory, row=row) for row in ("nothing unknown", "share.version 2", "UnregisterControllerRecord")},
}
LEVEL = re.compile(r"metadata\.version=(\d+)")


@pytest.mark.parametrize("version", ("3.9.2", "4.2.1", "4.3.1", "4.4.0"))
def test_each_release_starts_where_it_was_said(tmp_path: Path, version: str) -> None:
    release = next(release for release in RELEASES if version.startswith(f"{release.name}."))
    for name, (did, why, before, _) in start_all(tmp_path, RELEASED, version).items():
        verdict = start_on(before, release)
        assert verdict.starts == (did == "serves"), (name, why, verdict.reason)
        assert (release.name in verdict.releases) == (did == "serves" and not verdict.unnoticed), (name, verdict)
        if verdict.unnoticed:
            # It begins at its own newest level, whatever was formatted.
            assert LEVEL.findall(why) == [str(release.newest_level)]
            assert f"begins with {level_name('metadata.version', release.newest_level)} alone" in verdict.unnoticed[0]
