"""An image written as records, and read again: the same image, at every point of a history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from metashell.codec.releases import NEWEST_LEVEL, OLDEST_LEVEL
from metashell.metadata.image import EMPTY_IMAGE, ImageLoader, ImageLossError, MetadataDelta, MetadataImage
from metashell.metadata.image.provenance import SORTED_AT_ONCE, in_order
from metashell.metadata.image.writer import write_image, write_image_steps
from tests.metadata.image.batches import batch, batch_of_values, record, value
from tests.metadata.image.eager import plain
from tests.metadata.image.histories import History, histories

EXAMPLES = max(30, settings.default.max_examples) if settings.default else 30
TOPIC = bytes(range(16))


def reread(image: MetadataImage, level: int | None = None, **options: object) -> MetadataImage:
    """The image that the records of `image` give, taken through bytes."""
    values = [value(body, version) for body, version in write_image(image, level, **options)]
    loader = ImageLoader()
    for at in range(0, len(values), 1024):
        loader.load_snapshot_batch(batch_of_values(values[at : at + 1024], at))
    return loader.finish()


@settings(max_examples=EXAMPLES)
@given(histories())
def test_an_image_written_and_read_again_is_itself_after_every_batch(history: History):
    loader = ImageLoader()
    for item in history.batches:
        loader.load_batch(item)
        image = loader.image()
        level = max(image.features.metadata_version or NEWEST_LEVEL, NEWEST_LEVEL)
        wanted = image._replace(features=image.features._replace(metadata_version=level))
        again = reread(image, level)
        expected = plain(wanted)
        if len(image.topics.by_id) != len(image.topics.by_name):
            # Two topics of one name, which no controller writes: the one that is written last gets the name.
            expected["names"] = plain(again)["names"]
        if expected["producer_ids"][0] < 0:
            expected["producer_ids"] = (-1, -1, -1)
        assert plain(again) == expected


@settings(max_examples=EXAMPLES)
@given(histories())
def test_the_records_of_an_image_may_also_be_replayed_as_objects(history: History):
    loader = ImageLoader()
    for item in history.batches:
        loader.load_batch(item)
    image = loader.finish()
    delta = MetadataDelta(EMPTY_IMAGE)
    for body, _ in write_image(image, NEWEST_LEVEL):
        if type(body).__name__ == "TopicRecord" and delta.topics.topic_named(body.name):
            return
        delta.replay(body)
    wanted = image._replace(features=image.features._replace(metadata_version=NEWEST_LEVEL))
    assert delta.apply().has_same_metadata(wanted)


@settings(max_examples=10)
@given(histories())
def test_at_any_level_what_is_not_lost_is_written_and_reading_it_again_loses_nothing_more(history: History):
    loader = ImageLoader()
    for item in history.batches:
        loader.load_batch(item)
    image = loader.finish()
    for level in (1, 6, 7, 8, 11, 14, 15, 17, 22, 23, 30, NEWEST_LEVEL):
        losses: list[str] = []
        lower = reread(image, level, on_loss=losses.append)
        assert len(losses) == len(set(losses))
        again = reread(lower)
        assert plain(again) == plain(lower)
        if losses:
            with pytest.raises(ImageLossError):
                list(write_image(image, level))


def full_image() -> MetadataImage:
    loader = ImageLoader()
    loader.load_batch(
        batch(
            record("FeatureLevelRecord", name="metadata.version", feature_level=30),
            record("ZkMigrationStateRecord", zk_migration_state=3),
            record("RegisterBrokerRecord", broker_id=2, log_dirs=(TOPIC,), cordoned_log_dirs=(), in_controlled_shutdown=True),
            record("RegisterBrokerRecord", broker_id=1, is_migrating_zk_broker=True),
            record("RegisterControllerRecord", controller_id=9),
            record("TopicRecord", name="orders", topic_id=TOPIC),
            record("PartitionRecord", partition_id=0, topic_id=TOPIC, replicas=(1,), directories=(TOPIC,), last_known_elr=(4,)),
            record("ConfigRecord", resource_type=2, resource_name="orders", name="k", value="v"),
            record("ClientQuotaRecord", key="q", value=1.5),
            record("ProducerIdsRecord", broker_id=1, next_producer_id=2000),
            record("AccessControlEntryRecord", id=TOPIC, resource_name="orders"),
            record("UserScramCredentialRecord", name="alice", mechanism=1),
            record("DelegationTokenRecord", token_id="t"),
        )
    )
    return loader.finish()


def test_records_come_in_kafkas_order():
    names = [type(body).__name__ for body, _ in write_image(full_image())]
    assert names == [
        "FeatureLevelRecord",
        "ZkMigrationStateRecord",
        "RegisterBrokerRecord",
        "RegisterBrokerRecord",
        "RegisterControllerRecord",
        "TopicRecord",
        "PartitionRecord",
        "ConfigRecord",
        "ClientQuotaRecord",
        "ProducerIdsRecord",
        "AccessControlEntryRecord",
        "UserScramCredentialRecord",
        "DelegationTokenRecord",
    ]


def test_topics_come_by_name_and_their_partitions_by_id():
    loader = ImageLoader()
    names = {"b": bytes(16), "a": bytes([9] * 16), "c": bytes([1] * 16)}
    topics = [record("TopicRecord", name=name, topic_id=id) for name, id in names.items()]
    partitions = [record("PartitionRecord", partition_id=number, topic_id=id) for number in (1, 0) for id in names.values()]
    loader.load_batch(batch(*topics, *partitions))
    told = [getattr(body, "name", None) or body.partition_id for body, _ in write_image(loader.image())]
    assert told == ["a", 0, 1, "b", 0, 1, "c", 0, 1]


@pytest.mark.parametrize(
    ("level", "broker", "partition"),
    [(1, 0, 0), (7, 1, 0), (8, 2, 0), (16, 2, 0), (17, 3, 1), (22, 3, 1), (23, 3, 2), (29, 3, 2), (30, 4, 2), (33, 4, 2)],
)
def test_record_versions_follow_the_level(level: int, broker: int, partition: int):
    written = {type(body).__name__: version for body, version in write_image(full_image(), level, on_loss=lambda loss: None)}
    assert written["RegisterBrokerRecord"] == broker
    assert written["PartitionRecord"] == partition


def test_what_a_low_level_cannot_hold_is_told_once_or_refused():
    losses: list[str] = []
    list(write_image(full_image(), 1, on_loss=losses.append))
    assert losses == [
        "the ZooKeeper migration state",
        "the isMigratingZkBroker state of one or more brokers",
        "the inControlledShutdown state of one or more brokers",
        "the online log directories of one or more brokers",
        "the cordoned log directories of one or more brokers",
        "the registrations of controllers",
        "the directory assignment state of one or more replicas",
        "the eligible leader replicas of one or more partitions",
        "the SCRAM credentials of users",
        "the delegation tokens",
    ]
    with pytest.raises(ImageLossError, match=r"^metadata\.version 4\.0-IV0 cannot hold"):
        list(write_image(full_image(), 22))


def test_a_plain_image_loses_nothing_at_any_level():
    loader = ImageLoader()
    plain_partition = record("PartitionRecord", partition_id=0, topic_id=TOPIC, replicas=(1,), isr=(1,), leader=1)
    loader.load_batch(
        batch(record("RegisterBrokerRecord", broker_id=1), record("TopicRecord", name="orders", topic_id=TOPIC), plain_partition)
    )
    for level in range(OLDEST_LEVEL, NEWEST_LEVEL + 1):
        assert len(list(write_image(loader.image(), level))) == 4


def test_each_kind_of_information_is_lost_below_the_level_that_holds_it():
    lost_up_to: dict[str, int] = {}
    for level in range(OLDEST_LEVEL, NEWEST_LEVEL + 1):
        list(write_image(full_image(), level, on_loss=lambda loss, level=level: lost_up_to.update({loss: level})))
    assert lost_up_to == {
        "the ZooKeeper migration state": 7,
        "the isMigratingZkBroker state of one or more brokers": 7,
        "the inControlledShutdown state of one or more brokers": 6,
        "the online log directories of one or more brokers": 16,
        "the cordoned log directories of one or more brokers": 29,
        "the registrations of controllers": 14,
        "the directory assignment state of one or more replicas": 16,
        "the eligible leader replicas of one or more partitions": 22,
        "the SCRAM credentials of users": 10,
        "the delegation tokens": 13,
    }


def test_every_level_at_which_nothing_is_lost_gives_the_same_image():
    image = full_image()
    for level in range(OLDEST_LEVEL, NEWEST_LEVEL + 1):
        if level >= 30:
            wanted = image._replace(features=image.features._replace(metadata_version=level))
            assert reread(image, level).has_same_metadata(wanted)


def test_an_image_without_a_level_is_written_without_one():
    assert list(write_image(EMPTY_IMAGE)) == []


def test_large_parts_are_sorted_a_bounded_number_of_items_at_a_time() -> None:
    items = [(number * 7919) % 10_007 for number in range(10_007)]
    taken = 0

    def counted() -> Iterator[int]:
        nonlocal taken
        for item in items:
            taken += 1
            yield item

    before, found = 0, []
    for item in in_order(counted()):
        assert taken - before <= SORTED_AT_ONCE
        before = taken
        if item is not None:
            found.append(item)
    assert found == sorted(items)
    assert list(in_order(["b", "a"])) == ["a", "b"] and list(in_order([])) == []


def test_a_snapshot_of_many_topics_and_entries_has_rests_and_the_same_records() -> None:
    count = 2 * SORTED_AT_ONCE + 1
    loader = ImageLoader()
    loader.load_batch(batch(*(record("TopicRecord", name=f"t{number}", topic_id=number.to_bytes(16, "big")) for number in range(1, count))))
    steps = list(write_image_steps(loader.image()))
    assert steps.count(None) == 2
    assert [body.name for body, _ in filter(None, steps)] == sorted(f"t{number}" for number in range(1, count))
