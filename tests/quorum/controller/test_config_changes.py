"""Changes of configuration beyond what the golden rows have."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import INVALID_CONFIG, INVALID_REQUEST, NONE, POLICY_VIOLATION, UNKNOWN_TOPIC_OR_PARTITION
from metashell.quorum.controller import config_changes, config_checks
from metashell.quorum.controller.decision import RECORDS_MAX, config_record
from tests.quorum.controller.cluster import Cluster
from tests.seeds import shows

SET, APPEND = 0, 2


def alter(cluster: Cluster, key: str, value: str | None, operation: int = SET, kind: int = TOPIC_RESOURCE, name: str = "t") -> Any:
    made = messages.IncrementalAlterConfigsRequest
    change = made.AlterableConfig(name=key, config_operation=operation, value=value)
    resource = made.AlterConfigsResource(resource_type=kind, resource_name=name, configs=(change,))
    return cluster.ask(44, 1, made(resources=(resource,))).responses[0]


def one_topic() -> Cluster:
    cluster = Cluster()
    cluster.register(1, 2)
    cluster.create("t", (1, 2))
    return cluster


def test_a_key_that_another_release_left_does_not_keep_the_others_from_changing() -> None:
    cluster = one_topic()
    cluster.controller.replay([config_record(TOPIC_RESOURCE, "t", "message.format.version", "3.0")], cluster.end_offset)
    cluster.controller.commit(cluster.end_offset)
    cluster.end_offset += 1

    assert alter(cluster, "retention.ms", "5").error_code == NONE
    assert alter(cluster, "message.format.version", "3.0").error_code == INVALID_CONFIG
    assert alter(cluster, "min.compaction.lag.ms", "100").error_code == NONE
    assert alter(cluster, "max.compaction.lag.ms", "50").error_code == INVALID_CONFIG, "what is known of it still counts"


@pytest.mark.parametrize(("operation", "value"), [(9, "1"), (-1, "1"), (APPEND, None)])
def test_an_operation_that_means_nothing_is_refused_and_leadership_stays(operation: int, value: str | None) -> None:
    cluster = one_topic()

    assert alter(cluster, "cleanup.policy", value, operation).error_code == INVALID_REQUEST
    assert cluster.state.is_active


def test_a_list_grows_from_its_default() -> None:
    cluster = one_topic()

    assert alter(cluster, "cleanup.policy", "compact", APPEND).error_code == NONE

    assert cluster.controller.image.configs[TOPIC_RESOURCE, "t"]["cleanup.policy"] == "delete,compact"


@shows("KIP-966/elr")
def test_another_minimum_of_replicas_in_sync_clears_what_was_eligible() -> None:
    cluster = Cluster()
    cluster.register(1, 2)
    topic_id = cluster.create("t", (1, 2))
    assert alter(cluster, "min.insync.replicas", "2").error_code == NONE
    cluster.beat(2, want_fence=True)
    assert cluster.state.partition(topic_id, 0).elr == (2,)

    assert alter(cluster, "min.insync.replicas", "1").error_code == NONE

    assert cluster.state.partition(topic_id, 0).elr == ()


@pytest.mark.parametrize(("name", "code"), [("0", NONE), ("-1", INVALID_REQUEST), ("x", INVALID_REQUEST)])
def test_a_broker_is_named_by_a_number_from_0_on(name: str, code: int) -> None:
    cluster = Cluster()
    cluster.register(0)
    assert alter(cluster, "log.retention.ms", "5", kind=BROKER_RESOURCE, name=name).error_code == code


def test_a_topic_that_changes_one_setting_costs_one_value_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """60 000 topics in one request kept the queue for seven seconds: each parsed the 37 defaults of the node again."""
    cluster = one_topic()
    assert alter(cluster, "retention.ms", "5").error_code == NONE
    parsed: list[str] = []

    def parse(key: Any, text: str | None) -> Any:
        parsed.append(key.name)
        return real(key, text)

    real = config_checks.parse_value
    monkeypatch.setattr(config_checks, "parse_value", parse)
    assert alter(cluster, "retention.bytes", "5", name="nowhere").error_code == UNKNOWN_TOPIC_OR_PARTITION
    assert parsed == ["retention.bytes"]


@pytest.mark.parametrize("make", [messages.IncrementalAlterConfigsRequest, messages.AlterConfigsRequest])
def test_a_resource_with_more_changes_than_a_batch_holds_is_refused_before_any_is_looked_at(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = one_topic()
    looked: list[object] = []
    monkeypatch.setattr(config_changes.ConfigChecker, "_check", lambda *named, **others: looked.append(named))
    configs = tuple(make.AlterableConfig(name=f"x.{number}", value="v") for number in range(RECORDS_MAX + 1))
    resource = make.AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name="", configs=configs)
    key, version = (44, 1) if make is messages.IncrementalAlterConfigsRequest else (33, 2)
    (answer,) = cluster.ask(key, version, make(resources=(resource,))).responses
    assert answer.error_code == POLICY_VIOLATION and not looked
