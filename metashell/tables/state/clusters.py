"""From paths to the state of each cluster, and the small tables of it: a row for each broker, setting, entry and so on.

A cluster has one image, of the copy of its log that reaches furthest. Ids are their bytes; the columns with their text are made from
them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.codes import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    CONFIG_TYPES,
    SECURITY_PROTOCOLS,
    code_name,
)
from metashell.codec.redaction import is_sensitive_config
from metashell.codec.releases import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.uris import is_uri, place_and_query, shown_uri
from metashell.common.values import REDACTED, ZERO_UUID
from metashell.disk.inputs import find_logs, named_file, paths_of
from metashell.disk.names import METADATA
from metashell.disk.source import open_source
from metashell.metadata.image import BrokerRegistration, Listener, MetadataImage, load_image
from metashell.metadata.image.image import damage_of
from metashell.tables.input_files import LocalCopies, fetch_logs

if TYPE_CHECKING:
    from metashell.tables.read_options import OnError


ImageAt = Callable[[str], MetadataImage]
"""Gives the image of a file or a directory; `metashell sql --at` hands in one that stops earlier."""


class Cluster(NamedTuple):
    """One cluster's state, and the path that it was read from."""

    cluster_id: str
    path: str
    image: MetadataImage

    @property
    def fault_count(self) -> int:
        """The number of records that are not in the state, or only in part."""
        return len(self.image.faults) + sum(fault.record_count for fault in self.image.unread if not fault.is_whole)


class NoMetadataError(PathError):
    """The paths hold no metadata log, so there is no state to show."""


def read_state(paths: Sequence[str], *, on_error: OnError = "fail", image_at: ImageAt | None = None) -> list[Cluster]:
    """Return the clusters of all metadata logs at `paths`, ordered by id.

    Copies of one log count once: that without faults before those with, then that which reaches furthest, then that of which most is
    certain. Copies are of one cluster if they have a topic or a broker's incarnation in common, or if their meta.properties say so and
    one of them has neither. Clusters that were given one id, and have nothing in common, are told apart by the path. Logs at URIs are
    fetched to this machine first; what is said of them names their URIs.
    Errors: UsageError for a path that cannot be opened; NoMetadataError where there is no metadata log; MetashellError for a state with
    damage, unless that is skipped, and for a store that fails. What a newer release wrote is left out.
    """
    with fetch_logs(paths) as copies:
        try:
            return [_shown(cluster, copies) for cluster in _read_local(copies.paths, on_error, image_at)]
        except MetashellError as error:
            if not copies.uris:
                raise
            said = copies.shown(str(error))
            raise NoMetadataError(said) if isinstance(error, NoMetadataError) else MetashellError(said) from error


def _shown(cluster: Cluster, copies: LocalCopies) -> Cluster:
    # A cluster that no meta.properties names is called by its folder, as `RemoteTree.place` gives it: the query is no part of that.
    found = copies.shown_path(cluster.cluster_id)
    cluster_id = copies.shown(cluster.cluster_id) if found == cluster.cluster_id else place_and_query(found)[0]
    return cluster._replace(cluster_id=cluster_id, path=copies.shown_path(cluster.path))


def _read_local(paths: Sequence[str], on_error: OnError, image_at: ImageAt | None) -> list[Cluster]:
    clusters: list[Cluster] = []
    troubles: list[MetashellError] = []
    for cluster_id, path in _metadata_logs(paths):
        try:
            found = Cluster(cluster_id, path, (image_at or image_of)(path))
        except MetashellError as error:
            # Another copy may reach back further.
            troubles.append(error)
            continue
        twin = next((number for number, other in enumerate(clusters) if _is_same(found, other)), None)
        if twin is None:
            clusters.append(found)
        else:
            clusters[twin] = _better(clusters[twin], found)
    if not clusters:
        raise troubles[0] if troubles else no_metadata(paths)
    for cluster in clusters:
        damage = damage_of(cluster.image)
        if damage and on_error == "fail":
            raise MetashellError(f"{damage[0]} (1 of {len(damage)} faults; --on-error skip shows the state without them)")
    ids = Counter(cluster.cluster_id for cluster in clusters)
    named = [item if ids[item.cluster_id] == 1 else item._replace(cluster_id=f"{item.cluster_id} ({item.path})") for item in clusters]
    return sorted(named, key=_id_and_path)


def copies_by_cluster(paths: Sequence[str]) -> list[list[str]]:
    """Return the paths of all metadata logs, in groups that can each be read alone: those of one cluster or, where meta.properties do not
    tell all of them apart, all. Logs at URIs are named by theirs, and only listed here.

    Errors: those of `read_state` about paths and stores.
    """
    logs = list(_metadata_logs([path for path in paths if not is_uri(path)]))
    for uri in filter(is_uri, paths):
        logs += [log for log in _logs_of_store(uri) if log not in logs]
    if not logs:
        raise no_metadata(paths)
    # Without a meta.properties that has the cluster's id, it is a path.
    if any("/" in cluster_id or cluster_id in ("", ".") for cluster_id, _ in logs):
        return [[path for _, path in logs]]
    groups: dict[str, list[str]] = {}
    for cluster_id, path in logs:
        groups.setdefault(cluster_id, []).append(path)
    return list(groups.values())


def no_metadata(paths: Sequence[str]) -> NoMetadataError:
    """Return the error for a question about the state of what is no metadata log."""
    return NoMetadataError(f"{' '.join(map(shown_uri, paths))}: no metadata log here, which the tables of the state are made from")


def image_of(path: str) -> MetadataImage:
    """Return the newest image of a file or a directory."""
    with open_source(path) as source:
        return load_image(source)


def _id_and_path(cluster: Cluster) -> tuple[str, str]:
    return cluster.cluster_id, cluster.path


def _metadata_logs(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the id of the cluster and the path of every metadata log; several files of one directory are one log."""
    seen = set()
    for path in _places(paths):
        for log in _logs_at(path):
            if log[1] not in seen:
                seen.add(log[1])
                yield log


def _places(paths: Sequence[str]) -> Iterator[str]:
    folders: dict[str, list[str]] = {}
    for path in paths:
        if is_uri(path):
            raise UsageError(f"{shown_uri(path)}: copies of a log are told apart on local files only", path)
        for place in paths_of(path):
            folders.setdefault(place if os.path.isdir(place) else os.path.dirname(place), []).append(place)
    for folder, places in folders.items():
        yield from [folder] if len(places) > 1 and folder else places


def _logs_at(path: str) -> Iterator[tuple[str, str]]:
    if not os.path.isdir(path):
        file = named_file(path)
        if file.log in (METADATA, None):
            yield file.cluster_id, path
        return
    try:
        for log in find_logs(path):
            # A bootstrap checkpoint stands for a log that there is not yet.
            if log.kind == METADATA or (log.kind is None and not log.is_empty):
                only = log.files[0].path if len(log.files) == 1 and log.files[0].checkpoint else log.directory
                yield log.cluster_id, only
    except OSError as error:
        raise PathError.of(path, error) from error


def _logs_of_store(uri: str) -> Iterator[tuple[str, str]]:
    """Yield cluster ids and metadata logs at a URI. Each log keeps the query, which may say where the store is."""
    from metashell.tables.remote_files import remote_input

    tree, top, is_folder = remote_input(uri)
    if not is_folder:
        yield "", uri
        return
    _, mark, query = uri.partition("?")
    for log in find_logs(top, tree):
        if log.kind == METADATA or (log.kind is None and not log.is_empty):
            yield log.cluster_id, f"{log.directory}{mark}{query}"


def _is_same(one: Cluster, other: Cluster) -> bool:
    ours, theirs = _identities(one.image), _identities(other.image)
    return bool(ours & theirs) or (one.cluster_id == other.cluster_id and not (ours and theirs))


def _identities(image: MetadataImage) -> set[bytes]:
    """Ids that are made by chance, which no two clusters have in common."""
    incarnations = {broker.incarnation_id for broker in image.cluster.brokers.values()}
    return (incarnations | {topic.id for topic in image.topics}) - {ZERO_UUID}


def _better(one: Cluster, other: Cluster) -> Cluster:
    return max(one, other, key=_reach)


def _reach(cluster: Cluster) -> tuple[bool, int, int]:
    at = cluster.image.provenance
    return not cluster.fault_count, at.end_offset, -1 if at.certain_to is None else at.certain_to


# ---- rows of the small tables

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
    """Yield the configs of all resources. The default resource of a type has the empty name, as in its records."""
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
    """Yield the voters of the newest set or, where voters are static, those whom the newest election names."""
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
    """Return the origin of a cluster's state; a position that is not known is null."""
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
