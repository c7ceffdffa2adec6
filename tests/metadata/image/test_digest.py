"""The digest of an image: the same for every history and source that lead to it, another for any other field."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, LEADER_CHANGE
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.registry import MessageType, message_type
from metashell.codec.releases import NEWEST_LEVEL
from metashell.codec.schema import FieldSchema, StructSchema
from metashell.demo import demo_directory
from metashell.metadata.image import ImageLoader, MetadataImage
from metashell.metadata.image.writer import image_digest, write_image
from tests.metadata.image.batches import batch, batch_of_values, control_batch, newest, record, value
from tests.metadata.image.histories import History, histories

EXAMPLES = max(60, settings.default.max_examples) if settings.default else 60
TOPICS = (bytes(range(16)), bytes(range(1, 17)))
BROKER = {"broker_id": 1, "broker_epoch": 5, "incarnation_id": bytes(16)}


def struct(message: str, name: str, /, **fields: Any) -> Any:
    return message_type("metadata", message).structs[name](**fields)


def partition(id: int, topic_id: bytes = TOPICS[0], **fields: Any) -> Any:
    given_fields = {"replicas": (1, 2), "isr": (1, 2), "directories": (bytes([9]) * 16, bytes([8]) * 16), "leader": 1, **fields}
    return record("PartitionRecord", partition_id=id, topic_id=topic_id, **given_fields)


BASE = (
    record("FeatureLevelRecord", name="metadata.version", feature_level=25),
    record("RegisterBrokerRecord", **BROKER, fenced=True),
    record("RegisterBrokerRecord", **{**BROKER, "broker_id": 3}, fenced=False),
    record("RegisterControllerRecord", controller_id=4),
    record("RegisterControllerRecord", controller_id=5),
    record("TopicRecord", name="orders", topic_id=TOPICS[0]),
    record("TopicRecord", name="ordersx", topic_id=TOPICS[1]),
    *(partition(id, topic, eligible_leader_replicas=(2,)) for topic in TOPICS for id in (0, 1)),
    record("ConfigRecord", resource_type=4, resource_name="1", name="a", value="1"),
    record("AccessControlEntryRecord", id=TOPICS[0], resource_name="r", principal="User:a", host="*"),
    record("UserScramCredentialRecord", name="alice", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096),
    record("DelegationTokenRecord", owner="User:a", token_id="t"),
    record(
        "ClientQuotaRecord",
        entity=(struct("ClientQuotaRecord", "EntityData", entity_type="user", entity_name="a"),),
        key="k",
        value=1.0,
    ),
)
PROBES = {
    "RegisterBrokerRecord": record(
        "RegisterBrokerRecord",
        **BROKER,
        end_points=(struct("RegisterBrokerRecord", "BrokerEndpoint", name="A", host="h", port=9092, security_protocol=0),),
        features=(struct("RegisterBrokerRecord", "BrokerFeature", name="f", min_supported_version=0, max_supported_version=3),),
        rack="r",
        log_dirs=(TOPICS[0],),
        cordoned_log_dirs=(TOPICS[1],),
    ),
    "RegisterControllerRecord": record(
        "RegisterControllerRecord",
        controller_id=1,
        incarnation_id=TOPICS[0],
        end_points=(struct("RegisterControllerRecord", "ControllerEndpoint", name="A", host="h", port=9093, security_protocol=0),),
        features=(struct("RegisterControllerRecord", "ControllerFeature", name="f", min_supported_version=0, max_supported_version=3),),
    ),
    "UnregisterBrokerRecord": record("UnregisterBrokerRecord", broker_id=1, broker_epoch=5),
    "UnregisterControllerRecord": record("UnregisterControllerRecord", controller_id=4),
    "TopicRecord": record("TopicRecord", name="new", topic_id=bytes([7]) * 16),
    "PartitionRecord": partition(
        5, removing_replicas=(2,), adding_replicas=(1,), leader_epoch=3, eligible_leader_replicas=(1,), last_known_elr=(2,)
    ),
    "PartitionChangeRecord": record(
        "PartitionChangeRecord",
        partition_id=0,
        topic_id=TOPICS[0],
        isr=(1,),
        leader=2,
        replicas=(2, 1),
        removing_replicas=(2,),
        adding_replicas=(1,),
        leader_recovery_state=0,
        directories=(bytes([5]) * 16, bytes([6]) * 16),
        eligible_leader_replicas=(1,),
        last_known_elr=(2,),
    ),
    "ConfigRecord": record("ConfigRecord", resource_type=2, resource_name="orders", name="b", value="2"),
    "FenceBrokerRecord": record("FenceBrokerRecord", id=3, epoch=5),
    "UnfenceBrokerRecord": record("UnfenceBrokerRecord", id=1, epoch=5),
    "RemoveTopicRecord": record("RemoveTopicRecord", topic_id=TOPICS[0]),
    "DelegationTokenRecord": record(
        "DelegationTokenRecord",
        owner="User:a",
        requester="User:b",
        renewers=("User:c",),
        issue_timestamp=1,
        max_timestamp=2,
        expiration_timestamp=3,
        token_id="id",
    ),
    "UserScramCredentialRecord": record(
        "UserScramCredentialRecord", name="bob", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
    ),
    "FeatureLevelRecord": record("FeatureLevelRecord", name="group.version", feature_level=1),
    "ClientQuotaRecord": record(
        "ClientQuotaRecord",
        entity=(struct("ClientQuotaRecord", "EntityData", entity_type="user", entity_name="b"),),
        key="k",
        value=1.5,
    ),
    "ProducerIdsRecord": record("ProducerIdsRecord", broker_id=1, broker_epoch=5, next_producer_id=1000),
    "RemoveAccessControlEntryRecord": record("RemoveAccessControlEntryRecord", id=TOPICS[0]),
    "AccessControlEntryRecord": record(
        "AccessControlEntryRecord",
        id=TOPICS[1],
        resource_type=2,
        resource_name="r",
        pattern_type=3,
        principal="User:b",
        host="*",
        operation=3,
        permission_type=3,
    ),
    "RemoveUserScramCredentialRecord": record("RemoveUserScramCredentialRecord", name="alice", mechanism=1),
    "RemoveDelegationTokenRecord": record("RemoveDelegationTokenRecord", token_id="t"),
    "BrokerRegistrationChangeRecord": record(
        "BrokerRegistrationChangeRecord",
        broker_id=1,
        broker_epoch=5,
        fenced=-1,
        in_controlled_shutdown=0,
        log_dirs=(TOPICS[0],),
        cordoned_log_dirs=(TOPICS[1],),
    ),
    "ZkMigrationStateRecord": record("ZkMigrationStateRecord", zk_migration_state=1),
    "ClearElrRecord": record("ClearElrRecord", topic_name="orders"),
}
CHANGES_NOTHING = {
    "AccessControlRecord": "it is of the time before 3.3, and no image is made of it",
    "NoOpRecord": "it has no field and no effect",
    "BeginTransactionRecord": "a transaction that has ended leaves no trace",
    "EndTransactionRecord": "a transaction that has ended leaves no trace",
    "AbortTransactionRecord": "a transaction that was aborted leaves no trace",
}
NOT_IN_THE_IMAGE = {
    "ProducerIdsRecord.broker_id": "no snapshot keeps it",
    "ProducerIdsRecord.broker_epoch": "no snapshot keeps it",
    "UnregisterBrokerRecord.broker_epoch": "neither Kafka nor the image looks at it",
}


def load(*bodies: Any) -> MetadataImage:
    loader = ImageLoader()
    loader.load_batch(batch(*bodies))
    return loader.finish()


def digest(*bodies: Any) -> str:
    return image_digest(load(*bodies))


def altered(message: MessageType, body: Any) -> Iterator[tuple[str, Any]]:
    """Every field of a record, nested ones too, with a copy of the record in which that field is another."""
    yield from _altered(message, message.schema, body, message.name, body, ())


def _altered(
    message: MessageType, schema: StructSchema, part: Any, path: str, whole: Any, way: tuple[Any, ...]
) -> Iterator[tuple[str, Any]]:
    for field in schema.at(message.versions[1]):
        here = f"{path}.{field.attribute}"
        current = getattr(part, field.attribute)
        if field.is_struct:
            items = current if field.is_array else (current,)
            for index, item in enumerate(items):
                step = (field.attribute, index if field.is_array else None)
                yield from _altered(message, message.schema.structs[field.type], item, here, whole, (*way, step))
            others: list[Any] = [()] if field.is_array else []
        else:
            others = _others(field, current)
        for other in others:
            made = copy.deepcopy(whole)
            target = made
            for attribute, index in way:
                target = getattr(target, attribute)
                target = target if index is None else target[index]
            setattr(target, field.attribute, other)
            yield here, made


def _others(field: FieldSchema, current: Any) -> list[Any]:
    """Other values of a field: one near, and null where that is allowed."""
    if field.is_array:
        items = current or ()
        nears = [(*items[:-1], _other(field.type, items[-1]))] if items else []
    else:
        nears = [_other(field.type, current)]
    may_be_null = field.nullable.high >= field.nullable.low
    return [*nears, None] if may_be_null and current is not None else nears


def _other(type: str, current: Any) -> Any:
    match type:
        case "bool":
            return not current
        case "string":
            return (current or "") + "x"
        case "bytes":
            return current + b"x"
        case "uuid":
            return bytes([current[0] + 1]) + current[1:]
        case "float64":
            return current + 0.25
        case _:
            return current + 1


def test_every_record_type_is_probed():
    assert set(PROBES) | set(CHANGES_NOTHING) == set(METADATA_TYPES.values())


@pytest.mark.parametrize("name", PROBES)
def test_any_other_field_gives_another_digest(name: str):
    message = message_type("metadata", name)
    with_probe = digest(*BASE, PROBES[name])
    assert with_probe != digest(*BASE)
    seen = {}
    for path, other in altered(message, PROBES[name]):
        changed = digest(*BASE, other)
        if path in NOT_IN_THE_IMAGE:
            assert changed == with_probe, path
        else:
            assert changed != with_probe, path
            assert changed not in seen, (path, seen[changed])
        seen[path] = path
    fields = {f"{name}.{field.attribute}" for field in message.schema.at(message.versions[1])}
    assert fields <= set(seen)


def voters(**fields: Any) -> Any:
    structs = message_type("control", "VotersRecord").structs
    endpoint = structs["Endpoint"](name="C", host="h", port=9093)
    feature = structs["KRaftVersionFeature"](min_supported_version=0, max_supported_version=1)
    given_fields = {"voter_id": 1, "voter_directory_id": TOPICS[0], "endpoints": (endpoint,), "k_raft_version_feature": feature, **fields}
    return message_type("control", "VotersRecord").cls(voters=(structs["Voter"](**given_fields),))


def quorum_digest(*items: tuple[int, Any]) -> str:
    loader = ImageLoader()
    loader.load_batch(control_batch(*items))
    return image_digest(loader.finish())


def test_any_other_field_of_the_voters_and_of_their_version_gives_another_digest():
    level = message_type("control", "KRaftVersionRecord").cls
    before = quorum_digest((KRAFT_VERSION_RECORD, level(k_raft_version=1)), (KRAFT_VOTERS, voters()))
    assert before != quorum_digest((KRAFT_VERSION_RECORD, level(k_raft_version=0)), (KRAFT_VOTERS, voters()))
    for path, other in altered(message_type("control", "VotersRecord"), voters()):
        after = quorum_digest((KRAFT_VERSION_RECORD, level(k_raft_version=1)), (KRAFT_VOTERS, other))
        assert (after == before) == (path == "VotersRecord.version"), path


def test_where_voters_were_set_and_who_leads_does_not_count():
    change = message_type("control", "LeaderChangeMessage").cls(leader_id=3)
    plain = quorum_digest((KRAFT_VOTERS, voters()))
    assert plain == quorum_digest((LEADER_CHANGE, change), (KRAFT_VOTERS, voters()))


def test_the_order_of_a_voters_endpoints_does_not_count():
    make = message_type("control", "VotersRecord").structs["Endpoint"]
    endpoints = make(name="A", host="a", port=1), make(name="B", host="b", port=2)
    first = quorum_digest((KRAFT_VOTERS, voters(endpoints=endpoints)))
    assert first == quorum_digest((KRAFT_VOTERS, voters(endpoints=endpoints[::-1])))


def test_eligible_leader_replicas_that_are_none_are_the_same_null_or_empty():
    topic = record("TopicRecord", name="t", topic_id=TOPICS[0])
    absent = digest(topic, partition(0))
    assert absent == digest(topic, partition(0, eligible_leader_replicas=(), last_known_elr=()))
    assert absent != digest(topic, partition(0, eligible_leader_replicas=(1,)))


def test_every_version_that_a_partition_can_be_written_in_gives_the_same_digest():
    topic = value(record("TopicRecord", name="t", topic_id=TOPICS[0]))
    for directories in ((), (bytes(16), bytes(16))):
        for recovery in (0, 1):
            body = partition(0, directories=directories, leader_recovery_state=recovery)
            made = set()
            for version in (0, 1, 2):
                fits = partition(0, directories=() if version == 0 else directories, leader_recovery_state=recovery)
                loader = ImageLoader()
                loader.load_batch(batch_of_values([topic, value(fits, version)]))
                made.add(image_digest(loader.finish()))
            assert made == {digest(record("TopicRecord", name="t", topic_id=TOPICS[0]), body)}


def test_partitions_out_of_order_and_repeated_ones_count_by_id():
    topic = record("TopicRecord", name="t", topic_id=TOPICS[0])
    straight = digest(topic, partition(0), partition(1), partition(2, leader=2))
    assert straight == digest(topic, partition(2), partition(1), partition(0), partition(2, leader=2))


def image_of(history: History) -> MetadataImage:
    loader = ImageLoader()
    for item in history.batches:
        loader.load_batch(item)
    return loader.finish()


def rewritten(image: MetadataImage) -> MetadataImage:
    """The image made anew from the records that write it, at the newest level but for the level itself."""
    level = image.features.metadata_version
    bodies = []
    for body, version in write_image(image, NEWEST_LEVEL):
        if getattr(body, "name", "") == "metadata.version" and type(body).__name__ == "FeatureLevelRecord":
            if level is None:
                continue
            body.feature_level = level
        bodies.append(value(body, version))
    loader = ImageLoader()
    loader.load_snapshot_batch(batch_of_values(bodies))
    return loader.finish()


@settings(max_examples=EXAMPLES)
@given(histories())
def test_an_image_and_its_own_snapshot_have_the_same_digest(history: History):
    image = image_of(history)
    assert image_digest(rewritten(image)) == image_digest(image)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(histories())
def test_neither_batches_nor_versions_nor_looking_at_partitions_show_in_the_digest(history: History):
    image = image_of(history)
    loader = ImageLoader()
    for at, body in enumerate(history.records):
        loader.load_batch(batch_of_values([value(body, newest(body))], at))
        loader.image()
    stepwise = loader.finish()
    for topic in stepwise.topics:
        dict(topic.partitions.items())
        topic.index()
    assert image_digest(stepwise) == image_digest(image)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(histories(), histories())
def test_images_that_differ_have_different_digests(one: History, other: History):
    first, second = image_of(one), image_of(other)
    if comparable(first) != comparable(second):
        assert image_digest(first) != image_digest(second)
    elif repr(sorted(first.client_quotas.values(), key=repr)) == repr(sorted(second.client_quotas.values(), key=repr)):
        assert image_digest(first) == image_digest(second)


def comparable(image: MetadataImage) -> Any:
    return image._replace(producer_ids=image.producer_ids._replace(broker_id=-1, broker_epoch=-1))._metadata()


def test_the_digest_does_not_depend_on_the_seed_of_hashes():
    program = (
        "import sys; from metashell.metadata.image import load_image; from metashell.metadata.image.writer import image_digest;"
        "from metashell.disk.source import open_source; print(image_digest(load_image(open_source(sys.argv[1]))))"
    )
    seen = set()
    for seed in ("0", "1", "12345"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
        command = [sys.executable, "-c", program, demo_directory()]
        seen.add(subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout)
    assert len(seen) == 1
