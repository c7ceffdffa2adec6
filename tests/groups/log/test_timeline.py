"""Timelines of groups from the records that a real coordinator wrote, and from logs of which parts are gone.

Where a part is gone, `why` names no cause that the records do not prove."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.consumer_protocol import Assignment, Subscription, assignment_bytes, subscription_bytes
from metashell.codec.framing import checked_batches
from metashell.codec.registry import message_type
from metashell.common.values import uuid_from_text
from metashell.groups.log import Decoder, KeysOf, group_of_key
from metashell.groups.log.fold import Fold, RawRecord
from metashell.groups.log.timeline import build_timeline
from metashell.groups.log.timeline_events import Rebalance, Timeline, delay_text
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.golden import BEGUN_MS, Scenario, scenarios
from tests.groups.log.written_logs import golden_batches

WITH_RECORDS = sorted(
    name
    for name, scenario in scenarios().items()
    if any("keyHex" in record for step in scenario["steps"] for record in step.get("records", ()))
)
"""The conversations whose records are given with their bytes and places."""


def raw_records(batches: list[bytes]) -> list[RawRecord]:
    fold = Fold(Decoder(), lambda raw: True)
    for data in batches:
        for batch in checked_batches(data, "log"):
            fold.add(batch)
    # Of the log of a conversation only its own records are golden: what lay between them is not lost.
    return [raw._replace(after_gap=False) for raw in fold.records]


@cache
def raw_by_group(name: str) -> dict[str, list[RawRecord]]:
    found: dict[str, list[RawRecord]] = {}
    for raw in raw_records(golden_batches(scenarios()[name])):
        found.setdefault(group_of_key(raw.key or b"").decode(), []).append(raw)
    return found


def story(name: str, group_id: str | None = None) -> Timeline:
    topics = scenarios()[name]["topics"]
    known = KnownTopics(Topic(uuid_from_text(id), topic, ((),) * 8) for topic, id in topics.items())
    group_id = name if group_id is None else group_id
    return build_timeline(group_id, raw_by_group(name)[group_id], known, Decoder())


@pytest.mark.parametrize("name", WITH_RECORDS)
def test_every_epoch_that_was_written_is_a_rebalance_and_nothing_is_unreadable(name: str) -> None:
    for group_id, records in raw_by_group(name).items():
        told = story(name, group_id)
        written = []
        decoder = Decoder()
        for raw in records:
            record = decoder.record(raw.key, raw.value)
            if record.value is None:
                continue
            if record.type == 2 and record.value.members:
                written.append(("classic", record.value.generation))
            elif record.type in (3, 11, 17):
                written.append(({3: "consumer", 11: "share", 17: "streams"}[record.type], record.value.epoch))
        # A static member that comes back, and an epoch that is written again, are no rebalance.
        distinct = [epoch for index, epoch in enumerate(written) if index == 0 or epoch != written[index - 1]]
        assert [(rebalance.kind, rebalance.epoch) for rebalance in told.rebalances] == distinct
        # One member of that conversation sends bytes that are no assignment, to see that the upgrade is refused.
        assert name == "upgrade-refused" or not [event for event in told.events if event.kind in ("unreadable", "unknown")]
        assert all(rebalance.causes for rebalance in told.rebalances)
        assert not [rebalance for rebalance in told.rebalances if rebalance.kind != "classic" and rebalance.causes[0].kind == "unknown"], [
            (rebalance.epoch, rebalance.causes) for rebalance in told.rebalances
        ]


TOLD = Path(__file__).parent / "rebalances.tsv"


def test_every_rebalance_of_every_conversation_is_told_as_it_stands_in_the_table(pytestconfig: pytest.Config) -> None:
    rows = ["conversation\tgroup\tkind\tepoch\ttook_ms\tsync_ms\tsuperseded_by\tmembers\tassigned\tmoved\tmissing\tcauses\tdelays"]
    for name in WITH_RECORDS:
        for group_id in raw_by_group(name):
            told = story(name, group_id)
            for one in told.rebalances:
                counts = one.members, one.assigned, one.moved, one.missing
                causes = "; ".join(cause.text for cause in one.causes)
                delays = "; ".join(delay_text(delay, told, BEGUN_MS) for delay in one.delays)
                row = name, group_id, one.kind, one.epoch, one.took_ms, one.sync_ms, one.superseded_by, *counts, causes, delays
                rows.append("\t".join("" if item is None else str(item) for item in row))
    if pytestconfig.getoption("--rewrite"):
        TOLD.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert rows == TOLD.read_text(encoding="utf-8").splitlines()


def test_who_held_up_a_rebalance_and_who_waited_is_told_with_the_partitions() -> None:
    told = story("worked-trace")
    first, second, third = told.rebalances[:3]
    assert [cause.text for cause in (*first.causes, *second.causes, *third.causes)] == [f"{one}@127.0.0.1 joined" for one in "abc"]
    assert (first.took_ms, second.took_ms, second.superseded_by) == (0, None, 4)
    (topic,) = {topic for delay in second.delays for topic, _ in delay.partitions}
    assert [(delay.member_id, delay.partitions, delay.waiting) for delay in second.delays] == [("a", ((topic, (3, 4, 5)),), ("b", "c"))]
    (delay,) = third.delays
    assert delay_text(delay, told, 0) == f"a@127.0.0.1 had to give up {topic}:2 for 206 ms, for which c@127.0.0.1 waited"
    assert [member for member, _ in third.arrived] == ["b", "a", "c"]
    assert third.settled is not None
    assert third.settled.ms - BEGUN_MS == 1108


def test_an_upgrade_carries_classic_members_over_and_a_downgrade_takes_them_back() -> None:
    told = story("upgrade-and-downgrade")
    kinds = [event.kind for event in told.events]
    assert kinds.count("upgraded") == 1
    assert kinds.count("carried") == 2
    assert kinds.count("downgraded") == 1
    assert "deleted" not in kinds
    assert [rebalance.kind for rebalance in told.rebalances] == ["classic", "consumer", "consumer", "classic"]
    assert [cause.kind for cause in told.rebalances[1].causes] == ["upgraded"]
    assert [cause.kind for cause in told.rebalances[3].causes] == ["left", "downgraded"]


def test_a_static_member_that_comes_back_is_no_rebalance() -> None:
    stories = [story(name, group_id) for name in WITH_RECORDS if "static" in name for group_id in raw_by_group(name)]
    returns = [event for told in stories for event in told.events if event.kind == "static-return"]
    assert returns
    assert all("nobody had seen it leave; its assignment stays" in event.text for event in returns)


@pytest.mark.parametrize("seed", range(20))
def test_what_compaction_leaves_is_told_as_well(seed: int) -> None:
    """Any part of the records may be gone: the story has gaps, and is told."""
    chance = random.Random(seed)
    for name in chance.sample(WITH_RECORDS, 8):
        for group_id, records in raw_by_group(name).items():
            left = [raw for raw in records if chance.random() < 0.6]
            told = build_timeline(group_id, left, KnownTopics(), Decoder())
            assert told.ended is None or told.ended.offset == left[-1].offset
            for event in told.events:
                assert event.as_object(group_id)["text"]
            for rebalance in told.rebalances:
                assert rebalance.as_object(group_id)["epoch"] == rebalance.epoch


@pytest.mark.parametrize("seed", range(20))
def test_records_of_any_bytes_are_told_as_unreadable(seed: int) -> None:
    chance = random.Random(seed)
    for name in chance.sample(WITH_RECORDS, 4):
        for group_id, records in raw_by_group(name).items():
            bad = [raw._replace(key=spoiled(raw.key, chance), value=spoiled(raw.value, chance)) for raw in records]
            told = build_timeline(group_id, bad, KnownTopics(), Decoder())
            assert len(told.events) <= 12 * len(bad)


def spoiled(data: bytes | None, chance: random.Random) -> bytes | None:
    if not data or chance.random() < 0.7:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes((chance.randrange(256),)) + data[at + 1 :] if chance.random() < 0.5 else data[:at]


def test_the_log_of_a_golden_conversation_has_its_batches(tmp_path: Path) -> None:
    scenario = scenarios()["worked-trace"]
    count = len({record["batch"] for step in scenario["steps"] for record in step.get("records", ())})
    assert len(golden_batches(scenario)) == count


Parts = dict[str, list[int] | None]
"""Member -> its partitions of topic `t`; None for an assignment that does not decode."""


def generation(number: int, parts: Parts, protocol: str = "range") -> Record:
    value = message_type("offsets", "GroupMetadataValue")
    members = tuple(
        value.cls.MemberMetadata(
            member_id=id,
            client_id="c",
            client_host="/h",
            subscription=subscription_bytes(Subscription(("t",))),
            assignment=b"\xff" if numbers is None else assignment_bytes(Assignment(tuple(("t", number) for number in numbers))),
        )
        for id, numbers in parts.items()
    )
    body = value.cls(protocol_type="consumer", generation=number, protocol=protocol, leader="a", members=members)
    key = message_type("offsets", "GroupMetadataKey")
    return Record(number, 1000 * number, b"\0\2" + key.write(key.cls(group="g"), 0), b"\0\3" + value.write(body, 3))


def told(group_id: str, records: list[Record]) -> Timeline:
    """The story of records, each a batch of its own at its offset: where offsets are missing, so are records."""
    keys = KeysOf(group_id)
    fold = Fold(Decoder(), lambda raw: raw.key is not None and keys.has(raw.key))
    for record in records:
        for batch in checked_batches(write_batch(record.offset, [record], leader_epoch=0), "log"):
            fold.add(batch)
    return build_timeline(group_id, fold.records, KnownTopics(), Decoder())


def moved(story: Timeline) -> list[int]:
    return [rebalance.moved for rebalance in story.rebalances]


def causes(rebalance: Rebalance) -> list[str]:
    return [cause.kind for cause in rebalance.causes]


def test_what_goes_from_one_member_to_another_is_moved_in_whatever_number_of_rounds() -> None:
    eager = [generation(0, {"a": [0, 1, 2, 3]}), generation(1, {"a": [0, 1], "b": [2, 3]}), generation(2, {"b": [0, 1, 2, 3]})]
    assert moved(told("g", eager)) == [0, 2, 2]
    two_rounds: list[Parts] = [{"a": [0, 1, 2, 3]}, {"a": [0, 1], "b": []}, {"a": [0, 1], "b": [2, 3]}]
    cooperative = told("g", [generation(number, parts, "cooperative-sticky") for number, parts in enumerate(two_rounds)])
    assert moved(cooperative) == [0, 0, 2]
    assert causes(cooperative.rebalances[2]) == ["follow-up"]


def test_partitions_of_a_member_that_left_are_moved_in_every_protocol() -> None:
    assert [rebalance.moved for rebalance in story("worked-trace").rebalances[:3]] == [0, 3, 2]
    left = story("consumer-session-expires").rebalances[-2]
    assert (causes(left), left.members, left.assigned, left.moved) == (["left"], 1, 2, 1)


def test_of_partitions_that_do_not_decode_nothing_is_claimed() -> None:
    found = told("g", [generation(0, {"a": [0, 1]}), generation(1, {"a": None}), generation(2, {"a": [0, 1]})])
    assert [causes(rebalance) for rebalance in found.rebalances[1:]] == [["asked"], ["asked"]]
    assert all("do not decode" in rebalance.causes[0].text for rebalance in found.rebalances[1:])


def test_a_cooperative_round_whose_first_one_is_gone_is_no_new_topic() -> None:
    parts: list[Parts] = [{"a": [0], "b": []}, {"a": [0], "b": [1]}]
    found = told("g", [generation(4 + number, part, "cooperative-sticky") for number, part in enumerate(parts)])
    assert causes(found.rebalances[1]) == ["follow-up"]
    assert "may be the second round" in found.rebalances[1].causes[0].text
    assert found.rebalances[0].has_gap
    assert not found.rebalances[1].has_gap


def test_a_topic_that_may_have_gone_is_not_claimed_to_be() -> None:
    (_, second) = told("g", [generation(0, {"a": [0, 1]}), generation(1, {"a": [0]})]).rebalances
    assert causes(second) == ["topics"]
    assert "may have seen" in second.causes[0].text


def compacted(scenario: Scenario, group_id: str) -> Timeline:
    """The story of what compaction leaves: of each key the newest record, tombstones too, at its old offset."""
    newest: dict[bytes, Record] = {}
    for data in golden_batches(scenario):
        for batch in checked_batches(data, "log"):
            if not batch.header.is_control:
                for record in batch.records():
                    key = record.key or b""
                    # The group's epochs stay, as where a part of the log is not compacted yet.
                    newest[key + (b"%d" % record.offset if key[:2] == b"\0\3" else b"")] = record
    return told(group_id, sorted(newest.values(), key=lambda record: record.offset))


def test_a_tombstone_is_evidence_and_a_gap_is_said_in_every_conversation() -> None:
    checked = 0
    for name in WITH_RECORDS:
        if name not in raw_by_group(name):
            continue
        whole = {rebalance.epoch: rebalance for rebalance in story(name).rebalances if rebalance.kind == "consumer"}
        for rebalance in compacted(scenarios()[name], name).rebalances:
            known = whole.get(rebalance.epoch)
            if known is None or rebalance.kind != "consumer":
                continue
            if "left" in causes(known) and "left" not in causes(rebalance):
                assert rebalance.has_gap, (name, rebalance)
            if "topics" in causes(rebalance):
                assert "topics" in causes(known), (name, rebalance, known)
            checked += 1
    assert checked > 50
