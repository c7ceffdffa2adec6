"""The settings of a replica: their defaults are those that Kafka documents."""

from __future__ import annotations

from metashell.quorum.raft.messages import BATCH_SIZE_MAX, RaftConfig
from tests.quorum.raft.pump import endpoint, key

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
