"""Topics: what is looked at is decoded and indexed once, what is not stays bytes."""

from __future__ import annotations

import pytest

import metashell.metadata.image.partitions
import metashell.metadata.image.topics
from metashell.metadata.image import ImageLoader, MetadataDelta, PartitionRegistration, TopicImage
from metashell.metadata.image.partitions import SpanIndex, walk_ids, walk_span
from metashell.metadata.image.topics import RawChange
from metashell.metadata.image.writer import write_image
from tests.metadata.image.batches import batch, record

TOPIC = bytes(range(16))


class Counts:
    """How often spans were walked, and partition records decoded."""

    def __init__(self) -> None:
        self.walks = 0
        self.reads = 0


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    made = Counts()
    read_partition = metashell.metadata.image.partitions.read_partition

    def counting_walk(span):
        made.walks += 1
        return walk_span(span)

    def counting_read(buf, start, end):
        made.reads += 1
        return read_partition(buf, start, end)

    def counting_walk_of_ids(span):
        made.walks += 1
        return walk_ids(span)

    monkeypatch.setattr(metashell.metadata.image.partitions, "walk_span", counting_walk)
    monkeypatch.setattr(metashell.metadata.image.topics, "walk_ids", counting_walk_of_ids)
    monkeypatch.setattr(metashell.metadata.image.partitions, "read_partition", counting_read)
    return made


def partition(id: int, **fields: object) -> object:
    return record("PartitionRecord", **{"partition_id": id, "topic_id": TOPIC, "replicas": (id, 2), "isr": (2,), **fields})


def change(id: int, **fields: object) -> object:
    return record("PartitionChangeRecord", partition_id=id, topic_id=TOPIC, **fields)


def load(*bodies: object) -> ImageLoader:
    loader = ImageLoader()
    loader.load_batch(batch(record("TopicRecord", name="orders", topic_id=TOPIC), *bodies))
    return loader


def orders(loader: ImageLoader) -> TopicImage:
    return loader.image().topics.by_name["orders"]


def test_opening_a_batch_walks_no_topic_and_decodes_few_partitions(counts: Counts):
    load(*(partition(id) for id in range(100)))
    assert (counts.walks, counts.reads) == (0, 0)


def test_a_topic_is_indexed_once_however_many_lookups_follow(counts: Counts):
    topic = orders(load(*(partition(id) for id in range(20))))
    for id in range(20):
        assert topic.partitions[id].replicas == (id, 2)
        assert id in topic.partitions
    assert topic.partitions.get(20) is None
    assert "0" not in topic.partitions and None not in topic.partitions
    assert (counts.walks, counts.reads) == (1, 20)


def test_iterating_a_topic_is_one_pass_and_keeps_nothing(counts: Counts):
    topic = orders(load(*(partition(id) for id in range(20))))
    assert [id for id, _ in topic.partitions.items()] == list(range(20))
    assert (counts.walks, counts.reads) == (1, 20)
    assert not topic.is_indexed
    assert [partition.replicas[0] for partition in topic.partitions.values()] == list(range(20))
    assert counts.walks == 2


def test_names_and_counts_decode_nothing(counts: Counts):
    topic = orders(load(*(partition(id) for id in range(20)), change(3, leader=1)))
    assert sorted(topic.partitions) == list(range(20))
    assert len(topic.partitions) == topic.partition_count == 20
    assert (counts.walks, counts.reads) == (1, 0), "the change indexed the topic"


def test_a_count_is_worked_out_once(counts: Counts):
    topics = load(*(partition(id) for id in range(20))).image().topics
    assert topics.partition_count == topics.partition_count == 20
    assert counts.walks == 1


def test_a_change_indexes_its_topic_once_and_stays_bytes(counts: Counts):
    loader = load(*(partition(id) for id in range(20)), *(change(id % 20, isr=(2,)) for id in range(60)))
    topic = orders(loader)
    assert (counts.walks, counts.reads) == (1, 0)
    entry = topic.overlay[7]
    assert entry[0] is None
    assert [type(each) for each in entry[1:]] == [RawChange] * 3
    assert entry[1] is topic.overlay[8][1], "equal changes are shared"
    assert topic.partitions[7].partition_epoch == 2
    assert (counts.walks, counts.reads) == (1, 1)


def test_an_index_holds_partitions_in_any_order_and_the_last_of_a_repeated_one():
    topic = orders(load(partition(5), partition(0), partition(5, leader=4), partition(-3)))
    assert sorted(topic.partitions) == [-3, 0, 5]
    assert topic.partitions[5].leader == 4
    assert topic.partition_count == 3
    with pytest.raises(KeyError):
        topic.partitions[1]


def test_spans_of_several_batches_are_one_mapping():
    loader = load(partition(0), partition(1))
    loader.load_batch(batch(partition(2), partition(1, leader=7), base_offset=3))
    topic = orders(loader)
    assert len(topic.spans) == 2
    assert sorted(topic.partitions) == [0, 1, 2]
    assert topic.partitions[1].leader == 7
    assert topic.partitions[2].replicas == (2, 2)


def test_a_partition_record_replaces_all_that_changes_said_before():
    topic = orders(load(partition(0), change(0, leader=1), partition(0, leader=3), change(0, isr=(1,))))
    assert (topic.partitions[0].leader, topic.partitions[0].leader_epoch, topic.partitions[0].partition_epoch) == (3, -1, 0)


def test_a_topic_that_grows_after_it_was_indexed_is_not_indexed_again(counts: Counts):
    loader = load(partition(0), change(0, leader=1))
    assert counts.walks == 1
    for id in range(1, 30):
        loader.load_batch(batch(partition(id), change(id, leader=1), base_offset=2 * id + 1))
        assert len(loader.image().topics.by_name["orders"].overlay) == id + 1
    topic = orders(loader)
    assert counts.walks == 1
    assert len(topic.partitions) == 30


def test_a_topic_that_lies_in_very_many_places_keeps_few_spans():
    loader = load()
    for id in range(200):
        loader.load_batch(batch(partition(id), base_offset=id + 1))
    topic = orders(loader)
    assert len(topic.spans) == 64
    assert sorted(topic.partitions) == list(range(200))
    assert all(topic.partitions[id].replicas == (id, 2) for id in range(200))


def test_a_partition_that_changes_very_often_is_folded_when_the_image_is_made():
    topic = orders(load(partition(0), *(change(0, leader=id % 5) for id in range(1000))))
    assert len(topic.overlay[0]) == 1
    assert (topic.partitions[0].leader_epoch, topic.partitions[0].partition_epoch, topic.partitions[0].leader) == (999, 999, 4)


def test_changes_that_are_objects_become_bytes_again_after_a_few():
    delta = MetadataDelta(load(partition(0), partition(1)).image())
    for leader in range(50):
        delta.replay(change(0, leader=leader))
        delta.replay(change(1, leader=leader) if leader < 2 else record("NoOpRecord"))
        delta = MetadataDelta(delta.apply())
    topic = delta.image.topics.by_name["orders"]

    assert len(topic.overlay[0]) <= 3
    assert not isinstance(topic.overlay[0][0], PartitionRegistration)
    assert topic.partitions[0] == topic.partitions[1]._replace(leader=49, leader_epoch=49, partition_epoch=49, replicas=(0, 2))


def test_an_older_image_keeps_its_partitions_while_newer_ones_change():
    loader = load(partition(0), partition(1))
    first = orders(loader)
    loader.load_batch(batch(change(0, leader=9), base_offset=3))
    second = orders(loader)
    loader.load_batch(batch(record("RemoveTopicRecord", topic_id=TOPIC), base_offset=4))
    assert len(loader.image().topics) == 0
    assert (first.partitions[0].leader, second.partitions[0].leader) == (-1, 9)
    assert second.partitions[1] == first.partitions[1]


def test_a_second_topic_of_the_same_name_takes_the_name_and_is_listed():
    loader = load(partition(0), record("TopicRecord", name="orders", topic_id=bytes(16)))
    image = loader.image()
    assert len(image.topics.by_id) == 2
    assert image.topics.by_name["orders"].id == bytes(16)
    assert "has the id" in image.faults[0].reason
    loader.load_batch(batch(change(0, leader=4), base_offset=3))
    image = loader.image()
    assert image.topics.by_id[TOPIC].partitions[0].leader == 4
    assert image.topics.by_name["orders"].id == bytes(16)


@pytest.mark.parametrize(
    ("name", "id", "reason", "names"),
    [
        ("orders", bytes(16), "topic 'orders' has the id AAECAwQFBgcICQoLDA0ODw already", ["orders"]),
        ("other", TOPIC, "topic id AAECAwQFBgcICQoLDA0ODw is taken by 'orders'", ["other"]),
        ("other", bytes(16), "", ["orders", "other"]),
    ],
)
@pytest.mark.parametrize("in_one_batch", [True, False])
def test_a_name_or_an_id_that_is_taken_is_a_fault_in_whichever_batch(
    name: str, id: bytes, reason: str, names: list[str], in_one_batch: bool
):
    second = record("TopicRecord", name=name, topic_id=id)
    loader = load(partition(0), *([second] if in_one_batch else []))
    if not in_one_batch:
        loader.image()
        loader.load_batch(batch(second, base_offset=2))
    image = loader.image()
    assert [fault.reason for fault in image.faults] == ([reason] if reason else [])
    assert sorted(image.topics.by_name) == names
    assert image.topics.by_name[name].partition_count == 0


def test_clear_elr_of_all_topics_touches_only_partitions_that_have_some():
    elr = {"eligible_leader_replicas": (1,), "last_known_elr": (2,)}
    clear = record("ClearElrRecord", topic_name="")
    topic = orders(load(partition(0, **elr), partition(1), change(1, last_known_elr=(3,)), partition(2), clear))
    states = {id: (each.elr, each.last_known_elr, each.partition_epoch) for id, each in topic.partitions.items()}
    assert states == {0: ((), (), 0), 1: ((), (), 1), 2: ((), (), -1)}


def test_an_index_of_nothing_is_empty():
    index = SpanIndex(())
    assert len(index) == 0
    assert list(index) == []
    assert 0 not in index
    assert "0" not in index


def test_a_topic_is_written_one_partition_at_a_time_and_keeps_no_index_of_it(counts: Counts) -> None:
    image = load(*map(partition, reversed(range(50)))).image()
    written = (body for body, _ in write_image(image) if type(body).__name__ == "PartitionRecord")
    for count in range(1, 51):
        assert next(written).partition_id == count - 1
        assert counts.reads <= count
    assert not image.topics.by_name["orders"].is_indexed
