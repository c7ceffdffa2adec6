"""Arbitrary histories of metadata records, over so few names that they meet, and the batches that carry them."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from metashell.codec.batches import RecordBatch
from metashell.codec.registry import message_type
from metashell.common.values import MIGRATING_DIRECTORY
from tests.metadata.image.batches import batch_of_values, newest, record, value

TOPIC_IDS = tuple(bytes([n]) * 16 for n in (1, 2, 3))
TOPIC_NAMES = ("orders", "größen", "a" * 140)
DIRECTORIES = (MIGRATING_DIRECTORY, *(bytes([9, n]) * 8 for n in range(3)))

broker_ids = st.integers(1, 4)
epochs = st.sampled_from((5, 6))
names = st.sampled_from(("a", "b", ""))
topic_ids = st.sampled_from(TOPIC_IDS)
partition_ids = st.sampled_from((0, 1, 2, 7))
uuids = st.sampled_from(TOPIC_IDS)
replicas = st.lists(broker_ids, max_size=4).map(tuple)
some_replicas = st.none() | replicas


def _records(record_name: str, /, **fields: Any) -> st.SearchStrategy[Any]:
    return st.builds(lambda **drawn: record(record_name, **drawn), **fields)


@st.composite
def _partitions(draw: st.DrawFn) -> Any:
    chosen = draw(st.lists(broker_ids, min_size=1, max_size=4))
    fits = draw(st.integers(0, 9)) > 0
    directories = draw(st.just(()) | st.lists(st.sampled_from(DIRECTORIES), min_size=len(chosen), max_size=len(chosen)))
    return record(
        "PartitionRecord",
        partition_id=draw(partition_ids),
        topic_id=draw(topic_ids),
        replicas=tuple(chosen),
        isr=draw(replicas),
        removing_replicas=draw(st.just(()) | replicas),
        adding_replicas=draw(st.just(()) | replicas),
        leader=draw(st.integers(-1, 4)),
        leader_recovery_state=draw(st.sampled_from((0, 0, 0, 1, 5))),
        leader_epoch=draw(st.integers(0, 9)),
        partition_epoch=draw(st.integers(0, 9)),
        directories=tuple(directories) if fits else (DIRECTORIES[1],) * (len(chosen) + 1),
        eligible_leader_replicas=draw(some_replicas),
        last_known_elr=draw(some_replicas),
    )


_changes = _records(
    "PartitionChangeRecord",
    partition_id=partition_ids,
    topic_id=topic_ids,
    isr=some_replicas,
    leader=st.sampled_from((-2, -2, -1, 1, 2)),
    replicas=st.none() | st.none() | replicas,
    removing_replicas=some_replicas,
    adding_replicas=some_replicas,
    leader_recovery_state=st.sampled_from((-1, -1, -1, 0, 1, 7)),
    directories=st.none() | st.none() | st.lists(st.sampled_from(DIRECTORIES), max_size=4).map(tuple),
    eligible_leader_replicas=some_replicas,
    last_known_elr=some_replicas,
)


@st.composite
def _registrations(draw: st.DrawFn) -> Any:
    structs = message_type("metadata", "RegisterBrokerRecord").structs
    host = st.sampled_from(("h", "::1"))
    ports = st.integers(0, 65535)
    endpoint = st.builds(structs["BrokerEndpoint"], name=names, host=host, port=ports, security_protocol=st.just(0))
    feature = st.builds(structs["BrokerFeature"], name=names, min_supported_version=st.just(0), max_supported_version=st.just(3))
    return record(
        "RegisterBrokerRecord",
        broker_id=draw(broker_ids),
        broker_epoch=draw(epochs),
        incarnation_id=draw(uuids),
        is_migrating_zk_broker=draw(st.booleans()),
        end_points=draw(st.lists(endpoint, max_size=2).map(tuple)),
        features=draw(st.lists(feature, max_size=2).map(tuple)),
        rack=draw(st.none() | names),
        fenced=draw(st.booleans()),
        in_controlled_shutdown=draw(st.booleans()),
        log_dirs=draw(st.lists(uuids, max_size=2).map(tuple)),
        cordoned_log_dirs=draw(st.none() | st.lists(uuids, max_size=2).map(tuple)),
    )


@st.composite
def _quotas(draw: st.DrawFn) -> Any:
    part = message_type("metadata", "ClientQuotaRecord").structs["EntityData"]
    parts = st.builds(part, entity_type=st.sampled_from(("user", "client-id")), entity_name=st.none() | names)
    return record(
        "ClientQuotaRecord",
        entity=draw(st.lists(parts, max_size=2).map(tuple)),
        key=draw(names),
        value=draw(st.floats(allow_nan=False)),
        remove=draw(st.booleans()),
    )


_features = st.sampled_from(("metadata.version", "metadata.version", "kraft.version", "group.version"))
records = st.one_of(
    *[_partitions()] * 3,
    *[_changes] * 4,
    *[_records("TopicRecord", name=st.sampled_from(TOPIC_NAMES), topic_id=topic_ids)] * 2,
    _records("RemoveTopicRecord", topic_id=topic_ids),
    _records("ClearElrRecord", topic_name=st.sampled_from(("", *TOPIC_NAMES))),
    _registrations(),
    _records("UnregisterBrokerRecord", broker_id=broker_ids, broker_epoch=epochs),
    _records("FenceBrokerRecord", id=broker_ids, epoch=epochs),
    _records("UnfenceBrokerRecord", id=broker_ids, epoch=epochs),
    _records(
        "BrokerRegistrationChangeRecord",
        broker_id=broker_ids,
        broker_epoch=epochs,
        fenced=st.integers(-2, 2),
        in_controlled_shutdown=st.integers(0, 2),
        log_dirs=st.lists(uuids, max_size=2).map(tuple),
        cordoned_log_dirs=st.none() | st.lists(uuids, max_size=2).map(tuple),
    ),
    _records("RegisterControllerRecord", controller_id=broker_ids, incarnation_id=uuids, zk_migration_ready=st.booleans()),
    _records("ConfigRecord", resource_type=st.sampled_from((2, 4)), resource_name=names, name=names, value=st.none() | names),
    _records("ConfigRecord", resource_type=st.just(2), resource_name=st.sampled_from(TOPIC_NAMES), name=names, value=names),
    _quotas(),
    _records("FeatureLevelRecord", name=_features, feature_level=st.integers(0, 35)),
    _records("ZkMigrationStateRecord", zk_migration_state=st.integers(0, 3)),
    _records("ProducerIdsRecord", broker_id=broker_ids, broker_epoch=epochs, next_producer_id=st.integers(0, 5000)),
    _records("AccessControlEntryRecord", id=uuids, resource_type=st.integers(1, 7), resource_name=names, principal=names),
    _records("RemoveAccessControlEntryRecord", id=uuids),
    _records("UserScramCredentialRecord", name=names, mechanism=st.integers(1, 2), salt=st.binary(max_size=3)),
    _records("RemoveUserScramCredentialRecord", name=names, mechanism=st.integers(1, 2)),
    _records("DelegationTokenRecord", owner=names, renewers=st.lists(names, max_size=2).map(tuple), token_id=names),
    _records("RemoveDelegationTokenRecord", token_id=names),
    _records("NoOpRecord"),
    _records("BeginTransactionRecord", name=st.none() | names),
    _records("EndTransactionRecord"),
    _records("AbortTransactionRecord", reason=st.none() | names),
)


class History(NamedTuple):
    """Records as they are written, and the batches that carry them: `sizes[i]` records in the batch `i`."""

    records: list[Any]
    batches: list[RecordBatch]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Records in one batch or many, of any codec, framed as Kafka does and otherwise."""
    # Topics first, so that much of what follows has something to change.
    opening = [record("TopicRecord", name=name, topic_id=id) for name, id in zip(TOPIC_NAMES, TOPIC_IDS, strict=True)]
    opening += draw(st.lists(_partitions(), max_size=12))
    bodies = [*opening[: draw(st.integers(0, len(opening)))], *draw(st.lists(records, max_size=60))]
    batches = []
    at = 0
    while at < len(bodies):
        part = bodies[at : at + draw(st.sampled_from((1, 2, 7, 100)))]
        is_kafkas = draw(st.booleans())
        batches.append(
            batch_of_values(
                [value(body, _version(draw, body)) for body in part],
                at,
                codec_id=0 if is_kafkas else draw(st.integers(0, 4)),
                timestamp_deltas=() if is_kafkas else draw(st.lists(st.integers(0, 300), max_size=len(part))),
            )
        )
        at += len(part)
    return History(bodies, batches)


def _version(draw: st.DrawFn, body: Any) -> int:
    """A version that can hold the record: an older one where that loses nothing."""
    if type(body).__name__ == "PartitionRecord" and body.eligible_leader_replicas is None and body.last_known_elr is None:
        return draw(st.integers(1 if body.directories else 0, 2))
    return newest(body)
