"""The tables of the state and their Arrow schemas.

Ids are UUIDs, each followed by its text; codes are Kafka's words, without the numbers. The form that these tables had before ids were
UUIDs is kept for one release, on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from metashell.tables.columns.typed_arrays import TIME, UUID

_TEXT: Final = pa.string()
_TEXTS: Final = pa.list_(pa.string())
IDS: Final = pa.list_(pa.int32())
_UUIDS: Final = pa.list_(UUID)
_ADDRESS: Final = [("host", _TEXT), ("port", pa.int32())]
_ENDPOINTS: Final = pa.map_(_TEXT, pa.struct(_ADDRESS))
_LISTENERS: Final = pa.map_(_TEXT, pa.struct([*_ADDRESS, ("security_protocol", _TEXT)]))
_FEATURES: Final = pa.map_(_TEXT, pa.struct([("min_supported_version", pa.int16()), ("max_supported_version", pa.int16())]))

PARTITIONS: Final = "partitions"
GROUP_OFFSETS: Final = "group_offsets"

SCHEMAS: Final = {
    name: pa.schema([*columns, ("cluster_id", _TEXT)])
    for name, columns in {
        "topics": [
            ("topic", _TEXT),
            ("topic_id", UUID),
            ("topic_id_text", _TEXT),
            ("partition_count", pa.int32()),
            ("replication_factor", pa.int32()),
            ("is_internal", pa.bool_()),
        ],
        PARTITIONS: [
            ("topic", _TEXT),
            ("topic_id", UUID),
            ("topic_id_text", _TEXT),
            ("partition_id", pa.int32()),
            ("leader", pa.int32()),
            ("leader_epoch", pa.int32()),
            ("leader_recovery_state", _TEXT),
            ("partition_epoch", pa.int32()),
            ("replicas", IDS),
            ("isr", IDS),
            ("eligible_leader_replicas", IDS),
            ("last_known_elr", IDS),
            ("adding_replicas", IDS),
            ("removing_replicas", IDS),
            ("directories", _UUIDS),
            ("directories_text", _TEXTS),
            ("is_under_replicated", pa.bool_()),
        ],
        "brokers": [
            ("broker_id", pa.int32()),
            ("state", _TEXT),
            ("rack", _TEXT),
            ("epoch", pa.int64()),
            ("incarnation_id", UUID),
            ("incarnation_id_text", _TEXT),
            ("listeners", _LISTENERS),
            ("directories", _UUIDS),
            ("directories_text", _TEXTS),
            ("cordoned_directories", _UUIDS),
            ("cordoned_directories_text", _TEXTS),
            ("features", _FEATURES),
        ],
        "controllers": [
            ("controller_id", pa.int32()),
            ("incarnation_id", UUID),
            ("incarnation_id_text", _TEXT),
            ("listeners", _LISTENERS),
            ("features", _FEATURES),
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
            ("acl_id", UUID),
            ("acl_id_text", _TEXT),
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
            ("directory_id", UUID),
            ("directory_id_text", _TEXT),
            ("is_leader", pa.bool_()),
            ("endpoints", _ENDPOINTS),
            ("kraft_version_min", pa.int32()),
            ("kraft_version_max", pa.int32()),
        ],
        "sources": [
            ("path", _TEXT),
            ("kind", _TEXT),
            ("offset", pa.int64()),
            ("epoch", pa.int32()),
            ("timestamp", TIME),
            ("certain_to", pa.int64()),
            ("end_offset", pa.int64()),
            ("fault_count", pa.int32()),
        ],
        GROUP_OFFSETS: [
            ("group_id", _TEXT),
            ("topic", _TEXT),
            ("topic_id", UUID),
            ("topic_id_text", _TEXT),
            ("partition_id", pa.int32()),
            ("committed_offset", pa.int64()),
            ("leader_epoch", pa.int32()),
            ("metadata", _TEXT),
            ("commit_timestamp", TIME),
            ("expire_timestamp", TIME),
            ("offset", pa.int64()),
        ],
    }.items()
}
"""`cluster_id` is the last column: it is the same in all rows of most answers.

`sources` says what the state was read from, and up to which offset. `quotas.user` is null where the entity names no user."""


def _listeners(named: list[tuple[str, Any]]) -> list[str]:
    return [f"{name}://{at['host']}:{at['port']} {at['security_protocol']}" for name, at in named]


def _endpoints(named: list[tuple[str, Any]]) -> list[str]:
    return [f"{name}://{at['host']}:{at['port']}" for name, at in named]


def _features(named: list[tuple[str, Any]]) -> list[str]:
    return [f"{name} {found['min_supported_version']}-{found['max_supported_version']}" for name, found in named]


_LISTS: Final[dict[str, Callable[[list[tuple[str, Any]]], list[str]]]] = {
    "listeners": _listeners,
    "endpoints": _endpoints,
    "features": _features,
}


def _old_schema(schema: pa.Schema) -> pa.Schema:
    """Ids are text, times are numbers, maps are lists of texts."""
    fields = []
    for field in schema:
        if pa.types.is_map(field.type):
            fields.append(field.with_type(_TEXTS))
        elif pa.types.is_timestamp(field.type):
            fields.append(field.with_type(pa.int64()))
        elif field.name.endswith("_text"):
            fields.append(field.with_name(field.name.removesuffix("_text")))
        elif UUID not in (field.type, getattr(field.type, "value_type", None)):
            fields.append(field)
    return pa.schema(fields)


OLD_SCHEMAS: Final = {name: _old_schema(schema) for name, schema in SCHEMAS.items()}


def old_batch(name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch as it was; texts may be dictionaries, as in the batch."""
    arrays = []
    for field in OLD_SCHEMAS[name]:
        text = f"{field.name}_text"
        array = batch.column(text if text in batch.schema.names else field.name)
        if pa.types.is_map(array.type):
            make = _LISTS[field.name]
            array = pa.array([None if named is None else make(named) for named in array.to_pylist()], _TEXTS)
        arrays.append(array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array)
    return pa.RecordBatch.from_arrays(arrays, OLD_SCHEMAS[name].names)
