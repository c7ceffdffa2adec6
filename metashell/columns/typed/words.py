"""Which columns hold codes, and the words for them.

A field is named by the table and its path there. `tests/columns/test_typed_words.py` fails for a small number that is neither here nor
known to count something.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metashell.codec.blobs.groups import CONSUMER_STATES, DELIVERY_STATES, STREAMS_STATES, TRANSACTION_STATES
from metashell.codec.code_words import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    CONFIG_TYPES,
    FENCING_CHANGES,
    RECOVERY_STATES,
    SCRAM_MECHANISMS,
    SECURITY_PROTOCOLS,
    SHUTDOWN_CHANGES,
    ZK_MIGRATION_STATES,
)
from metashell.codec.record_text import DELETE_STATES, SEGMENT_STATES


class Words(NamedTuple):
    """The words for codes; `unsaid` is the code that stands for no statement, such as -1 for "as it was"."""

    words: dict[int, str]
    unsaid: int | None = None


def _numbered(words: tuple[str, ...]) -> Words:
    return Words(dict(enumerate(words)))


_RESOURCES: Final = {"resource_type": Words(ACL_RESOURCE_TYPES), "pattern_type": Words(ACL_PATTERN_TYPES)}
_ACL: Final = {**_RESOURCES, "operation": Words(ACL_OPERATIONS), "permission_type": Words(ACL_PERMISSION_TYPES)}
_END_POINTS: Final = {"end_points.security_protocol": Words(SECURITY_PROTOCOLS)}
_SCRAM: Final = {"mechanism": Words(SCRAM_MECHANISMS)}
_DELIVERY: Final = {"state_batches.delivery_state": Words(DELIVERY_STATES)}
_SEGMENT: Final = {"remote_log_segment_state": _numbered(SEGMENT_STATES)}

CODES: Final[dict[str, dict[str, Words]]] = {
    "register_broker": _END_POINTS,
    "register_controller": _END_POINTS,
    "config": {"resource_type": Words(CONFIG_TYPES)},
    "access_control": _ACL,
    "access_control_entry": _ACL,
    "partition": {"leader_recovery_state": Words(RECOVERY_STATES)},
    "partition_change": {"leader_recovery_state": Words(RECOVERY_STATES, unsaid=-1)},
    "broker_registration_change": {"fenced": Words(FENCING_CHANGES), "in_controlled_shutdown": Words(SHUTDOWN_CHANGES)},
    "user_scram_credential": _SCRAM,
    "remove_user_scram_credential": _SCRAM,
    "zk_migration_state": {"zk_migration_state": Words(ZK_MIGRATION_STATES)},
    "consumer_group_current_member_assignment": {"state": Words(CONSUMER_STATES)},
    "share_group_current_member_assignment": {"state": Words(CONSUMER_STATES)},
    "streams_group_current_member_assignment": {"state": Words(STREAMS_STATES)},
    "transaction_log": {"transaction_status": _numbered(TRANSACTION_STATES)},
    "share_snapshot": _DELIVERY,
    "share_update": _DELIVERY,
    "remote_log_segment_metadata": _SEGMENT,
    "remote_log_segment_metadata_update": _SEGMENT,
    "remote_log_segment_metadata_snapshot": _SEGMENT,
    "remote_partition_delete_metadata": {"remote_partition_delete_state": _numbered(DELETE_STATES)},
}

PROTOCOL_TYPE: Final = "protocol_type"
"""The column that says whose blobs a record of a classic group holds."""
BLOBS: Final[dict[str, dict[str, str]]] = {
    "group_metadata": {"members.subscription": "subscription", "members.assignment": "assignment"},
    "consumer_group_member_metadata": {"classic_member_metadata.supported_protocols.metadata": "subscription"},
}
"""Which columns hold blobs of classic members, and of which kind. Those of the newer groups' members are always of `consumer`."""

MAPS: Final = {
    "register_broker": ("end_points", "features"),
    "register_controller": ("end_points", "features"),
    "client_quota": ("entity",),
    "streams_group_metadata": ("last_assignment_configs",),
    "streams_group_member_metadata": ("client_tags",),
    "streams_group_topology": (
        "subtopologies.state_changelog_topics.topic_configs",
        "subtopologies.repartition_source_topics.topic_configs",
    ),
}
"""Lists of structs whose first field is the key of what follows."""
