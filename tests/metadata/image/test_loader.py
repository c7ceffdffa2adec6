"""Batches become an image: the lazy one is what an eager one would be, and nothing that is wrong is dropped in silence."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings

from metashell.codec.batches import RecordBatch
from metashell.codec.registry import message_type
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image import ImageLoader, load_image
from metashell.metadata.image.scanner import RECORDS_AT_ONCE
from tests.metadata.image.batches import EPOCH, TIMESTAMP, ListSource, Trouble, batch, batch_of_values, control_batch, record, sealed, value
from tests.metadata.image.eager import EagerModel, plain
from tests.metadata.image.histories import History, histories

TOPIC = bytes(range(16))
EXAMPLES = max(40, settings.default.max_examples) if settings.default else 40


def partition(id: int, **fields: object) -> object:
    return record("PartitionRecord", **{"partition_id": id, "topic_id": TOPIC, "replicas": (1, 2), "isr": (1, 2), **fields})


def change(id: int, **fields: object) -> object:
    return record("PartitionChangeRecord", partition_id=id, topic_id=TOPIC, **fields)


def topic(name: str = "orders", id: bytes = TOPIC) -> object:
    return record("TopicRecord", name=name, topic_id=id)


def load(*batches: RecordBatch):
    loader = ImageLoader()
    for item in batches:
        loader.load_batch(item)
    return loader.finish()


@pytest.mark.parametrize("made", [lambda n: partition(n), lambda n: record("ConfigRecord", resource_type=4, name=f"k{n}", value="v")])
def test_a_batch_is_loaded_a_bounded_number_of_records_at_a_time(made: Callable[[int], object]):
    count = 3 * RECORDS_AT_ONCE + 5
    large = batch(topic(), *(made(number) for number in range(count)))
    loader = ImageLoader()
    taken: list[int] = []
    for _ in loader.load_snapshot_steps(large):
        image = loader.image()
        taken.append(image.topics.partition_count + sum(len(values) for _, values in image.configs.items()))

    assert taken == [number * RECORDS_AT_ONCE - 1 for number in (1, 2, 3)]
    assert loader.image().topics == load(large).topics and loader.image().configs == load(large).configs


@settings(max_examples=EXAMPLES)
@given(histories())
def test_the_lazy_image_equals_a_plain_eager_one_after_every_batch(history: History):
    model = EagerModel()
    loader = ImageLoader()
    seen = []
    at = 0
    for item in history.batches:
        loader.load_batch(item)
        for body in history.records[at : at + item.header.count]:
            model.replay(body)
        at += item.header.count
        image = loader.image()
        assert plain(image) == model.visible()
        assert len(image.faults) == model.fault_count
        seen.append((image, copy.deepcopy(model.visible())))
    for image, expected in seen:  # Older images are as they were.
        assert plain(image) == expected


@settings(max_examples=EXAMPLES)
@given(histories())
def test_an_image_that_nobody_looked_at_before_its_end_equals_a_plain_eager_one(history: History):
    model = EagerModel()
    for body in history.records:
        model.replay(body)
    image = load(*history.batches)
    assert plain(image) == model.visible()
    assert len(image.faults) == model.fault_count + (model.saved is not None)
    for each in image.topics:
        assert each.partition_count == len(dict(each.partitions.items())) == len(list(each.partitions))
    assert image.topics.partition_count == sum(1 for _ in image.topics.iter_partitions())


@pytest.mark.parametrize("seed", range(4))
def test_a_large_image_whose_shapes_have_become_patterns_equals_a_plain_eager_one(seed: int):
    random = Random(seed)
    bodies: list[object] = []
    for number in range(30):
        id = number.to_bytes(16, "big")
        bodies.append(topic(f"t{number}", id))
        for partition_id in random.sample(range(80), random.randrange(80)):
            replicas = tuple(random.sample(range(9), 3))
            shape: dict[str, object] = {"replicas": replicas, "isr": replicas[: random.randrange(4)]}
            if random.random() < 0.5:
                shape["directories"] = (TOPIC,) * random.choice((3, 3, 3, 3, 3, 2))
            if random.random() < 0.2:
                shape["eligible_leader_replicas"] = replicas[:1]
            if random.random() < 0.1:
                shape["leader_recovery_state"] = random.choice((0, 1, 2))
            bodies.append(partition(partition_id, topic_id=id, **shape))
    for _ in range(2000):
        id = random.randrange(31).to_bytes(16, "big")
        isr = tuple(random.sample(range(9), 2))
        bodies.append(record("PartitionChangeRecord", partition_id=random.randrange(80), topic_id=id, isr=isr, leader=isr[0]))
    batches = []
    at = 0
    while at < len(bodies):
        part = bodies[at : at + random.randrange(1, 1500)]
        batches.append(batch(*part, base_offset=at))
        at += len(part)
    model = EagerModel()
    for body in bodies:
        model.replay(body)
    image = load(*batches)
    assert plain(image) == model.visible()
    assert len(image.faults) == model.fault_count
    assert image.topics.partition_count == sum(len(each["partitions"]) for each in model.state["topics"].values())


def test_an_open_transaction_at_the_end_stays_invisible_and_is_a_fault():
    image = load(batch(topic("a"), record("BeginTransactionRecord"), topic("b", bytes(16))))
    assert set(image.topics.by_name) == {"a"}
    [fault] = image.faults
    assert (fault.offset, fault.record_type) == (1, "BEGIN_TRANSACTION_RECORD")
    assert (image.provenance.offset, image.provenance.end_offset) == (0, 3)


def test_a_transaction_may_span_batches_and_shows_once_it_ends():
    loader = ImageLoader()
    loader.load_batch(batch(record("BeginTransactionRecord", name="x"), topic("a")))
    assert len(loader.image().topics) == 0
    loader.load_batch(batch(topic("b", bytes(16)), record("EndTransactionRecord"), base_offset=2))
    image = loader.finish()
    assert set(image.topics.by_name) == {"a", "b"}
    assert image.faults == ()


def test_an_aborted_transaction_leaves_nothing():
    image = load(batch(topic("a"), record("BeginTransactionRecord"), record("RemoveTopicRecord", topic_id=TOPIC)))
    assert set(image.topics.by_name) == {"a"}
    image = load(
        batch(topic("a"), partition(0), record("BeginTransactionRecord"), change(0, leader=5)),
        batch(topic("b", bytes(16)), record("AbortTransactionRecord"), change(0, leader=6), base_offset=4),
    )
    assert set(image.topics.by_name) == {"a"}
    assert (image.topics.by_name["a"].partitions[0].leader, image.topics.by_name["a"].partitions[0].leader_epoch) == (6, 0)
    assert image.faults == ()


@pytest.mark.parametrize("name", ["EndTransactionRecord", "AbortTransactionRecord"])
def test_an_end_without_a_begin_is_a_fault(name: str):
    image = load(batch(topic(), record(name)))
    assert [fault.reason for fault in image.faults] == ["no transaction is open"]
    assert len(image.topics) == 1


def test_a_change_of_an_unknown_topic_or_partition_is_skipped_alone():
    image = load(batch(topic(), partition(0), change(3, leader=1), record("PartitionChangeRecord", topic_id=bytes(16)), partition(1)))
    assert sorted(image.topics.by_name["orders"].partitions) == [0, 1]
    assert [(fault.offset, fault.record_type) for fault in image.faults] == [(2, "PARTITION_CHANGE_RECORD"), (3, "PARTITION_CHANGE_RECORD")]
    assert "no partition 3" in image.faults[0].reason


def test_many_partitions_of_an_unknown_topic_are_a_fault_each():
    image = load(batch(*(partition(id) for id in range(50))))
    assert len(image.faults) == 50
    assert len(image.topics) == 0


def test_records_that_do_not_decode_are_faults_and_the_rest_of_the_batch_is_applied():
    values = [
        value(topic()),
        value(partition(0))[:-3],
        None,
        b"",
        b"\x02\x02\x00rest",
        b"\x01\x63\x00payload",
        b"\x00\x02\x00" + value(topic("old"))[3:],
        value(partition(1)),
    ]
    image = load(batch_of_values(values, 10))
    assert sorted(image.topics.by_name["orders"].partitions) == [1]
    assert [fault.offset for fault in image.faults] == [11, 12, 13, 14, 15, 16]
    assert image.faults[4].record_type == "UNKNOWN_RECORD_99"
    assert image.faults[0].file == "a.log"


def test_a_version_above_the_newest_is_applied_and_listed():
    raw = value(topic())
    image = load(batch_of_values([raw[:2] + b"\x09" + raw[3:]]))
    assert set(image.topics.by_name) == {"orders"}
    assert "version 9 is not known" in image.unread[0].reason
    assert image.faults == ()


def test_a_metadata_version_newer_than_ours_is_applied():
    image = load(batch(record("FeatureLevelRecord", name="metadata.version", feature_level=99), topic()))
    assert image.features.metadata_version == 99
    assert len(image.topics) == 1
    assert image.faults == ()


def test_a_count_that_lies_gives_the_records_that_are_there_and_a_fault():
    good = batch(topic(), partition(0))
    for count in (-1, 0, 1, 3, 2**31 - 1):
        data = good.data[:57] + count.to_bytes(4, "big", signed=True) + good.data[61:]
        image = load(sealed(data))
        assert len(image.faults) == 1
        assert len(image.topics) == (count > 0)
        assert image.topics.partition_count == (count >= 2)


def test_a_bad_record_length_ends_the_batch_and_the_next_batch_is_read():
    good = batch(topic(), partition(0), partition(1))
    broken = bytearray(good.data)
    second = 61 + 1 + good.data[61] // 2
    broken[second] = 0x7F
    image = load(sealed(bytes(broken), 7), batch(topic("b", bytes(16)), base_offset=3))
    assert set(image.topics.by_name) == {"orders", "b"}
    [fault] = image.faults
    assert (fault.offset, fault.position) == (1, 7)


def test_every_cut_of_a_batch_and_every_flipped_bit_is_survived():
    good = batch(topic(), partition(0), change(0, isr=(1,)), record("NoOpRecord"), partition(1))
    for end in range(61, len(good.data)):
        assert load(sealed(good.data[:end])).faults
        assert load(RecordBatch(good.header, 0, good.data[:end], "a.log")).faults
    for bit in range(61 * 8, len(good.data) * 8):
        data = bytearray(good.data)
        data[bit // 8] ^= 1 << bit % 8
        plain(load(sealed(bytes(data))))
        [fault] = load(RecordBatch(good.header, 0, bytes(data), "a.log")).faults
        assert "CRC-32C" in fault.reason


def test_legacy_batches_hold_no_metadata():
    good = batch(topic())
    good.header.magic = 1
    assert "magic 1" in load(good).faults[0].reason


def test_control_records_give_the_voters_the_leader_and_the_kraft_version():
    message = message_type("control", "VotersRecord")
    voter = message.structs["Voter"](
        voter_id=3,
        voter_directory_id=TOPIC,
        endpoints=(message.structs["Endpoint"](name="C", host="h", port=9093),),
        k_raft_version_feature=message.structs["KRaftVersionFeature"](min_supported_version=0, max_supported_version=1),
    )
    version = message_type("control", "KRaftVersionRecord").cls(k_raft_version=1)
    change = message_type("control", "LeaderChangeMessage")
    leader = change.cls(leader_id=3, voters=tuple(change.structs["Voter"](voter_id=id) for id in (3, 1, 2)))
    image = load(control_batch((2, leader), (5, version), (6, message.cls(voters=(voter,))), base_offset=4))
    assert image.leader == (3, EPOCH, (1, 2, 3))
    assert image.features.kraft_version == 1
    assert image.voters is not None
    assert image.voters.offset == 6
    assert image.voters.voters[0].endpoints == (("C", "h", 9093),)
    assert image.provenance.offset == 6
    assert image.provenance.file_offset == -1


def snapshot_source(*, log: list[RecordBatch] | None = None) -> ListSource:
    header = message_type("control", "SnapshotHeaderRecord").cls(last_contained_log_timestamp=77)
    footer = message_type("control", "SnapshotFooterRecord").cls()
    snapshot = [
        control_batch((3, header)),
        batch(topic(), partition(0), base_offset=1),
        control_batch((4, footer), base_offset=3),
    ]
    return ListSource(snapshot=snapshot, log=log or [], snapshot_id=OffsetAndEpoch(100, 2))


def test_a_snapshot_stands_where_its_name_and_header_say_and_kafkas_values_are_the_files():
    provenance = load_image(snapshot_source()).provenance
    assert (provenance.offset, provenance.epoch, provenance.timestamp_ms) == (99, 2, 77)
    assert (provenance.file_offset, provenance.file_epoch, provenance.file_timestamp_ms) == (2, EPOCH, TIMESTAMP)
    assert (provenance.certain_to, provenance.end_offset) == (100, 100)
    assert (provenance.source_kind, provenance.source) == ("directory", "a-directory")


def test_the_log_goes_on_where_the_snapshot_ends_and_is_left_out_when_only_what_is_certain_is_wanted():
    log = [batch(topic("early", bytes(16)), change(0, leader=9), base_offset=99), batch(topic("late", b"l" * 16), base_offset=101)]
    image = load_image(snapshot_source(log=log))
    assert set(image.topics.by_name) == {"orders", "late"}, "offset 99 is in the snapshot"
    assert image.topics.by_name["orders"].partitions[0].leader == 9
    assert (image.provenance.offset, image.provenance.end_offset) == (101, 102)
    certain = load_image(snapshot_source(log=log), certain_only=True)
    assert set(certain.topics.by_name) == {"orders"}
    assert certain.topics.by_name["orders"].partitions[0].leader == -1
    assert (certain.provenance.offset, certain.provenance.end_offset) == (99, 100)


def test_the_faults_of_a_source_are_listed_and_its_torn_tail_stands_beside_them():
    source = snapshot_source()
    source.faults = [Trouble("the rest is zero", is_tail=True), Trouble("CRC")]
    image = load_image(source)
    assert [fault.reason for fault in image.faults] == ["CRC"]
    assert [fault.reason for fault in image.torn_tails] == ["the rest is zero"]


def test_the_garbage_collector_rests_during_a_load_and_is_on_afterwards():
    states = []
    source = snapshot_source()
    batches = source.snapshot_batches

    def spying():
        states.append(gc.isenabled())
        return batches()

    source.snapshot_batches = spying  # type: ignore[method-assign]
    assert gc.isenabled()
    load_image(source)
    assert states == [False]
    assert gc.isenabled()
