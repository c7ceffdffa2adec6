"""The records of a restored cluster: what stays, what is raised, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from metashell.codec.messages import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from metashell.codec.metadata_records import read_metadata_record, write_metadata_record
from metashell.codec.releases import record_versions
from metashell.disk.restore import EPOCH_MARGIN
from metashell.disk.source import open_directory
from metashell.inspect.survivors import PRODUCER_IDS_MARGIN, raised, restored_image, restored_values, without_redacted
from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage
from tests.inspect.surviving import LEVEL, TOPIC_ID, first_records


def image_of(*more: Any) -> MetadataImage:
    return replayed([*first_records(), *more])


def replayed(bodies: list[Any]) -> MetadataImage:
    delta = MetadataDelta(EMPTY_IMAGE)
    for body in bodies:
        delta.replay(body)
    return delta.apply()


def read(image: MetadataImage) -> list[Any]:
    return [read_metadata_record(value).body for value in restored_values(image)]


def test_all_but_controllers_epochs_and_producer_ids_stays() -> None:
    image = image_of(ProducerIdsRecord(broker_id=11, broker_epoch=3, next_producer_id=5000))
    found = replayed(read(restored_image(image)))
    assert not image.cluster.brokers[11].fenced
    assert found.cluster.brokers == Map({id: one._replace(fenced=True) for id, one in image.cluster.brokers.items()})
    assert not found.cluster.controllers
    assert found.configs == image.configs
    assert found.features == image.features
    assert found.producer_ids.next_producer_id == 5000 + PRODUCER_IDS_MARGIN
    assert {topic.name: topic.id for topic in found.topics} == {"orders": TOPIC_ID}
    for id, partition in image.topics.by_id[TOPIC_ID].partitions.items():
        other = found.topics.by_id[TOPIC_ID].partitions[id]
        assert other == raised(partition)
        assert (other.leader_epoch, other.partition_epoch) == (4 + EPOCH_MARGIN, 6 + EPOCH_MARGIN)
        assert other._replace(leader_epoch=4, partition_epoch=6) == partition


def test_a_block_of_producer_ids_may_have_been_handed_out_where_the_source_has_none() -> None:
    assert restored_image(image_of()).producer_ids.next_producer_id == PRODUCER_IDS_MARGIN


def test_numbers_that_leave_no_room_stay_in_their_range() -> None:
    image = image_of(ProducerIdsRecord(broker_id=11, broker_epoch=3, next_producer_id=(1 << 63) - 5))
    assert restored_image(image).producer_ids.next_producer_id == (1 << 63) - 1
    partition = image.topics.by_id[TOPIC_ID].partitions[0]._replace(leader_epoch=(1 << 31) - 1, partition_epoch=-1)
    assert (raised(partition).leader_epoch, raised(partition).partition_epoch) == ((1 << 31) - 1, EPOCH_MARGIN)


def test_topics_come_where_kafkas_controllers_write_them() -> None:
    names = [type(body).__name__ for body in read(restored_image(image_of()))]
    assert names == [
        "FeatureLevelRecord",
        "RegisterBrokerRecord",
        "TopicRecord",
        "PartitionRecord",
        "PartitionRecord",
        "ConfigRecord",
        "ProducerIdsRecord",
    ]


def test_an_image_of_topics_alone_has_them_too() -> None:
    image = replayed([TopicRecord(name="a", topic_id=TOPIC_ID)])
    assert [type(body).__name__ for body in read(image)] == ["TopicRecord"]


def test_changed_partitions_are_raised_too() -> None:
    image = image_of(PartitionChangeRecord(partition_id=1, topic_id=TOPIC_ID, leader=-1, isr=(11,)))
    found = replayed(read(restored_image(image)))
    partition = found.topics.by_id[TOPIC_ID].partitions[1]
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (-1, 5 + EPOCH_MARGIN, 7 + EPOCH_MARGIN)


EPOCHS = st.one_of(st.integers(-1, 1 << 20), st.integers((1 << 31) - (1 << 21), (1 << 31) - 1))
PARTITIONS = st.builds(
    PartitionRecord,
    partition_id=st.integers(0, 3),
    topic_id=st.just(TOPIC_ID),
    replicas=st.lists(st.integers(0, 200), min_size=1, max_size=130, unique=True).map(tuple),
    isr=st.lists(st.integers(0, 200), max_size=3, unique=True).map(tuple),
    removing_replicas=st.lists(st.integers(0, 200), max_size=2, unique=True).map(tuple),
    adding_replicas=st.lists(st.integers(0, 200), max_size=2, unique=True).map(tuple),
    leader=st.integers(-1, 200),
    leader_epoch=EPOCHS,
    partition_epoch=EPOCHS,
    leader_recovery_state=st.integers(0, 1),
    eligible_leader_replicas=st.one_of(st.none(), st.lists(st.integers(0, 200), max_size=2, unique=True).map(tuple)),
    last_known_elr=st.none(),
)


@given(st.lists(PARTITIONS, max_size=4), st.integers(0, 2))
def test_every_partition_is_as_it_was_but_for_its_epochs(records: list[Any], version: int) -> None:
    from metashell.codec.batch_writer import write_batch
    from metashell.codec.batches import BatchHeader, Record, RecordBatch, unpack_header
    from metashell.metadata.image import ImageLoader

    for record in records:
        record.directories = (bytes(15) + b"\x07",) * len(record.replicas) if version else ()
        if version < 2:
            record.eligible_leader_replicas = None
    versions = record_versions(LEVEL)
    values = [write_metadata_record(first_records()[0], 0), write_metadata_record(TopicRecord(name="t", topic_id=TOPIC_ID), 0)]
    values += [write_metadata_record(record, version) for record in records]
    data = write_batch(0, [Record(index, 1, None, value) for index, value in enumerate(values)], leader_epoch=1)
    loader = ImageLoader()
    loader.load_batch(RecordBatch(BatchHeader(*unpack_header(data)), 0, data, "log"))
    assert not loader.faults
    image = loader.image()
    found = replayed(read(restored_image(image)))
    topic = image.topics.by_id[TOPIC_ID]
    assert {id: raised(one) for id, one in topic.partitions.items()} == dict(found.topics.by_id[TOPIC_ID].partitions.items())
    written = [read_metadata_record(value) for value in restored_values(restored_image(image))]
    assert {record.version for record in written if type(record.body).__name__ == "PartitionRecord"} <= {versions.partition}


def test_partitions_have_the_version_of_the_images_own_level() -> None:
    first, *rest = first_records()
    first.feature_level = 16
    image = replayed([first, *rest])
    versions = {
        record.version for value in restored_values(image) if (record := read_metadata_record(value)).type_name == "PARTITION_RECORD"
    }
    assert versions == {0}


def test_a_partition_of_very_many_replicas_is_raised(tmp_path: Path) -> None:
    from metashell.metadata.image import load_image
    from tests.inspect.surviving import MadeLog, make_source

    replicas = tuple(range(140))
    directories = (bytes(15) + b"\x07",) * len(replicas)
    record = PartitionRecord(
        partition_id=0,
        topic_id=TOPIC_ID,
        replicas=replicas,
        isr=replicas,
        leader=3,
        leader_epoch=1,
        partition_epoch=2,
        directories=directories,
    )
    topic = TopicRecord(name="wide", topic_id=TOPIC_ID)
    log = MadeLog().lead(5).add(5, [first_records()[0], topic, record])
    with open_directory(str(make_source(tmp_path / "one", log))) as source:
        image = load_image(source)
    found = replayed(read(image)).topics.by_id[TOPIC_ID].partitions[0]
    assert (found.replicas, found.isr, found.leader) == (replicas, replicas, 3)
    assert (found.leader_epoch, found.partition_epoch) == (1 + EPOCH_MARGIN, 2 + EPOCH_MARGIN)


def test_what_a_bundle_has_no_secrets_of_is_left_out() -> None:
    image = image_of(
        UserScramCredentialRecord(name="alice", mechanism=1, salt=b"", stored_key=b"", server_key=b"", iterations=4096),
        UserScramCredentialRecord(name="bob", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096),
        ConfigRecord(resource_type=4, resource_name="11", name="ssl.key.password", value="[redacted]"),
        ConfigRecord(resource_type=4, resource_name="11", name="background.threads", value="5"),
        ConfigRecord(resource_type=4, resource_name="12", name="ssl.key.password", value="[redacted]"),
    )
    found, left_out = without_redacted(image)
    assert left_out == (1, 2)
    assert found.scram == Map({1: Map({"bob": image.scram[1]["bob"]})})
    assert found.configs == Map({(2, "orders"): Map({"retention.ms": "1000"}), (4, "11"): Map({"background.threads": "5"})})
    assert without_redacted(found) == (found, (0, 0))
