"""What a message says where its sender says nothing: no error, nobody, nothing known, as the defaults of Kafka's schemas.
The settings of a replica: their defaults are those that Kafka documents."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass

import pytest

from metashell.common.values import ZERO_UUID
from metashell.quorum.raft import messages
from metashell.quorum.raft.messages import BATCH_SIZE_MAX, FetchRequest, RaftConfig
from tests.quorum.raft.pump import endpoint, key

CLASSES = [
    value
    for value in vars(messages).values()
    if is_dataclass(value) and value.__module__ == messages.__name__ and value is not messages.RaftConfig
]
DEFAULTS = [
    pytest.param(cls, field, id=f"{cls.__name__}.{field.name}") for cls in CLASSES for field in fields(cls) if field.default is not MISSING
]

NOTHING = {
    "top_error": 0,
    "error": 0,
    "message": None,
    "leader_id": -1,
    "leader_endpoint": None,
    "epoch": -1,
    "granted": False,
    "pre_vote": False,
    "high_watermark": -1,
    "log_start_offset": -1,
    "log_end_offset": -1,
    "last_fetch_timestamp": -1,
    "last_caught_up_timestamp": -1,
    "directory_id": ZERO_UUID,
    "diverging": None,
    "snapshot_id": None,
    "records": b"",
    "size": 0,
    "position": 0,
    "kraft_versions": None,
    "candidates": (),
    "voters": (),
    "observers": (),
    "nodes": (),
    "unknown": (),
    # What is well-formed, asks for the metadata partition, and waits for the commit, unless it says otherwise.
    "shape_ok": True,
    "is_known_partition": True,
    "partitions": (("__cluster_metadata", 0),),
    "ack_when_committed": True,
}


@pytest.mark.parametrize(("cls", "field"), DEFAULTS)
def test_a_field_that_is_not_given_says_nothing(cls: type, field: Field[object]) -> None:
    if (cls, field.name) == (FetchRequest, "high_watermark"):
        # KIP-1166: who does not know the field is not woken by a high watermark, so it claims the highest.
        assert field.default == 9_223_372_036_854_775_807
    else:
        assert field.default == NOTHING[field.name]


# Kafka's name for each one, and what `KRaftConfigs` and `QuorumConfig` of 4.3 say; those without a name are constants of KafkaRaftClient.
DOCUMENTED = {
    "election_timeout_ms": 1_000,  # controller.quorum.election.timeout.ms
    "fetch_timeout_ms": 2_000,  # controller.quorum.fetch.timeout.ms
    "election_backoff_max_ms": 1_000,  # controller.quorum.election.backoff.max.ms
    "append_linger_ms": 25,  # controller.quorum.append.linger.ms
    "request_timeout_ms": 2_000,  # controller.quorum.request.timeout.ms
    "retry_backoff_ms": 20,  # controller.quorum.retry.backoff.ms
    "auto_join": False,  # controller.quorum.auto.join.enable
    "fetch_max_wait_ms": 500,
    "fetch_max_size": 1_048_576,  # controller.quorum.fetch.max.bytes
    "fetch_snapshot_max_size": 1_048_576,  # controller.quorum.fetch.snapshot.max.bytes
    "retention_size": 104_857_600,  # metadata.max.retention.bytes
    "retention_ms": 604_800_000,  # metadata.max.retention.ms
    "clean_interval_ms": 60_000,
    "min_kraft_version": 0,
    "max_kraft_version": 1,
}


def test_the_defaults_are_those_that_kafka_documents() -> None:
    config = RaftConfig(cluster_id="x", local=key(1))
    assert {name: getattr(config, name) for name in DOCUMENTED} == DOCUMENTED
    assert (config.is_controller, config.default_listener) == (True, "CONTROLLER")
    assert BATCH_SIZE_MAX == 8_388_608


def test_names_of_listeners_are_compared_without_case() -> None:
    config = RaftConfig(cluster_id="x", local=key(1), default_listener="controller", listeners={"Controller": endpoint(1)})
    assert (config.default_listener, dict(config.listeners)) == ("CONTROLLER", {"CONTROLLER": endpoint(1)})
