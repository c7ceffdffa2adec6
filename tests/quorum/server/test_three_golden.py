"""Three of our controllers against what three real ones answered and wrote; see tests/golden/three-controllers/README.md.

`three_differs.tsv` names the steps that are not equal, and why. Of an error's message ours may say more, behind Kafka's words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.quorum.server.three_stories import STORIES, play, recorded
from tools.interop.nodes import server_command

pytestmark = [pytest.mark.golden, pytest.mark.slow]

DIFFERS: dict[tuple[str, str], str] = {}
for line in Path(__file__).with_name("three_differs.tsv").read_text(encoding="utf-8").splitlines():
    if not line.startswith("#"):
        story, step, reason = line.split("\t")
        DIFFERS[story, step] = reason


def ours(tool: str, *words: str) -> list[str]:
    assert tool == "server"
    return server_command(*words)


def is_same(theirs: Any, own: Any) -> bool:
    if isinstance(theirs, dict) and isinstance(own, dict):
        return theirs.keys() == own.keys() and all(
            own[key].startswith(theirs[key]) if key == "errorMessage" and theirs[key] and own[key] else is_same(theirs[key], own[key])
            for key in theirs
        )
    if isinstance(theirs, list) and isinstance(own, list):
        return len(theirs) == len(own) and all(map(is_same, theirs, own))
    return bool(theirs == own)


@pytest.mark.parametrize("name", STORIES)
def test_every_step_of_a_story_is_answered_and_written_as_by_real_controllers(name: str, tmp_path: Path) -> None:
    theirs, own = recorded()[name], play(name, ours, tmp_path)

    assert [step["what"] for step in theirs] == [step["what"] for step in own]
    differing = {one["what"]: (one, other) for one, other in zip(theirs, own, strict=True) if not is_same(one, other)}
    expected = {step for story, step in DIFFERS if story == name}
    assert not {what: both for what, both in differing.items() if what not in expected}
    assert set(differing) == expected


def test_the_table_gives_a_reason_for_every_step() -> None:
    steps = {(story, step["what"]) for story, told in recorded().items() for step in told}

    assert DIFFERS.keys() <= steps and all(len(reason) > 20 for reason in DIFFERS.values())
    assert recorded().keys() == STORIES.keys()
