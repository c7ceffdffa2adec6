"""What repeats in groups of a real broker (tests/golden/groups/series), in made ones, and what a broker's own log adds to it."""

from __future__ import annotations

import sys
from functools import cache

import pytest

from metashell.codec.batches import Record
from metashell.codec.consumer_protocol import Assignment, assignment_bytes
from metashell.codec.registry import message_type
from metashell.groups.log import Decoder, KeysOf
from metashell.groups.log.fold import Fold
from metashell.groups.log.series import APART_MAX_MS, Series, add_reasons, find_series
from metashell.groups.log.timeline import build_timeline
from metashell.groups.log.timeline_events import Timeline, read_server_log
from metashell.groups.notes import ServerLog
from metashell.groups.topics import KnownTopics
from tests.groups.log.series_golden import recorded_batches, server_log_lines
from tests.groups.log.test_fold import GROUPS, offset_key
from tests.groups.log.test_timeline import generation, told

WELL = ("static", "slow", "rolling", "rolling-static", "rolling-alike", "scaled", "python", "sticky")


@cache
def recorded(group_id: str) -> Timeline:
    keys = KeysOf(group_id)
    fold = Fold(Decoder(), lambda raw: raw.key is not None and keys.has(raw.key))
    for batch in recorded_batches():
        fold.add(batch)
    return build_timeline(group_id, fold.records, KnownTopics(), Decoder())


def logged(group_id: str) -> ServerLog:
    return read_server_log("server.log", server_log_lines(), group_id)


def only(found: list[Series]) -> Series:
    (one,) = found
    return one


@pytest.mark.parametrize("name", WELL)
def test_healthy_groups_have_no_series(name: str) -> None:
    story = recorded(f"well-{name}")
    assert story.memberships
    assert find_series(story) == find_series(story, logged(f"well-{name}")) == []


def test_a_static_member_that_is_replaced_over_and_over_is_two_processes_with_one_id() -> None:
    series = only(find_series(recorded("sick-twins")))
    assert series.kind == "replaced" and series.count >= 8
    assert series.text.startswith(f"payments-0 was replaced {series.count} times in ")
    assert "by members that nobody saw leave: two processes use this group.instance.id" in series.text
    assert "FENCED_INSTANCE_ID" in series.cannot_show
    assert series.details["instance"] == "payments-0"


@pytest.mark.parametrize("group_id", ["sick-slow", "sick-slow-consumer"])
def test_a_member_that_leaves_in_the_rhythm_of_its_poll_interval_is_named_with_the_arithmetic(group_id: str) -> None:
    series = only(find_series(recorded(group_id)))
    assert series.kind == "poll-interval"
    assert series.text.startswith(f"slow-worker@127.0.0.1 joined {series.details['joined']} times and left {series.count}, each ")
    assert series.text.endswith(" after joining: a poll interval that runs out")
    assert any("rebalance timeout of 6 s, which is max.poll.interval.ms" in text for text in series.rests_on)
    assert "--server-log" in series.cannot_show
    with_log = only(find_series(recorded(group_id), logged(group_id)))
    assert any(text.startswith("the broker logged ") for text in with_log.rests_on)


def test_a_member_that_dies_is_no_poll_interval_since_that_is_longer() -> None:
    series = only(find_series(recorded("sick-killed")))
    assert series.kind == "returns"
    assert any(text.startswith("not a poll interval that runs out: that is 5 min") for text in series.rests_on)
    with_log = only(find_series(recorded("sick-killed"), logged("sick-killed")))
    assert with_log.text.endswith(": its session ends each time: it dies, is paused or is cut off, and starts again")


@pytest.mark.parametrize(("group_id", "start"), [("sick-topics", "each rebalance follows"), ("sick-topics-consumer", "7 of ")])
def test_topics_that_appear_are_named(group_id: str, start: str) -> None:
    series = only(find_series(recorded(group_id)))
    prefix = group_id.replace("-", "_")
    assert series.kind == "topics" and series.text.startswith(start) and "a topic that appears: " in series.text
    assert {f"{prefix}_{number}" for number in range(1, 8)} <= set(series.details["topics"])


def test_a_topic_that_grows_over_and_over_is_what_the_rebalances_follow() -> None:
    series = only(find_series(told("g", [generation(number, {"a": list(range(2 + number))}) for number in range(5)])))
    assert (series.kind, series.count) == ("changed-topics", 4)
    assert series.text.startswith("each rebalance follows a change of its topics that brings no new name, in 3 s ")
    assert find_series(told("g", [generation(number, {"a": list(range(2 + number))}) for number in range(3)])) == []


# ---- thresholds


def static(number: int, member_id: str, ms: int, generation: int = 1) -> Record:
    value = message_type("offsets", "GroupMetadataValue")
    member = value.cls.MemberMetadata(
        member_id=member_id, group_instance_id="i", client_id="c", client_host="/h", session_timeout=45_000, rebalance_timeout=300_000
    )
    body = value.cls(protocol_type="consumer", generation=generation, protocol="range", leader=member_id, members=(member,))
    key = message_type("offsets", "GroupMetadataKey")
    return Record(number, ms, b"\0\2" + key.write(key.cls(group="g"), 0), b"\0\3" + value.write(body, 3))


@pytest.mark.parametrize(
    ("times_ms", "count"),
    [
        ([0, 1000, 2000], None),
        ([0, 1000, 2000, 3000], 3),
        ([0, APART_MAX_MS, 2 * APART_MAX_MS, 3 * APART_MAX_MS], 3),
        ([0, 1000, 2 + 2 * APART_MAX_MS, 4 * APART_MAX_MS], None),
    ],
)
def test_one_restart_or_two_in_a_day_are_no_series(times_ms: list[int], count: int | None) -> None:
    found = find_series(told("g", [static(number, f"m{number}", 1 + ms) for number, ms in enumerate(times_ms)]))
    assert [one.count for one in found] == ([] if count is None else [count])


def test_a_generation_after_a_replacement_says_so_and_excludes_nothing() -> None:
    found = told("g", [static(0, "a", 1), static(1, "b", 1000), static(2, "b", 1500, generation=2)])
    (cause,) = found.rebalances[-1].causes
    assert (cause.kind, cause.moment.offset) == ("static-return", 1)
    assert cause.text == "i, the leader, was replaced 500 ms before (offset 1), and whoever joins anew may ask for it"
    (quiet,) = told("g", [static(0, "a", 1), static(1, "a", 1000, generation=2)]).rebalances[-1].causes
    assert quiet.kind == "asked" and "a broker's log has the reason" in quiet.text


def test_members_that_come_and_go_in_generations_without_times_are_judged_by_their_own_limits() -> None:
    # Members of `generation` have no timeouts: nothing is claimed of a poll interval.
    generations = [generation(number, {} if number % 2 else {"a": [0, 1]}) for number in range(10)]
    series = only(find_series(told("g", generations)))
    assert series.kind == "returns" and not any("poll interval" in text for text in (series.text, *series.rests_on))


# ---- many members, commits, deployments

POLL_MS = 30_000
Step = tuple[int, str, set[int]]
"""The time in s, and the members of a generation or, for `commit`, those whose partitions are committed."""


def story_of(steps: list[Step]) -> Timeline:
    """A group whose member n has partition n, the client id `c-n` and a poll interval of 30 s; each join has a new id."""
    value, key = message_type("offsets", "GroupMetadataValue"), message_type("offsets", "GroupMetadataKey")
    commit = message_type("offsets", "OffsetCommitValue")
    records: list[Record] = []
    ids: dict[int, str] = {}
    generation = 0
    for at_s, kind, numbers in steps:
        place = len(records), 1000 * at_s
        if kind == "commit":
            for number in sorted(numbers):
                raw = b"\0\3" + commit.write(commit.cls(offset=len(records), leader_epoch=-1, metadata="", commit_timestamp=place[1]), 3)
                records.append(Record(len(records), place[1], offset_key(GROUPS.index("g"), number), raw))
            continue
        generation += 1
        ids = {number: ids.get(number) or f"m{number}-{generation}" for number in sorted(numbers)}
        members = tuple(
            value.cls.MemberMetadata(
                member_id=id,
                client_id=f"c-{number}",
                client_host="/h",
                session_timeout=10_000,
                rebalance_timeout=POLL_MS,
                assignment=assignment_bytes(Assignment((("t", number),))),
            )
            for number, id in ids.items()
        )
        body = value.cls(protocol_type="consumer", generation=generation, protocol="range", leader="", members=members)
        records.append(Record(*place, b"\0\2" + key.write(key.cls(group="g"), 0), b"\0\3" + value.write(body, 3)))
    return told("g", records)


def all_slow(count: int, *, commits_after_s: int | None = None) -> Timeline:
    """All members leave at once after 40 s, five times, and return."""
    everybody = set(range(count))
    steps: list[Step] = []
    for number in range(5):
        steps.append((60 * number, "generation", everybody))
        if commits_after_s is not None:
            steps.append((60 * number + commits_after_s, "commit", everybody))
        steps.append((60 * number + 40, "generation", set()))
    return story_of(steps)


def test_members_that_are_all_too_slow_at_once_are_named_and_many_of_them_are_one_series() -> None:
    for found in (find_series(all_slow(2)), find_series(all_slow(2, commits_after_s=5))):
        assert [(one.kind, one.details["member"], one.count) for one in found] == [
            ("poll-interval", "c-0@h", 5),
            ("poll-interval", "c-1@h", 5),
        ]
    one = only(find_series(all_slow(30)))
    assert (one.kind, one.count, one.details["member"], len(one.details["members"])) == ("poll-interval", 150, None, 30)
    assert one.text.startswith("30 members left 150 times and returned, 40 s to 40 s after joining: a poll interval that runs out (c-0@h, ")


def test_what_ends_all_members_while_they_commit_is_no_poll_interval() -> None:
    assert find_series(all_slow(3, commits_after_s=38)) == []


@pytest.mark.parametrize(("every_s", "kind"), [(40, "returns"), (200, "returns"), (480, "returns"), (1000, None)])
def test_a_member_that_committed_until_it_ended_was_not_too_slow(every_s: int, kind: str | None) -> None:
    """It dies 12 s after its last commit, and starts again; another one stays."""
    steps: list[Step] = []
    for number in range(6):
        begin = every_s * number
        steps += [(begin, "generation", {0, 1}), (begin + every_s - 14, "commit", {0, 1}), (begin + every_s - 2, "generation", {0})]
    found = find_series(story_of(steps))
    assert [one.kind for one in found] == ([] if kind is None else [kind])
    for one in found:
        assert one.details["member"] == "c-1@h"
        said = f"its partitions were committed until 12 s before it was gone: a poll interval of {POLL_MS // 1000} s"
        assert any(text.startswith(said) for text in one.rests_on)


@pytest.mark.parametrize("commits", [False, True])
def test_deployments_that_restart_all_members_in_turn_are_healthy(commits: bool) -> None:
    steps: list[Step] = [(0, "generation", {0, 1, 2})]
    for number in range(1, 6):
        for member in range(3):
            begin = 600 * number + 10 * member
            steps += [(begin - 1, "commit", {0, 1, 2})] if commits else []
            steps += [(begin, "generation", {0, 1, 2} - {member}), (begin + 3, "generation", {0, 1, 2})]
    assert find_series(story_of(steps)) == []


def test_a_long_past_is_read_in_time_that_grows_with_it() -> None:
    """Work is counted, not time: calls of Python functions for twice as many records are about twice as many."""

    def calls(count: int) -> int:
        records = [static(number, f"m{number}", 1 + 1000 * number, generation=1 + number // 2) for number in range(count)]
        story, found = told("g", records), 0

        def note(*_: object) -> None:
            nonlocal found
            found += 1

        sys.setprofile(note)
        try:
            assert find_series(story)
        finally:
            sys.setprofile(None)
        return found

    calls(100)
    assert calls(800) < 3 * calls(400)


# ---- the broker's log


def test_lines_of_older_brokers_are_read_and_those_of_other_groups_are_not() -> None:
    lines = [
        "[2024-05-01 10:00:00,123] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state PreparingRebalance with old "
        "generation 4 (__consumer_offsets-12) (reason: Removing member a-1 on LeaveGroup; client reason: consumer poll timeout has "
        "expired.) (kafka.coordinator.group.GroupCoordinator)",
        "[2024-05-01 10:00:01,000] INFO [GroupCoordinator 1]: Member b-1 in group g has failed, removing it from the group (kafka.x)",
        "[2024-05-01 10:00:01,500] INFO [GroupCoordinator 1]: Member MemberMetadata(memberId=c-1, groupInstanceId=None, clientId=c) has "
        "left group g through explicit `LeaveGroup`; client reason: the consumer is being closed (kafka.x)",
        "[2024-05-01 10:00:02,000] INFO [GroupCoordinator 1]: Member d-1 in group g2 has failed, removing it from the group (kafka.x)",
        "[2024-05-01 10:00:03,000] INFO [GroupCoordinator 1]: Dynamic member with unknown member id joins group g in Stable state. "
        "Created a new member id e-1 for this member and add to the group. (kafka.x)",
    ]
    log = read_server_log("server.log", lines, "g")
    assert log.reasons[5].text == "Removing member a-1 on LeaveGroup; client reason: consumer poll timeout has expired."
    assert log.reasons[5].place == "server.log, line 1" and log.preparing == log.reasons[5]
    assert {id: [line.text for line in found] for id, found in log.ends.items()} == {
        "b-1": ["its session ended"],
        "c-1": ["it left: the consumer is being closed"],
    }
    assert list(log.given) == ["e-1"]


def test_causes_have_the_reasons_of_the_log() -> None:
    story = recorded("sick-killed")
    copy = build_copy(story)
    add_reasons(copy, logged("sick-killed"))
    texts = [cause.text for rebalance in copy.rebalances for cause in rebalance.causes]
    assert any(text.startswith("crasher@127.0.0.1 is gone: its session ended (server.log, line ") for text in texts)
    assert not any("records do not tell which" in text for text in texts)


def build_copy(story: Timeline) -> Timeline:
    """The timeline made again, since reasons are written into it."""
    recorded.cache_clear()
    return recorded(story.group_id)
