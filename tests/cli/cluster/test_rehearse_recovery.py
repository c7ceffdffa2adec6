"""The drill of recovery: a whole one with real processes, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from metashell.cli.cluster.rehearse import main
from metashell.cli.controllers.quorum import main as quorum
from metashell.common.values import ReplicaKey
from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.image import MetadataImage, load_image
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.rehearse.recovery import Command, Scene, Story, commands_of
from tests.running import REPOSITORY, run_main


def load(path: str) -> MetadataImage:
    with open_source(path) as source:
        return load_image(source)


@pytest.mark.slow
def test_the_drill_recovers_lost_controllers_with_the_commands_that_it_shows(tmp_path: Path) -> None:
    outcome = run_main(main, ["recovery", str(demo_directory()), "--auto", "--story", "controllers", "-o", "json"], cwd=tmp_path)

    assert outcome.status == 0, outcome
    result = json.loads(outcome.stdout)
    assert (result["story"], result["recovered"]) == ("controllers", True)
    assert {point["name"]: point["right"] for point in result["points"]} == dict.fromkeys(
        ("leader", "cluster", "markers", "topics", "brokers", "voters", "lost disks", "sources"), True
    )
    restore = result["commands"][0]["command"]
    assert restore.startswith("metashell quorum restore ") and "broker-101" in restore and "broker-102" in restore
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_drill_notices_that_only_the_older_copy_was_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_the_first_source(story: Story, scene: Scene, text_of: Mapping[ReplicaKey, str]) -> Iterator[Command]:
        return commands_of(story, scene._replace(sources=scene.sources[:1]), text_of)

    monkeypatch.setattr("metashell.rehearse.recovery.commands_of", with_the_first_source)
    outcome = run_main(main, ["recovery", str(demo_directory()), "--auto", "--story", "controllers", "-o", "json"], cwd=tmp_path)

    assert outcome.status == 1, outcome
    result = json.loads(outcome.stdout)
    assert result["verdict"].endswith("wrong: markers")
    fact = next(point["fact"] for point in result["points"] if point["name"] == "markers")
    assert fact.startswith("10 of 20 acknowledged changes lost: ")


@pytest.mark.slow
def test_a_drill_that_is_stopped_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "metashell", "rehearse", "recovery", str(demo_directory()), "--auto", "--story", "controllers"]
    drill = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert drill.stdout is not None
    for line in drill.stdout:
        if b"metashell storage format" in line:
            break
    drill.terminate()
    drill.stdout.close()

    assert drill.wait(120) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_rehearsal_takes_the_restored_state_and_brings_its_brokers_back(tmp_path: Path) -> None:
    words = ["restore", str(demo_directory()), "--out", "new", "--node-id", "3000", "--listener", "localhost:1", "--force"]
    assert run_main(quorum, words, cwd=tmp_path).status == 0
    brokers = sorted(load(str(tmp_path / "new")).cluster.brokers)

    standing = run_main(main, ["new", "-o", "json"], cwd=tmp_path)
    assert json.loads(standing.stdout)["voters"] == [3000]
    steps = " then ".join(f"restart-broker {id}" for id in brokers).split()
    rehearsed = json.loads(run_main(main, ["new", *steps, "-o", "json"], cwd=tmp_path).stdout)
    events = [event["text"] for event in rehearsed["events"]]
    for id in brokers:
        assert any(f"broker {id} is unfenced" in text for text in events), events


def test_without_a_terminal_somebody_has_to_be_named_who_repairs(tmp_path: Path) -> None:
    outcome = run_main(main, ["recovery", str(demo_directory())], cwd=tmp_path)

    assert outcome.status == 2
    assert "--auto runs the commands" in outcome.stderr


@pytest.mark.parametrize("story", ["nothing", ""])
def test_a_story_that_there_is_not_is_refused(story: str, tmp_path: Path) -> None:
    outcome = run_main(main, ["recovery", str(demo_directory()), "--auto", "--story", story], cwd=tmp_path)

    assert outcome.status == 2
    assert "disk, majority, controllers, all" in outcome.stderr


def test_a_directory_without_a_cluster_is_no_source(tmp_path: Path) -> None:
    outcome = run_main(main, ["recovery", str(tmp_path), "--auto"], cwd=tmp_path)

    assert outcome.status != 0
    assert len(outcome.stderr.splitlines()) == 1


def test_a_cluster_from_before_dynamic_quorums_is_refused(tmp_path: Path) -> None:
    with EmbeddedQuorum(controllers=1, metadata_version="3.8", static=True, directory=tmp_path / "old"):
        pass
    outcome = run_main(main, ["recovery", "old/controller-1/metadata", "--auto"], cwd=tmp_path)

    assert outcome.status == 1
    assert outcome.stderr.endswith("metadata.version 3.8-IV0: the drill adds voters, which needs 3.9 or later\n")
