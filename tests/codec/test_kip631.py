"""The records as KIP-631 draws them, beside those of Kafka today: what a field is called, and which records there are."""

from __future__ import annotations

import pytest

from metashell.codec.metadata_records import RECORD_TYPE_NAMES
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from tests.seeds import shows

FAILED_REPLICAS = 13
SCRAM = {"name", "mechanism", "salt", "stored_key", "server_key", "iterations"}


def fields(family: str, name: str) -> set[str]:
    return set(message_type(family, name).cls.__slots__) - {"unknown_tags"}


@shows("KIP-631/feature-record", "KIP-631/token-record", "KIP-631/scram-record", "KIP-631/register-record", "KIP-631/partition-records")
@pytest.mark.parametrize(
    ("name", "only_then", "only_now"),
    [
        ("FeatureLevelRecord", {"min_feature_level", "max_feature_level"}, {"feature_level"}),
        ("DelegationTokenRecord", set(), {"requester"}),
        (
            "UserScramCredentialRecord",
            {"user_name", "credential_infos"},
            {"name", "mechanism", "salt", "stored_key", "server_key", "iterations"},
        ),
        (
            "RegisterBrokerRecord",
            set(),
            {"is_migrating_zk_broker", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs"},
        ),
        ("TopicRecord", {"topic_name"}, {"name"}),
        (
            "PartitionRecord",
            set(),
            {"leader_recovery_state", "partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr"},
        ),
        ("PartitionChangeRecord", set(), {"leader_recovery_state", "directories", "eligible_leader_replicas", "last_known_elr"}),
    ],
)
def test_a_record_has_other_fields_than_the_document_drew(name: str, only_then: set[str], only_now: set[str]) -> None:
    then, now = fields("kip631", name), fields("metadata", name)

    assert (then - now, now - then) == (only_then, only_now)


@shows("KIP-631/config-record")
def test_only_todays_config_record_can_delete() -> None:
    then, now = (message_type(family, "ConfigRecord") for family in ("kip631", "metadata"))
    raw = now.write(now.cls(resource_type=2, resource_name="t", name="retention.ms", value=None), 0)

    assert now.read(raw, 0).value is None
    with pytest.raises(DecodeError, match="Value"):
        then.read(raw, 0)


@shows("KIP-631/acl-record", "KIP-631/failed-replicas")
def test_what_the_document_has_and_nobody_writes() -> None:
    assert fields("metadata", "AccessControlEntryRecord") - fields("kip631", "AccessControlRecord") == {"id"}
    assert FAILED_REPLICAS not in RECORD_TYPE_NAMES
    assert fields("kip631", "FailedReplicasRecord") == {"broker_id", "topics"}
