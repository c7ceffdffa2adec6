"""Registered brokers and controllers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from metashell.codec.code_words import SECURITY_PROTOCOLS, code_name
from metashell.nodes.java_text import bool_text, list_text, optional_text, version_range_text
from metashell.nodes.names import sorted_names, utf16_key
from metashell.nodes.node import FixedDirectory, LeafKind, SubjectLeaf, number_directory
from metashell.nodes.tree import Tree
from metashell.values import uuid_text

if TYPE_CHECKING:
    from metashell.image import BrokerRegistration, ControllerRegistration, Listener


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
