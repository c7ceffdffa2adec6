"""The image as directories and leaves.

`build_root(image, voice=..., local=...)` gives the directory `/`. A node knows its name, its type and its contents. It never prints,
colours, expands globs or reads a file, and it never changes.

There are two voices over one image:

- Kafka's tree (`voice="kafka"`) has the names, the order of children and the text of every leaf (`kafka_text`) as Kafka 4.4.0 has them,
  with its oddities. A listed name may have no node, and a name may be listed twice: a quota entity of only defaults has the empty name,
  once for each such entity, `child("")` is None, and a mixed entity has the name of another one. Some names resolve without being listed:
  `finalized_anything`, `+1`, `007`, padded uuids.
- Our own (`voice="own"`) is the same tree, but each name belongs to one node and resolves to it (`names.py` escapes what a path cannot
  hold). Leaves have a JSON value (`value`): what comes from a record keeps Kafka's JSON field names, with all fields and with codes as
  numbers, as dump-log prints them. `envelope_info` has the words of the codes and other facts beside the value, in snake_case. Secrets are
  redacted by codec's table unless `redact=False`. /image also has `voters` and `faults`, and `provenance` says how much of the image is
  committed.

The second view (`second_view.py`) puts the names of Kafka 2.8 to 3.2 into `/` of our own voice, with `is_view` set: listings of `/` and
completion show it, a walk from `/` leaves it out.

Names are in Java's order of text (UTF-16 units). A list of names is made at the first call and kept. Children are made one by one as
`iter_children` is read, and a partition is decoded when its leaf is read. So a walk over a million partitions needs only the memory for
the names of one directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from metashell.metadata.nodes.names import name_escape, name_unescape
from metashell.metadata.nodes.node import Directory, FixedDirectory, Leaf, LocalInfo, Node, Tree, Voice, value_directory

if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.nodes.names import NameStyle


__all__ = ["Directory", "Leaf", "LocalInfo", "Node", "Voice", "build_root", "name_escape", "name_unescape"]


Makers = dict[str, Callable[[str], Node]]
Extras = Mapping[str, "Callable[[str, NameStyle], Node]"]
"""Directories of `/` that do not come from the image: the maker of each takes its name and the tree's style of names."""


SECOND_VIEW = ("acl", "brokers", "client-quotas", "configs", "features", "metadataQuorum", "producerIds", "topicIds", "topics")
"""The names of the second view in `/`. Its `local` is the one of the first view."""


IMAGE = {
    "acls": ("settings", "acls_node"),
    "clientQuotas": ("settings", "quotas_node"),
    "cluster": ("cluster", "cluster_node"),
    "configs": ("settings", "configs_node"),
    "delegationToken": ("settings", "tokens_node"),
    "features": ("cluster", "FeaturesNode"),
    "provenance": ("cluster", "provenance_node"),
    "scram": ("settings", "scram_node"),
    "topics": ("topics", "topics_node"),
}
"""The parts of /image but producerIds, by name: the module of this package that makes the part, and its function there."""

OWN_IMAGE = {"faults": ("cluster", "faults_node"), "voters": ("cluster", "voters_node")}
"""The parts of /image that only our own voice has."""


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

    Nothing is sorted, decoded or imported before it is needed. `before` is the root over an earlier image, whose sorted names are kept if
    its topics are the same. `extras` are in our own voice only.
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
        node: Node = getattr(import_module(f"metashell.metadata.nodes.{module}"), function)(name, tree)
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
