"""The base tables `quota_records`, `acl_records` and `scram_records`: who may do what and how much, with words for codes, without secrets.

Quotas name their entity by a list of structs, ACLs and credentials say most by codes. There are few of them, so objects are good enough.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa

from metashell.codec.code_words import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    SCRAM_MECHANISMS,
    code_name,
)
from metashell.forms import compact_json
from metashell.reports.group_members import Row
from metashell.reports.words import EARLIEST_MS, LATEST_MS

_PLACE: Final = [
    ("cluster_id", pa.string()),
    ("file", pa.string()),
    ("log_offset", pa.int64()),
    ("epoch", pa.int32()),
    ("timestamp", pa.int64()),
    ("is_removed", pa.bool_()),
]
QUOTA_SCHEMA: Final = pa.schema(
    [*_PLACE, ("entity_key", pa.string()), ("entity", pa.string()), ("name", pa.string()), ("value", pa.float64())]
)
_ACL_WORDS: Final = {
    "resource_type": ACL_RESOURCE_TYPES,
    "pattern_type": ACL_PATTERN_TYPES,
    "operation": ACL_OPERATIONS,
    "permission_type": ACL_PERMISSION_TYPES,
}
_ACL_TEXTS: Final = ("resource_name", "principal", "host")
ACL_SCHEMA: Final = pa.schema([*_PLACE, ("acl_id", pa.string()), *((name, pa.string()) for name in (*_ACL_WORDS, *_ACL_TEXTS))])
SCRAM_SCHEMA: Final = pa.schema([*_PLACE, ("user_name", pa.string()), ("mechanism", pa.string()), ("iterations", pa.int64())])
_ENTITY_TYPES: Final = ("user", "client-id", "ip")
Make = Callable[[Row], Iterator[Row]]


def _place(row: Row, *, is_removed: bool) -> Row:
    found = {name: row[name] for name in ("cluster_id", "file", "epoch")}
    at_ms = min(max(row["timestamp"], EARLIEST_MS), LATEST_MS)
    return {**found, "log_offset": row["offset"], "timestamp": at_ms, "is_removed": is_removed}


def _quota(row: Row) -> Iterator[Row]:
    parts = [(part["entity_type"], part["entity_name"]) for part in row["entity"]]
    parts.sort(key=lambda part: (_ENTITY_TYPES.index(part[0]) if part[0] in _ENTITY_TYPES else len(_ENTITY_TYPES), part[0]))
    entity = ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in parts)
    value = None if row["remove"] else row["value"]
    yield {**_place(row, is_removed=row["remove"]), "entity_key": compact_json(parts), "entity": entity, "name": row["key"], "value": value}


def _acl_of(*, is_removed: bool) -> Make:
    def make(row: Row) -> Iterator[Row]:
        acl_id = urlsafe_b64encode(row["id"]).decode().rstrip("=")
        said: Row = {}
        if not is_removed:
            said = {name: code_name(words, row[name]) for name, words in _ACL_WORDS.items()} | {name: row[name] for name in _ACL_TEXTS}
        yield {**_place(row, is_removed=is_removed), "acl_id": acl_id, **said}

    return make


def _scram_of(*, is_removed: bool) -> Make:
    def make(row: Row) -> Iterator[Row]:
        mechanism = code_name(SCRAM_MECHANISMS, row["mechanism"])
        yield {
            **_place(row, is_removed=is_removed),
            "user_name": row["name"],
            "mechanism": mechanism,
            "iterations": None if is_removed else row["iterations"],
        }

    return make


QUOTA_SOURCES: Final[dict[str, Make]] = {"client_quota": _quota}
ACL_SOURCES: Final[dict[str, Make]] = {
    "access_control_entry": _acl_of(is_removed=False),
    "remove_access_control_entry": _acl_of(is_removed=True),
}
SCRAM_SOURCES: Final[dict[str, Make]] = {
    "user_scram_credential": _scram_of(is_removed=False),
    "remove_user_scram_credential": _scram_of(is_removed=True),
}
