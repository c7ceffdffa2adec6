"""Images made by hand, for names and values that no real directory has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from metashell.metadata.image.cluster import FeaturesImage
from metashell.metadata.nodes import Directory, LocalInfo, Node, build_root

LOCAL = LocalInfo(version="1.2.3", commit_id="abcdef")


def topic_image(name: str, id: bytes, partitions: dict[int, Any] | None = None) -> SimpleNamespace:
    """A topic with the given partitions."""
    partitions = partitions or {}
    return SimpleNamespace(name=name, id=id, partitions=partitions, partition_count=len(partitions))


def image(**parts: Any) -> Any:
    """An empty image with some parts replaced: topics (a list), configs, quotas, scram, tokens, levels, brokers and so on."""
    topics = parts.get("topics", [])
    return SimpleNamespace(
        features=FeaturesImage(
            metadata_version=parts.get("metadata_version"),
            kraft_version=parts.get("kraft_version", 0),
            levels=parts.get("levels", {}),
            zk_migration_state=parts.get("zk_migration_state", 0),
        ),
        cluster=SimpleNamespace(brokers=parts.get("brokers", {}), controllers=parts.get("controllers", {})),
        topics=SimpleNamespace(by_name={topic.name: topic for topic in topics}, by_id={topic.id: topic for topic in topics}),
        configs=parts.get("configs", {}),
        client_quotas=parts.get("quotas", {}),
        producer_ids=SimpleNamespace(next_producer_id=5000, broker_id=4, broker_epoch=17),
        acls=SimpleNamespace(by_id=parts.get("acls", {})),
        scram=parts.get("scram", {}),
        delegation_tokens=parts.get("tokens", {}),
        voters=parts.get("voters"),
        leader=parts.get("leader"),
        provenance=SimpleNamespace(
            offset=138,
            epoch=1,
            timestamp_ms=1795220498440,
            file_offset=80,
            file_epoch=2,
            file_timestamp_ms=1795220498600,
            source_kind="checkpoint",
            source="x.checkpoint",
            certain_to=139,
            end_offset=139,
        ),
        faults=parts.get("faults", ()),
    )


def own_root(**parts: Any) -> Directory:
    """The root of our own voice over a made image."""
    return build_root(image(**parts), voice="own", local=LOCAL)


def kafka_root(**parts: Any) -> Directory:
    """The root of Kafka's voice over a made image."""
    return build_root(image(**parts), voice="kafka", local=LOCAL)


def at(root: Node, path: str) -> Node | None:
    """The node at a path, found by looking up one component after the other."""
    node: Node | None = root
    for component in path.strip("/").split("/"):
        if not isinstance(node, Directory):
            return None
        node = node.child(component)
    return node


def walk(node: Node, *, views: bool = True) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Every node below, with its names from here, parents before children, lazily."""
    pending: list[tuple[tuple[str, ...], Iterable[Node]]] = [((), iter([node]))]
    while pending:
        path, children = pending[-1]
        child = next(iter(children), None)
        if child is None:
            pending.pop()
            continue
        if child.is_view and not views:
            continue
        here = (*path, child.name) if child is not node else path
        yield here, child
        if isinstance(child, Directory):
            pending.append((here, child.iter_children()))
