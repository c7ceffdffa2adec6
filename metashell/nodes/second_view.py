"""The second view: the names of the shell of Kafka 2.8 to 3.2, which KIP-631 led to, over the same image.

Leaves are our JSON under the field names of the records, as that shell printed them. It shows in `/` of our
own voice alone, and a walk from `/` leaves it out: every node in it says the same as one below /image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from metashell.nodes.acls import AclsByIdNode
from metashell.nodes.cluster import BrokerNode
from metashell.nodes.codes import CONFIG_TYPES
from metashell.nodes.configs import settings_node
from metashell.nodes.features import feature_levels
from metashell.nodes.java_text import bool_text
from metashell.nodes.names import entity_escape, entity_unescape, sorted_names
from metashell.nodes.node import Directory, FixedDirectory, MapDirectory, Node, NumberDirectory, ValueLeaf
from metashell.nodes.provenance import voters_value
from metashell.nodes.quotas import QuotaNode
from metashell.nodes.topics import TopicsByIdNode, TopicsByNameNode
from metashell.nodes.tree import Tree

if TYPE_CHECKING:
    from metashell.image import BrokerRegistration

Makers = dict[str, Callable[[str], Node]]


def view_node(name: str, tree: Tree) -> Node:
    """The directory of the second view that stands in `/` under one of `root.SECOND_VIEW`."""
    match name:
        case "acl":
            return FixedDirectory(name, {"id": lambda name: AclsByIdNode(name, tree)}, is_view=True)
        case "brokers":
            return _brokers_node(name, tree)
        case "client-quotas":
            return EntitiesNode(name, tree, lambda: _entity_tree(tree), is_view=True)
        case "configs":
            return _configs_node(name, tree)
        case "features":
            return _features_node(name, tree)
        case "metadataQuorum":
            return _quorum_node(name, tree)
        case "producerIds":
            return _producer_ids_node(name, tree)
        case "topicIds":
            return TopicsByIdNode(name, tree, nested=True)
        case "topics":
            return TopicsByNameNode(name, tree, nested=True)
    raise AssertionError(f"{name} is not of the second view")


def _brokers_node(name: str, tree: Tree) -> Directory:
    brokers = tree.image.cluster.brokers
    return NumberDirectory(name, brokers, lambda name, id: _broker_node(name, brokers[id]), is_view=True)


def _broker_node(name: str, broker: BrokerRegistration) -> FixedDirectory:
    makers: Makers = {
        "registration": lambda name: BrokerNode(name, broker, type="leaf"),
        "isFenced": lambda name: ValueLeaf(name, broker.fenced, bool_text(broker.fenced)),
    }
    if broker.in_controlled_shutdown:
        makers["inControlledShutdown"] = lambda name: ValueLeaf(name, True, "true")
    return FixedDirectory(name, makers, type="broker")


def _features_node(name: str, tree: Tree) -> MapDirectory:
    levels = feature_levels(tree)
    return MapDirectory(
        name,
        levels,
        lambda name, feature: ValueLeaf(name, {"name": feature, "featureLevel": levels[feature]}, str(levels[feature]), type="feature"),
        tree.names,
        is_view=True,
    )


def _quorum_node(name: str, tree: Tree) -> FixedDirectory:
    image = tree.image
    makers: Makers = {"offset": lambda name: ValueLeaf(name, image.provenance.offset)}
    leader = image.leader
    if leader is not None:
        words = {"leaderId": leader.id, "leaderEpoch": leader.epoch}
        makers["leader"] = lambda name: ValueLeaf(name, words, f"{leader.id} {leader.epoch}")
    if image.voters is not None:
        voters = {str(voter["voterId"]): voter for voter in voters_value(image.voters)["voters"]}
        makers["voters"] = lambda name: MapDirectory(name, voters, lambda name, id: ValueLeaf(name, voters[id]), tree.names)
    return FixedDirectory(name, makers, is_view=True)


def _producer_ids_node(name: str, tree: Tree) -> FixedDirectory:
    ids = tree.image.producer_ids
    return FixedDirectory(
        name,
        {
            "lastBlockBrokerId": lambda name: ValueLeaf(name, ids.broker_id),
            "lastBlockBrokerEpoch": lambda name: ValueLeaf(name, ids.broker_epoch),
            "nextBlockStartId": lambda name: ValueLeaf(name, ids.next_producer_id),
        },
        is_view=True,
    )


def _configs_node(name: str, tree: Tree) -> FixedDirectory:
    """/configs: `broker` and `topic` always, other types where they have a resource."""
    types = {2, 4} | {type for type, _ in tree.image.configs}
    words = {_type_word(type): type for type in types}
    return FixedDirectory(name, dict.fromkeys(words, lambda word: ResourcesNode(word, words[word], tree)), is_view=True)


def _type_word(type: int) -> str:
    return CONFIG_TYPES.get(type, f"unknown-{type}").lower().replace("_", "-")


class ResourcesNode(Directory):
    """All resources of one config type under their names, the default one as `<default>`."""

    __slots__ = ("_tree", "_type")

    def __init__(self, name: str, type: int, tree: Tree) -> None:
        super().__init__(name)
        self._type = type
        self._tree = tree

    def child_names(self) -> Sequence[str]:
        resources = self._tree.image.configs
        return sorted_names(entity_escape(name or None) for type, name in resources if type == self._type)

    def child(self, name: str) -> Node | None:
        resource = (self._type, entity_unescape(name) or "")
        settings = self._tree.image.configs.get(resource)
        return None if settings is None else settings_node(entity_escape(resource[1] or None), resource, settings, self._tree)


class _Entities:
    """Quota entities by their first part's type, then its name, then the rest; the limits of the one that ends here."""

    __slots__ = ("entity", "limits", "types")

    def __init__(self) -> None:
        self.types: dict[str, dict[str | None, _Entities]] = {}
        self.entity: Any = ()
        self.limits: Mapping[str, float] = {}


def _entity_tree(tree: Tree) -> _Entities:
    root = _Entities()
    for entity, limits in tree.image.client_quotas.items():
        place = root
        for type, name in sorted(entity, key=lambda part: part[0]):
            place = place.types.setdefault(type, {}).setdefault(name, _Entities())
        place.entity = entity
        place.limits = limits
    return root


class EntitiesNode(Directory):
    """Entities with the same first parts: a directory for each further type, and a leaf for each quota of their own."""

    __slots__ = ("_load", "_makers", "_tree")

    def __init__(self, name: str, tree: Tree, load: Callable[[], _Entities], *, is_view: bool = False) -> None:
        super().__init__(name, is_view=is_view)
        self._tree = tree
        self._load = load
        self._makers: Makers | None = None

    def child_names(self) -> Sequence[str]:
        return sorted_names(self._children())

    def child(self, name: str) -> Node | None:
        maker = self._children().get(name)
        return None if maker is None else maker(name)

    def _children(self) -> Makers:
        if self._makers is None:
            self._makers = dict(_entity_children(self._load(), self._tree))
        return self._makers


def _entity_children(entities: _Entities, tree: Tree) -> Iterator[tuple[str, Callable[[str], Node]]]:
    show = tree.names.show
    words = {show(type) for type in entities.types}
    for type, named in entities.types.items():
        yield show(type), partial(NamedEntitiesNode, tree=tree, entities=named)
    for key, limit in entities.limits.items():
        # A quota that is called as a type would hide behind it, so all of its name is escaped.
        name = show(key) if show(key) not in words else "".join(f"%{byte:02X}" for byte in key.encode())
        yield name, partial(QuotaNode, entity=entities.entity, limit=limit)


class NamedEntitiesNode(Directory):
    """The entities of one type under their names, the default one as `<default>`."""

    __slots__ = ("_entities", "_tree")

    def __init__(self, name: str, tree: Tree, entities: dict[str | None, _Entities]) -> None:
        super().__init__(name)
        self._tree = tree
        self._entities = entities

    def child_names(self) -> Sequence[str]:
        return sorted_names(map(entity_escape, self._entities))

    def child(self, name: str) -> Node | None:
        key = entity_unescape(name)
        entities = self._entities.get(key)
        return None if entities is None else EntitiesNode(entity_escape(key), self._tree, lambda: entities)
