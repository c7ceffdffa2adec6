"""Brokers, controllers, finalized features and voters, the faults of replay, and the provenance of the image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from metashell.codec.codes import SECURITY_PROTOCOLS, ZK_MIGRATION_STATES, code_name
from metashell.codec.releases import metadata_version_name
from metashell.common.forms import compact_json
from metashell.common.values import uuid_text
from metashell.metadata.nodes.names import bool_text, list_text, optional_text, sorted_names, utc_time_text, utf16_key, version_range_text
from metashell.metadata.nodes.node import (
    Directory,
    FixedDirectory,
    JsonValue,
    Leaf,
    LeafKind,
    Node,
    SubjectLeaf,
    Tree,
    ValueLeaf,
    number_directory,
)

if TYPE_CHECKING:
    from metashell.metadata.image import BrokerRegistration, ControllerRegistration, Fault, Listener, MetadataImage, VoterSet


def cluster_node(name: str, tree: Tree) -> FixedDirectory:
    """/image/cluster, with `brokers` and `controllers`."""
    cluster = tree.image.cluster
    return FixedDirectory(
        name,
        {
            "brokers": lambda name: number_directory(name, cluster.brokers, partial(_leaf, BROKER)),
            "controllers": lambda name: number_directory(name, cluster.controllers, partial(_leaf, CONTROLLER)),
        },
    )


def _leaf(kind: LeafKind, name: str, _: int, registration: object) -> SubjectLeaf:
    return SubjectLeaf(name, kind, registration)


def broker_text(broker: BrokerRegistration) -> str:
    """Java's text of a broker's registration, as 4.4.0 prints it.

    Source: org.apache.kafka.metadata.BrokerRegistration.toString.
    """
    cordoned = broker.cordoned_directories
    return (
        f"BrokerRegistration(id={broker.id}, epoch={broker.epoch}, incarnationId={uuid_text(broker.incarnation_id)}"
        f", listeners={_listeners_text(broker.listeners)}"
        f", supportedFeatures={_features_text(broker.supported_features)}"
        f", rack={optional_text(broker.rack)}"
        f", fenced={bool_text(broker.fenced)}"
        f", inControlledShutdown={bool_text(broker.in_controlled_shutdown)}"
        f", isMigratingZkBroker={bool_text(broker.is_migrating_zk_broker)}"
        f", directories={list_text(map(uuid_text, broker.directories))}"
        f", cordonedDirectories={'null' if cordoned is None else list_text(map(uuid_text, cordoned))})"
    )


def controller_text(controller: ControllerRegistration) -> str:
    """Java's text of a controller's registration.

    Source: org.apache.kafka.metadata.ControllerRegistration.toString.
    """
    return (
        f"ControllerRegistration(id={controller.id}, incarnationId={uuid_text(controller.incarnation_id)}"
        f", zkMigrationReady={bool_text(controller.zk_migration_ready)}"
        f", listeners={_listeners_text(controller.listeners)}"
        f", supportedFeatures={_features_text(controller.supported_features)})"
    )


def broker_value(broker: BrokerRegistration) -> dict[str, Any]:
    """The broker under the field names of RegisterBrokerRecord, every field always there."""
    cordoned = broker.cordoned_directories
    return {
        "brokerId": broker.id,
        "isMigratingZkBroker": broker.is_migrating_zk_broker,
        "incarnationId": uuid_text(broker.incarnation_id),
        "brokerEpoch": broker.epoch,
        "endPoints": _listeners_value(broker.listeners),
        "features": _features_value(broker.supported_features),
        "rack": broker.rack,
        "fenced": broker.fenced,
        "inControlledShutdown": broker.in_controlled_shutdown,
        "logDirs": [uuid_text(directory) for directory in broker.directories],
        "cordonedLogDirs": None if cordoned is None else [uuid_text(directory) for directory in cordoned],
    }


def controller_value(controller: ControllerRegistration) -> dict[str, Any]:
    """The controller under the field names of RegisterControllerRecord."""
    return {
        "controllerId": controller.id,
        "incarnationId": uuid_text(controller.incarnation_id),
        "zkMigrationReady": controller.zk_migration_ready,
        "endPoints": _listeners_value(controller.listeners),
        "features": _features_value(controller.supported_features),
    }


def listener_words(registration: BrokerRegistration | ControllerRegistration) -> dict[str, Any]:
    """The listeners of a broker or controller as URLs."""
    return {"listeners": [_listener_url(listener) for listener in _in_order(registration.listeners)]}


def _listener_url(listener: Listener) -> str:
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"{listener.name}://{host}:{listener.port}"


def _in_order(listeners: Iterable[Listener]) -> list[Listener]:
    return sorted(listeners, key=lambda listener: utf16_key(listener.name))


def _listeners_text(listeners: Iterable[Listener]) -> str:
    return list_text(
        f"Endpoint(listenerName='{listener.name}', securityProtocol={code_name(SECURITY_PROTOCOLS, listener.security_protocol)}"
        f", host='{listener.host}', port={listener.port})"
        for listener in _in_order(listeners)
    )


def _listeners_value(listeners: Iterable[Listener]) -> list[dict[str, Any]]:
    return [
        {
            "name": listener.name,
            "host": listener.host,
            "port": listener.port,
            "securityProtocol": listener.security_protocol,
        }
        for listener in _in_order(listeners)
    ]


def _features_text(features: Mapping[str, tuple[int, int]]) -> str:
    ranges = (f"{name}: {version_range_text(*features[name])}" for name in sorted_names(features))
    return f"{{{', '.join(ranges)}}}"


def _features_value(features: Mapping[str, tuple[int, int]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "minSupportedVersion": features[name][0], "maxSupportedVersion": features[name][1]}
        for name in sorted_names(features)
    ]


BROKER = LeafKind("broker", broker_text, broker_value, listener_words)
CONTROLLER = LeafKind("controller", controller_text, controller_value, listener_words)


# ---- features


FEATURE_PREFIX = "finalized_"


class FeaturesNode(Directory):
    """/image/features: `metadataVersion`, and `finalized_X` for each other feature with a level.

    In Kafka's voice any `finalized_X` resolves, to 0 where X has no level.
    """

    __slots__ = ("_tree",)

    def __init__(self, name: str, tree: Tree) -> None:
        super().__init__(name)
        self._tree = tree

    def child_names(self) -> Sequence[str]:
        features = self._tree.image.features
        names = ["metadataVersion", *(self._tree.names.show(FEATURE_PREFIX + name) for name in features.levels)]
        if self._tree.is_own and features.zk_migration_state:
            names.append("zkMigrationState")
        return sorted_names(names)

    def child(self, name: str) -> Node | None:
        features = self._tree.image.features
        if name == "metadataVersion":
            return metadata_version_leaf(name, features.metadata_version)
        if name == "zkMigrationState" and self._tree.is_own and features.zk_migration_state:
            state = code_name(ZK_MIGRATION_STATES, features.zk_migration_state)
            return ValueLeaf(name, state, type="feature", info={"zk_migration_state": features.zk_migration_state})
        text = self._tree.names.parse(name)
        if not text.startswith(FEATURE_PREFIX):
            return None
        feature = text[len(FEATURE_PREFIX) :]
        if self._tree.is_own and feature not in features.levels:
            return None
        return ValueLeaf(name, features.levels.get(feature, 0), type="feature", info={"feature": feature})


def metadata_version_leaf(name: str, level: int | None) -> ValueLeaf:
    """The metadata.version by its name with its level beside it; None if the image has none."""
    version = None if level is None else metadata_version_name(level)
    info: dict[str, Any] = {} if level is None else {"feature_level": level}
    return ValueLeaf(name, version, optional_text(version), type="feature", info={"feature": "metadata.version", **info})


# ---- provenance, voters and faults


def provenance_node(name: str, tree: Tree) -> Leaf:
    """/image/provenance: in our voice the image's position in the log, in Kafka's that in the file it was read from."""
    return SubjectLeaf(name, PROVENANCE, tree.image)


def voters_node(name: str, tree: Tree) -> Leaf:
    """/image/voters: the voter set of the control records, null if the log has none (static quorum)."""
    return SubjectLeaf(name, VOTERS, tree.image.voters)


def faults_node(name: str, tree: Tree) -> Leaf:
    """/image/faults: the records that could not be applied, with their places."""
    return SubjectLeaf(name, FAULTS, tree.image.faults)


def provenance_text(image: MetadataImage) -> str:
    provenance = image.provenance
    return f"offset {provenance.file_offset}, epoch {provenance.file_epoch}, time {utc_time_text(provenance.file_timestamp_ms)}"


def provenance_value(image: MetadataImage) -> dict[str, Any]:
    """Units: `timestamp` is Unix milliseconds; `certain_to` and `end_offset` are exclusive ends."""
    provenance = image.provenance
    return {
        "offset": provenance.offset,
        "epoch": provenance.epoch,
        "timestamp": provenance.timestamp_ms,
        "source_kind": provenance.source_kind,
        "source": provenance.source,
        "certain_to": provenance.certain_to,
        "end_offset": provenance.end_offset,
        "faults": len(image.faults),
    }


def voters_value(voters: VoterSet | None) -> JsonValue:
    """The voters under the field names of VotersRecord, with the offset of that record."""
    return None if voters is None else {"offset": voters.offset, "voters": voter_values(voters)}


def voter_values(voters: VoterSet) -> list[dict[str, Any]]:
    """Each voter, ordered by id."""
    return [
        {
            "voterId": voter.id,
            "voterDirectoryId": uuid_text(voter.directory_id),
            "endpoints": [{"name": endpoint.name, "host": endpoint.host, "port": endpoint.port} for endpoint in voter.endpoints],
            "kRaftVersionFeature": {
                "minSupportedVersion": voter.min_supported_version,
                "maxSupportedVersion": voter.max_supported_version,
            },
        }
        for voter in sorted(voters.voters, key=lambda voter: voter.id)
    ]


def faults_value(faults: Sequence[Fault]) -> list[dict[str, Any]]:
    """All faults in the order of the log."""
    return [fault_value(fault) for fault in faults]


def fault_value(fault: Fault) -> dict[str, Any]:
    """One fault as JSON, in our own snake_case."""
    return {
        "file": fault.file,
        "offset": fault.offset,
        "position": fault.position,
        "record_type": fault.record_type,
        "reason": fault.reason,
    }


PROVENANCE = LeafKind("provenance", provenance_text, provenance_value)
# Kafka has no such leaves, so no text of its own for them.
VOTERS = LeafKind("voters", lambda voters: compact_json(voters_value(voters)), voters_value)
FAULTS = LeafKind("faults", lambda faults: compact_json(faults_value(faults)), faults_value)
