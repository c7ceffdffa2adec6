"""The root of the tree and its fixed part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metashell.nodes.node import Directory, FixedDirectory, Node, ValueLeaf
from metashell.nodes.tree import LocalInfo, Tree, Voice

if TYPE_CHECKING:
    from metashell.image import MetadataImage

Makers = dict[str, Callable[[str], Node]]


SECOND_VIEW = ("acl", "brokers", "client-quotas", "configs", "features", "metadataQuorum", "producerIds", "topicIds", "topics")
"""What the second view puts into `/`; its `local` is the one that is there anyway."""


class Root(FixedDirectory):
    """The directory `/`."""

    __slots__ = ("tree",)

    def __init__(self, makers: Makers, tree: Tree) -> None:
        super().__init__("", makers)
        self.tree = tree


def build_root(image: MetadataImage, *, voice: Voice, local: LocalInfo, before: Node | None = None) -> Directory:
    """The directory `/` over an image: Kafka's tree, in our own voice with better names and the second view beside it.

    Nothing is sorted or decoded, and no part's module imported, before it is asked for. `before` is the root over an earlier image.
    """
    tree = Tree(image, voice, local, before.tree if isinstance(before, Root) else None)
    makers: Makers = {"image": lambda name: _image_node(name, tree), "local": lambda name: _local_node(name, tree)}
    if tree.is_own:
        makers |= dict.fromkeys(SECOND_VIEW, lambda name: _view_node(name, tree))
    return Root(makers, tree)


def _view_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.second_view import view_node

    return view_node(name, tree)


def _local_node(name: str, tree: Tree) -> FixedDirectory:
    """/local: this software's version and commit."""
    return FixedDirectory(
        name,
        {
            "version": lambda name: ValueLeaf(name, tree.local.version),
            "commitId": lambda name: ValueLeaf(name, tree.local.commit_id),
        },
    )


def _image_node(name: str, tree: Tree) -> FixedDirectory:
    makers: Makers = {
        "acls": lambda name: _acls_node(name, tree),
        "clientQuotas": lambda name: _quotas_node(name, tree),
        "cluster": lambda name: _cluster_node(name, tree),
        "configs": lambda name: _configs_node(name, tree),
        "delegationToken": lambda name: _tokens_node(name, tree),
        "features": lambda name: _features_node(name, tree),
        "producerIds": lambda name: _producer_ids_node(name, tree),
        "provenance": lambda name: _provenance_node(name, tree),
        "scram": lambda name: _scram_node(name, tree),
        "topics": lambda name: _topics_node(name, tree),
    }
    if tree.is_own:
        makers["voters"] = lambda name: _voters_node(name, tree)
        makers["faults"] = lambda name: _faults_node(name, tree)
    return FixedDirectory(name, makers)


def _acls_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.acls import AclsByIdNode

    return FixedDirectory(name, {"byId": lambda name: AclsByIdNode(name, tree)})


def _quotas_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.quotas import QuotasNode

    return QuotasNode(name, tree)


def _cluster_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.cluster import cluster_node

    return cluster_node(name, tree)


def _configs_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.configs import ConfigsNode

    return ConfigsNode(name, tree)


def _tokens_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.credentials import tokens_node

    return tokens_node(name, tree)


def _features_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.features import FeaturesNode

    return FeaturesNode(name, tree)


def _producer_ids_node(name: str, tree: Tree) -> Node:
    next_id = tree.image.producer_ids.next_producer_id
    return FixedDirectory(name, {"nextProducerId": lambda name: ValueLeaf(name, next_id)})


def _provenance_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.provenance import ProvenanceNode

    return ProvenanceNode(name, tree.image)


def _scram_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.credentials import scram_node

    return scram_node(name, tree)


def _topics_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.topics import TopicsByIdNode, TopicsByNameNode

    return FixedDirectory(
        name,
        {"byId": lambda name: TopicsByIdNode(name, tree), "byName": lambda name: TopicsByNameNode(name, tree)},
    )


def _voters_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.provenance import VotersNode

    return VotersNode(name, tree.image.voters)


def _faults_node(name: str, tree: Tree) -> Node:
    from metashell.nodes.provenance import FaultsNode

    return FaultsNode(name, tree.image)
