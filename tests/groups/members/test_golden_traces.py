"""Our members do what the Java consumers of each story did: the same requests, byte for byte, and the same callbacks, in the same order."""

from __future__ import annotations

import pytest

from tests.groups.members.traces import Replay, differences, members_of, stories

STORIES = stories()


def test_there_are_twelve_stories() -> None:
    assert len(STORIES) == 12 and sum(len(members_of(rows)) for rows in STORIES.values()) == 36


@pytest.mark.parametrize("story", sorted(STORIES))
def test_every_member_of_a_story_does_what_the_java_consumer_did(story: str) -> None:
    assert differences(story, STORIES[story]) == []


def test_what_is_compared_is_a_whole_life() -> None:
    replay = Replay(STORIES["cooperative-sticky"], "a")
    replay.play()
    events = [shown.what for shown in replay.shown]
    assert events.count("JoinGroup") == 9 and events.count("assigned") == 8 and events.count("revoked") == 4
    assert events[-3:] == ["OffsetCommit", "revoked", "LeaveGroup"]
