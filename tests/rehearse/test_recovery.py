"""Judging a drill of recovery, without a quorum."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metashell.common.values import ReplicaKey, uuid_text
from metashell.rehearse.recovery import (
    MARKER,
    STORIES,
    Content,
    Found,
    Place,
    Scene,
    commands_of,
    drill_value,
    is_right,
    judge,
    story_named,
    verdict_line,
)

KEYS = {id: ReplicaKey(id, bytes([id]) * 16) for id in (1, 2, 3)}
NEW = {id: ReplicaKey(id, bytes([id + 100]) * 16) for id in (1, 2, 3)}
PLACES = tuple(Place(id, f"c{id}/server.properties", f"c{id}/metadata", f"localhost:{9000 + id}") for id in (1, 2, 3))
BEFORE = Content(
    cluster_id="4L6g3nShT-eMCtK--X86sw",
    markers=frozenset(f"{MARKER}{number}" for number in range(5)),
    topics=frozenset({("orders", b"o" * 16)}),
    brokers=frozenset({101}),
)
MAJORITY = story_named("majority")
ALL_LOST = tuple(KEYS.values())


def found(content: Content | None = BEFORE, **more: object) -> Found:
    return replace(Found(content=content, voters=tuple(NEW.values())), **more)


def wrong(one: Found) -> dict[str, str]:
    return {point.name: point.fact for point in judge(MAJORITY, BEFORE, one, ALL_LOST) if not point.is_right}


def test_a_quorum_of_three_new_disks_with_all_that_was_acknowledged_is_right() -> None:
    points = judge(MAJORITY, BEFORE, found(), ALL_LOST)

    assert is_right(points)
    assert verdict_line(MAJORITY, points) == "RECOVERED: two of three controllers are lost; nothing acknowledged was lost"


def test_more_than_was_acknowledged_is_right_too() -> None:
    assert wrong(found(replace(BEFORE, markers=BEFORE.markers | {f"{MARKER}9"}))) == {}


def test_an_acknowledged_change_that_is_lost_is_named() -> None:
    assert wrong(found(replace(BEFORE, markers=frozenset({f"{MARKER}0"})))) == {
        "markers": "4 of 5 acknowledged changes lost: recovery-drill-1, recovery-drill-2, recovery-drill-3 and 1 more"
    }


def test_a_topic_that_was_made_again_is_not_the_topic_that_was_lost() -> None:
    assert wrong(found(replace(BEFORE, topics=frozenset({("orders", b"p" * 16)})))) == {"topics": "1 of 1 topic lost: orders"}


def test_a_registration_and_the_cluster_id_count() -> None:
    other = replace(BEFORE, brokers=frozenset(), cluster_id="AAAAAAAAAAAAAAAAAAAAAA")

    assert wrong(found(other)) == {
        "cluster": "the cluster id is AAAAAAAAAAAAAAAAAAAAAA",
        "brokers": "1 of 1 registered broker lost: 101",
    }


def test_a_vote_of_a_lost_disk_is_wrong() -> None:
    assert wrong(found(voters=(NEW[1], NEW[2], KEYS[3]))) == {"lost disks": "still a voter: 3"}


@pytest.mark.parametrize(
    ("one", "fact"),
    [
        (found(voters=(NEW[1],)), "1 voter: 1"),
        (found(silent=(3,)), "3 voters: 1, 2, 3; not following: 3"),
    ],
)
def test_fewer_than_three_voters_or_one_that_does_not_follow_is_wrong(one: Found, fact: str) -> None:
    assert wrong(one) == {"voters": fact}


def test_without_a_quorum_nothing_else_is_judged_but_the_last_copy() -> None:
    one = found(None, reason="localhost:9001: Connection refused", changed=("old-controller-1",))

    assert wrong(one) == {
        "leader": "localhost:9001: Connection refused",
        "sources": "changed: old-controller-1: work on copies, these were the last ones",
    }


def test_one_lost_disk_is_repaired_without_a_restore_and_the_other_losses_with_one() -> None:
    text_of = {key: uuid_text(key.directory_id) for key in KEYS.values()}
    verbs = {}
    for story in STORIES:
        scene = Scene(BEFORE.cluster_id, PLACES, ("old",) if story.is_stopped else (), tuple(KEYS[id] for id in story.lost))
        commands = list(commands_of(story, scene, text_of))
        verbs[story.name] = [command.words[0] if command.words[0] != "quorum" else command.words[1] for command in commands]
        assert [command.server for command in commands if command.words[0] == "server"] == [3] if story.name == "disk" else [1, 2, 3]

    assert verbs["disk"] == ["storage", "remove-controller", "server", "add-controller"]
    assert verbs["majority"] == verbs["controllers"] == ["restore", "server", *["storage", "server", "add-controller"] * 2]


def test_the_value_for_programs_has_each_point() -> None:
    value = drill_value(MAJORITY, judge(MAJORITY, BEFORE, found(), ALL_LOST), [{"command": "metashell server x", "status": None}], 5.04)

    assert (value["type"], value["story"], value["recovered"], value["seconds"]) == ("drill", "majority", True, 5.0)
    assert [point["name"] for point in value["points"]] == [
        *("leader", "cluster", "markers", "topics", "brokers", "voters", "lost disks", "sources")
    ]
