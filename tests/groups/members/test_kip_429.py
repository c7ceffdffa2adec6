"""Each rule of KIP-429, shown by members of a running group."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

import pytest

from metashell.codec import error_codes
from metashell.codec.codes import JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from metashell.codec.consumer_protocol import Subscription, read_assignment, read_subscription, subscription_bytes
from metashell.codec.messages import HeartbeatResponse, JoinGroupResponse, OffsetCommitResponse
from metashell.groups.assignors import ClientMember
from metashell.groups.assignors.server import run_client_assignor, run_client_assignor_in_full
from metashell.groups.members import Callback, Send
from metashell.groups.members.classic import ClassicMember
from metashell.groups.members.member import MemberMachine
from metashell.groups.members.strategy import CooperativeStickyStrategy
from tests.groups.members.life import Life, topics_named
from tests.seeds import shows

COOPERATIVE = "cooperative-sticky"
RACKS = {"t": ((),) * 6}


def two_members(assignors: str = COOPERATIVE, max_poll_interval_ms: int = 300_000) -> Life:
    life = Life(topics_named(t=6, u=2))
    life.join("a", ("t", "u"), assignors, max_poll_interval_ms=max_poll_interval_ms)
    life.run(1_000)
    life.join("b", ("t", "u"), assignors, max_poll_interval_ms=max_poll_interval_ms)
    life.run(3_000)
    life.seen.clear()
    return life


def claims(life: Life, name: str) -> list[Subscription]:
    return [read_subscription(body.protocols[0].metadata) for body in life.requests(name, JOIN_GROUP)]


@shows("KIP-429/K1a")
def test_a_member_that_drops_a_topic_revokes_only_that_and_joins_with_the_rest() -> None:
    life = two_members()
    dropped = sorted(one for one in life.members["a"].owned if one[0] == "u")
    kept = sorted(one for one in life.members["a"].owned if one[0] == "t")
    assert dropped
    life.subscribe("a", "t")
    life.run(3_000)
    assert life.of("a")[0] == " ".join(("revoked", *(f"{topic}-{partition}" for topic, partition in dropped)))
    assert sorted(claims(life, "a")[0].owned) == kept
    assert life.overlaps == []


@shows("KIP-429/K1b")
def test_a_topic_that_goes_makes_the_leader_join_and_its_partitions_are_revoked() -> None:
    """Its last commit is of a topic that is gone; the Java consumer tries that again for a whole rebalance timeout."""
    life = two_members(max_poll_interval_ms=2_000)
    life.change_topics(topics_named(1, t=6), changed=(), deleted=("u",))
    life.run(5_000)
    reasons = [body.reason for name in "ab" for body in life.requests(name, JOIN_GROUP)]
    assert "cached metadata has changed" in reasons
    assert all(topic == "t" for name in "ab" for topic, _ in life.members[name].owned)
    revoked = {word for name in "ab" for line in life.of(name) if line.startswith("revoked") for word in line.split()[1:]}
    assert {"u-0", "u-1"} <= revoked and life.overlaps == []


@shows("KIP-429/K1c")
def test_a_member_told_of_a_rebalance_joins_with_all_that_it_owns() -> None:
    life = two_members()
    before = {name: sorted(life.members[name].owned) for name in "ab"}
    life.join("c", ("t", "u"), COOPERATIVE)
    life.run(3_000)
    for name in "ab":
        assert sorted(claims(life, name)[0].owned) == before[name]
        assert not life.of(name)[0].startswith("revoked " + " ".join(f"{topic}-{partition}" for topic, partition in before[name]))


@shows("KIP-429/K1c")
def test_a_commit_that_is_told_of_a_rebalance_makes_the_member_join_with_all_that_it_owns() -> None:
    life = two_members()
    member = life.members["a"]
    owned = sorted(member.owned)
    answer_commit(member, error_codes.REBALANCE_IN_PROGRESS)
    life.run(3_000)
    assert sorted(claims(life, "a")[0].owned) == owned
    assert life.requests("a", JOIN_GROUP)[0].reason == "offset commit failed since group is already rebalancing"


def answer_commit(member: MemberMachine, code: int) -> None:
    """Let the member commit as it does at intervals, and refuse that."""
    sends = [output for output in member.poll(10_000) if isinstance(output, Send) and output.api_key == OFFSET_COMMIT]
    (send,) = sends
    topic = OffsetCommitResponse.OffsetCommitResponseTopic
    partition = OffsetCommitResponse.OffsetCommitResponsePartition
    body = OffsetCommitResponse(topics=(topic(name="t", partitions=(partition(partition_index=0, error_code=code),)),))
    member.answered(send.ticket, body, 10_000)


@shows("KIP-429/K1d", "COORDINATOR-DRAFT/O18")
@pytest.mark.parametrize("code", [error_codes.UNKNOWN_MEMBER_ID, error_codes.ILLEGAL_GENERATION])
def test_a_member_that_was_put_out_loses_everything_and_joins_with_nothing(code: int) -> None:
    life = two_members()
    member = life.members["a"]
    id, owned = member.member_id, sorted(member.owned)
    due = member.next_due_ms()
    assert due is not None
    (beat,) = (output for output in member.run_due(due) if isinstance(output, Send))
    life._take("a", member.answered(beat.ticket, HeartbeatResponse(error_code=code), life.now_ms))
    life.run(1)
    assert life.of("a")[0] == " ".join(("lost", *(f"{topic}-{partition}" for topic, partition in owned)))
    first = life.requests("a", JOIN_GROUP)[0]
    name = "UNKNOWN_MEMBER_ID" if code == error_codes.UNKNOWN_MEMBER_ID else "ILLEGAL_GENERATION"
    assert first.member_id == ("" if code == error_codes.UNKNOWN_MEMBER_ID else id)
    assert first.reason == f"encountered {name} from HEARTBEAT response"
    assert claims(life, "a")[0].owned == () and claims(life, "a")[0].generation == -1


@shows("KIP-429/K1e")
def test_the_first_join_is_refused_with_an_id_and_the_second_claims_nothing() -> None:
    life = Life(topics_named(t=6))
    life.join("a", assignors=COOPERATIVE)
    life.run(1_000)
    first, second = life.requests("a", JOIN_GROUP)
    assert first.member_id == "" and second.member_id == life.members["a"].member_id
    assert second.reason == f"need to re-join with the given member-id: {second.member_id}"
    assert [(one.owned, one.generation) for one in claims(life, "a")] == [((), -1), ((), -1)]


@shows("KIP-429/K1f", "KIP-429/K3e")
def test_nothing_on_the_wire_asks_for_a_second_join_but_who_revoked_joins_again() -> None:
    life = two_members()
    life.join("c", ("t", "u"), COOPERATIVE)
    life.run(3_000)
    assert not hasattr(error_codes, "NEEDS_REJOIN")
    revokers = [name for name in "ab" if any(line.startswith("revoked") for line in life.of(name))]
    for name in "ab":
        reasons = [body.reason for body in life.requests(name, JOIN_GROUP)]
        assert ("need to revoke partitions and re-join" in reasons) == (name in revokers)
        seen = [one.what for one in life.seen if one.member == name]
        for at, what in enumerate(seen):
            if isinstance(what, Send) and getattr(what.body, "reason", "") == "need to revoke partitions and re-join":
                before = [one for one in seen[:at] if isinstance(one, Callback)]
                assert "revoked" in [one.event for one in before[-2:]], "first the callback, then the join"
    assert revokers


@shows("KIP-429/K9")
def test_assignors_have_no_version_so_user_data_of_another_form_changes_no_round() -> None:
    """A leader chooses by names alone. User data of a client to come is neither asked for again nor refused."""

    class FromTheFuture(CooperativeStickyStrategy):
        def user_data(self, topics: Collection[str]) -> bytes:
            return b"\x00\x07 a form that nobody knows"

    rounds = []
    for strategy in (CooperativeStickyStrategy(), FromTheFuture()):
        life = Life(topics_named(t=6))
        life.join("a", assignors=COOPERATIVE)
        life.run(1_000)
        life.join("b", assignors=[strategy])
        life.run(3_000)
        assert life.overlaps == [] and sorted(map(len, life.owned().values())) == [3, 3]
        rounds.append(max(member.generation for member in life.members.values()))
        assert {protocol.name for name in "ab" for body in life.requests(name, JOIN_GROUP) for protocol in body.protocols} == {COOPERATIVE}
    assert rounds[0] == rounds[1]


@shows("KIP-429/K2a")
def test_of_two_claims_the_newer_generation_counts_and_equal_ones_cancel() -> None:
    racks = {"a": ((),) * 4}
    one = ClientMember(("a",), (("a", 0), ("a", 1)), 5)
    other = ClientMember(("a",), (("a", 1), ("a", 2)), 5)
    assert run_client_assignor(COOPERATIVE, {"C0": one, "C1": other}, racks) == {"C0": [("a", 0)], "C1": [("a", 2), ("a", 3)]}
    older = one._replace(generation=4)
    assert run_client_assignor(COOPERATIVE, {"C0": older, "C1": other}, racks) == {"C0": [("a", 0), ("a", 3)], "C1": [("a", 1), ("a", 2)]}


@shows("KIP-429/K2b")
def test_the_leader_and_nobody_else_calls_the_assignor() -> None:
    life = Life(topics_named(t=6))
    life.join("a", assignors=COOPERATIVE)
    life.run(1_000)
    life.join("b", assignors=COOPERATIVE)
    life.run(3_000)
    assert all(body.assignments for body in life.requests("a", SYNC_GROUP))
    assert not any(body.assignments for body in life.requests("b", SYNC_GROUP))


@shows("KIP-429/K2c", "KIP-429/K2d", "KIP-429/K2e")
def test_what_changes_its_owner_is_withheld_and_what_nobody_owned_is_given_at_once() -> None:
    had = tuple(("t", number) for number in range(4))  # t-4 and t-5 are nobody's
    members = {"a": ClientMember(("t",), had, 1), "b": ClientMember(("t",), (), -1)}
    full = run_client_assignor_in_full(COOPERATIVE, members, RACKS)
    given = {partition for partitions in full.partitions.values() for partition in partitions}
    withheld = {("t", number) for number in range(6)} - given
    assert withheld and withheld <= set(had)
    assert {("t", 4), ("t", 5)} <= set(full.partitions["b"])
    assert set(full.transferring or {}) == withheld
    assert not set(full.partitions["b"]) & set(had)


@shows("KIP-429/K2c", "KIP-429/K2f")
def test_a_claim_on_an_unknown_topic_is_ignored_and_its_owner_revokes_it() -> None:
    members = {"a": ClientMember(("t", "gone"), (("gone", 0), ("t", 0)), 1)}
    assert ("gone", 0) not in run_client_assignor(COOPERATIVE, members, RACKS)["a"]


@shows("KIP-429/K2d", "KIP-429/K6")
def test_every_partition_is_owned_again_after_two_rebalances_at_most() -> None:
    life = two_members()
    generation = life.members["a"].generation
    life.join("c", ("t", "u"), COOPERATIVE)
    life.run(5_000)
    owned = sorted(partition for member in life.members.values() for partition in member.owned)
    assert owned == sorted([("t", number) for number in range(6)] + [("u", 0), ("u", 1)])
    assert life.members["a"].generation == generation + 2 and life.overlaps == []


@shows("KIP-429/K3a", "KIP-429/K3b")
def test_revoked_comes_before_assigned_and_each_is_a_difference_of_sets() -> None:
    life = two_members()
    before = {name: set(life.members[name].owned) for name in "ab"}
    life.join("c", ("t", "u"), COOPERATIVE)
    life.run(3_000)
    for name in "ab":
        owned = set(before[name])
        for line in life.of(name):
            event, *words = line.split()
            partitions = {(word.rpartition("-")[0], int(word.rpartition("-")[2])) for word in words}
            assert partitions <= owned if event == "revoked" else not partitions & owned
            owned = owned - partitions if event == "revoked" else owned | partitions
        assert owned == set(life.members[name].owned)
        assert life.of(name)[-1].startswith("assigned")
    events = [line.split()[0] for line in life.of("a")]
    assert all(after == "assigned" for event, after in pairwise(events) if event == "revoked")


@shows("KIP-429/K3b")
def test_assigned_comes_also_for_nothing() -> None:
    life = two_members()
    life.join("c", ("t", "u"), COOPERATIVE)
    life.run(3_000)
    assert life.of("c")[0] == "assigned"


@shows("KIP-429/K4")
@pytest.mark.parametrize(("version", "size"), [(0, 13), (1, 60), (2, 64), (3, 66)])
def test_a_subscription_grows_with_what_is_owned(version: int, size: int) -> None:
    owned = tuple(("t", number) for number in range(9))
    assert len(subscription_bytes(Subscription(("t",), None, owned, 3, None, version))) == size


@shows("KIP-429/K5")
def test_members_that_list_an_eager_assignor_too_are_eager_and_use_it() -> None:
    life = two_members("range,cooperative-sticky")
    life.join("c", ("t", "u"), "range")
    life.run(3_000)
    assert [one.protocol for one in life.members.values() if isinstance(one, ClassicMember)] == ["range"] * 3
    assert all(line.split()[0] in ("revoked", "assigned") for line in life.of("a"))
    assert len(life.of("a")[0].split()) > 2, "an eager member revokes everything"


@shows("KIP-429/K5", "KIP-429/K6")
def test_two_bounces_lead_from_eager_to_cooperative_without_a_partition_at_two_members() -> None:
    life = Life(topics_named(t=6))
    for assignors in ("range", "range,cooperative-sticky", "cooperative-sticky"):
        for name in "abc":
            if f"{name}" in life.members:
                life.close(name)
                life.run(1_000)
                life.kill(name)
            life.join(name, assignors=assignors)
            life.run(2_000)
            assert sorted(number for numbers in life.owned().values() for number in numbers) == list(range(6))
    assert life.overlaps == []
    assert {one.protocol for one in life.members.values() if isinstance(one, ClassicMember)} == {"cooperative-sticky"}


@shows("KIP-429/K7")
def test_a_leader_that_does_not_look_at_claims_gives_away_what_nobody_revoked() -> None:
    """One bounce only: cooperative members would join a generation that an old leader assigns by range."""
    had = tuple(("t", number) for number in range(6))
    members = {"a": ClientMember(("t",), had, 1), "b": ClientMember(("t",), (), -1)}
    given = run_client_assignor("range", members, RACKS)
    assert set(given["b"]) & set(had), "b is given what a has not revoked"
    assert not set(run_client_assignor(COOPERATIVE, members, RACKS)["b"]) & set(had)


@shows("KIP-429/K8")
def test_a_protocol_that_no_other_member_supports_is_refused() -> None:
    life = Life(topics_named(t=6))
    life.join("a", assignors="range")
    life.run(1_000)
    life.join("b", assignors=COOPERATIVE)
    life.run(1_000)
    failure = life.members["b"].failure
    assert failure is not None and failure.code == error_codes.INCONSISTENT_GROUP_PROTOCOL
    assert sorted(life.members["a"].owned) == [("t", number) for number in range(6)]


def test_an_assignment_that_is_not_of_the_subscription_is_answered_with_another_join() -> None:
    """The subscription changed while the join was under way."""
    life = Life(topics_named(t=2, u=2))
    member = life.join("a", ("t",), COOPERATIVE)
    life.run(1)
    while not any(isinstance(one.what, Send) and one.what.api_key == SYNC_GROUP for one in life.seen):
        life.run(1)
    life.subscribe("a", "u")
    life.run(2_000)
    assert sorted(member.owned) == [("u", 0), ("u", 1)]
    assert "received assignment does not match the current subscription" in [body.reason for body in life.requests("a", JOIN_GROUP)]
    assert [read_assignment(body.assignments[0].assignment).partitions for body in life.requests("a", SYNC_GROUP)][-1] == (
        ("u", 0),
        ("u", 1),
    )


def test_errors_of_a_join_are_fatal_or_tried_again() -> None:
    for code, is_fatal in (
        (error_codes.INVALID_SESSION_TIMEOUT, True),
        (error_codes.GROUP_MAX_SIZE_REACHED, True),
        (error_codes.GROUP_AUTHORIZATION_FAILED, True),
        (error_codes.FENCED_INSTANCE_ID, True),
        (error_codes.COORDINATOR_LOAD_IN_PROGRESS, False),
        (error_codes.NOT_COORDINATOR, False),
    ):
        life = Life(topics_named(t=2))
        member = life.join("a", assignors="range")
        life.run(1)
        while not life.requests("a", JOIN_GROUP):
            life.run(1)
        (join,) = (one.what for one in life.seen if isinstance(one.what, Send) and one.what.api_key == JOIN_GROUP)
        life.connections["a"].waiting.clear()
        member.answered(join.ticket, JoinGroupResponse(error_code=code), life.now_ms)
        life.run(2_000)
        assert (member.failure is not None) == is_fatal, code
        assert (sorted(member.owned) == [("t", 0), ("t", 1)]) != is_fatal, code


@pytest.mark.parametrize(("assignors", "count"), [("range", 6), (COOPERATIVE, 0), ("", 3)])
def test_no_more_records_come_of_what_is_given_up_once_its_last_commit_is_sent(assignors: str, count: int) -> None:
    life = Life(topics_named(t=6))
    life.join("a", assignors=assignors)
    life.run(2_000)
    member = life.members["a"]
    assert member.giving_up == frozenset()
    life.join("b", assignors=assignors)
    life.seen.clear()
    while not life.requests("a", OFFSET_COMMIT):
        life.run(1)
    assert len(member.giving_up) == count
    life.run(3_000)
    assert member.giving_up == frozenset() and len(member.owned) == 3


def test_an_answer_that_nobody_waits_for_is_dropped_and_who_has_nothing_to_commit_is_not_woken_for_it() -> None:
    life = Life(topics_named(t=1))
    for name in "ab":
        life.join(name, assignors="")
        life.run(2_000)
    idle, busy = sorted(life.members.values(), key=lambda member: len(member.owned))
    assert (len(idle.owned), len(busy.owned)) == (0, 1)
    for member in (idle, busy):
        assert member.answered(99_999, None, life.now_ms) == []
    commit_ms, rest_ms = busy.next_poll_ms(), idle.next_poll_ms()
    assert commit_ms is not None and rest_ms is not None
    assert commit_ms - life.now_ms <= 5_000 and rest_ms - life.now_ms > 60_000
