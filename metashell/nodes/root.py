"""The root of the tree and its fixed part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metashell.nodes.acls import AclsByIdNode
from metashell.nodes.cluster import cluster_node
from metashell.nodes.configs import ConfigsNode
from metashell.nodes.credentials import scram_node, tokens_node
from metashell.nodes.features import FeaturesNode
from metashell.nodes.node import Directory, FixedDirectory, Node, ValueLeaf
from metashell.nodes.provenance import FaultsNode, ProvenanceNode, VotersNode
from metashell.nodes.quotas import QuotasNode
from metashell.nodes.second_view import second_view
from metashell.nodes.topics import TopicsByIdNode, TopicsByNameNode
from metashell.nodes.tree import LocalInfo, Tree, Voice

if TYPE_CHECKING:
    from metashell.image import MetadataImage

Makers = dict[str, Callable[[str], Node]]


def build_root(image: MetadataImage, *, voice: Voice, local: LocalInfo) -> Directory:
    """The directory `/` over an image: Kafka's tree, in our own voice with better names and the second view beside it.

    Nothing is sorted or decoded before it is asked for.
    """
    tree = Tree(image, voice, local)
    makers: Makers = {"image": lambda name: _image_node(name, tree), "local": lambda name: local_node(name, tree)}
    if tree.is_own:
        makers |= second_view(tree)
    return FixedDirectory("", makers)


def local_node(name: str, tree: Tree) -> FixedDirectory:
    """/local: this software's version and commit."""
    return FixedDirectory(
        name,
        {
            "version": lambda name: ValueLeaf(name, tree.local.version),
            "commitId": lambda name: ValueLeaf(name, tree.local.commit_id),
        },
    )


def _image_node(name: str, tree: Tree) -> FixedDirectory:
    image = tree.image
    makers: Makers = {
        "acls": lambda name: FixedDirectory(name, {"byId": lambda name: AclsByIdNode(name, tree)}),
        "clientQuotas": lambda name: QuotasNode(name, tree),
        "cluster": lambda name: cluster_node(name, tree),
        "configs": lambda name: ConfigsNode(name, tree),
        "delegationToken": lambda name: tokens_node(name, tree),
        "features": lambda name: FeaturesNode(name, tree),
        "producerIds": lambda name: _producer_ids_node(name, tree),
        "provenance": lambda name: ProvenanceNode(name, image),
        "scram": lambda name: scram_node(name, tree),
        "topics": lambda name: _topics_node(name, tree),
    }
    if tree.is_own:
        makers["voters"] = lambda name: VotersNode(name, image.voters)
        makers["faults"] = lambda name: FaultsNode(name, image)
    return FixedDirectory(name, makers)


def _producer_ids_node(name: str, tree: Tree) -> FixedDirectory:
    next_id = tree.image.producer_ids.next_producer_id
    return FixedDirectory(name, {"nextProducerId": lambda name: ValueLeaf(name, next_id)})


def _topics_node(name: str, tree: Tree) -> FixedDirectory:
    return FixedDirectory(
        name,
        {"byId": lambda name: TopicsByIdNode(name, tree), "byName": lambda name: TopicsByNameNode(name, tree)},
    )
