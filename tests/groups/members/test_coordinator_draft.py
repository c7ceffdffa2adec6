"""Each part of the draft of a coordinator for Kafka 0.9, as members and the coordinator of today have it."""

from __future__ import annotations

from itertools import accumulate

import pytest

from metashell.codec import error_codes
from metashell.codec.codes import (
    CONSUMER_GROUP_HEARTBEAT,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    SYNC_GROUP,
)
from metashell.codec.java import string_hash
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard
from metashell.groups.log import GROUP_METADATA
from metashell.groups.members import Callback, Send
from metashell.groups.state import Settings
from tests.groups.driven import SeededChance
from tests.groups.members.life import BROKER, Life, topics_named
from tests.seeds import shows

BOTH = pytest.mark.parametrize("assignors", ["cooperative-sticky", ""], ids=["classic", "consumer"])


def group(assignors: str, *names: str, **settings: object) -> Life:
    life = Life(topics_named(t=6))
    for name in names:
        life.join(name, assignors=assignors, **settings)
        life.run(2_500)
    life.seen.clear()
    return life


def apis(life: Life, name: str) -> list[int]:
    return [one.what.api_key for one in life.seen if one.member == name and isinstance(one.what, Send)]


@shows("COORDINATOR-DRAFT/O1")
@BOTH
def test_each_protocol_has_one_place_that_decides_who_gets_what(assignors: str) -> None:
    life = Life(topics_named(t=6))
    for name in "ab":
        life.join(name, assignors=assignors)
        life.run(2_500)
    decided = [body for name in "ab" for body in life.requests(name, SYNC_GROUP) if body.assignments]
    assert bool(decided) == bool(assignors), "in the classic protocol the leader sends it, in KIP-848 nobody does"
    assert sorted(len(one) for one in life.owned().values()) == [3, 3] and life.overlaps == []


@shows("COORDINATOR-DRAFT/O2")
def test_groups_are_spread_by_the_hash_of_their_names() -> None:
    known = {"g": 3, "my-group": 12, "test-group": 12, "polygenelubricants": 0}
    for group_id, partition in known.items():
        number = string_hash(group_id)
        signed = number - (1 << 32) if number >= 1 << 31 else number
        assert (0 if signed == -(1 << 31) else abs(signed)) % Settings().partitions == partition


@shows("COORDINATOR-DRAFT/O3", "COORDINATOR-DRAFT/O36")
@BOTH
def test_a_client_asks_for_its_coordinator_before_anything_else_and_again_when_that_has_moved(assignors: str) -> None:
    life = Life(topics_named(t=6))
    member = life.join("a", assignors=assignors)
    life.run(1_000)
    assert apis(life, "a")[0] == FIND_COORDINATOR
    life.seen.clear()
    member._heard(error_codes.NOT_COORDINATOR)
    life.run(1_000)
    assert FIND_COORDINATOR in apis(life, "a") and len(member.owned) == 6


def fail_over(life: Life) -> None:
    """Another broker reads the log to its end and serves from there."""
    life._answers(life.shard.coordinator.unloaded(life.now_ms))
    coordinator = GroupCoordinator(BROKER, SeededChance(1), life.topics)
    life.shard = Shard(coordinator, life.shard.written, life.now_ms)


@shows("COORDINATOR-DRAFT/O4", "COORDINATOR-DRAFT/O32", "COORDINATOR-DRAFT/O33", "COORDINATOR-DRAFT/O35", "COORDINATOR-DRAFT/O27")
@BOTH
def test_another_coordinator_goes_on_from_the_log_and_nobody_joins_again(assignors: str) -> None:
    life = group(assignors, "a", "b")
    before = life.owned()
    generations = {name: member.generation for name, member in life.members.items()}
    fail_over(life)
    life.run(20_000)
    assert life.owned() == before and life.of("a") == life.of("b") == []
    assert {name: member.generation for name, member in life.members.items()} == generations
    assert JOIN_GROUP not in apis(life, "a")


@shows("COORDINATOR-DRAFT/O33", "COORDINATOR-DRAFT/O15", "COORDINATOR-DRAFT/O16")
@BOTH
def test_a_member_that_died_with_the_coordinator_is_removed_a_session_after_the_next_one_began(assignors: str) -> None:
    life = group(assignors, "a", "b")
    life.kill("b")
    fail_over(life)
    life.run(5_500)
    assert len(life.owned()["a"]) == 3
    life.run(2_000)
    assert len(life.owned()["a"]) == 6


@shows("COORDINATOR-DRAFT/O34")
def test_whoever_waits_is_answered_when_a_coordinator_goes() -> None:
    life = group("cooperative-sticky", "a")
    life.stall("a", 60_000)
    life.join("b", assignors="cooperative-sticky")
    life.run(500)
    assert life.requests("b", JOIN_GROUP) and not life.requests("b", SYNC_GROUP)
    answers = life.shard.coordinator.unloaded(life.now_ms)
    assert [answer.body.error_code for answer in answers] == [error_codes.NOT_COORDINATOR]
    assert life.shard.coordinator.next_due_ms() is None


@shows("COORDINATOR-DRAFT/O5", "COORDINATOR-DRAFT/O37")
def test_what_a_consumer_registers_with_is_in_a_join_or_in_a_first_heartbeat() -> None:
    life = Life(topics_named(t=6))
    life.join("a", assignors="range", session_timeout_ms=7_000, max_poll_interval_ms=8_000)
    life.join("b", assignors="", group_id="h", max_poll_interval_ms=8_000)
    life.run(1_000)
    classic, consumer = life.requests("a", JOIN_GROUP)[0], life.requests("b", CONSUMER_GROUP_HEARTBEAT)[0]
    assert (classic.group_id, classic.session_timeout_ms, classic.rebalance_timeout_ms) == ("g", 7_000, 8_000)
    assert (consumer.group_id, consumer.member_epoch, consumer.rebalance_timeout_ms) == ("h", 0, 8_000)
    assert consumer.subscribed_topic_names == ("t",) and not hasattr(consumer, "session_timeout_ms")
    assert not any(hasattr(body, name) for body in (classic, consumer) for name in ("auto_commit", "auto_offset_reset"))


@shows("COORDINATOR-DRAFT/O6", "COORDINATOR-DRAFT/O9", "COORDINATOR-DRAFT/O10")
def test_a_join_has_an_id_first_then_a_generation_and_the_assignment_comes_after_it() -> None:
    life = Life(topics_named(t=6))
    life.join("a", assignors="range")
    life.run(1_000)
    kept = [key for key in apis(life, "a") if key not in (FIND_COORDINATOR, HEARTBEAT)]
    assert kept == [JOIN_GROUP, JOIN_GROUP, SYNC_GROUP, OFFSET_FETCH]
    records = [record.value for batch in life.shard.written for record in batch.records if record.type == 2]
    assert [(one.generation, len(one.members)) for one in records] == [(0, 0), (1, 1)]


@shows("COORDINATOR-DRAFT/O7")
@BOTH
def test_two_members_with_one_instance_id_cannot_both_go_on(assignors: str) -> None:
    life = group(assignors, "a", instance_id="i")
    life.join("b", assignors=assignors, instance_id="i")
    life.run(3_000)
    failed = {name: member.failure.code for name, member in life.members.items() if member.failure}
    assert failed == ({"a": error_codes.FENCED_INSTANCE_ID} if assignors else {"b": error_codes.UNRELEASED_INSTANCE_ID})


@shows("COORDINATOR-DRAFT/O8")
@pytest.mark.parametrize("session_timeout_ms", [999, 1_800_001])
def test_a_session_timeout_outside_of_the_brokers_bounds_is_refused(session_timeout_ms: int) -> None:
    life = Life(topics_named(t=6))
    life.join("a", assignors="range", session_timeout_ms=session_timeout_ms)
    life.run(1_000)
    failure = life.members["a"].failure
    assert failure is not None and failure.code == error_codes.INVALID_SESSION_TIMEOUT


@shows("COORDINATOR-DRAFT/O11", "COORDINATOR-DRAFT/O19", "COORDINATOR-DRAFT/O20")
@BOTH
def test_only_groups_that_read_a_topic_rebalance_when_it_grows(assignors: str) -> None:
    life = Life(topics_named(t=6, u=2))
    life.join("a", ("t",), assignors)
    life.join("b", ("u",), assignors, group_id="h")
    life.run(2_000)
    generation = life.members["b"].generation
    life.change_topics(topics_named(1, t=8, u=2), changed=("t",))
    life.run(2_000)
    assert life.owned() == {"a": list(range(8)), "b": [0, 1]}
    assert life.members["b"].generation == generation


@shows("COORDINATOR-DRAFT/O12", "COORDINATOR-DRAFT/O19")
def test_a_pattern_takes_in_topics_that_appear() -> None:
    """By the client in the classic protocol, by the broker in KIP-848, there at latest after its refresh interval."""
    life = Life(topics_named(ta=2, x=1))
    for name, assignors in (("a", "range"), ("b", "")):
        member = life.join(name, ("ta",), assignors, group_id=name)
        life._take(name, member.subscribe_pattern("t.*", life.now_ms))
    life.run(12_000)
    assert life.owned() == {"a": [0, 1], "b": [0, 1]}
    life.change_topics(topics_named(1, ta=2, tb=1, x=1), changed=("tb",))
    life.run(15_000)
    assert life.owned() == {"a": [0, 0, 1], "b": [0, 0, 1]}


@shows("COORDINATOR-DRAFT/O13", "COORDINATOR-DRAFT/O14")
@BOTH
def test_members_send_heartbeats_that_carry_no_offsets(assignors: str) -> None:
    life = group(assignors, "a")
    life.run(3_000)
    beats = [body for key in (HEARTBEAT, CONSUMER_GROUP_HEARTBEAT) for body in life.requests("a", key)]
    assert 9 <= len(beats) <= 11 and not any("offset" in name for name in dir(beats[0]))


@shows("COORDINATOR-DRAFT/O15", "COORDINATOR-DRAFT/O16")
@BOTH
def test_a_member_that_is_silent_for_a_session_is_removed_and_the_others_take_over(assignors: str) -> None:
    life = group(assignors, "a", "b")
    life.kill("b")
    life.run(5_000)
    assert len(life.owned()["a"]) == 3
    life.run(2_500)
    assert len(life.owned()["a"]) == 6


@shows("COORDINATOR-DRAFT/O17")
def test_a_member_that_hears_nothing_for_a_session_looks_for_its_coordinator() -> None:
    life = group("cooperative-sticky", "a")
    life.cut("a", 20_000)
    life.run(5_000)
    assert FIND_COORDINATOR not in apis(life, "a")
    life.run(2_000)
    assert FIND_COORDINATOR in apis(life, "a")


@shows("COORDINATOR-DRAFT/O18")
@BOTH
def test_a_member_that_was_gone_too_long_hears_it_when_it_comes_back_and_its_commit_is_refused(assignors: str) -> None:
    life = group(assignors, "a", "b")
    owned = " ".join(f"t-{number}" for number in life.owned()["a"])
    life.members["a"].positions.update(dict.fromkeys(life.members["a"].owned, 9))
    life.cut("a", 9_000)
    life.run(8_999)
    assert len(life.owned()["b"]) == 6
    life.run(4_000)
    assert f"lost {owned}" in life.of("a")
    records = [record for batch in life.shard.written for record in batch.records if record.type == 1]
    assert not any(record.value.offset == 9 for record in records if record.value), "a zombie's commit is in the log"
    assert sorted(len(one) for one in life.owned().values()) == [3, 3]


@shows("COORDINATOR-DRAFT/O18")
@BOTH
def test_an_application_that_does_not_poll_leaves_by_itself(assignors: str) -> None:
    life = group(assignors, "a", "b", max_poll_interval_ms=1_500)
    life.stall("a", 4_000)
    life.run(3_000)
    assert len(life.owned()["b"]) == 6
    life.run(4_000)
    assert life.of("a")[0].startswith("lost t-") and sorted(len(one) for one in life.owned().values()) == [3, 3]


@shows("COORDINATOR-DRAFT/O21", "COORDINATOR-DRAFT/O16")
@BOTH
def test_members_hear_of_a_rebalance_by_their_heartbeats_and_keep_their_connections(assignors: str) -> None:
    life = group(assignors, "a")
    life.join("b", assignors=assignors)
    life.run(3_000)
    assert FIND_COORDINATOR not in apis(life, "a")
    assert sorted(len(one) for one in life.owned().values()) == [3, 3]


@shows("COORDINATOR-DRAFT/O22")
@pytest.mark.parametrize("assignors", ["range", "roundrobin", "sticky", "cooperative-sticky", ""])
def test_the_assignor_divides_the_partitions_among_members_and_nobody_knows_of_threads(assignors: str) -> None:
    life = group(assignors, "a", "b", "c", "d")
    owned = life.owned()
    assert sorted(number for numbers in owned.values() for number in numbers) == list(range(6))
    assert sorted(map(len, owned.values())) == [1, 1, 2, 2] and life.overlaps == []


@shows("COORDINATOR-DRAFT/O26")
@BOTH
def test_a_member_learns_offsets_by_asking_for_them_and_only_of_what_is_new(assignors: str) -> None:
    life = group(assignors, "a")
    life.join("b", assignors=assignors)
    life.run(3_000)
    asked = [number for body in life.requests("b", OFFSET_FETCH) for topic in body.groups[0].topics for number in topic.partition_indexes]
    assert sorted(asked) == life.owned()["b"] and life.requests("a", OFFSET_FETCH) == []


@shows("COORDINATOR-DRAFT/O23")
@pytest.mark.parametrize("assignors", ["cooperative-sticky", "sticky"])
def test_a_rebalance_that_changes_nothing_moves_nothing(assignors: str) -> None:
    life = group(assignors, "a", "b")
    before = life.owned()
    life.enforce("a")
    life.run(3_000)
    assert life.owned() == before
    if assignors == "cooperative-sticky":
        assert life.of("a") == life.of("b") == ["assigned"]


@shows("COORDINATOR-DRAFT/O24")
@pytest.mark.parametrize(("assignors", "stopped"), [("range", 6), ("cooperative-sticky", 3), ("", 3)])
def test_how_many_partitions_stop_when_a_second_member_comes(assignors: str, stopped: int) -> None:
    life = group(assignors, "a")
    life.join("b", assignors=assignors)
    life.run(3_000)
    assert sum(len(line.split()) - 1 for line in life.of("a") if line.startswith("revoked")) == stopped


@shows("COORDINATOR-DRAFT/O25", "COORDINATOR-DRAFT/O31")
@pytest.mark.parametrize("assignors", ["range", "cooperative-sticky", ""])
def test_a_member_commits_before_it_gives_anything_up_and_every_commit_is_in_the_log(assignors: str) -> None:
    life = group(assignors, "a")
    life.members["a"].positions.update(dict.fromkeys(life.members["a"].owned, 42))
    life.join("b", assignors=assignors)
    life.run(3_000)
    order = [
        "commit" if isinstance(one.what, Send) else one.what.event
        for one in life.seen
        if one.member == "a" and (isinstance(one.what, Callback) or (isinstance(one.what, Send) and one.what.api_key == OFFSET_COMMIT))
    ]
    assert order[:2] == ["commit", "revoked"]
    committed = {record.key.partition for batch in life.shard.written for record in batch.records if record.type == 1 and record.value}
    assert committed == set(range(6))
    assert all(life.members["b"].positions[partition] == 42 for partition in life.members["b"].owned)


@shows("COORDINATOR-DRAFT/O28", "COORDINATOR-DRAFT/O30")
def test_who_does_not_come_back_in_time_is_left_behind_and_the_rebalance_goes_on() -> None:
    life = group("range", "a", "b", max_poll_interval_ms=60_000)
    life.join("c", assignors="range", max_poll_interval_ms=60_000)
    life.stall("a", 90_000)
    life.run(2_000)
    assert life.owned()["c"] == []
    life.run(65_000)
    assert sorted(number for name in "bc" for number in life.owned()[name]) == list(range(6))
    life.run(40_000)
    assert sorted(len(one) for one in life.owned().values()) == [2, 2, 2]


@shows("COORDINATOR-DRAFT/O38")
@pytest.mark.parametrize(
    ("assignors", "goodbye"), [("range", LEAVE_GROUP), ("cooperative-sticky", LEAVE_GROUP), ("", CONSUMER_GROUP_HEARTBEAT)]
)
def test_a_consumer_that_closes_commits_gives_up_and_leaves(assignors: str, goodbye: int) -> None:
    life = group(assignors, "a")
    life.close("a")
    life.run(1_000)
    order = [one.what.api_key if isinstance(one.what, Send) else type(one.what).__name__ for one in life.seen if one.member == "a"]
    assert order == [OFFSET_COMMIT, "Callback", goodbye, "Closed"]


@shows("COORDINATOR-DRAFT/O38")
@BOTH
def test_a_static_member_that_closes_is_expected_back(assignors: str) -> None:
    life = group(assignors, "a", "b", instance_id=None)
    life.join("s", assignors=assignors, instance_id="s")
    life.run(4_000)
    before = life.owned()
    life.close("s")
    life.run(1_000)
    life.kill("s")
    life.seen.clear()
    life.join("s", assignors=assignors, instance_id="s", **({} if assignors else {"member_id": "another-uuid-of-it---."}))
    life.run(2_000)
    assert life.owned() == before and life.of("a") == life.of("b") == []


@shows("COORDINATOR-DRAFT/O39")
def test_where_reading_begins_is_the_clients_affair() -> None:
    life = Life(topics_named(t=2))
    life.join("a", assignors="range", first_offset=77)
    life.run(1_000)
    assert set(life.members["a"].positions.values()) == {77} and life.members["a"].generation == 1


@shows("COORDINATOR-DRAFT/O29")
def test_requests_of_a_group_are_decided_one_after_the_other() -> None:
    """A heartbeat behind a sync that waits is answered after it. All groups of one partition have one order, that of its log."""
    life = group("range", "a", "b")
    life.enforce("a")
    life.run(1_500)
    assert life.overlaps == [] and sorted(len(one) for one in life.owned().values()) == [3, 3]
    life.join("x", group_id="other")
    life.enforce("a")
    life.run(1_500)
    written = life.shard.written
    generations: dict[str, list[int]] = {}
    for batch in written:
        (name,) = {record.key.group for record in batch.records}  # each decision is of one group
        generations.setdefault(name, []).extend(record.value.generation for record in batch.records if record.type == GROUP_METADATA)
    assert {name: numbers == sorted(numbers) for name, numbers in generations.items()} == {"g": True, "other": True}
    assert [batch.base_offset for batch in written] == list(accumulate((len(batch.records) for batch in written[:-1]), initial=0))
