"""The second view: the names of the shell of Kafka 2.8 to 3.2 (KIP-631) over the same image.

Leaves are our JSON with the field names of the records, as that shell printed them. Only `/` of our own voice shows the view, and a walk
from `/` skips it: each of its nodes shows the same as a node below /image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from metashell.codec.codes import CONFIG_TYPES
from metashell.metadata.nodes.cluster import BROKER, voter_values
from metashell.metadata.nodes.names import bool_text, entity_escape, entity_unescape, sorted_names
from metashell.metadata.nodes.node import (
    Directory,
    FixedDirectory,
    KeyedDirectory,
    Node,
    SubjectLeaf,
    Tree,
    ValueLeaf,
    number_directory,
    text_directory,
    value_directory,
)
from metashell.metadata.nodes.settings import QUOTA, acls_by_id_node, settings_node
from metashell.metadata.nodes.topics import topics_by_id_node, topics_by_name_node

if TYPE_CHECKING:
    from metashell.metadata.image import BrokerRegistration

Makers = dict[str, Callable[[str], Node]]


def view_node(name: str, tree: Tree) -> Node:
    """The directory of the second view in `/` with one of the names of `nodes.SECOND_VIEW`."""
    return _MAKERS[name](name, tree)


def _acl_node(name: str, tree: Tree) -> FixedDirectory:
    return FixedDirectory(name, {"id": lambda name: acls_by_id_node(name, tree)}, is_view=True)


def _brokers_node(name: str, tree: Tree) -> KeyedDirectory:
    return number_directory(name, tree.image.cluster.brokers, lambda name, _, broker: _broker_node(name, broker), is_view=True)


def _broker_node(name: str, broker: BrokerRegistration) -> FixedDirectory:
    makers: Makers = {
        "registration": lambda name: SubjectLeaf(name, BROKER, broker, type="leaf"),
        "isFenced": lambda name: ValueLeaf(name, broker.fenced, bool_text(broker.fenced)),
    }
    if broker.in_controlled_shutdown:
        makers["inControlledShutdown"] = lambda name: ValueLeaf(name, True, "true")
    return FixedDirectory(name, makers, type="broker")


def _features_node(name: str, tree: Tree) -> KeyedDirectory:
    def make(name: str, feature: str, level: int) -> ValueLeaf:
        return ValueLeaf(name, {"name": feature, "featureLevel": level}, str(level), type="feature")

    return text_directory(name, tree.image.features.finalized, make, tree.names, is_view=True)


def _quorum_node(name: str, tree: Tree) -> FixedDirectory:
    image = tree.image
    makers: Makers = {"offset": lambda name: ValueLeaf(name, image.provenance.offset)}
    leader = image.leader
    if leader is not None:
        words = {"leaderId": leader.id, "leaderEpoch": leader.epoch}
        makers["leader"] = lambda name: ValueLeaf(name, words, f"{leader.id} {leader.epoch}")
    if image.voters is not None:
        voters = {str(voter["voterId"]): voter for voter in voter_values(image.voters)}
        makers["voters"] = lambda name: text_directory(name, voters, lambda name, _, voter: ValueLeaf(name, voter), tree.names)
    return FixedDirectory(name, makers, is_view=True)


def _producer_ids_node(name: str, tree: Tree) -> FixedDirectory:
    ids = tree.image.producer_ids
    values = {
        "lastBlockBrokerId": ids.broker_id,
        "lastBlockBrokerEpoch": ids.broker_epoch,
        "nextBlockStartId": ids.next_producer_id,
    }
    return value_directory(name, values, is_view=True)


def _configs_node(name: str, tree: Tree) -> FixedDirectory:
    """/configs: `broker` and `topic` always, other types if they have a resource."""
    types = {2, 4} | {type for type, _ in tree.image.configs}
    words = {_type_word(type): type for type in types}
    return FixedDirectory(name, dict.fromkeys(words, lambda word: _resources_node(word, words[word], tree)), is_view=True)


def _type_word(type: int) -> str:
    return CONFIG_TYPES.get(type, f"unknown-{type}").lower().replace("_", "-")


def _resources_node(name: str, type: int, tree: Tree) -> KeyedDirectory:
    """All resources of one config type under their names, the default one as `<default>`."""
    resources = {name or None: settings for (of_type, name), settings in tree.image.configs.items() if of_type == type}
    return KeyedDirectory(
        name,
        resources,
        lambda name, key, settings: settings_node(name, (type, key or ""), settings, tree),
        show=entity_escape,
        read=lambda name: (entity_unescape(name) or None,),
    )


class _Entities:
    """Quota entities by the type of their first part, its name, and so on; with the limits of the entity that ends here."""

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
        yield show(type), partial(named_entities_node, tree=tree, entities=named)
    for key, limit in entities.limits.items():
        # A quota with the name of a type would be hidden by that type, so every byte of its name is escaped.
        name = show(key) if show(key) not in words else "".join(f"%{byte:02X}" for byte in key.encode())
        yield name, partial(SubjectLeaf, kind=QUOTA, subject=(entities.entity, limit))


def named_entities_node(name: str, tree: Tree, entities: dict[str | None, _Entities]) -> KeyedDirectory:
    """The entities of one type under their names, the default one as `<default>`."""
    return KeyedDirectory(
        name,
        entities,
        lambda name, _, below: EntitiesNode(name, tree, lambda: below),
        show=entity_escape,
        read=lambda name: (entity_unescape(name),),
    )


_MAKERS: dict[str, Callable[[str, Tree], Node]] = {
    "acl": _acl_node,
    "brokers": _brokers_node,
    "client-quotas": lambda name, tree: EntitiesNode(name, tree, lambda: _entity_tree(tree), is_view=True),
    "configs": _configs_node,
    "features": _features_node,
    "metadataQuorum": _quorum_node,
    "producerIds": _producer_ids_node,
    "topicIds": partial(topics_by_id_node, nested=True),
    "topics": partial(topics_by_name_node, nested=True),
}
