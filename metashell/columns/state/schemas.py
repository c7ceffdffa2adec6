"""The tables of the state and their Arrow schemas.

Ids are text, and codes are the words that Kafka has for them. Types are those that Spark's Arrow path takes.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_TEXT: Final = pa.string()
_TEXTS: Final = pa.list_(pa.string())
_IDS: Final = pa.list_(pa.int32())

PARTITIONS: Final = "partitions"

SCHEMAS: Final = {
    name: pa.schema([*columns, ("cluster_id", _TEXT)])
    for name, columns in {
        "topics": [
            ("topic", _TEXT),
            ("topic_id", _TEXT),
            ("partition_count", pa.int32()),
            ("replication_factor", pa.int32()),
            ("is_internal", pa.bool_()),
        ],
        PARTITIONS: [
            ("topic", _TEXT),
            ("topic_id", _TEXT),
            ("partition_id", pa.int32()),
            ("leader", pa.int32()),
            ("leader_epoch", pa.int32()),
            ("leader_recovery_state", _TEXT),
            ("partition_epoch", pa.int32()),
            ("replicas", _IDS),
            ("isr", _IDS),
            ("elr", _IDS),
            ("last_known_elr", _IDS),
            ("adding_replicas", _IDS),
            ("removing_replicas", _IDS),
            ("directories", _TEXTS),
            ("is_under_replicated", pa.bool_()),
        ],
        "brokers": [
            ("broker_id", pa.int32()),
            ("state", _TEXT),
            ("rack", _TEXT),
            ("epoch", pa.int64()),
            ("incarnation_id", _TEXT),
            ("listeners", _TEXTS),
            ("directories", _TEXTS),
            ("cordoned_directories", _TEXTS),
            ("features", _TEXTS),
        ],
        "controllers": [
            ("controller_id", pa.int32()),
            ("incarnation_id", _TEXT),
            ("listeners", _TEXTS),
            ("features", _TEXTS),
            ("zk_migration_ready", pa.bool_()),
        ],
        "configs": [
            ("resource_type", _TEXT),
            ("resource_name", _TEXT),
            ("key", _TEXT),
            ("value", _TEXT),
            ("is_sensitive", pa.bool_()),
        ],
        "acls": [
            ("acl_id", _TEXT),
            ("permission", _TEXT),
            ("principal", _TEXT),
            ("host", _TEXT),
            ("operation", _TEXT),
            ("resource_type", _TEXT),
            ("resource_name", _TEXT),
            ("pattern_type", _TEXT),
        ],
        "quotas": [
            ("entity", _TEXT),
            ("user", _TEXT),
            ("client_id", _TEXT),
            ("ip", _TEXT),
            ("key", _TEXT),
            ("value", pa.float64()),
        ],
        "features": [("feature", _TEXT), ("level", pa.int32()), ("version", _TEXT)],
        "voters": [
            ("voter_id", pa.int32()),
            ("directory_id", _TEXT),
            ("is_leader", pa.bool_()),
            ("endpoints", _TEXTS),
            ("kraft_version_min", pa.int32()),
            ("kraft_version_max", pa.int32()),
        ],
        "sources": [
            ("path", _TEXT),
            ("kind", _TEXT),
            ("offset", pa.int64()),
            ("epoch", pa.int32()),
            ("timestamp", pa.int64()),
            ("certain_to", pa.int64()),
            ("end_offset", pa.int64()),
            ("fault_count", pa.int32()),
        ],
    }.items()
}
"""`cluster_id` is the last column: it is the same in all rows of most answers.

`sources` says what the state was read from, and up to which offset. `quotas.user` is null where the entity names no user."""
