"""Notes on groups: what a rebalance waits for, and how partitions are spread."""

from __future__ import annotations

from typing import Any

from metashell.groups.log.timeline_events import read_server_log
from metashell.groups.notes import assignment_notes, rebalance_notes, since_note
from metashell.groups.topics import KnownTopics, Topic
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, Parts

NONE = KnownTopics()


def member(name: str, assigned: Parts, topics: tuple[str, ...] = ("t", "u"), **more: Any) -> MemberDescription:
    return MemberDescription(member_id=f"{name}-id", member_type="classic", client_id=name, topics=topics, assigned=assigned, **more)


def group(
    *members: MemberDescription, kind: str = "classic", state: str = "Stable", assignor: str = "range", epoch: int = 5
) -> GroupDescription:
    summary = GroupSummary(group_id="g", kind=kind, state=state, protocol_type="consumer", epoch=epoch, members=len(members))
    return GroupDescription(summary=summary, members=members, assignor=assignor)


def notes(description: GroupDescription, topics: KnownTopics = NONE) -> dict[str, str]:
    return {note.kind: note.text for note in assignment_notes(description, topics)}


def topic(name: str, *racks: str) -> Topic:
    return Topic(name.encode() * 16, name, tuple((rack,) if rack else () for rack in racks))


def test_an_even_assignment_has_no_notes() -> None:
    even = group(member("a", (("t", (0,)), ("u", (0, 1)))), member("b", (("t", (1,)), ("u", (2,)))))
    assert notes(even, KnownTopics([topic("t", "", ""), topic("u", "", "", "")])) == {}


def test_a_total_that_is_even_may_be_uneven_by_topic() -> None:
    found = notes(group(member("a", (("t", (0, 1)),)), member("b", (("u", (0, 1)),)), assignor="sticky"))
    assert found == {
        "topic-skew": "even in total (2 each), uneven by topic: of t a has 2 and b none (1 each is even); of u b has 2 and a none "
        "(1 each is even); sticky evens out the total, not each topic"
    }


def test_a_total_that_is_uneven_is_said_and_idle_members_are_named() -> None:
    found = notes(group(member("a", (("t", (0, 1, 2)),)), member("b", ())))
    assert found["total-skew"] == "uneven in total: a has 3, b none (1 to 2 each is even)"
    assert found["idle-members"] == "1 of 2 members have no partition: b"
    fewer = notes(group(member("a", (("t", (0,)),)), member("b", ())))
    assert fewer == {"idle-members": "1 of 2 members have no partition: b: there are 1 partition for 2 members"}


def test_members_are_compared_with_those_of_their_subscription() -> None:
    other = group(member("a", (("t", (0, 1, 2, 3)),), ("t",)), member("b", (("u", (0,)),), ("u",)))
    assert notes(other) == {}


def test_partitions_without_an_owner_are_those_that_the_topics_have() -> None:
    found = notes(group(member("a", (("t", (0, 2)),), ("t",))), KnownTopics([topic("t", "", "", "")]))
    assert found == {"no-owner": "1 partition of its topics without an owner: t:1"}


def test_racks_that_the_assignor_ignores_are_said_only_where_a_member_could_read_nearer() -> None:
    topics = KnownTopics([topic("t", "r1", "r2", "r3")])
    members = member("a", (("t", (1,)),), ("t",), rack="r1"), member("b", (("t", (0, 2)),), ("t",), rack="r2")
    assert notes(group(*members), topics) == {
        "other-rack": "2 of 3 partitions are read in another rack than their replicas', though members in those racks could: t:0-1; the "
        "assignor (range) may not look at racks"
    }


def test_a_group_that_rebalances_is_not_judged() -> None:
    uneven = member("a", (("t", (0, 1, 2)),)), member("b", ())
    assert notes(group(*uneven, state="PreparingRebalance")) == {}
    moving = member("a", (("t", (0, 1, 2)),), target=(("t", (0,)),)), member("b", (), target=())
    assert notes(group(*moving, kind="consumer")) == {}


# ---- what a rebalance waits for


def texts(description: GroupDescription, **more: Any) -> list[str]:
    return [note.text for note in rebalance_notes(description, **more)]


def test_from_the_disk_a_classic_group_may_rebalance() -> None:
    assert texts(group(member("a", ())), is_live=False) == [
        "a rebalance may be under way: records of a classic group are written when one has ended"
    ]
    assert texts(group(state="Empty"), is_live=False) == []


def test_a_settled_group_waits_for_nothing() -> None:
    assert texts(group(member("a", ())), is_live=True) == []


def test_a_live_rebalance_says_what_brokers_do_not_say_and_when_it_was_seen() -> None:
    preparing = group(member("a", ()), state="PreparingRebalance")
    (text,) = texts(preparing, is_live=True, since="at 12:00, 4 s ago")
    assert "has not used it: brokers do not say which, nor since when (--server-log FILE does); first seen so at 12:00, 4 s ago" in text
    (text,) = texts(group(member("a", ()), state="CompletingRebalance"), is_live=True)
    assert text.startswith("the rebalance waits for the leader's assignment")


def test_the_newest_record_of_a_live_group_says_since_when() -> None:
    place = "offset 7 of __consumer_offsets-3"

    def text(description: GroupDescription, epoch: int) -> str:
        return since_note(description, epoch=epoch, ms=1_795_738_993_332, place=place).text

    at = "2026-11-27T00:23:13.332Z"
    assert text(group(), 4) == f"generation 4 was written at {at} ({place})"
    assert text(group(state="PreparingRebalance"), 4) == f"the rebalance began after {at}, when generation 4 was written ({place})"
    assert text(group(kind="consumer", state="Reconciling"), 5) == f"epoch 5 has been so since {at} ({place})"
    assert text(group(kind="consumer"), 6) == f"epoch 6 may have been so since {at} ({place})"


LINES = (
    "[2026-11-27 00:00:01,000] INFO [GroupCoordinator id=1] Dynamic member with unknown member id joins group g in Stable state. Created "
    "a new member id ghost-1 and requesting the member to rejoin with this id. (org.x)",
    "[2026-11-27 00:00:02,000] INFO [GroupCoordinator id=1] Preparing to rebalance group g in state PreparingRebalance with old generation "
    "3 (reason: Adding new member b-id with group instance id null; client reason: not provided). (org.x)",
    "[2026-11-27 00:00:03,000] INFO [GroupCoordinator id=1] Pending dynamic member with id a-id joins group g in PreparingRebalance state. "
    "Adding to the group now. (org.x)",
)


def test_a_brokers_log_says_since_when_and_for_whom_it_waits() -> None:
    log = read_server_log("server.log", LINES, "g")
    preparing = group(member("a", ()), member("b", ()), state="PreparingRebalance")
    began, ghost, late = texts(preparing, is_live=True, log=log)
    assert began.startswith(
        "a rebalance began at 2026-11-27 00:00:02,000 (server.log, line 2) and has no end there: Adding new member b-id"
    )
    assert ghost == "it waits for ghost-1: this member id was given at 2026-11-27 00:00:01,000 (server.log, line 1) and is not used"
    assert late == "may wait for b: their joins are not in that log since"
    ended = read_server_log("server.log", (*LINES, "x Stabilized group g generation 4 with 2 members. (org.x)"), "g")
    assert ended.preparing is None


def test_a_group_of_the_consumer_protocol_waits_for_members_by_name() -> None:
    moving = group(
        member("a", (("t", (0, 1)),), target=(("t", (0,)),), epoch=4),
        member("b", (), target=(("t", (1,)),), epoch=4),
        member("c", (), target=(), epoch=5),
        kind="consumer",
        state="Reconciling",
    )
    assert texts(moving, is_live=True) == [
        "the rebalance waits for a to give up t:1",
        "b is at epoch 4 of 5, and has not asked for its partitions yet",
    ]
