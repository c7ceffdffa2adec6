"""The root of the tree and its fixed part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from metashell.nodes.node import Directory, FixedDirectory, Node, value_directory
from metashell.nodes.tree import LocalInfo, Tree, Voice

if TYPE_CHECKING:
    from metashell.image import MetadataImage
    from metashell.nodes.names import NameStyle

Makers = dict[str, Callable[[str], Node]]
Extras = Mapping[str, "Callable[[str, NameStyle], Node]"]
"""Directories of `/` that are made of something else than the image: the maker of each takes its name and how the tree shows names."""


SECOND_VIEW = ("acl", "brokers", "client-quotas", "configs", "features", "metadataQuorum", "producerIds", "topicIds", "topics")
"""The names of the second view in `/`; its `local` is the one that is there already."""


IMAGE = {
    "acls": ("acls", "acls_node"),
    "clientQuotas": ("quotas", "quotas_node"),
    "cluster": ("cluster", "cluster_node"),
    "configs": ("configs", "configs_node"),
    "delegationToken": ("credentials", "tokens_node"),
    "features": ("features", "FeaturesNode"),
    "provenance": ("provenance", "provenance_node"),
    "scram": ("credentials", "scram_node"),
    "topics": ("topics", "topics_node"),
}
"""The parts of /image by name, beside producerIds: the module of this package that makes each, and its function there."""

OWN_IMAGE = {"faults": ("provenance", "faults_node"), "voters": ("provenance", "voters_node")}
"""The parts that only our own voice has."""


class Root(FixedDirectory):
    """The directory `/`."""

    __slots__ = ("tree",)

    def __init__(self, makers: Makers, tree: Tree) -> None:
        super().__init__("", makers)
        self.tree = tree


def build_root(
    image: MetadataImage, *, voice: Voice, local: LocalInfo, before: Node | None = None, extras: Extras | None = None
) -> Directory:
    """The directory `/` over an image: Kafka's tree, or in our own voice the same with better names and the second view.

    Nothing is sorted, decoded or imported before it is needed. `before` is the root over an earlier image. `extras` stand in our own
    voice only.
    """
    tree = Tree(image, voice, local, before.tree if isinstance(before, Root) else None)
    makers: Makers = {"image": lambda name: _image_node(name, tree), "local": lambda name: _local_node(name, tree)}
    if tree.is_own:
        makers |= dict.fromkeys(SECOND_VIEW, _part("second_view", "view_node", tree))
        makers |= {name: partial(_extra_node, make, tree) for name, make in (extras or {}).items()}
    return Root(makers, tree)


def _part(module: str, function: str, tree: Tree) -> Callable[[str], Node]:
    """The maker of a part of the tree; it imports the part's module when it is called."""

    def make(name: str) -> Node:
        node: Node = getattr(import_module(f"metashell.nodes.{module}"), function)(name, tree)
        return node

    return make


def _extra_node(make: Callable[[str, NameStyle], Node], tree: Tree, name: str) -> Node:
    return make(name, tree.names)


def _local_node(name: str, tree: Tree) -> FixedDirectory:
    """/local: this software's version and commit."""
    return value_directory(name, {"version": tree.local.version, "commitId": tree.local.commit_id})


def _image_node(name: str, tree: Tree) -> FixedDirectory:
    parts = IMAGE | OWN_IMAGE if tree.is_own else IMAGE
    makers: Makers = {part: _part(module, function, tree) for part, (module, function) in parts.items()}
    ids = {"nextProducerId": tree.image.producer_ids.next_producer_id}
    return FixedDirectory(name, {**makers, "producerIds": lambda name: value_directory(name, ids)})
