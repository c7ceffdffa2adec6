"""The small tables of the state: a row for each broker, setting, entry and so on.

Ids are their bytes; the columns with their text are made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from metashell.codec.code_words import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    CONFIG_TYPES,
    SECURITY_PROTOCOLS,
    code_name,
)
from metashell.codec.metadata_version import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.codec.redaction import REDACTED, is_sensitive_config
from metashell.columns.state.reading import Cluster
from metashell.image import BrokerRegistration, Listener, MetadataImage
from metashell.values import ZERO_UUID

Row = dict[str, Any]
_DEFAULT_ENTITY: Final = "<default>"


def broker_rows(image: MetadataImage) -> Iterator[Row]:
    for id, broker in sorted(image.cluster.brokers.items()):
        yield {
            "broker_id": id,
            "state": _broker_state(broker),
            "rack": broker.rack,
            "epoch": broker.epoch,
            "incarnation_id": broker.incarnation_id,
            "listeners": _listeners(broker.listeners),
            "directories": broker.directories,
            "cordoned_directories": broker.cordoned_directories,
            "features": _ranges(broker.supported_features),
        }


def _broker_state(broker: BrokerRegistration) -> str:
    """Kafka's BrokerState as far as records show it: a fenced broker is fenced, whatever else it is."""
    if broker.fenced:
        return "FENCED"
    return "CONTROLLED_SHUTDOWN" if broker.in_controlled_shutdown else "ACTIVE"


def controller_rows(image: MetadataImage) -> Iterator[Row]:
    for id, controller in sorted(image.cluster.controllers.items()):
        yield {
            "controller_id": id,
            "incarnation_id": controller.incarnation_id,
            "listeners": _listeners(controller.listeners),
            "features": _ranges(controller.supported_features),
            "zk_migration_ready": controller.zk_migration_ready,
        }


def _listeners(listeners: Iterable[Listener]) -> Row:
    return {
        item.name: {"host": item.host, "port": item.port, "security_protocol": code_name(SECURITY_PROTOCOLS, item.security_protocol)}
        for item in listeners
    }


def _ranges(features: Mapping[str, tuple[int, int]]) -> Row:
    return {name: {"min_supported_version": low, "max_supported_version": high} for name, (low, high) in sorted(features.items())}


def config_rows(image: MetadataImage, *, show_secrets: bool) -> Iterator[Row]:
    """The default resource of a type has the empty name, as in its records."""
    for (kind, resource), values in sorted(image.configs.items()):
        for key, value in sorted(values.items()):
            is_sensitive = is_sensitive_config(kind, key)
            yield {
                "resource_type": code_name(CONFIG_TYPES, kind),
                "resource_name": resource,
                "key": key,
                "value": REDACTED if is_sensitive and not show_secrets else value,
                "is_sensitive": is_sensitive,
            }


def acl_rows(image: MetadataImage) -> Iterator[Row]:
    for id, acl in sorted(image.acls.by_id.items()):
        yield {
            "acl_id": id,
            "permission": code_name(ACL_PERMISSION_TYPES, acl.permission_type),
            "principal": acl.principal,
            "host": acl.host,
            "operation": code_name(ACL_OPERATIONS, acl.operation),
            "resource_type": code_name(ACL_RESOURCE_TYPES, acl.resource_type),
            "resource_name": acl.resource_name,
            "pattern_type": code_name(ACL_PATTERN_TYPES, acl.pattern_type),
        }


def quota_rows(image: MetadataImage) -> Iterator[Row]:
    for entity in sorted(image.client_quotas, key=lambda entity: [(kind, name or "") for kind, name in entity]):
        named = {kind: _DEFAULT_ENTITY if name is None else name for kind, name in entity}
        text = ", ".join(f"{kind} {name}" for kind, name in named.items())
        for key, value in sorted(image.client_quotas[entity].items()):
            who = {"user": named.get("user"), "client_id": named.get("client-id"), "ip": named.get("ip")}
            yield {"entity": text, **who, "key": key, "value": value}


def feature_rows(image: MetadataImage) -> Iterator[Row]:
    features = image.features
    levels = {**features.levels, KRAFT_VERSION: features.kraft_version}
    if features.metadata_version is not None:
        levels[METADATA_VERSION] = features.metadata_version
    for name, level in sorted(levels.items()):
        yield {"feature": name, "level": level, "version": metadata_version_name(level) if name == METADATA_VERSION else str(level)}


def voter_rows(image: MetadataImage) -> Iterator[Row]:
    """The voters of the newest set or, where voters are static, those whom the newest election names."""
    leader = -1 if image.leader is None else image.leader.id
    if image.voters is None:
        for id in () if image.leader is None else image.leader.voter_ids:
            yield {"voter_id": id, "is_leader": id == leader}
        return
    for voter in image.voters.voters:
        yield {
            "voter_id": voter.id,
            "directory_id": None if voter.directory_id == ZERO_UUID else voter.directory_id,
            "is_leader": voter.id == leader,
            "endpoints": {endpoint.name: {"host": endpoint.host, "port": endpoint.port} for endpoint in voter.endpoints},
            "kraft_version_min": voter.min_supported_version,
            "kraft_version_max": voter.max_supported_version,
        }


def source_row(cluster: Cluster) -> Row:
    """Where a cluster's state is from; a position that is not known is null."""
    provenance = cluster.image.provenance
    known = {"offset": provenance.offset, "epoch": provenance.epoch, "timestamp": provenance.timestamp_ms}
    return {
        "path": cluster.path,
        "kind": provenance.source_kind,
        **{name: None if value < 0 else value for name, value in known.items()},
        "certain_to": provenance.certain_to,
        "end_offset": provenance.end_offset,
        "fault_count": cluster.fault_count,
    }


MAKERS: Final[dict[str, Callable[[MetadataImage], Iterator[Row]]]] = {
    "brokers": broker_rows,
    "controllers": controller_rows,
    "acls": acl_rows,
    "quotas": quota_rows,
    "features": feature_rows,
    "voters": voter_rows,
}
