"""What `why` says where parts of a log are gone, and what it counts: no cause is claimed that records do not prove."""

from __future__ import annotations

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.consumer_protocol import Assignment, Subscription, assignment_bytes, subscription_bytes
from metashell.codec.framing import checked_batches
from metashell.codec.registry import message_type
from metashell.groups.log import Decoder, KeysOf
from metashell.groups.log.fold import Fold
from metashell.groups.log.timeline import build_timeline
from metashell.groups.log.timeline_events import Rebalance, Timeline
from metashell.groups.topics import KnownTopics
from tests.groups.golden import Scenario, scenarios
from tests.groups.log.making import golden_batches
from tests.groups.log.test_story import WITH_RECORDS, raw_by_group, story

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
